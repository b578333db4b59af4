"""The drift watch over DDS, with bridge and emulated bench: vibration, and a softer strip."""

from contextlib import closing

import pytest
from bridge_bench import CALM, enable
from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from ros_observer import figures
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import flex_robot_sim as frs
from flex_robot_sim.rig.board.emulator_process import EmulatorProcess
from flex_robot_sim.util.share import shipped_robots

MOVE, REST = 0.12, 2.6  # of a turn: speeding up, and slowing down; then the strip vibrates [s]
EFFORT = 0.03  # [N m]
ENOUGH = 2  # stops
MOST_PLAYS = 5  # of the profile, on a machine that holds the emulator up


def turns():
    """A profile of turns to and fro, behind each of which nothing moves."""
    points, time = [], 0.0
    for sign in (1, -1, 1):
        for length, effort in ((MOVE, sign * EFFORT), (MOVE, -sign * EFFORT), (REST, 0.0)):
            time += length
            points.append(
                JointTrajectoryPoint(
                    effort=[effort],
                    time_from_start=Duration(sec=int(time), nanosec=round(1e9 * (time % 1))),
                )
            )
    return JointTrajectory(joint_names=['turn'], points=points)


def of_drift(message):
    return message.status[0].name == '/drift: stiffness'


def is_reported(message, truth, soft):
    """Whether the watch says what is true of a strip of a share of the stiffness described."""
    seen, status = figures(message), message.status[0]
    if not of_drift(message) or int(seen['stops with vibration']) < ENOUGH:
        return False
    level, line = (
        (DiagnosticStatus.OK, 'vibrates at ')
        if soft == 1.0
        else (
            DiagnosticStatus.WARN,
            'slower than its model in 2 stops in a row: softer than described',
        )
    )
    # counts of 2.6 mrad, and a rotor that yields by some per mille under strong vibration
    return (
        status.level == level
        and line in status.message
        and float(seen['frequency [Hz]']) == pytest.approx(truth, rel=0.015)
        and float(seen['frequency over expected']) == pytest.approx(soft**0.5, abs=0.015)
    )


@pytest.mark.long
@pytest.mark.parametrize('soft', [1.0, 0.9])
def test_stops_of_the_bench_ring_as_its_strip_does_and_a_softer_one_is_reported(
    start, observer, tmp_path, monkeypatch, soft
):
    path = tmp_path / 'bench.urdf'
    text = shipped_robots()['rig'].read_text('utf-8')
    assert '<material E="206e9"' in text
    path.write_text(
        text.replace('<material E="206e9"', f'<material E="{206e9 * soft:.6g}"'), 'utf-8'
    )
    # what the emulator simulates, with the motors where they are sent
    truth = frs.modes(frs.load(str(path)), [0.15, 0.0], joints='locked').frequencies[0]
    # a delayed emulator loses time, so vibration is slower by the clock of the host
    monkeypatch.delenv('FLEX_ROBOT_SIM_SHARED', raising=False)
    with closing(EmulatorProcess(robot=str(path))) as emulator:
        bridge = start('bridge', **{**CALM, 'serial_port': emulator.port})
        watch = start('drift', robot='rig', drift_stops=ENOUGH)
        watch.wait_for_line('rig: slowest mode')
        assert observer.call(Trigger, '/bridge/zero').success
        observer.publisher(JointTrajectory, 'bridge/profile').publish(turns())
        bridge.wait_for_line('the board holds a profile')
        assert enable(observer).success
        heard = observer.listen(DiagnosticArray, '/diagnostics', 100)

        def is_as_it_should_be():
            return any(is_reported(message, truth, soft) for message in heard)

        for _ in range(MOST_PLAYS):
            bridge.forget_lines()
            assert observer.call(Trigger, '/bridge/start_profile').success
            observer.spin_until(
                lambda: (
                    is_as_it_should_be()
                    or bridge.count('profile is done')
                    or bridge.count('the board stopped')
                )
            )
            if is_as_it_should_be():
                break
            if bridge.count('the board stopped'):  # a busy machine has tripped the watchdog
                assert observer.call(Trigger, '/bridge/clear').success
                assert enable(observer).success
        assert is_as_it_should_be(), [figures(message) for message in heard if of_drift(message)]
        assert enable(observer, False).success
