"""Logic of `ros2_plugins/` in C++: tables, set points, trajectories and Servo, without ROS."""

from __future__ import annotations

import json
import subprocess

import numpy as np
import pytest
from built_plugins import HERE, PLUGINS, build_folder, built, needs_plugins_compiler
from shaper_cases import PERIOD, golden, random_moves, shaper_cases

import flex_robot_sim as frs
from flex_robot_sim.export.json_tables import json_tables
from flex_robot_sim.export.shaper_tables import shaper_tables
from flex_robot_sim.shaping.path_accuracy import _distance
from flex_robot_sim.shaping.shaper_specification import ShaperSpecification

pytestmark = [pytest.mark.slow, needs_plugins_compiler]

CASES = {case.name: case for case in shaper_cases()}
ROUNDING = 1e-12
OK, NOT_RESET, NOT_FINITE, JUMP, IN_MOTION = 0, 1, 2, 3, 7


def tables_text(name, period=PERIOD):
    case = CASES[name]
    tables = shaper_tables(case.specification, case.joints, period, '', 'my arm')
    return json_tables(tables, 'for a test')


def tables_path(name, period=PERIOD):
    path = build_folder() / f'{name}-{period:g}.json'
    path.write_text(tables_text(name, period))
    return path


def outcome(mode, path, values, *joints, period=PERIOD):
    """Return the finished program stream.cpp for numbers on its input."""
    words = [built('stream', HERE / 'stream.cpp'), mode, repr(period), path, *joints]
    data = np.ascontiguousarray(values, float).tobytes()
    return subprocess.run([*map(str, words)], input=data, capture_output=True)


def streamed(mode, name, values, columns, period=PERIOD):
    done = outcome(mode, tables_path(name, period), values, *CASES[name].joints, period=period)
    assert done.returncode == 0, done.stderr.decode()
    return np.frombuffer(done.stdout).reshape(-1, columns)


@pytest.mark.parametrize('name', CASES)
def test_set_points_by_the_tables_of_json_equal_the_law_of_the_library(name):
    case = CASES[name]
    limits = case.specification.velocity_limits
    speed = 1.0 if limits is None else 1.7 * min(limits)
    samples = random_moves(20_000, len(case.joints), 5, speed)
    rows = streamed('unit', name, samples, len(case.joints) + 1)  # aborts if a step allocates
    expected = golden(case, samples)
    assert not rows[:, 0].any()
    assert np.abs(rows[:, 1:] - expected).max() <= ROUNDING * np.abs(expected).max()


def test_bad_set_points_give_codes_and_hold_the_last_good_one():
    samples = np.repeat(random_moves(2000, 2, 3)[1500:1501], 400, axis=0)
    samples[100:110] = np.nan
    samples[200:210, 1] += 0.2
    rows = streamed('unit', 'two_modes', samples, 3)
    expected = np.zeros(399)
    expected[99:109], expected[199:209] = NOT_FINITE, JUMP
    assert np.array_equal(rows[:, 0], expected)
    # the weights of the shaper have the sum 1 up to rounding
    assert np.abs(rows[:, 1:] - samples[0]).max() < 1e-15


def refusal(text, *joints, period=PERIOD):
    """Return the line of a refused file of tables."""
    path = build_folder() / 'refused.json'
    path.write_text(text)
    done = outcome('unit', path, np.zeros((1, len(joints))), *joints, period=period)
    assert (done.returncode, done.stdout) == (2, b''), done.stderr.decode()
    line = done.stderr.decode()
    assert line.count('\n') == 1 and line.startswith(f'{path}: ')
    return line.strip().removeprefix(f'{path}: ')


def test_tables_of_another_robot_period_or_order_are_refused_in_one_line():
    text = tables_text('limited')
    assert refusal(text, 'lift', 'swing') == (
        'the joints, or their order, are not those of the tables '
        '(tables: swing, lift; loop: lift, swing)'
    )
    assert refusal(text, 'swing', 'lift', period=0.002) == (
        'the tables are for another period: write them again with --period '
        '(tables: 0.001 s, loop: 0.002 s)'
    )
    assert refusal(text, 'a', 'b', 'c').endswith('(tables: swing, lift; loop: a, b, c)')


def test_files_that_are_no_tables_are_refused_in_one_line():
    assert refusal('{', 'a') == (
        'has no tables of a shaper. Write them by flexsim shape --code json --output FILE'
    )
    assert 'is a design without a period. Write its tables: flexsim shape --design' in refusal(
        json.dumps({'kind': 'flex_robot_sim shaper 1'}), 'a'
    )
    done = outcome('unit', build_folder() / 'none.json', [], 'a')
    assert done.returncode == 2 and b'none.json: cannot be read. ' in done.stderr


DAMAGES: list[dict] = [
    {'weight': []},
    {'weight': [[[1.0]], 1, 1, 1, 1]},
    {'joints': 3},
    {'joints': -1},
    {'joints': 'two'},
    {'samples': 10},
    {'samples': 1e300},
    {'delay': [0, -1, 69, 136, 137]},
    {'delay': [0, 0.5, 69, 136, 137]},
    {'period': 0.0},
    {'period': None},
    {'max_change': [0.1, 0.0]},
    {'joint_names': ['swing']},
    {'joint_names': 'swing'},
    {'limiter_samples': 1},
    {'stages': 1},
    {'axes': 1},
    {'shaper': 5},
]


