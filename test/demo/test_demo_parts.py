"""What the demo is made of, without ROS: records, swings, programs that never stay behind."""

import io
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from closed_loops import TREES

import flex_robot_sim as frs
from flex_robot_sim.control.controller_settings import ControllerSettings
from flex_robot_sim.control.gains import carrying_efforts
from flex_robot_sim.control.joint_controller import JointController
from flex_robot_sim.demo import dies_with_parent
from flex_robot_sim.demo.children import STOP_TIMEOUT_S, Children
from flex_robot_sim.demo.demo_figure import panels_of_comparison, panels_of_run
from flex_robot_sim.demo.demo_summary import comparison_of, lines_of, status_line, summary_of
from flex_robot_sim.demo.demo_vibration import residual_vibration
from flex_robot_sim.demo.realistic_drives import DRIVE_LEVELS, with_realistic_drives
from flex_robot_sim.demo.record import Lateness, RunRecord, Track
from flex_robot_sim.demo.screen import Screen
from flex_robot_sim.demo.swing import can_carry_itself, fitting_swing
from flex_robot_sim.motion.limits import effort_limits
from flex_robot_sim.motion.profile_settings import ProfileSettings
from flex_robot_sim.util.exceptions import UsageError

pytestmark = pytest.mark.slow

SWINGING = ('rcm', 'rig', 'single_link', 'spin_up_8m', 'two_link')


def test_a_track_spans_the_run_however_long_it_lasts():
    track = Track(1, rows=16)
    for k in range(1000):
        track.add(float(k), [2.0 * k])
    assert 8 <= track.time.size < 16
    np.testing.assert_array_equal(track.values[:, 0], 2.0 * track.time)
    steps = np.diff(track.time)
    assert np.all(steps == steps[0]) and track.time[-1] > 1000 - steps[0] - 1
    assert track.newest == 999.0


def test_a_track_of_peaks_loses_none():
    track = Track(1, keeps_peaks=True, rows=16)
    for k in range(1024):
        track.add(float(k), [float(k == 300)])
    assert track.values.max() == 1.0 and track.values.sum() == 1.0


def test_delays_that_arrive_late_or_precede_the_start_do_not_run_backwards():
    record = RunRecord(('turn',), ('arm',), 500.0)
    for at, median in ((-0.3, 9.0), (0.0, 8.0), (1.0, 1e-3), (0.02, 7.0), (2.0, 2e-3)):
        record.add_delays(at, median, 2.0 * median)
    assert record.delays.time.tolist() == [1.0, 2.0]
    assert record.delays.values[:, 0].tolist() == [1e-3, 2e-3]


def test_lateness_is_that_against_the_earliest_state():
    lateness = Lateness(0.5)
    stamps = [0.01, 0.5, 1.01, 1.5, 2.0]
    assert [lateness.note(stamp) for stamp in stamps] == pytest.approx([0.0, 0.0, 0.01, 0.0, 0.0])


@pytest.mark.parametrize('gap', [2e-3, 0.3], ids=['a lost state', 'dropped time'])
def test_what_is_missing_makes_the_others_late_for_a_moment_only(gap):
    lateness = Lateness(2e-3)
    late = [lateness.note(2e-3 * k + gap * (k >= 70)) for k in range(200)]
    # beyond 50 ms a simulation drops the time: the others are late by nothing
    assert late[70:100] == pytest.approx([gap] + [gap if gap < 0.05 else 0.0] * 29)
    assert late[:70] + late[150:] == pytest.approx([0.0] * 120, abs=1e-12)  # rounding


def driven(arm, swing, period):
    """Largest bending over its limit, effort over its limit, and error late in a rest."""
    simulation = frs.Simulation(arm)
    parameters = swing.parameters
    gains = {
        name: parameters.pop(name)
        for name in ('position_gain', 'velocity_gain', 'state_period')
        if name in parameters
    }
    controller = JointController(
        arm, ControllerSettings(**gains), ProfileSettings(profile='swing', **parameters)
    )
    cycle, errors, share = swing.duration + swing.rest, [], 0.0
    effort = np.zeros(len(arm.joint_names))
    while simulation.time < 1.0 + 2 * cycle:
        simulation.effort = effort  # that of the state before: one period late
        effort = controller.update(
            simulation.time,
            simulation.position,
            simulation.velocity,
            simulation.motor_position,
            simulation.motor_velocity,
        ).copy()
        simulation.step(round(period / 1e-3))
        used = np.abs(effort[arm.actuated]) / effort_limits(arm)[arm.actuated]
        share = max(share, np.max(used))
        phase = simulation.time - 1.0 - cycle
        if swing.duration + 0.8 * swing.rest < phase < cycle:
            errors.append(np.abs(simulation.position - controller.target).max())
    return share, max(errors)


