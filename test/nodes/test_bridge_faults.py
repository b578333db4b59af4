"""What goes wrong around the bridge node, and how it ends; each test starts its own nodes."""

import signal
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import rclpy
from bridge_bench import CALM, enable, of_bridge
from diagnostic_msgs.msg import DiagnosticArray
from rig_peer import Peer
from ros_observer import figures
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

import flex_robot_sim as frs
from flex_robot_sim.nodes.bridge_outputs import BridgeOutputs
from flex_robot_sim.nodes.bridge_settings import BridgeOutputSettings
from flex_robot_sim.rig.bridge.bridge import BridgeSettings, RigState, calibration_of
from flex_robot_sim.rig.bridge.twin import TwinSettings
from flex_robot_sim.rig.estimation.estimator_settings import EstimatorSettings
from flex_robot_sim.rig.estimation.shape_filter import FilterSettings
from flex_robot_sim.rig.host.link_session import Reading
from flex_robot_sim.rig.wire.protocol import Telemetry
from flex_robot_sim.rig.wire.vocabulary import EventKind, Fault, State

pytestmark = pytest.mark.usefixtures('patient_board')


@pytest.fixture
def bridge(start):
    """Return a function that starts a bridge, and waits until it can be enabled."""

    def start_bridge(**parameters):
        process = start('bridge', **{**CALM, **parameters})
        process.wait_for_line('disarmed, call ~/enable')
        return process

    return start_bridge


@pytest.fixture
def peer(tmp_path):
    with closing(Peer(tmp_path)) as peer:
        yield peer


def board(emulator):
    return emulator.call(lambda rig: (rig.board.state, rig.board.faults, rig.board.is_moving))


@pytest.mark.long
def test_unplugged_it_says_nothing_and_comes_back_disarmed(emulator, observer, bridge):
    process = bridge(serial_port=emulator.link)
    assert enable(observer).success
    heard = observer.listen(JointState, 'joint_states')
    commands = observer.publisher(JointState, 'joint_commands')
    push = JointState(name=['slide'], effort=[40.0])

    def pushed(condition):
        def step():
            commands.publish(push)
            return condition()

        return step

    observer.spin_until(pushed(lambda: heard and heard[-1].velocity[0] > 0.01))
    emulator.inject('unplug=1')
    process.wait_for_line('the port is gone; looking for it; nothing is sent meanwhile')
    observer.spin_until(pushed(lambda: process.count('link: connected')))
    count = len(heard)
    observer.spin_until(pushed(lambda: len(heard) > count + 50))
    stamps = np.array([m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for m in heard])
    # a second without a plug is a second without states
    assert np.diff(stamps).max() > 0.9
    state, _, moving = board(emulator)
    assert state in (State.DISARMED, State.FAULT) and not moving


@pytest.mark.long
def test_a_board_whose_clock_runs_backwards_is_reported_in_one_line(peer, observer, bridge):
    process = bridge(serial_port=peer.name)
    heard = observer.listen(JointState, 'joint_states')
    observer.spin_until(lambda: len(heard) > 5)
    peer.set_clock(peer.clock, rate=-1)
    process.wait_for_line(
        'the clock of the board runs backwards: its telemetry is not used. '
        'Reset the board; nothing is sent meanwhile'
    )
    # frames of the bridge come 8 times a second: first take what was sent before
    frames = len(peer.frames)
    observer.spin_until(lambda: len(peer.frames) > frames + 8)
    count, frames = len(heard), len(peer.frames)
    observer.spin_until(lambda: len(peer.frames) > frames + 8)
    stamps = [m.header.stamp.sec * 10**9 + m.header.stamp.nanosec for m in heard]
    assert len(heard) == count and all(np.diff(stamps) > 1000)
    assert process.count('link: ') == 1
    peer.reboot()
    peer.set_clock(0)
    process.wait_for_line('link: connected')
    assert process.stop()[0] == 0


@pytest.mark.long
def test_without_telemetry_the_bridge_says_so_and_goes_on(peer, observer, bridge):
    process = bridge(telemetry_rate=0, serial_port=peer.name)
    message = observer.hear(DiagnosticArray, '/diagnostics', of_bridge)
    assert message.status[0].message == (
        'connected, but there is no telemetry yet: no states, no set points'
    )
    # a hostile board: details that no word has, far more events than a log should hold
    for number in range(600):
        peer.event(number, (EventKind.BOOT, EventKind.HOMING_LOST)[number % 2], 2**31 - 1)
    process.wait_for_line('the board has booted, by 2147483647: it is disarmed and not homed')
    process.wait_for_line('2147483647 has lost its origin')
    assert process.stop()[0] == 0 and not process.count('Traceback')


