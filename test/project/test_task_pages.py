"""Task pages: their commands and Python run, and print what the pages show."""

import math
import re
import shlex
import subprocess
import sys
from dataclasses import fields, replace
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml
from node_processes import Process
from project_files import ROOT

from flex_robot_sim.cli import main
from flex_robot_sim.control.controller_settings import ControllerSettings
from flex_robot_sim.description import read_description
from flex_robot_sim.description.robot_summary import summarise
from flex_robot_sim.jit.cache import cache_root
from flex_robot_sim.shaping.impulses import ShapingSettings
from flex_robot_sim.system.launch_arguments import HilArguments, SimulationArguments

pytestmark = pytest.mark.slow

PAGES = ('index', 'simulate_my_arm', 'flexible_urdf', 'tune_controller', 'use_rig')
TEXTS = {page: (ROOT / 'docs' / f'{page}.md').read_text('utf-8') for page in PAGES}
KINDS = {'sh', 'xml', 'yaml', 'python', 'math', ''}
ARGUMENTS = {'simulation': SimulationArguments, 'hil': HilArguments}
TAP = 13.0, 0.02  # frequency [Hz] and damping ratio of a synthetic recording


def blocks(page, kind):
    """Blocks of a kind, each with the block without a kind that follows it at once, or None."""
    pattern = rf'^```{kind}\n(.*?)^```\n(?:(?:\n|[^\n`#]+\n)*?\n```\n(.*?)^```)?'
    return re.findall(pattern, TEXTS[page], re.DOTALL | re.MULTILINE)


