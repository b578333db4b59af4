"""Pages of docs/ about single parts of the library: what they show runs, with what they assume."""

import re
import shlex
from dataclasses import fields

import numpy as np
import pytest
from project_files import ROOT

from flex_robot_sim.cli import main
from flex_robot_sim.formulations import make
from flex_robot_sim.planning.iterative_learning import RepeatedMove
from flex_robot_sim.system.launch_arguments import ShaperArguments, SimulationArguments
from flex_robot_sim.util.share import shipped_robots

pytestmark = pytest.mark.slow

POSE = np.array([0.0, 0.5, -0.8])
RINGING = 13.0, 0.02  # frequency [Hz] and damping ratio of a synthetic log


def blocks(page, kind):
    text = (ROOT / 'docs' / f'{page}.md').read_text('utf-8')
    return re.findall(rf'^```{kind}\n(.*?)^```', text, re.DOTALL | re.MULTILINE)


def run(page, block, names):
    exec(compile(block, page, 'exec'), names)
    return names


def test_shapers_of_the_page_stop_where_what_they_shape_stops():
    first, second = blocks('control', 'python')
    names = run('control', first, {})
    np.testing.assert_allclose(names['shaped'].positions[-1], POSE, atol=1e-12)
    assert len(names['shaped'].times) > 800
    # the last set point comes once, and the shaper is still on its way
    names = run('control', second, {})
    for _ in range(4000):
        names['target'] = names['shaper'].step(POSE)
    np.testing.assert_allclose(names['target'], POSE, atol=1e-12)


def test_coefficients_of_the_page_are_exact_and_filter_as_shape_does():
    (block,) = blocks('shaper_files', 'python')
    names = run('shaper_files', block, {})
    np.testing.assert_array_equal(names['whole_delays'], [0, 4])
    np.testing.assert_allclose(names['whole_weights'], [0.5, 0.5], atol=1e-12)
    # w0 + 2 w cos(36 deg) exp(-j pi) = 0 and w0 + 2 w = 1: the golden ratio
    golden = 2 * np.cos(np.pi / 5)
    expected = np.array([golden, 1.0, 1.0]) / (2 + golden)
    np.testing.assert_array_equal(names['delays'], [0, 2, 3])
    np.testing.assert_allclose(names['weights'], expected, atol=1e-9)
    page = (ROOT / 'docs' / 'shaper_files.md').read_text('utf-8')
    assert ', '.join(f'{weight:.4f}' for weight in expected) in page
    np.testing.assert_allclose(names['filtered'], names['shaped'].positions, atol=1e-12)
    phases = np.exp(-2j * np.pi * 2.5 * 0.08 * np.array([0, 2, 3]))
    assert abs(phases @ names['weights']) < 1e-9
    # what linear interpolation would leave
    assert f'{abs(phases @ [0.5, 0.25, 0.25]):.1%}'.replace('%', ' %') in page


def test_feedback_of_the_page_holds_an_arm_at_rest():
    first, second, payload, third, _, _ = blocks('control_feedback', 'python')
    names = run('control_feedback', first, {})
    # nothing moves, so nothing is added
    effort = names['rest'].effort
    np.testing.assert_allclose(names['effort'], effort, atol=1e-6)
    run('control_feedback', second, names)
    np.testing.assert_allclose(names['effort'], effort, atol=0.05 * np.abs(effort).max())
    run('control_feedback', payload, names)
    assert names['law'].warning == '' and np.isnan(names['law'].frequency)
    run('control_feedback', third, names)
    assert names['law'].poles.real.max() < 0.0
    assert np.abs(names['sim'].position - POSE).max() < 0.02


def test_how_far_a_slide_reaches_is_printed_for_every_turn(capsys):
    run('control_feedback', blocks('control_feedback', 'python')[4], {})
    rows = np.array([line.split() for line in capsys.readouterr().out.splitlines()], float)
    assert rows[:, 0] == pytest.approx([0.0, 0.5, np.pi / 2])
    # along the strip the slide bends nothing, across it most
    assert rows[0, 1] == pytest.approx(0.0, abs=1e-6)
    assert (np.diff(rows[:, [1, 4]], axis=0) > 0.0).all()


@pytest.mark.long
def test_a_move_that_repeats_gets_better():
    names = run('control_feedback', blocks('control_feedback', 'python')[5], {})
    first = RepeatedMove(names['motion'], duration=names['duration'], count=16)
    before, after = (
        np.abs(names['measure'](move.reference())).max() for move in (first, names['move'])
    )
    assert after < 0.2 * before


@pytest.mark.long
def test_plans_of_the_page_keep_their_limits():
    (block,) = blocks('control_planning', 'python')
    names = run('control_planning', block, {})
    assert max(names['plan'].limit_usage.values()) < 1.01


def test_another_formulation_accelerates_as_the_recursion_does():
    (block,) = blocks('papers', 'python')
    names = run('papers', block, {})
    expected = make('recursion', names['arm']).accelerations(
        names['q'], names['qd'], names['force']
    )
    np.testing.assert_allclose(names['qdd'], expected, rtol=1e-6, atol=1e-6)


def test_commands_of_the_pages_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = shipped_robots()['two_link'].read_text('utf-8')
    (tmp_path / 'my_arm.urdf').write_text(text)
    time, rate = np.arange(0.0, 4.0, 1e-3), 2 * np.pi * RINGING[0]
    vibration = np.exp(-RINGING[1] * rate * time) * np.cos(rate * time)
    vibration += 1e-4 * np.random.default_rng(1).standard_normal(time.size)
    np.savetxt(
        'vibration.csv',
        np.column_stack([time, vibration]),
        delimiter=',',
        header='time,acceleration',
        comments='',
    )
    sine = np.sin(np.arange(0.0, 1.0, 0.01))[:, None]
    np.savetxt(
        'trajectory.csv',
        np.hstack([0.01 * np.arange(100)[:, None], sine * [0.3, 0.2, -0.4]]),
        delimiter=',',
        header='time,waist,shoulder,elbow',
        comments='',
    )
    ran = []
    for page in ('control', 'recording'):
        for block in blocks(page, 'sh'):
            for line in block.splitlines():
                words = shlex.split(line, comments=True)
                if words[0] == 'flexsim' and words[1] in ('shape', 'simulate', 'export'):
                    assert main(words[1:]) == 0, line
                    ran.append(words[1])
    assert sorted(set(ran)) == ['export', 'shape', 'simulate'] and len(ran) == 11
    assert (tmp_path / 'trajectory_shaped.csv').is_file()
    names: dict = {}
    run('recording', blocks('recording', 'python')[0], names)
    assert names['angle'][-1] == pytest.approx(-0.8, abs=0.05)
    assert f'{RINGING[0]:.3g}' in capsys.readouterr().out


def test_launch_files_take_the_arguments_of_these_pages():
    known = {'simulation': SimulationArguments, 'shaper': ShaperArguments}
    found = 0
    for page in ('control', 'recording', 'view'):
        for block in blocks(page, 'sh'):
            for line in block.splitlines():
                words = shlex.split(line, comments=True)
                if words[:3] != ['ros2', 'launch', 'flex_robot_sim'] or 'hil' in words[3]:
                    continue
                names = {field.name for field in fields(known[words[3].partition('.')[0]])}
                assert {word.partition(':=')[0] for word in words[4:]} <= names, line
                found += 1
    assert found >= 4