def test_damaged_tables_are_refused_in_one_line():
    tree = json.loads(tables_text('limited'))
    texts = [json.dumps({**tree, **damage}) for damage in DAMAGES]
    needed = tree.keys() - {'kind', 'origin'}
    texts += [json.dumps({k: v for k, v in tree.items() if k != name}) for name in sorted(needed)]
    by_pose = json.loads(tables_text('by_pose'))
    for damage in (
        {'axis_joint': [2]},
        {'axis_size': [1]},
        {'axis_size': [8]},
        {'axis_stride': [0]},
        {'frequency': [[0.01]] * 9},
        {'frequency': [[-4.0]] * 9},
        {'cycles': [[0.0, 0.5, 9.0]]},
        {'cycles': [[-0.5, 0.5, 1.0]]},
        {'amplitude': [[0.0, 0.0, 0.0]]},
    ):
        texts.append(json.dumps({**by_pose, **damage}))
    for text in texts:
        assert refusal(text, 'swing', 'lift').startswith('is damaged. Write it again'), text


def test_tables_of_a_recording_are_for_any_joints():
    specification = ShaperSpecification('zv', frs.shaping.zv(5.0))
    tables = shaper_tables(specification, ['joint'], PERIOD)._replace(joints=())
    path = build_folder() / 'recording.json'
    path.write_text(json_tables(tables, ''))
    samples = random_moves(3000, 3, 1)
    done = outcome('unit', path, samples, 'x', 'y', 'z')
    rows = np.frombuffer(done.stdout).reshape(-1, 4)
    # half a period of 5 Hz later, the second impulse of a half
    later = np.maximum(np.arange(1, 3000) - 100, 0)
    assert np.abs(rows[:, 1:] - 0.5 * (samples[1:] + samples[later])).max() < 1e-12


def cubic_move(period, duration=1.3, goal=(0.4, -0.6)):
    """Waypoints (k, 5) of time, positions and velocities of a cubic move, and its function."""
    goal = np.array(goal)

    def move(time):
        u = np.clip(np.asarray(time) / duration, 0.0, 1.0)[..., None]
        return goal * u**2 * (3.0 - 2.0 * u), goal * 6.0 * u * (1.0 - u) / duration

    times = np.append(np.arange(0.0, duration, period), duration)
    return np.column_stack([times, *move(times)]), move


def test_a_trajectory_is_resampled_shaped_and_ends_exactly():
    period, case = 0.01, CASES['two_modes']
    waypoints, move = cubic_move(0.17)
    rows = streamed('trajectory', 'two_modes', waypoints, 5, period)
    assert np.allclose(rows[:, 0], period * np.arange(len(rows)), rtol=0, atol=1e-12)
    # cubic segments reproduce a cubic
    samples = move(period * np.arange(131))[0]
    expected = case.specification.shape(period * np.arange(131), samples).positions
    assert np.abs(rows[: len(expected), 1:3] - expected).max() <= 1e-12
    assert np.array_equal(rows[-1, 1:3], waypoints[-1, 1:3])
    assert np.array_equal(rows[0, 1:3], waypoints[0, 1:3])
    assert not rows[[0, -1], 3:].any()
    assert np.allclose(rows[1:-1, 3:], np.gradient(rows[:, 1:3], period, axis=0)[1:-1])
    # at rest, not more than two samples after the shaper is done
    assert 0 <= rows[-1, 0] - 1.3 - case.specification.added_time <= 3 * period


def test_a_trajectory_without_velocities_has_lines_between_its_points():
    case = CASES['two_modes']
    lines = np.array([[0.0, 0.0, 0.0], [0.5, 0.2, -0.1], [0.905, 0.3, 0.3]])
    rows = streamed('lines', 'two_modes', lines, 5, 0.01)
    times = 0.01 * np.arange(92)
    samples = np.column_stack([np.interp(times, lines[:, 0], column) for column in lines.T[1:]])
    expected = case.specification.shape(times, samples).positions
    assert np.abs(rows[: len(expected), 1:3] - expected).max() <= 1e-12
    assert np.array_equal(rows[-1, 1:3], lines[-1, 1:])


BAD_TRAJECTORIES = {
    'times': 'the times of the trajectory do not increase: run AddTimeOptimalParameterization '
    'before AddInputShaping',
    'nan': 'the trajectory has fewer than two points, or points that are not finite',
    'short': 'the trajectory has fewer than two points, or points that are not finite',
    'jump': 'the trajectory is refused at 0.010 s: a set point jumps: the last good one is held '
    'until the set points return to it, or until a reset',
}


