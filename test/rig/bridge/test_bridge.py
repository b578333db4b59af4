"""The bridge below ROS, over a real pseudo terminal, against the emulated bench in real time."""

import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from refusals import refusal
from waiting import PATIENCE

import flex_robot_sim as frs
from flex_robot_sim.rig.bench.effort_profile import segments_of
from flex_robot_sim.rig.board.emulated_rig import EmulatedRig
from flex_robot_sim.rig.board.emulator import Emulator
from flex_robot_sim.rig.board.emulator_process import EmulatorProcess
from flex_robot_sim.rig.bridge.bridge import (
    BridgeSettings,
    RigBridge,
    calibration_of,
    parameter_values,
)
from flex_robot_sim.rig.bridge.bridge_report import BridgeReport
from flex_robot_sim.rig.calibration.file import write_calibration
from flex_robot_sim.rig.errors import RigError
from flex_robot_sim.rig.host.link import LinkSettings, LinkState, RigLink
from flex_robot_sim.rig.wire.board_parameters import Parameter
from flex_robot_sim.rig.wire.frames import encode
from flex_robot_sim.rig.wire.protocol import MAJOR, MINOR, SCHEMA_CRC, Hello
from flex_robot_sim.rig.wire.vocabulary import Fault, State
from flex_robot_sim.util.exceptions import CommandError, SettingError

pytestmark = pytest.mark.slow

# slower than in a lab: bench and host share one interpreter here
CALM = LinkSettings(telemetry_rate=100, validity=100, hello_timeout=PATIENCE, ack_timeout=0.5)
NAMES = ('slide', 'turn')


@pytest.fixture(scope='module')
def arm():
    arm = frs.load('rig')
    EmulatedRig().step()  # compile before anything runs in real time
    return arm


@pytest.fixture
def emulator(arm, tmp_path, patient_board):
    with Emulator(tmp_path / 'rig') as emulator:
        yield emulator


