"""Pages of docs/ about single parts of the library: what they show runs, with what they assume."""

import re
import shlex

import numpy as np
import pytest
from project_files import ROOT

import flex_robot_sim as frs
from flex_robot_sim.cli import main
from flex_robot_sim.control.pose_model import Loop
from flex_robot_sim.control.spline_path import plain_motion
from flex_robot_sim.control.trials import Trials
from flex_robot_sim.share import shipped_robots
from flex_robot_sim.system import ShaperArguments, SimulationArguments

POSE = np.array([0.0, 0.5, -0.8])
RINGING = 13.0, 0.02    # frequency [Hz] and damping ratio of a log that nobody has made


def blocks(page, kind):
    text = (ROOT / 'docs' / f'{page}.md').read_text('utf-8')
    return re.findall(rf'^```{kind}\n(.*?)^```', text, re.DOTALL | re.MULTILINE)


def run(page, block, names):
    exec(compile(block, page, 'exec'), names)
    return names


@pytest.fixture(scope='module')
def arm():
    return frs.load('two_link')


def test_shapers_of_the_page_stop_where_what_they_shape_stops(arm):
    first, second = blocks('control', 'python')
    samples = np.linspace(0.0, 1.0, 1500)[:, None]**2 * POSE
    names = run('control', first, {'samples': samples, 'motion': plain_motion(
        np.zeros(3), POSE, 0.8, 0.1)})
    np.testing.assert_allclose(names['samples'][-1], POSE, atol=1e-12)
    assert len(names['samples']) > len(samples)
    names = run('control', second, {'position': np.zeros(3), 'set_points': np.vstack(
        [samples, np.tile(POSE, (4000, 1))])})
    np.testing.assert_allclose(names['target'], POSE, atol=1e-12)


@pytest.mark.slow
def test_feedback_of_the_page_holds_an_arm_at_rest(arm):
    first, second, _, _ = blocks('control_feedback', 'python')
    rest = frs.equilibrium(arm, POSE)
    names = {'arm': arm, 'pose': POSE, 'np': np, 'stiffness': np.full(3, 60.0),
             'damping': np.full(3, 0.5), 'position': POSE, 'velocity': np.zeros(3),
             'curvature': np.array([*frs.curvatures(
                 arm, rest.coordinates).values()]), 'servo_effort': rest.effort,
             'effort': rest.effort, 'reference': np.array([POSE, 0 * POSE, 0 * POSE])}
    run('control_feedback', first, names)
    # nothing moves, so nothing is added
    np.testing.assert_allclose(names['effort'], rest.effort, atol=1e-6)
    # two corners in place of 25, which would take minutes here
    fewer = second.replace('np.linspace(0, 1.6, 5), np.linspace(-1.8, 0, 5)', '[0.5], [-0.8]')
    assert fewer != second
    run('control_feedback', fewer, names)
    np.testing.assert_allclose(names['effort'], rest.effort, atol=0.05 * np.abs(rest.effort).max())


def test_how_far_a_slide_reaches_is_printed_for_every_turn(capsys):
    run('control_feedback', blocks('control_feedback', 'python')[2], {})
    rows = np.array([line.split() for line in capsys.readouterr().out.splitlines()], float)
    assert rows[:, 0] == pytest.approx([0.0, 0.5, np.pi / 2])
    # along the strip the slide bends nothing, across it most
    assert rows[0, 1] == pytest.approx(0.0, abs=1e-6)
    assert (np.diff(rows[:, [1, 4]], axis=0) > 0.0).all()


def test_a_move_that_repeats_gets_better():
    arm = frs.load('single_link')
    motion, duration = plain_motion(np.zeros(1), np.array([0.5]), 0.6, 0.2), 0.8
    trials = Trials(arm, 'tool', motion, duration, [60.0], [0.6], Loop(1e-3, 1e-3))
    errors = []

    def measure(reference):
        found = trials.run(arm, reference)
        errors.append(np.abs(found).max())
        return found
    run('control_feedback', blocks('control_feedback', 'python')[3], {
        'motion': motion, 'duration': duration, 'trials': trials, 'arm': arm, 'measure': measure})
    assert errors[-1] < 0.2 * errors[0]


def test_plans_of_the_page_keep_their_limits():
    block, = blocks('control_planning', 'python')
    names = run('control_planning', block, {
        'arm': frs.load('single_link'), 'start': [0.0], 'goal': [0.3], 't': 0.3})
    assert max(names['plan'].use.values()) < 1.01


def test_another_formulation_accelerates_as_the_recursion_does(arm):
    block, = blocks('papers', 'python')
    q = frs.equilibrium(arm, POSE).coordinates
    names = run('papers', block, {'q': q, 'qd': np.zeros(arm.size), 'force': np.zeros(arm.size)})
    assert names['qdd'].shape == (arm.size,)


@pytest.mark.slow
def test_commands_of_the_pages_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = shipped_robots()['two_link'].read_text('utf-8')
    (tmp_path / 'my_arm.urdf').write_text(text)
    time, rate = np.arange(0.0, 4.0, 1e-3), 2 * np.pi * RINGING[0]
    rings = np.exp(-RINGING[1] * rate * time) * np.cos(rate * time)
    rings += 1e-4 * np.random.default_rng(1).standard_normal(time.size)
    np.savetxt('ringing.csv', np.column_stack([time, rings]), delimiter=',',
               header='time,acceleration', comments='')
    ran = []
    for page in ('control', 'recording'):
        for block in blocks(page, 'sh'):
            for line in block.splitlines():
                words = shlex.split(line, comments=True)
                if words[0] == 'flexsim' and words[1] in ('shape', 'simulate', 'export'):
                    assert main(words[1:]) == 0, line
                    ran.append(words[1])
    assert sorted(set(ran)) == ['export', 'shape', 'simulate'] and len(ran) == 10
    run('recording', blocks('recording', 'python')[0], names := {})
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
                fields = known[words[3].partition('.')[0]].__dataclass_fields__
                assert {word.partition(':=')[0] for word in words[4:]} <= {*fields}, line
                found += 1
    assert found >= 4
