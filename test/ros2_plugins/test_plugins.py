"""The plugins of `ros2_plugins/`, compiled against stubs of ROS: what each does with its loop."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest
from built_plugins import build_folder, built_plugin, needs_plugins_compiler
from parameter_headers import CONDITIONS, parameters
from project_files import ROOT
from scipy.interpolate import CubicHermiteSpline
from shaper_cases import PERIOD, golden, random_moves, shaper_cases
from yaml import safe_load

from flex_robot_sim.export.json_tables import json_tables
from flex_robot_sim.export.shaper_tables import shaper_tables

pytestmark = [pytest.mark.slow, needs_plugins_compiler]

CASES = {case.name: case for case in shaper_cases()}
PROGRAMS = {
    'run_controller': 'input_shaper_controller',
    'run_adapter': 'add_input_shaping',
    'run_servo': 'input_shaping_plugin',
}
HELD = 'the last good one is held'


def tables_path(name, period=PERIOD):
    case = CASES[name]
    tables = shaper_tables(case.specification, case.joints, period, '', 'my arm')
    path = build_folder() / f'plugin-{name}-{period:g}.json'
    path.write_text(json_tables(tables, 'for a test'))
    return path


def run(program, values, *words):
    """Return the exit code, rows of output as a flat array, and lines of the log."""
    data = np.ascontiguousarray(values, float).tobytes()
    path = built_plugin(PROGRAMS[program], program)
    done = subprocess.run([path, *map(str, words)], input=data, capture_output=True)
    assert done.returncode in (0, 3, 4), done.stderr.decode()
    return done.returncode, np.frombuffer(done.stdout), done.stderr.decode().splitlines()


# --- the controller


def run_controller(values, *words, name='two_modes'):
    joints = ','.join(CASES[name].joints)
    start = f'position={np.ravel(values)[0]!r}', 'velocity=0.001'
    tables = f'tables:text={tables_path(name)}'
    return run('run_controller', values, f'joints:list={joints}', tables, *start, *words)


def moves(count, seed=2):
    samples = random_moves(count, 2, seed)
    samples[0] = samples[0, 0]
    return samples


@pytest.mark.parametrize('mode', ['chained', 'topic'])
def test_the_controller_shapes_references_of_a_chain_and_of_its_topic(mode):
    samples = moves(5000)
    code, out, log = run_controller(samples[1:], *['topic'] * (mode == 'topic'))
    assert code == 0
    assert log == [
        'shaping adds up to 0.126 s to a motion',
        'shaper/x/position',
        'shaper/y/position',
    ]
    assert np.abs(out.reshape(-1, 2) - golden(CASES['two_modes'], samples)).max() < 1e-12


def test_the_controller_reports_bad_references_in_one_line_and_holds():
    samples = np.zeros((400, 2))
    samples[10:60] = np.nan
    samples[100:150, 1] = 0.2
    code, out, log = run_controller(samples, 'log_every_row')
    assert code == 0 and not out.any()
    assert log[3:] == [
        f'refused set points: 1 (a set point is not finite: {HELD})',
        'set points are accepted again',
        f'refused set points: 1 (a set point jumps: {HELD} until the set points return to it, or '
        'until a reset)',
        'set points are accepted again',
    ]


def test_the_controller_keeps_a_reference_that_another_thread_locks():
    samples = moves(500)
    _, out, _ = run_controller(samples[1:], 'locked=200')
    samples[201] = samples[200]
    assert np.abs(out.reshape(-1, 2) - golden(CASES['two_modes'], samples)).max() < 1e-12


REFUSED = {
    'rate=500': 'the tables are for another period: write them again with --period '
    '(tables: 0.001 s, loop: 0.002 s)',
    'robot:text=ur5e': 'the tables are of another robot (tables: "my arm", loop: "ur5e")',
    'joints:list=y,x': 'the joints, or their order, are not those of the tables '
    '(tables: x, y; loop: y, x)',
    'tables:text=none.json': 'none.json: cannot be read. Set the parameter to a file of flexsim '
    'shape --code json',
}


@pytest.mark.parametrize('word', REFUSED)
def test_the_controller_is_not_configured_with_tables_of_another_loop(word):
    code, _, log = run_controller(np.zeros((1, 2)), word)
    assert (code, len(log)) == (3, 1)
    assert log[0].removeprefix(f'{tables_path("two_modes")}: ') == REFUSED[word]


def test_the_controller_is_not_activated_in_motion_or_without_a_position():
    code, _, log = run_controller(np.zeros((1, 2)), 'velocity=0.02')
    assert code == 4
    assert log[-1] == 'not activated: the arm moves: reset the shaper when it rests'
    code, _, log = run_controller(np.zeros((1, 2)), 'position=nan')
    assert (code, log[-1]) == (4, 'a joint has no position or velocity yet')
    words = 'velocity=nan', 'use_velocity_states:flag=false'
    assert run_controller(np.zeros((1, 2)), *words)[0] == 0
    words = 'velocity=0.02', 'rest_velocity:number=0.05'
    assert run_controller(np.zeros((1, 2)), *words)[0] == 0


@pytest.mark.parametrize(
    'command, start',
    [('0.51', 0.51), ('nan', 0.5), ('0.7', 0.5)],
    ids=['command in force', 'no command', 'far command'],
)
def test_shaping_begins_where_the_arm_does_not_move(command, start):
    # the topic sends nothing valid: the start is held
    words = 'topic', 'position=0.5', f'command_position={command}'
    code, out, log = run_controller([0.5], *words)
    assert code == 0
    assert out == pytest.approx([start, start], abs=1e-15)
    assert log[3:] == ['commands have 1 numbers, and 2 joints need one each']


# --- the planning response adapter


def planned(period=0.1, duration=1.3):
    """Waypoints (k, 5) of time, positions and velocities; their path is a curve."""
    times = np.append(np.arange(0.0, duration - 1e-9, period), duration)
    u = times / duration
    x, y = 0.9 * u**2 * (3 - 2 * u), -16.0 * u**2 * (1 - u) ** 2
    vx, vy = 5.4 * u * (1 - u) / duration, -32.0 * u * (1 - u) * (1 - 2 * u) / duration
    return np.column_stack([times, x, y, vx, vy])


def resampled(waypoints, times):
    """Positions (k, 2) at times, by the cubic splines of another library."""
    spline = CubicHermiteSpline(waypoints[:, 0], waypoints[:, 1:3], waypoints[:, 3:])
    return spline(np.minimum(times, waypoints[-1, 0]))


def run_adapter(values, *words, joints='x,y', name='two_modes', prefix='ompl.input_shaping.'):
    tables = f'{prefix}tables:text={tables_path(name, 0.01)}'
    words = [word.replace('_.', prefix) for word in words]
    return run('run_adapter', values, f'joints={joints}', tables, *words)


def tool(positions):
    """Places (k, 3) of the tool of the planar arm of the stub, with links of 1 m."""
    angles = np.cumsum(positions, axis=1)
    places = np.stack([np.cos(angles).sum(axis=1), np.sin(angles).sum(axis=1)], axis=1)
    return np.column_stack([places, np.zeros(len(places))])


def test_the_adapter_replaces_the_trajectory_by_the_shaped_one():
    waypoints = planned()
    code, out, log = run_adapter(waypoints)
    rows = out.reshape(-1, 5)
    times = 0.01 * np.arange(131)
    samples = resampled(waypoints, times)
    expected = CASES['two_modes'].specification.shape(times, samples).positions
    assert code == 0
    assert np.abs(rows[: len(expected), 1:3] - expected).max() < 1e-12
    assert np.array_equal(rows[-1, 1:3], waypoints[-1, 1:3])
    assert np.allclose(rows[:, 0], 0.01 * np.arange(len(rows)), rtol=0, atol=1e-12)
    assert not rows[-1, 3:].any()
    # the distance of every shaped place from a fine planned path, and the other way round
    path = tool(resampled(waypoints, np.linspace(0.0, 1.3, 5001)))
    times = np.linspace(0.0, rows[-1, 0], 5001)
    fine = tool(np.column_stack([np.interp(times, rows[:, 0], row) for row in rows.T[1:3]]))
    deviation = max(
        np.linalg.norm(tool(rows[:, 1:3])[:, None] - path, axis=2).min(axis=1).max(),
        np.linalg.norm(tool(samples)[:, None] - fine, axis=2).min(axis=1).max(),
    )
    (line,) = log
    begin, end = line.split(' mm; ')
    assert begin.startswith('tool0 leaves its planned path by at most ')
    assert float(begin.split()[-1]) == pytest.approx(1e3 * deviation, rel=0.01)
    assert end == f'1.300 s become {rows[-1, 0]:.3f} s'


def test_the_adapter_maps_joints_by_name():
    waypoints = planned()
    _, out, _ = run_adapter(waypoints)
    swapped = waypoints[:, [0, 2, 1, 4, 3]]
    _, other, _ = run_adapter(swapped, joints='y,x')
    assert np.array_equal(other.reshape(-1, 5)[:, [0, 2, 1, 4, 3]], out.reshape(-1, 5))


def test_the_adapter_leaves_a_group_without_these_joints_and_a_single_point_alone():
    code, out, log = run_adapter(planned(), joints='finger,thumb')
    assert (code, log) == (0, []) and np.allclose(out.reshape(-1, 5), planned())
    code, out, log = run_adapter(planned()[:1])
    assert (code, out.size, log) == (0, 5, [])


FAILURES = {
    'input_shaping.max_path_deviation:number=0.01': 'the shaped path leaves the planned one by ',
    'input_shaping.tip_link:text=hand': 'the robot has no link "hand": correct tip_link',
    'input_shaping.robot:text=ur5e': 'the tables are of another robot (tables: "my arm", loop: ',
    'input_shaping.tables:text=none.json': 'none.json: cannot be read. ',
    'uninitialized': 'AddInputShaping was not initialized',
}


@pytest.mark.parametrize('word', FAILURES)
def test_the_adapter_fails_with_an_error_code_and_one_line(word):
    code, _, log = run_adapter(planned(), f'ompl.{word}' if '.' in word else word)
    line = log[-1].removeprefix(f'{tables_path("two_modes", 0.01)}: ')
    assert code == 3 and line.startswith(FAILURES[word])
    assert len(log) == 1 + ('none.json' in word)  # also when it is initialized


def test_the_adapter_fails_for_bad_trajectories():
    assert run_adapter([])[2] == ['the response has no trajectory of a planning group']
    code, _, log = run_adapter(planned()[:, :4], joints='x,y,z', name='two_modes')
    assert code == 3 and log[0].endswith(
        'the tables are not for all joints of the planning group, and for no others'
    )
    moving = planned()
    moving[0, 3] = 0.1
    code, _, log = run_adapter(moving)
    assert (code, log) == (
        3,
        ['the trajectory is refused at 0.000 s: the arm moves: reset the shaper when it rests'],
    )


def test_the_adapter_takes_a_limit_that_is_kept():
    code, _, log = run_adapter(planned(), 'ompl.input_shaping.max_path_deviation:number=0.5')
    assert (code, len(log)) == (0, 1)


# --- the plugin of Servo


def run_servo(values, *words, name='two_modes', period=0.01):
    return run(
        'run_servo',
        values,
        'joints=x,y',
        f'input_shaping.tables:text={tables_path(name, period)}',
        f'moveit_servo.publish_period:number={period!r}',
        'moveit_servo.move_group_name:text=arm',
        *words,
    )


def test_servo_moves_as_far_as_commanded_and_stops_without_vibration():
    values = np.zeros((300, 2))
    values[0] = 0.2, -0.3
    values[1:101] = 0.5, -0.4
    code, out, log = run_servo(values)
    rows = out.reshape(-1, 5)
    assert (code, log) == (0, []) and not rows[:, 0].any()
    reference = values[0] + 0.01 * np.cumsum(np.vstack([[0, 0], values[1:]]), axis=0)
    expected = CASES['two_modes'].specification.shape(0.01 * np.arange(300), reference).positions
    assert np.abs(rows[:, 1:3] - expected[1:300]).max() < 1e-12
    assert np.allclose(rows[-1, 1:3], [0.7, -0.7], rtol=0, atol=1e-12)
    # the steps of the output leave no vibration at a mode of the design
    steps = np.diff(np.vstack([values[:1], rows[:, 1:3]]), axis=0)
    for frequency, ratio in CASES['two_modes'].specification.shaper.modes:
        rate = 2 * np.pi * frequency
        pole = -ratio * rate + 1j * rate * np.sqrt(1 - ratio**2)
        responses = np.exp(-pole * 0.01 * np.arange(len(steps)))
        assert (np.abs(responses @ steps) < 1e-9 * (np.abs(responses) @ np.abs(steps))).all()


def test_servo_stops_at_the_limit_of_a_joint_and_holds_bad_velocities():
    values = np.zeros((400, 2))
    values[1:300, 0] = 0.5
    values[50:53, 1] = np.nan
    code, out, log = run_servo(values, 'upper=0.8')
    rows = out.reshape(-1, 5)
    assert code == 0
    assert rows[:, 1].max() == pytest.approx(0.8, abs=1e-12)
    assert np.flatnonzero(rows[:, 0]).tolist() == [49, 50, 51]
    # the stub does not throttle
    assert log == [f'input shaping: a set point is not finite: {HELD}'] * 3


def test_servo_holds_its_position_after_a_reset_in_motion():
    values = np.full((20, 2), 0.5)
    code, out, log = run_servo(values, 'start_velocity=0.1')
    rows = out.reshape(-1, 5)
    assert code == 0 and (rows[:, 0] == 1.0).all()
    assert np.array_equal(rows[:, 1:], np.tile([0.5, 0.5, 0.0, 0.0], (19, 1)))
    assert set(log) == {'input shaping: the arm moves: reset the shaper when it rests'}


REFUSED_BY_SERVO = {
    'moveit_servo.publish_period:number=0.02': 'the tables are for another period: write them '
    'again with --period (tables: 0.01 s, loop: 0.02 s)',
    'input_shaping.planning_group_name:text=leg': 'the robot has no planning group "leg": correct '
    'planning_group_name',
    'more_joints': 'the planning group "arm" is not that of Servo',
    'joints=y,x': 'the joints, or their order, are not those of the tables '
    '(tables: x, y; loop: y, x)',
}


@pytest.mark.parametrize('word', REFUSED_BY_SERVO)
def test_servo_does_not_start_with_tables_of_another_loop(word):
    code, _, log = run_servo(np.zeros((1, 2)), word)
    assert (code, len(log)) == (3, 1)
    assert log[0].removeprefix(f'{tables_path("two_modes", 0.01)}: ') == REFUSED_BY_SERVO[word]


# --- parameter files


@pytest.mark.parametrize('name', PROGRAMS.values())
def test_each_parameter_has_a_description_and_known_conditions(name):
    text = (ROOT / f'ros2_plugins/src/{name}_parameters.yaml').read_text('utf-8')
    ((_, tree),) = safe_load(text).items()
    found = list(parameters(tree))
    assert len(found) > 4
    for _, item in found:
        assert item['read_only'] and len(item['description']) > 30
        assert set(item.get('validation', {})) <= CONDITIONS
