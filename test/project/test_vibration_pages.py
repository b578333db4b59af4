"""Pages about machines that vibrate: followed word by word with the public URDF of each."""

import re
import shlex
from dataclasses import fields

import numpy as np
import pytest
from project_files import ROOT
from public_robots import public_robot

import flex_robot_sim as frs
from flex_robot_sim.cli import main
from flex_robot_sim.system.launch_arguments import ShaperArguments

pytestmark = pytest.mark.slow

ROBOTS = {
    'moveit_ur': 'ur_description/urdf/ur5_robot.urdf',
    'vibrating_printed_arm': 'so_arm_description/urdf/so101.urdf',
}
TEXTS = {page: (ROOT / 'docs' / f'{page}.md').read_text('utf-8') for page in ROBOTS}
PART = re.compile(r'^```(\w*)\n(.*?)^```$|^It prints `(.*?)`|Save this as `(.*?)`', re.S | re.M)


def follow(page, capsys):
    """Do what a page says, in its order, and compare the output; return names of its Python."""
    names: dict[str, object] = {}
    out = path = ''
    for kind, text, printed, saved in (match.groups() for match in PART.finditer(TEXTS[page])):
        if printed:
            assert printed in out
        elif saved:
            path = saved
        elif kind == 'xml':
            with open(path, 'w') as file:
                file.write(text)
        elif kind == 'python':
            exec(compile(text, page, 'exec'), names)
            out = capsys.readouterr().out
        elif kind == 'sh':
            for line in text.splitlines():
                words = shlex.split(line)
                if words[0] == 'flexsim':
                    assert main(words[1:]) == 0, line
            out = capsys.readouterr().out
        else:
            for line in filter(None, text.splitlines()):
                assert re.search(re.escape(line).replace(r'\.\.\.', '.*'), out), (line, out)
    return names


@pytest.mark.long
def test_the_page_about_a_ur_leaves_a_twentieth_of_the_vibration(tmp_path, monkeypatch, capsys):
    public_robot(ROBOTS['moveit_ur'])
    monkeypatch.chdir(tmp_path)
    # a stop with the frequency and the damping that the page measures
    time, rate = np.arange(0.0, 3.0, 5e-3), 2 * np.pi * 8.9
    ring = np.exp(-0.031 * rate * time) * np.cos(rate * np.sqrt(1 - 0.031**2) * time)
    ring += 1e-3 * np.random.default_rng(0).normal(size=time.size)
    log = np.column_stack([time, ring])
    np.savetxt('stop.csv', log, delimiter=',', header='time,x', comments='')
    names = follow('moveit_ur', capsys)
    assert names['after'] < 0.07 * names['before']
    # the model has the measured frequency
    goal, arm = names['goal'], frs.with_payload(frs.load('my_ur5.urdf'), 'tool0', 5.0)
    assert frs.frequencies(arm, goal)[0] == pytest.approx(8.9, rel=2e-3)
    # what the shaper writes and what it returns are the same
    written = np.loadtxt('shaped.csv', delimiter=',', skiprows=1)
    assert np.abs(written[:, 1:] - names['shaped'].positions).max() < 1e-6


@pytest.mark.long
def test_the_page_about_a_printed_arm_shapes_its_loop(tmp_path, monkeypatch, capsys):
    public_robot(ROBOTS['vibrating_printed_arm'])
    monkeypatch.chdir(tmp_path)
    names = follow('vibrating_printed_arm', capsys)
    # 'left is 0.35'
    assert names['left'] == pytest.approx(0.35, abs=0.05)
    # without backlash, a shaper for the frequencies of the base joint
    urdf, sideways = names['urdf'], names['sideways']
    gears = names['gears'].replace('backlash="0.0175"', '')
    (tmp_path / 'tight.urdf').write_text(
        urdf.replace('</robot>', f'<flexibility>{gears}</flexibility></robot>')
    )
    names['arm'] = frs.load('tight.urdf')
    first, second = frs.frequencies(names['arm'], sideways[-1])[:2]
    shaper = frs.shaping.OnlineShaper(6, 0.02, shaper=frs.shaping.ei([first, second]))
    shaped = shaper.run(sideways)
    assert names['vibration'](shaped) < 0.005 * names['vibration'](sideways)


@pytest.mark.parametrize('page', TEXTS)
def test_a_page_says_in_bold_what_has_never_been_tried(page):
    assert re.search(r'\*\*[^*]* ever run [^*]*\*\*', TEXTS[page])


def test_the_launch_file_takes_the_arguments_of_the_page():
    (line,) = re.findall(
        r'^ros2 launch flex_robot_sim shaper.launch.py (.*)$', TEXTS['moveit_ur'], re.M
    )
    given = {word.partition(':=')[0] for word in line.split()}
    assert given <= {field.name for field in fields(ShaperArguments)}