def commands(page, program):
    """Words of each command of a program, and what the page shows of its output."""
    return [
        (shlex.split(line), shown)
        for block, shown in blocks(page, 'sh')
        for line in block.splitlines()
        if line.split()[0] == program
    ]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the current folder, with the files that the pages name."""
    for name in ('ur5.urdf', 'ur5_flexible.urdf'):
        (tmp_path / name).write_text((ROOT / 'examples' / name).read_text('utf-8'))
    time = np.arange(0.0, 4.0, 1e-3)
    rate = 2 * math.pi * TAP[0]
    tap = np.exp(-TAP[1] * rate * time) * np.cos(rate * math.sqrt(1 - TAP[1] ** 2) * time)
    noise = 1e-4 * np.random.default_rng(1).standard_normal(time.size)
    np.savetxt(
        tmp_path / 'tap.csv',
        np.column_stack([time, tap + noise]),
        delimiter=',',
        header='time,acceleration',
        comments='',
    )
    (tmp_path / 'ur5_joints.urdf').write_text(merged(blocks('flexible_urdf', 'xml')[:1]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def merged(found):
    """Return the rigid UR5 with the blocks of the page added, or in place of old elements."""
    robot = ElementTree.parse(ROOT / 'examples' / 'ur5.urdf').getroot()
    flexibility = None
    for block, _ in found:
        for element in ElementTree.fromstring(f'<all>{block}</all>'):
            is_beam = element.tag == 'link' and 'end' in element.attrib
            place = flexibility if is_beam else robot
            name = element.get('name')
            for old in place.findall(f"{element.tag}[@name='{name}']"):
                place.remove(old)
            place.append(element)
            flexibility = element if element.tag == 'flexibility' else flexibility
    return ElementTree.tostring(robot, encoding='unicode')


@pytest.mark.parametrize('page', PAGES)
def test_blocks_are_of_kinds_that_are_tested_here(page):
    kinds = re.findall(r'^```(\w*)$', TEXTS[page], re.MULTILINE)
    assert set(kinds[::2]) <= KINDS and set(kinds[1::2]) <= {''}
    assert {
        program
        for block, _ in blocks(page, 'sh')
        for line in block.splitlines()
        for program in line.split()[:1]
    } <= {'flexsim', 'ros2', './run'}


@pytest.mark.parametrize('page', ['simulate_my_arm', 'flexible_urdf', 'tune_controller'])
def test_commands_without_ros_run_and_print_what_the_page_shows(page, folder, capsys):
    ran = 0
    for words, shown in commands(page, 'flexsim'):
        if words[1] == 'demo':
            continue
        assert main(words[1:]) == 0, words
        out = capsys.readouterr().out
        for line in filter(None, shown.splitlines()):
            assert re.search(re.escape(line).replace(r'\.\.\.', '.*'), out), (words, line, out)
        ran += 1
    assert ran >= 4


def test_blocks_of_python_run(folder):
    assert sum(len(blocks(page, 'python')) for page in PAGES) == 4
    for page in PAGES:
        for block, _ in blocks(page, 'python'):
            exec(compile(block, page, 'exec'), {})


def test_the_flexible_ur5_is_what_the_steps_make_of_the_rigid_one():
    by_steps = summarise(read_description(merged(blocks('flexible_urdf', 'xml'))))
    shipped = summarise(read_description(ROOT / 'examples' / 'ur5_flexible.urdf'))
    for summary in (by_steps, shipped):
        assert summary.pop('warnings') == []
        for key in ('name', 'source'):
            summary.pop(key)
        # the order is that of the tree, and among what one link carries that of the file
        summary['links'] = sorted(summary['links'], key=str)
    assert by_steps == shipped


def test_the_smallest_addition_makes_one_joint_of_the_ur5_flexible():
    block = blocks('simulate_my_arm', 'xml')[0]
    assert [
        joint['name']
        for joint in summarise(read_description(merged([block])))['joints']
        if joint.get('stiffness')
    ] == ['elbow']


def test_masses_and_centres_of_the_split_link_are_those_of_the_whole():
    rigid, split = (
        read_description(ROOT / 'examples' / f'{name}.urdf') for name in ('ur5', 'ur5_flexible')
    )
    whole = rigid.link('upper_arm').inertial
    tube, motor = (split.link(name).inertial for name in ('upper_arm', 'elbow_motor'))
    assert tube.mass + motor.mass == pytest.approx(whole.mass, abs=1e-3)  # as written
    centre = tube.mass * 0.2125 + motor.mass * 0.425
    assert centre == pytest.approx(whole.mass * 0.28, rel=1e-3)  # as written
    across = 0.0862 + tube.mass * (0.28 - 0.2125) ** 2 + 0.0585 + motor.mass * (0.425 - 0.28) ** 2
    assert across == pytest.approx(0.22689, rel=0.01)  # as written


def test_the_ur5_sags_as_springs_and_beams_in_a_row_do(folder):
    names: dict = {}
    exec(blocks('flexible_urdf', 'python')[0][0], names)
    force, reach, arm, forearm = 5 * 9.81, 0.425 + 0.39225, 0.425, 0.39225
    springs = force * (reach**2 + forearm**2) / 3e4
    bending = force / 3 * ((reach**3 - forearm**3) / 48400 + forearm**3 / 28400)
    # the tool is 0.0556 m from the axis of the upper arm, 0.1753 m from that of the forearm
    torsion = force * (0.0556**2 * arm / 36000 + 0.1753**2 * forearm / 21000)
    assert names['sag'] == pytest.approx(springs + bending + torsion, rel=0.01)  # large turns
    assert '1.6 mm' in TEXTS['flexible_urdf'] and round(1e3 * names['sag'], 1) == 1.6
    assert 0.85 < springs / names['sag'] < 0.95  # 'nine tenths'


def test_the_recording_of_a_tap_gives_its_frequency_and_damping(folder, capsys):
    [words] = [words for words, _ in commands('flexible_urdf', 'flexsim') if '--log' in words]
    assert main([*words[1:], '--json']) == 0
    [found] = yaml.safe_load(capsys.readouterr().out)['resonances']
    assert found['frequency'] == pytest.approx(TAP[0], rel=1e-3)
    assert found['ratio'] == pytest.approx(TAP[1], rel=0.02)  # noise of 1e-4


def test_commands_of_the_rig_work_on_the_emulator_of_the_page(folder, capsys):
    port = str(folder / 'rig')
    emulate, info, conformance = (
        [word.replace('/tmp/rig', port) for word in words[1:]]
        for words, _ in commands('use_rig', 'flexsim')
        if words[2] in ('emulate', 'info', 'conformance')
    )
    board = Process([sys.executable, '-m', 'flex_robot_sim', *emulate])
    try:
        board.wait_for_line(f'The rig listens at {port}')
        assert main(info) == 0
        assert 'board      python, firmware ' in capsys.readouterr().out
    finally:
        board.stop()
    assert main(conformance) == 0
    assert ' passed, 0 failed' in capsys.readouterr().out


@pytest.mark.parametrize('verb', ['setup', 'calibrate', 'compare'])
def test_other_commands_of_the_rig_have_these_options(verb, flexsim):
    """A person or a bench is behind them; test/rig/ has tests of both."""
    [words] = [words for words, _ in commands('use_rig', 'flexsim') if words[2] == verb]
    done = flexsim(*words[1:], '--help')
    assert done.returncode == 0, done.stderr
    for word in words[3:]:
        assert not word.startswith('--') or word in done.stdout, word


def test_the_page_of_installation_names_extras_and_folders_that_exist():
    page = (ROOT / 'docs' / 'install.md').read_text('utf-8')
    setup = (ROOT / 'setup.py').read_text('utf-8')
    (table,) = re.findall(r'^\| extra \|.*\n(?:\|.*\n)+', page, re.MULTILINE)
    extras = re.findall(r'^\| `(\w+)` \|', table, re.MULTILINE)
    assert len(extras) > 5
    assert [name for name in extras if f"'{name}': [" not in setup] == []
    assert f'`{cache_root().name}`' in page
    assert 'flex_robot_sim_firmware' in (
        ROOT / 'flex_robot_sim' / 'rig' / 'board' / 'firmware.py'
    ).read_text('utf-8')


def test_the_page_of_installation_has_the_version_bounds_of_setup():
    page = (ROOT / 'docs' / 'install.md').read_text('utf-8')
    setup = (ROOT / 'setup.py').read_text('utf-8')
    oldest, limit = re.search(r"'numba>=0\.(\d+),<0\.(\d+)'", setup).groups()
    assert f'Numba 0.{oldest} to 0.{int(limit) - 1} ' in page
    oldest, limit = re.search(r"'viser>=([\d.]+),<([\d.]+)'", setup).groups()
    assert f'viser {oldest} to below {limit},' in page


def test_the_start_page_and_the_readme_have_the_same_five_lines():
    readme = (ROOT / 'README.md').read_text('utf-8')
    (shown,) = re.findall(r'^```python\n(.*?)^```', readme, re.DOTALL | re.MULTILINE)
    assert [shown] == [block for block, _ in blocks('index', 'python')]
    assert shown.count('\n') == 5


def test_the_own_controller_of_the_page_reaches_its_target():
    names: dict = {}
    exec(blocks('tune_controller', 'python')[0][0], names)
    # the elastic joints sag by some mrad
    assert abs(names['log'].position[-1] - names['target']).max() < 0.03


def test_launch_files_take_the_arguments_of_the_pages():
    count = 0
    for page in PAGES:
        for words, _ in commands(page, 'ros2'):
            if words[1] == 'launch':
                name = words[3].partition('.')[0]
                given = dict(word.split(':=') for word in words[4:])
                assert set(given) <= {field.name for field in fields(ARGUMENTS[name])}
                count += 1
    assert count


def test_parameters_of_the_pages_are_those_of_the_controller():
    given = [words[-2:] for words, _ in commands('tune_controller', 'ros2') if words[1] == 'param']
    given += yaml.safe_load(blocks('tune_controller', 'yaml')[0][0])['/**/controller'][
        'ros__parameters'
    ].items()
    assert len(given) >= 5
    for name, value in given:
        kind = next(
            kind
            for kind in (ControllerSettings, ShapingSettings)
            if name in kind.__dataclass_fields__
        )
        value = yaml.safe_load(value) if isinstance(value, str) else value
        assert getattr(replace(kind(), **{name: value}), name) == value  # or it is refused


def test_services_and_topics_of_the_bench_are_those_of_its_page():
    page = (ROOT / 'docs' / 'rig_bridge.md').read_text('utf-8')
    called = [
        words
        for words, _ in commands('use_rig', 'ros2')
        if words[1:3] in (['service', 'call'], ['topic', 'pub'])
    ]
    assert len(called) == 3
    for words in called:
        name, kind, *message = [word for word in words[3:] if word != '--once']
        assert f'{name} {kind}' in page
        assert all(isinstance(yaml.safe_load(text), dict) for text in message)


@pytest.mark.long
@pytest.mark.ros
def test_the_demo_of_the_page_writes_a_picture(folder):
    """Tests of the demo with a shipped robot are in test/nodes/test_demo.py."""
    [words] = [words for words, _ in commands('simulate_my_arm', 'flexsim') if words[1] == 'demo']
    done = subprocess.run(
        [sys.executable, '-m', 'flex_robot_sim', *words[1:]],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert (folder / 'demo_ur5.png').read_bytes().startswith(b'\x89PNG')