@pytest.mark.parametrize('kind', BAD_TRAJECTORIES)
def test_bad_trajectories_are_refused_in_one_line(kind):
    waypoints, _ = cubic_move(0.1)
    if kind == 'times':
        waypoints[3:, 0] = waypoints[3, 0]
    elif kind == 'nan':
        waypoints[3, 2] = np.nan
    elif kind == 'short':
        waypoints = waypoints[:1]
    else:
        waypoints[:, 0] *= 1e-3
    path = tables_path('two_modes', 0.01)
    done = outcome('trajectory', path, waypoints, 'x', 'y', period=0.01)
    assert (done.returncode, done.stderr.decode()) == (2, BAD_TRAJECTORIES[kind] + '\n')


def test_the_deviation_of_a_path_is_that_of_numpy_and_of_the_library():
    rng = np.random.default_rng(1)
    for shaped_count, planned_count, window in ((60, 40, 20), (30, 30, 0), (5, 1, 4)):
        planned = np.cumsum(rng.normal(size=(planned_count, 3)), axis=0)
        shaped = np.cumsum(rng.normal(size=(shaped_count, 3)), axis=0)
        points = np.concatenate([shaped, planned])
        words = [built('stream', HERE / 'stream.cpp'), 'deviation', window, shaped_count]
        done = subprocess.run([*map(str, words)], input=points.tobytes(), capture_output=True)
        found = np.frombuffer(done.stdout)[0]
        assert found == pytest.approx(_distance(shaped, planned, window), rel=1e-12)
        assert found == pytest.approx(_deviation_by_samples(shaped, planned, window), rel=1e-4)


def _deviation_by_samples(shaped, planned, window):
    """Deviation from 2000 points of each edge, one by one."""
    count = len(shaped)
    planned = np.concatenate([planned, np.repeat(planned[-1:], count - len(planned), axis=0)])
    shares = np.linspace(0.0, 1.0, 2001)[:, None]
    largest = 0.0
    for i in range(count):
        earlier = [
            planned[k - 1] + shares * (planned[k] - planned[k - 1])
            for k in range(max(i - window, 1), i + 1)
        ]
        later = [
            shaped[k] + shares * (shaped[k + 1] - shaped[k])
            for k in range(i, min(i + window + 1, count - 1))
        ]
        for point, pieces in (
            (shaped[i], [planned[i : i + 1], *earlier]),
            (planned[i], [shaped[i : i + 1], *later]),
        ):
            places = np.concatenate(pieces)
            largest = max(largest, np.linalg.norm(places - point, axis=1).min())
    return largest


def test_servo_velocities_are_shaped_as_their_integral():
    case, count = CASES['two_modes'], 2000
    velocities = np.zeros((count, 2))
    velocities[1:700] = 0.3, -0.5
    velocities[900:1200] = -0.2, 0.1
    rows = streamed('servo', 'two_modes', velocities, 5)
    reference = np.cumsum(velocities * PERIOD, axis=0)
    expected = golden(case, reference)
    assert not rows[:, 0].any()
    assert np.abs(rows[1:, 1:3] - expected).max() < 1e-12
    # a filter of Servo's own positions would arrive at less than half of this
    assert rows[-1, 1:3] == pytest.approx(reference[-1], abs=1e-12)
    # Servo ends the motion below 1e-4 rad/s: not before the shaped motion rests
    moving = np.abs(rows[:, 3:]).max(axis=1) > 1e-4
    settled = (np.abs(rows[:, 1:3] - reference) < 1e-15).all(axis=1)
    assert moving[1:][~settled[1:]].all()
    assert not rows[-1, 3:].any()


def test_a_short_jog_keeps_servo_alive_between_the_impulses():
    """50 ms of motion, while the impulses of the shaper are up to 126 ms apart."""
    velocities = np.zeros((400, 2))
    velocities[1:21, 0] = 0.2
    rows = streamed('servo', 'two_modes', velocities, 5)
    quiet = np.flatnonzero(rows[:, 3] == 2e-4)
    assert 30 < quiet.size < 130  # the pauses
    assert rows[-1, 1] == pytest.approx(0.004, abs=1e-15) and rows[-1, 3] == 0.0


def test_servo_stays_within_the_limits_of_a_joint_and_refuses_bad_velocities():
    velocities = np.zeros((6000, 2))
    velocities[1:3000, 0], velocities[10:12, 1] = 0.5, np.nan
    velocities[20, 1] = 1000.0
    velocities[4000:5000, 0] = -0.1
    rows = streamed('servo', 'two_modes', velocities, 5)
    assert np.flatnonzero(rows[:, 0]).tolist() == [10, 11, 20]
    assert rows[[10, 11, 20], 0].tolist() == [NOT_FINITE, NOT_FINITE, JUMP]
    assert rows[:, 1].max() == pytest.approx(1.0, abs=1e-12) and not rows[:, 2].any()
    assert rows[-1, 1] == pytest.approx(0.9, abs=1e-12)


def test_the_tests_of_a_ros_workspace_pass_with_a_stub_of_googletest():
    folder = PLUGINS / 'test'
    tables = f'-DTABLES="{folder / "two_joints.json"}"'
    program = built('workspace', folder / 'test_shaper_unit.cpp', flags=(tables,))
    done = subprocess.run([program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, '4\n'), done.stderr