@pytest.mark.long(after=3)
@pytest.mark.parametrize('is_stiff', [False, True])
@pytest.mark.parametrize('robot', SWINGING)
def test_a_swing_stays_within_limits_and_ends_near_its_pose(robot, is_stiff):
    arm = frs.load(robot)
    swing = fitting_swing(arm, is_stiff)
    for joint, (low, high) in zip(
        map(arm.description.joint, arm.joint_names), np.sort(swing.poses, axis=0).T
    ):
        assert joint.lower < low < high < joint.upper
        assert 15 / 8 * (high - low) / swing.duration < joint.velocity or not joint.velocity
    for pose in swing.poses:
        assert np.all(np.abs(carrying_efforts(arm, pose)) <= 0.6 * effort_limits(arm))
    share, error = driven(arm, swing, 2e-3)
    # without an integrator, a joint has errors from sag, friction and residual vibration
    assert share < 1.0 and error < 0.1


@pytest.mark.parametrize('name', ['delta', 'palletiser'])
def test_a_loop_swings_between_closed_poses(name):
    arm = frs.load(name)
    swing = fitting_swing(arm, bool(arm.tips))
    for pose in swing.poses:
        simulation = frs.Simulation(arm)
        simulation.set_state(pose)
        assert simulation.position == pytest.approx(pose, abs=1e-9)
    assert np.ptp(swing.poses, axis=0)[arm.actuated].min() > 0.05
    share, error = driven(arm, swing, 2e-3)
    assert share < 1.0 and error < 0.05


def test_an_arm_for_orbit_does_not_carry_itself():
    assert not can_carry_itself(frs.load('canadarm2'))
    assert can_carry_itself(frs.load('two_link'))


@pytest.mark.parametrize('name', sorted(set(TREES) - set(SWINGING)))
def test_with_rotors_and_damping_every_other_shipped_robot_swings_too(name):
    arm = frs.load(name)
    gravity = {} if can_carry_itself(arm) else {'gravity': (0.0, 0.0, 0.0)}
    for share, damping in DRIVE_LEVELS:
        heavier = frs.load(with_realistic_drives(arm, share, damping), **gravity)
        try:
            swing = fitting_swing(heavier)
            break
        except UsageError:
            continue
    assert np.isfinite(swing.poses).all() and swing.duration < 60.0
    # the robot is the same, but for its drives and its damping
    assert heavier.joint_names == arm.joint_names
    for link, other in zip(arm.description.links, heavier.description.links):
        assert (link.inertial is None) == (other.inertial is None)
        assert link.inertial is None or link.inertial.mass == other.inertial.mass
    for joint in heavier.description.joints:
        if joint.moves:
            assert joint.reflected_inertia > 0.0


def test_drives_that_are_too_light_are_refused_with_what_to_do():
    with pytest.raises(UsageError, match='no gains hold ella .* rotor_inertia to '):
        fitting_swing(frs.load('ella'))


@pytest.fixture
def programs():
    children = Children()
    yield children
    children.stop()


def python(code):
    return [sys.executable, '-c', code]


def test_a_program_that_ends_has_an_obituary_with_its_last_line(programs):
    programs.start('bad', python('print("first"); print("no arm here"); raise SystemExit(2)'))
    assert wait_for(programs.exit_report) == 'bad ended with code 2: no arm here'
    assert [programs.lines.get() for _ in range(2)] == [('bad', 'first'), ('bad', 'no arm here')]


def test_a_program_that_will_not_stop_is_made_to(programs):
    deaf = 'import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print("deaf"); '
    programs.start('deaf', [sys.executable, '-u', '-c', deaf + 'time.sleep(600)'])
    assert programs.lines.get(timeout=60.0) == ('deaf', 'deaf')
    began = time.monotonic()
    programs.stop()
    assert time.monotonic() - began < STOP_TIMEOUT_S + 0.5  # 0.5 s for a busy machine
    assert programs.exit_report() == 'deaf was ended by SIGKILL'