def test_stamps_are_times_of_the_measurement_and_never_run_back(observer):
    """The outputs without a port: readings that came late, and one that overtook another."""
    arm, node = frs.load('rig'), rclpy.create_node('outputs', context=observer.node.context)
    settings = BridgeOutputSettings(), EstimatorSettings(), FilterSettings(), TwinSettings()
    outputs = BridgeOutputs(node, arm, calibration_of(BridgeSettings(), arm), *settings)
    heard = observer.listen(JointState, 'joint_states')
    message = Telemetry(
        0, 45000, 0, 33000, 33000, 0.0, 0, 0.0, State.DISARMED, 0, Fault(0), 0, 0.0
    )

    def send(late):
        now = time.monotonic()
        outputs.send(
            RigState(
                Reading(message, now - late, now), 2e-3, False, (0.15, 0.0), (0.0, 0.0), (0.0, 0.0)
            )
        )

    before = time.time()
    observer.spin_until(lambda: send(0.25) or heard)
    after = time.time()
    count = len(heard)
    send(0.5)  # a map between clocks that got better by a quarter of a second
    observer.spin_until(lambda: len(heard) > count)
    outputs.close()
    node.destroy_node()
    stamps = [each.header.stamp.sec + 1e-9 * each.header.stamp.nanosec for each in heard]
    assert before - 0.25 - 1e-3 < stamps[0] < after - 0.25 + 1e-3
    assert np.all(np.diff(stamps) >= 0.0)


def test_killed_in_motion_the_board_stops_and_the_next_bridge_finds_the_fault(
    emulator, observer, bridge, patient_board
):
    process = bridge(serial_port=emulator.link)
    assert enable(observer).success
    heard = observer.listen(JointState, 'joint_states')
    commands = observer.publisher(JointState, 'joint_commands')

    def pushed():
        commands.publish(JointState(name=['slide'], effort=[40.0]))
        return heard and heard[-1].velocity[0] > 0.01

    observer.spin_until(pushed)
    patient_board.undo()
    process.send(signal.SIGKILL)
    process.wait()
    observer.spin_until(lambda: board(emulator) == (State.FAULT, Fault.WATCHDOG, False))
    second = bridge(serial_port=emulator.link)
    refused = enable(observer)
    assert not refused.success and 'a fault is latched' in refused.message
    assert observer.call(Trigger, '/bridge/clear').success
    assert enable(observer).success
    assert second.stop()[0] == 0
    # the board reads the last frame a moment later
    observer.spin_until(lambda: board(emulator)[0] == State.DISARMED)


def test_second_bridge_on_the_same_port_is_refused(emulator, observer, start, bridge):
    bridge(serial_port=emulator.link)
    second = start('bridge', '-r', '__node:=other', **CALM, serial_port=emulator.link)
    assert second.wait() == 2
    assert 'another program has the port' in second.lines[-1]
    assert enable(observer).success


@pytest.mark.long
def test_flex_sensor_that_is_off_stops_its_topics_only(emulator, observer, start):
    start('bridge', **CALM, serial_port=emulator.link)
    observer.hear(JointState, 'flex_states')
    emulator.inject('open=tip')
    seen = observer.hear(
        DiagnosticArray,
        '/diagnostics',
        lambda message: of_bridge(message) and 'ADC_TIP' in figures(message)['faults'],
    )
    assert seen.status[0].level == b'\x02'
    strain, joints = (observer.listen(JointState, topic) for topic in ('strain', 'joint_states'))

    def is_quiet():
        # what was on its way may still arrive
        if strain:
            strain.clear()
            joints.clear()
        return len(joints) > 100

    observer.spin_until(is_quiet)


@pytest.mark.long(after=1)
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_bridge_and_emulator(start, observer, number):
    process = start('bridge', **CALM)
    line = process.wait_for_line('disarmed, call ~/enable')
    port = Path(line.partition(' at ')[2].partition(':')[0])
    assert port.exists()
    code, seconds = process.stop(number)
    assert code == 0 and seconds < 10.0 and process.count('Traceback') == 0
    # in the moment of that line, a signal ends the bridge at once, and the emulator follows it
    observer.spin_until(lambda: not port.parent.exists())


@pytest.mark.long
def test_emulator_of_a_bridge_that_was_killed_ends_by_itself(start, observer):
    process = start('bridge', **CALM)
    line = process.wait_for_line('disarmed, call ~/enable')
    port = Path(line.partition(' at ')[2].partition(':')[0])
    process.send(signal.SIGKILL)
    process.wait()
    observer.spin_until(lambda: not port.parent.exists())


@pytest.mark.long(after=2)
@pytest.mark.parametrize(
    'parameters, line',
    [
        ({'robot': 'two_link'}, 'is no bench'),
        ({'serial_port': '/dev/no_such_port'}, '/dev/no_such_port: there is no such port'),
        ({'emulator_faults': '["quake"]'}, 'the emulator has not started: no fault "quake"'),
        ({'telemetry_rate': 300}, 'telemetry_rate = 300 must divide 1000'),
        ({'calibration_file': 'no_such.yaml'}, 'no_such.yaml: cannot be read'),
        ({'board_parameters': '["SPEED=1"]'}, 'board_parameters: no parameter "SPEED"'),
        (
            {'log_file': '/no_such_folder/run.csv'},
            'log file /no_such_folder/run.csv: No such file',
        ),
        ({'tool': 'hand'}, 'tool = "hand" is no link'),
    ],
    ids=str,
)
def test_useless_start_ends_with_one_line_and_code_2(refused, parameters, line):
    assert line in refused('bridge', **{**CALM, **parameters})