class Bench:
    """A bridge and its published states."""

    def __init__(self, arm, port, link=CALM, **settings):
        self.states: list = []
        self.bridge = RigBridge(
            arm,
            calibration_of(BridgeSettings(), arm),
            port,
            BridgeSettings(setpoint_rate=100.0, **settings),
            link,
            on_state=self.states.append,
        )

    def until(self, condition, effort=None, what=''):
        """Command an effort until `condition()` holds."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, what or self.bridge.link.status()
            if effort is not None:
                self.bridge.command(NAMES, effort)
            self.wait_for_reading()

    def wait_for_reading(self):
        """Wait for the next reading, at most 20 ms."""
        count = self.bridge.readings
        self.bridge.link.wait_until(lambda: self.bridge.readings != count, 0.02)

    def until_is(self, state, effort=None):
        """Wait for a state of the board."""
        self.until(lambda: self.bridge.board_state == state, effort, state.name)

    def has_rebooted(self):
        """Return whether the link is ready after the second boot."""
        link = self.bridge.link
        return link.status().boots == 2 and link.state == LinkState.READY

    @property
    def position(self):
        """Return the newest position."""
        return self.states[-1].position


def time_of_board(bench):
    """Return the elapsed board time [s], which is independent of the load of the computer."""
    return bench.bridge.readings / CALM.telemetry_rate


@pytest.fixture
def bench(arm, emulator):
    bench = Bench(arm, emulator.link)
    bench.until(lambda: bench.states)
    yield bench
    bench.bridge.close()


def test_states_contain_the_positions_of_the_bench(bench):
    bench.bridge.zero()
    count = len(bench.states)
    bench.until(lambda: len(bench.states) > count and not bench.states[-1].is_first)
    assert bench.position == pytest.approx((0.15, 0.0), abs=1e-9)  # rounding of counts
    assert bench.states[-1].effort == (0.0, 0.0)


def test_a_new_origin_marks_states_until_velocities_have_settled(bench):
    bench.bridge.zero()
    bench.until(lambda: bench.states[-1].position[0] > 0.1 and not bench.states[-1].is_first)
    # jumps small enough not to restart the velocity observer
    bench.bridge.settings = replace(bench.bridge.settings, zero_pose=(0.153, 0.1))
    bench.bridge.zero()
    bench.until(lambda: bench.states[-1].position[1] > 0.05 and bench.states[-1].is_first)
    bench.until(lambda: not bench.states[-1].is_first)
    velocities = [state.velocity for state in bench.states if state.position[1] > 0.05]
    assert np.abs(velocities).max() > 1.0
    # 0.1 rad has decayed with (2 pi 20 Hz) for 0.15 s, to 2e-6 rad/s
    assert np.abs(velocities[-1]).max() < 1e-4


def turn_of(emulator):
    """Return the true angle of the turn of the emulated bench [rad]."""
    return emulator.call(lambda rig: float(rig.bench.simulation.position[1]))


def let_swing(emulator, speed):
    """Give the free arm a speed of its turn [rad/s]."""
    emulator.call(lambda rig: rig.bench.simulation.set_state((0.15, 0.0), (0.0, speed)))


def test_the_zero_pose_is_the_rest_pose_of_the_released_arm(bench, emulator):
    let_swing(emulator, 1.0)
    bench.until(lambda: turn_of(emulator) > 0.02)
    bench.bridge.zero()
    origin, count = turn_of(emulator), len(bench.states)
    # J w^2 / (2 c): 3.7e-3 kg m2 against 5 mN m of dry friction and some viscous friction
    assert 0.2 < origin < 0.38
    bench.until(lambda: len(bench.states) > count + 50)
    # the remaining motion is below 6 mrad in 0.2 s, and stops within half of these 6 mrad
    assert turn_of(emulator) == pytest.approx(origin, abs=6e-3)
    assert bench.position[1] == pytest.approx(turn_of(emulator) - origin, abs=6e-3)


def test_an_arm_that_does_not_come_to_rest_gets_no_origin(bench, emulator):
    emulator.call(lambda rig: rig.bench.move_by_hand(1, 1.4))  # by hand, at 0.3 rad/s: 4.7 s
    bench.until(lambda: turn_of(emulator) > 0.02)
    assert refusal(CommandError, bench.bridge.zero) == (
        '"turn" does not come to rest, according to telemetry. Wait '
        'until it stands, then call zero'
    )
    assert bench.bridge.unhomed_joints == NAMES


def test_commands_have_no_effect_until_the_bridge_is_enabled(bench):
    count = len(bench.states)
    bench.until(lambda: len(bench.states) > count + 50, (80.0, 0.1))
    assert bench.bridge.board_state == State.DISARMED
    assert bench.position == bench.states[0].position
    assert bench.bridge.link.status().setpoints == 0


def test_commands_move_the_bench_after_enabling(bench):
    before = bench.position
    assert bench.bridge.unhomed_joints == NAMES
    assert bench.bridge.enable(True) == (
        'armed: commands move the motors. Not homed: slide and turn, so that positions count from '
        'where the board booted. Disarm and call zero'
    )
    bench.until(
        lambda: bench.position[0] > before[0] + 0.003 and bench.position[1] > before[1] + 0.03,
        (60.0, 0.02),
    )
    assert 0.0 < bench.states[-1].effort[0] <= 60.0
    bench.bridge.enable(False)
    bench.until_is(State.DISARMED)


def test_set_points_have_their_rate_by_the_clock_of_the_board(arm, emulator):
    bench = Bench(arm, emulator.link, replace(CALM, telemetry_rate=500))
    bench.until(lambda: bench.states)
    bench.bridge.enable(True)
    bench.until_is(State.ARMED, (0.0, 0.0))
    first, sent = len(bench.states), bench.bridge.link.status().setpoints
    bench.until(lambda: len(bench.states) > first + 1000, (0.0, 0.0))
    sent = bench.bridge.link.status().setpoints - sent
    seconds = sum(state.duration for state in bench.states[first:])
    # lost readings and delayed threads skip some set points; none is repeated
    assert 0.8 < sent / (100 * seconds) < 1.05
    assert bench.bridge.board_state == State.ARMED
    bench.bridge.close()


def test_arming_without_an_origin_is_a_warning_until_zero(bench):
    report = BridgeReport(bench.bridge, 0.0)
    bench.bridge.enable(True)
    bench.until(lambda: bench.states[-1].reading.message.state == State.ARMED, (0.0, 0.0))
    level, line, _ = report.figures(time_of_board(bench))
    assert (level, line) == ('warning', 'armed, not homed: slide and turn. Disarm and call zero')
    bench.bridge.enable(False)
    bench.bridge.zero()
    bench.until(lambda: not bench.bridge.unhomed_joints)
    assert bench.bridge.enable(True) == 'armed: commands move the motors'


def test_a_silent_controller_causes_no_fault_and_no_motion(bench):
    bench.bridge.enable(True)
    bench.until(lambda: bench.states[-1].effort[0] == 30.0, (30.0, 0.0))
    bench.until(lambda: bench.bridge.commands.is_stale)
    count = len(bench.states)
    bench.until(lambda: len(bench.states) > count + 50)
    assert bench.bridge.board_state == State.ARMED and bench.states[-1].effort == (0.0, 0.0)
    assert bench.bridge.commands.timeouts == 1


def test_arming_fails_while_a_controller_commands_an_effort(bench):
    bench.bridge.command(NAMES, (60.0, 0.0))
    assert refusal(CommandError, bench.bridge.enable, True) == (
        '"slide" is commanded 60 [N, N m] while it stands. Let the '
        'controller hold it where it is, then enable'
    )
    assert bench.bridge.board_state == State.DISARMED


def test_a_board_unplugged_in_motion_returns_disarmed_and_stays_so(bench, emulator):
    bench.bridge.enable(True)
    bench.until(lambda: bench.states[-1].velocity[0] > 0.01, (60.0, 0.0))
    emulator.inject('unplug=0.5')
    bench.until(lambda: bench.bridge.link.state == LinkState.NO_PORT, (60.0, 0.0))
    count = len(bench.states)
    bench.until(lambda: bench.bridge.link.state == LinkState.READY, (60.0, 0.0))
    # the time without a link is not caught up
    assert bench.states[count].is_first or bench.states[count].duration > 0.05
    bench.until(lambda: len(bench.states) > count + 30, (60.0, 0.0))
    assert bench.bridge.board_state in (State.DISARMED, State.FAULT)
    assert emulator.call(lambda rig: rig.board.is_moving) is False


def test_reboot_in_motion_ends_disarmed(bench, emulator):
    bench.bridge.enable(True)
    bench.until(lambda: bench.states[-1].velocity[0] > 0.01, (60.0, 0.0))
    emulator.inject('reboot')
    bench.until(bench.has_rebooted, (60.0, 0.0))
    bench.until_is(State.DISARMED, (60.0, 0.0))
    assert any('the board has booted' in line for _, line in bench.bridge.events)


def test_a_fault_is_reported_and_needs_manual_clearing(bench, emulator):
    bench.bridge.enable(True)
    bench.until_is(State.ARMED, (0.0, 0.0))
    emulator.inject('stop')
    bench.until_is(State.FAULT, (0.0, 0.0))
    bench.until(lambda: any('ESTOP_INPUT' in line for _, line in bench.bridge.events))
    with pytest.raises(RigError, match='CLEAR was refused'):
        bench.bridge.clear()
    emulator.inject('release')
    bench.until(lambda: not emulator.call(lambda rig: rig.bench.faults.stop_button))
    with pytest.raises(RigError, match='ARM was refused'):
        bench.bridge.enable(True)
    bench.until(lambda: _clears(bench.bridge))
    assert bench.bridge.enable(True).startswith('armed')


def _clears(bridge):
    try:
        bridge.clear()
    except RigError:
        return False
    return True


def test_a_second_host_takes_the_board_and_the_bridge_does_not_reclaim_it(bench, emulator, arm):
    # two hosts cannot open one port, except behind a serial-port server, as here
    bench.bridge.enable(True)
    bench.until_is(State.ARMED, (0.0, 0.0))
    hello = encode(Hello(MAJOR, MINOR, SCHEMA_CRC, 12345))
    emulator.call(lambda rig: rig.step(hello))
    bench.until(lambda: bench.bridge.link.state == LinkState.DISPLACED, (0.0, 0.0))
    assert emulator.call(lambda rig: rig.board.state) == State.DISARMED
    with pytest.raises(RigError, match='another host has taken the board'):
        bench.bridge.enable(True)
    count = len(bench.states)
    # a manual command can reclaim it
    assert bench.bridge.clear().startswith('the board is ours again')
    bench.until(lambda: len(bench.states) > count)
    assert bench.bridge.enable(True).startswith('armed')


def test_the_board_executes_a_profile(bench):
    bridge = bench.bridge
    bridge.zero()
    crc = bridge.load_profile(segments_of(bridge.drives, [0.2, 0.4], [[40, 0.02], [-40, -0.02]]))
    bridge.enable(True)
    start = time_of_board(bench)
    bench.until(lambda: time_of_board(bench) > start + 0.3)  # both joints are at rest
    assert bridge.start_profile(crc) == 'the board plays the profile'
    bench.until(lambda: any('profile is done' in line for _, line in bridge.events))
    assert bench.position[0] > 0.151 and bench.position[1] > 0.02
    pushed = [
        state.effort[0] for state in bench.states if state.reading.message.state == State.PROFILE
    ]
    assert max(pushed) > 10.0 and min(pushed) < -10.0
    assert bench.bridge.link.reading.message.faults == Fault(0)
    assert bridge.start_profile(crc) == (
        'the board plays the profile, made for joints at rest, while slide and turn moved'
    )


def test_a_profile_respects_the_board_limits_before_enabling(arm, emulator):
    bench = Bench(arm, emulator.link, board_parameters=('STEP_ACCELERATION=1000', 'DUTY_MAX=2000'))
    segments, beyond = bench.bridge.plan_profile([0.2, 0.4], [[80, 0.02], [0, 0.0]])
    # 4 rad/s2 are 2000 steps/s2; the ramp permits half of it for 20 ms
    rates = np.diff([piece.step_rate for piece in segments])
    assert np.abs(rates[:9]) == pytest.approx(1000 * 0.02)
    assert max(piece.duty for piece in segments) == 0.2
    assert beyond[0] == 10 and beyond[1] >= 10
    assert bench.bridge.load_profile(segments)  # the board accepts it
    bench.bridge.close()


def test_closing_disarms(bench, emulator):
    bench.bridge.enable(True)
    bench.until_is(State.ARMED, (0.0, 0.0))
    bench.bridge.close()
    assert emulator.call(lambda rig: rig.board.state) == State.DISARMED


def test_board_parameters_are_sent_again_after_a_boot(arm, emulator):
    bench = Bench(arm, emulator.link, board_parameters=('STEP_RATE_MAX=1234',))
    emulator.inject('reboot')
    bench.until(bench.has_rebooted)
    assert bench.bridge.link.read_parameter(Parameter.STEP_RATE_MAX) == 1234
    bench.bridge.close()


def test_the_report_describes_link_and_board(bench, emulator):
    report = BridgeReport(bench.bridge, 0.0)
    bench.until(
        lambda: (
            bench.bridge.link.status().health is not None
            and bench.bridge.link.status().round_trip is not None
        )
    )
    level, line, values = report.figures(time_of_board(bench))
    assert values['link'] == 'connected' and values['board'] == 'DISARMED'
    assert values['faults'] == 'none' and values['CRC errors'] == 0
    # readings that arrive during the report
    assert values['telemetry [Hz]'] == pytest.approx(CALM.telemetry_rate, rel=0.1)
    assert float(values['round trip [ms]']) > 0
    assert (level, line) == ('ok', 'disarmed and not homed: call zero, then enable to arm')
    bench.until(lambda: bench.bridge.readings > 50)
    # four times the duration of these readings
    level, line, values = report.figures(4 * time_of_board(bench))
    assert level == 'warning' and line.endswith(f' Hz instead of {CALM.telemetry_rate} Hz')
    emulator.inject('vanish')
    bench.until(lambda: bench.bridge.link.state == LinkState.NO_PORT)
    level, line, _ = report.figures(5 * time_of_board(bench))
    assert (level, line) == ('error', LinkState.NO_PORT.value)


@pytest.mark.parametrize(
    'word, message',
    [
        ('SPEED=3', 'no parameter "SPEED". Known: '),
        ('DUTY_MAX', '"DUTY_MAX" is not NAME=VALUE with a whole number'),
        ('DUTY_MAX=1.5', '"DUTY_MAX=1.5" is not NAME=VALUE with a whole number'),
        (
            'CURRENT_MAX=30001',
            'CURRENT_MAX=30001 must be 0 to 30000: largest current of the DC motor [mA]',
        ),
        ('TURN_REVERSED=2', 'TURN_REVERSED=2 must be 0 to 1: 1: a positive step rate'),
    ],
)
def test_an_invalid_board_parameter_is_rejected(word, message):
    with pytest.raises(SettingError) as error:
        parameter_values((word,))
    assert str(error.value).startswith(f'board_parameters: {message}')


def test_a_robot_other_than_the_bench_is_rejected(arm):
    other = frs.load('two_link')
    with pytest.raises(SettingError, match='is no bench'):
        RigBridge(other, calibration_of(BridgeSettings(), other), 'nowhere')


def test_the_calibration_file_applies(arm, tmp_path):
    file = tmp_path / 'bench.yaml'
    write_calibration(file, calibration_of(BridgeSettings(), arm))
    assert calibration_of(BridgeSettings(calibration_file=str(file)), arm) == calibration_of(
        BridgeSettings(), arm
    )


def test_an_emulator_process_serves_one_bridge_and_cleans_up(arm):
    emulator = EmulatorProcess()
    bench = Bench(arm, emulator.port)
    bench.until(lambda: len(bench.states) > 10)
    assert np.isfinite(bench.states[-1].position).all()
    bench.bridge.close()
    emulator.close()
    assert not emulator.is_running
    with pytest.raises(RigError, match='there is no such port'):
        RigLink(emulator.port)


def test_an_unresponsive_emulator_process_is_killed_and_cleaned_up():
    emulator = EmulatorProcess()
    os.kill(emulator._process.pid, signal.SIGSTOP)  # as on an overloaded machine
    emulator.close()
    assert not emulator.is_running and not Path(emulator.port).parent.exists()


def test_an_emulator_process_with_an_invalid_fault_is_one_line():
    with pytest.raises(RigError) as error:
        EmulatorProcess(('quake=3',))
    assert str(error.value).startswith('the emulator has not started: no fault "quake". Known: ')