@pytest.mark.skipif(sys.platform != 'linux', reason='the kernel of Linux does it')
def test_a_guarded_program_dies_with_its_parent(tmp_path):
    path = tmp_path / 'pid'
    child = (
        f'import os, time; open({str(path)!r}, "w").write(f"{{os.getpid()}} "); time.sleep(600)'
    )
    parent = (
        'import os, subprocess, sys, time; subprocess.Popen([sys.executable, "-I", "-S", '
        f'{dies_with_parent.__file__!r}, str(os.getpid()), sys.executable, "-c", {child!r}],'
        ' start_new_session=True); time.sleep(600)'
    )
    process = subprocess.Popen(python(parent))
    try:
        pid = int(
            wait_for(lambda: path.exists() and path.read_text().endswith(' ') and path.read_text())
        )
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    wait_for(lambda: not alive(pid))


def alive(pid):
    try:
        return Path(f'/proc/{pid}/stat').read_text().split(') ')[1][0] != 'Z'
    except FileNotFoundError:
        return False


def wait_for(condition):
    end = time.monotonic() + 60.0
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.01)
    return found


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        """Say so."""
        return True


def test_lines_that_stay_come_above_the_one_that_is_written_over():
    stream = Terminal()
    screen = Screen(stream)
    screen.show('1.0 s')
    screen.say('a warning')
    screen.show('')
    assert stream.getvalue() == '\r1.0 s\x1b[K\r\x1b[Ka warning\n\r1.0 s\x1b[K\r\x1b[K'


def test_a_file_gets_only_the_lines_that_stay():
    stream = io.StringIO()
    screen = Screen(stream)
    screen.show('1.0 s')
    screen.say('a warning')
    assert stream.getvalue() == 'a warning\n'


FIRST = {
    'simulated time [s]': '1',
    'wall time [s]': '1.5',
    'steps': '1000',
    'deadlines missed by 5 ms': '3',
    'time dropped [s]': '0.5',
    'commands accepted': '20',
    'commands refused': '0',
    'state to command since the start, median [ms]': 'nan',
    'state to command since the start, 99 % [ms]': 'nan',
}
LAST = {
    **FIRST,
    'simulated time [s]': '3',
    'wall time [s]': '3.5',
    'steps': '3000',
    'deadlines missed by 5 ms': '4',
    'commands accepted': '1020',
    'state to command since the start, median [ms]': '0.5',
    'state to command since the start, 99 % [ms]': '2',
    'real-time factor': '0.9999',
}


def record_of_a_run():
    record = RunRecord(('slide', 'turn'), ('arm',), 500.0)
    for k in range(50):
        record.add_joints(2e-3 * k, np.array([0.1, 0.2]), np.array([np.nan, 0.3]), np.ones(2))
    record.add_tip(0.02, 'arm', np.array([0.0, 3e-3, 4e-3]))
    record.add_tip(0.03, 'arm', np.zeros(3))
    record.add_delays(0.05, 1e-3, 2e-3)
    record.worst_lateness = 0.203
    return record


def test_figures_are_those_since_the_beginning():
    summary = summary_of(record_of_a_run(), LAST, FIRST, 'rig')
    assert (summary['sim_time'], summary['wall_time'], summary['realtime_factor']) == (2, 2, 1)
    assert (summary['steps'], summary['deadline_misses'], summary['commands']) == (2000, 1, 1000)
    assert summary['max_tip_deflection'] == pytest.approx(5e-3)  # the 3, 4, 5 triangle
    assert next(lines_of(summary)) == (
        'rig: 2.00 s in 2.00 s, real time x 1.000, 2000 steps, '
        '1 of them more than 5 ms late, the worst by 203 ms'
    )
    assert 'dropped' not in ''.join(lines_of(summary))
    dropped = {**LAST, 'time dropped [s]': '2.5'}
    summary = summary_of(record_of_a_run(), dropped, FIRST, 'rig')
    assert list(lines_of(summary))[1] == '  too slow for real time: 2 s were dropped'
    assert summary['lateness_ms_max'] == pytest.approx(203.0)


def test_a_run_without_figures_is_json_without_nan():
    empty = RunRecord(('turn',), (), 500.0)
    summary = summary_of(empty, {}, {}, 'rig')
    assert 'NaN' not in json.dumps(summary)
    assert list(lines_of(summary)) == ['rig: stopped before there were figures']
    assert status_line(empty, {}).startswith('   0.0 s  real time x -----')


def test_the_status_line_has_time_pace_joints_tip_and_latency():
    figures = {**LAST, 'state to command, median [ms]': '0.51'}
    record = record_of_a_run()
    assert status_line(record, figures) == (
        '   0.1 s  real time x 1.000  joints +0.10 +0.20  arm tip   0.0 mm  latency 0.51 ms'
    )


def test_a_picture_has_panels_by_unit():
    panels = panels_of_run(record_of_a_run(), prismatic=['slide'])
    assert [panel.label for panel in panels] == [
        'joint angle [rad]',
        'joint position [m]',
        'tip deflection [mm]',
        'effort [N m]',
        'effort [N]',
        'loop timing [ms]',
    ]
    tips = panels[2].curves
    assert [curve.label for curve in tips] == ['arm, y', 'arm, z']
    np.testing.assert_allclose(tips[1].values, [4.0, 0.0])


def test_the_picture_shows_time_that_was_dropped():
    record = record_of_a_run()
    for k in range(50):
        record.add_joints(0.3 + 2e-3 * k, np.zeros(2), np.zeros(2), np.zeros(2))
    late, _, _ = panels_of_run(record)[-1].curves
    # a state was due every 2 ms, and the first one after 98 ms comes at 300 ms
    assert late.values.max() == pytest.approx(200.0) and np.sum(late.values > 1.0) == 1


def swinging(amplitude, delay=0.0):
    """Record of an arm that moves twice, at 1 and 5 s, and vibrates at 2 Hz after each."""
    record = RunRecord(('turn',), ('arm', 'hand'), 500.0)
    for k in range(5000):
        t = 2e-3 * k
        target = np.clip(t - 1, 0, 1 + delay) - np.clip(t - 5, 0, 1 + delay)
        record.add_joints(t, np.zeros(1), np.array([target if k > 3 else np.nan]), np.zeros(1))
        vibration = amplitude * np.sin(4 * np.pi * t) * (t > 2)
        record.add_tip(t, 'arm', np.array([0.0, 0.6 * vibration, 0.8 * vibration - 0.01]))
        record.add_tip(t, 'hand', np.array([0.0, 0.0, 0.5 * vibration]))
    return record


def test_residual_vibration_is_half_the_range_of_a_tip_while_the_target_stands():
    found = residual_vibration(swinging(3e-3), 0.7)
    assert found.rests == (pytest.approx((6.0, 6.7), abs=3e-3),)  # the first one is left out
    assert found.begin == pytest.approx(5.0, abs=3e-3)
    assert found.amplitude['arm'] == pytest.approx(3e-3, rel=1e-3)  # samples miss the peaks
    assert found.largest == 'arm'
    assert residual_vibration(record_of_a_run(), 0.7).amplitude == {}


def test_a_comparison_says_what_is_left():
    ringing = [
        residual_vibration(swinging(4e-3), 0.7),
        residual_vibration(swinging(1e-4, 0.5), 0.7),
    ]
    summary = comparison_of('zvd', ringing)
    assert summary['residual_vibration_ratio'] == pytest.approx(1 / 40, rel=1e-2)
    summary = {**summary_of(record_of_a_run(), LAST, FIRST, 'rig'), **summary}
    assert (
        '  arm vibrates after a motion: 4 mm without a shaper, 0.1 mm with zvd: 2.5% is left'
        in lines_of(summary)
    )
    alone = comparison_of('ei', ringing[1:])
    assert 'residual_vibration_ratio' not in alone and alone[
        'residual_vibration'
    ] == pytest.approx(1e-4, rel=1e-2)
    assert (
        comparison_of('ei', [residual_vibration(record_of_a_run(), 0.7)] * 2)[
            'residual_vibration_ratio'
        ]
        is None
    )


def test_the_picture_of_a_comparison_has_both_runs_in_one_panel():
    panels = panels_of_comparison(swinging(4e-3), swinging(1e-4, 0.5), 'zvd', 4.5)
    assert [panel.label for panel in panels] == [
        'turn: target [rad]',
        'arm: tip, sideways\n[mm]',
        'arm: tip, up and down\n[mm]',
    ]
    for panel in panels:
        assert [curve.label for curve in panel.curves] == ['without', 'with zvd']
        assert all(curve.time[0] >= 4.5 for curve in panel.curves)
    assert np.abs(panels[1].curves[0].values).max() == pytest.approx(2.4, rel=1e-3)
