"""The board in Python, the firmware in QEMU and a real board against one suite of checks."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest

from flex_robot_sim.cli import main
from flex_robot_sim.rig.bench.bench import Bench, Drive
from flex_robot_sim.rig.board import board_state
from flex_robot_sim.rig.board.emulated_rig import rig_of
from flex_robot_sim.rig.board.emulator import Emulator
from flex_robot_sim.rig.board.firmware import TOOLS, missing_tools
from flex_robot_sim.rig.board.qemu import PACKAGES
from flex_robot_sim.rig.conformance import back_ends
from flex_robot_sim.rig.conformance.check_registry import CHECKS
from flex_robot_sim.rig.conformance.check_runner import (
    ATTEMPTS,
    reason_to_skip,
    run_all,
    run_check,
)
from flex_robot_sim.rig.conformance.host import Host
from flex_robot_sim.rig.conformance.safety_checks import play
from flex_robot_sim.rig.wire.board_parameters import Parameter
from flex_robot_sim.rig.wire.faults import BadWire, WireFaults
from flex_robot_sim.rig.wire.frames import FrameReader
from flex_robot_sim.rig.wire.protocol import Arm, Param, Segment, State, Stream
from flex_robot_sim.rig.wire.vocabulary import Access

pytestmark = pytest.mark.slow

NO_QEMU = missing_tools({**TOOLS, **PACKAGES})
by_name = pytest.mark.parametrize('check', CHECKS, ids=lambda check: check.name)


@pytest.fixture(scope='module')
def emulator():
    back_end = back_ends.emulator()
    yield back_end
    back_end.close()


@pytest.fixture(scope='module')
def qemu():
    if NO_QEMU:
        pytest.skip(NO_QEMU)
    back_end = back_ends.qemu()
    yield back_end
    back_end.close()


@pytest.fixture(scope='module')
def port(request):
    back_end = back_ends.PortBackEnd(request.config.getoption('--rig-port'))
    yield back_end
    back_end.close()


class BusyPort(back_ends.PortBackEnd):
    """A port of an emulated board that is suspended together with its host."""

    def __init__(self, emulator):
        self._emulator, self._before, self._longest = emulator, 0.0, 0.0
        super().__init__(emulator.link, moves=True)

    def reset(self):
        """Reset the count."""
        super().reset()
        self._before = self._emulator.lost_time

    @property
    def held_up(self):
        """Return the suspended time; for the board, the total."""
        return max(self._longest, self._emulator.lost_time - self._before)

    @held_up.setter
    def held_up(self, seconds):
        self._longest = seconds


@pytest.fixture(scope='module')
def moving_port(tmp_path_factory):
    """Return the emulator behind a port, in real time."""
    rig = rig_of()
    rig.step()  # compile before anything runs in real time
    with Emulator(tmp_path_factory.mktemp('moving') / 'rig', rig) as emulator:
        back_end = BusyPort(emulator)
        yield back_end
        back_end.close()


def assert_passes(check, back_end):
    reason = reason_to_skip(check, back_end)
    if reason:
        pytest.skip(reason)
    outcome = run_check(check, back_end)
    assert (outcome.result, outcome.detail) == ('passed', '')


@by_name
def test_board_in_python(check, emulator):
    assert_passes(check, emulator)


@by_name
def test_firmware_in_qemu(check, qemu):
    assert_passes(check, qemu)


class Noisy:
    """A back end behind a noisy wire that records sent and received bytes."""

    def __init__(self, back_end, **faults):
        self.back_end, self.bad, self.is_bad = back_end, WireFaults(**faults), False
        self.answer_time = back_end.answer_time
        self.in_lockstep = back_end.in_lockstep
        self.wires = BadWire(1), BadWire(2)
        self.arrived, self.sent = bytearray(), bytearray()

    def exchange(self, data, milliseconds):
        """Exchange bytes like the back end."""
        for wire in self.wires:
            wire.faults = self.bad if self.is_bad else WireFaults()
        data = self.wires[0].transmit(data)
        self.arrived += data
        out = self.back_end.exchange(data, milliseconds)
        self.sent += out
        return self.wires[1].transmit(out)


@pytest.mark.long
def test_firmware_accepts_only_valid_frames_among_30_000_noisy_ones(qemu):
    qemu.reset()
    noisy = Noisy(qemu, noise=1e-3, drop=1e-4, insert=1e-4, half=1e-4)
    host = Host(noisy)
    host.hello()
    host.accepted(Stream(1000))  # the maximum number of frames per step
    before = host.health()
    for seen in (host.frames, noisy.arrived, noisy.sent):
        seen.clear()
    noisy.is_bad = True
    for k in range(6000):
        host.wait(
            5,
            host.setpoint(0.9, 3000.0)
            if k % 10
            else host.encode(Param(Access.WRITE, Parameter.HOME_RATE, k), k),
        )
    noisy.is_bad = False
    host.wait(5, b'\0')
    heard, count = list(host.frames), len(noisy.arrived)
    after = host.health()
    right = sum(chunk in host._valid_frames for chunk in bytes(noisy.arrived[:count]).split(b'\0'))
    assert (after.frames - before.frames, after.unknown_ids, after.length_errors) == (right, 0, 0)
    assert after.crc_errors > 100
    sent = set(FrameReader(from_board=True).feed(bytes(noisy.sent)))
    assert len(heard) > 20_000 and set(heard) <= sent and noisy.wires[1].damaged > 1000
    assert {seen.state for seen in host.telemetry} == {State.DISARMED}


@pytest.mark.rig
@by_name
def test_board_at_a_port(check, port):
    assert_passes(check, port)


WITH_MOTORS_AT_A_PORT = [
    'answers_while_homing_are_those_of_the_table',
    'joint_without_a_lower_switch_is_not_homed',
    'motors_stop_within_100_ms_of_silence_and_stay_off',
    'motor_obeys_signs',
    'reversed_encoder_is_turned_round',
    'set_point_in_a_profile_only_keeps_it_alive',
    'step_rate_follows_its_ramp',
]


@pytest.mark.long(after=3)
@pytest.mark.parametrize('name', WITH_MOTORS_AT_A_PORT)
def test_a_check_with_motion_works_through_a_port(name, moving_port):
    check = next(check for check in CHECKS if check.name == name)
    outcome = run_check(check, moving_port)
    if len(outcome.spoilt) == ATTEMPTS:
        pytest.skip('this computer is too busy: ' + '; '.join(outcome.spoilt))
    assert (outcome.result, outcome.detail) == ('passed', ''), outcome.spoilt


class Computer:
    """A back end whose successive checks are suspended for given times in seconds."""

    in_lockstep, bench, can_reboot, moves, answer_time = False, None, True, True, 1

    def __init__(self, *hold_ups):
        self.hold_ups, self.held_up = list(hold_ups), 0.0

    def reset(self):
        """Suspend for the time of the next check."""
        self.held_up = self.hold_ups.pop(0)

    def exchange(self, data, milliseconds):
        """Return no bytes."""
        return b''


@pytest.mark.parametrize(
    'hold_ups, spoilt',
    [((0.0,), 0), ((0.0, 0.5), 0), ((0.5, 0.0), 1), ((0.5, 0.5, 0.0), 2), ((0.5, 0.5, 0.5), 3)],
    ids=str,
)
def test_a_failed_check_is_repeated_only_after_a_suspension(hold_ups, spoilt):
    check = next(check for check in CHECKS if check.name == 'says_who_it_is')
    outcome = run_check(check, Computer(*hold_ups))  # no answer
    assert (outcome.result, outcome.detail) == ('failed', 'no answer to Hello within 1 ms')
    assert outcome.spoilt == spoilt * (
        'no answer to Hello within 1 ms (this computer was held up for 500 ms)',
    )


def test_unsupported_checks_of_a_port_are_reported_individually():
    class Port:
        bench, can_reboot, moves = None, False, False

    reasons = {check.name: reason_to_skip(check, Port()) for check in CHECKS}
    assert reasons['lost_steps_latch'] == 'needs a stepper that slips, on command'
    assert reasons['nothing_is_sent_before_hello'] == 'needs a board that is reset on command'
    assert reasons['motor_obeys_signs'] == 'moves the motors: give --move'
    assert reasons['says_who_it_is'] == ''
    assert all(isinstance(check.bench, str) for check in CHECKS)


@pytest.fixture
def emulated_port(emulator, tmp_path):
    """Return a port with a board that runs in real time."""
    emulator.reset()
    with Emulator(tmp_path / 'rig', emulator.rig) as emulated:
        yield emulated.link


@pytest.mark.long
def test_the_suite_finds_the_board_at_its_port(emulated_port):
    pytest_here = [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', __file__]
    chosen = '-k', 'at_a_port and (says_who or motors_stop)'
    answer = subprocess.run(
        [*pytest_here, '--rig-port', emulated_port, *chosen], capture_output=True, text=True
    )
    # pytest never switches on unattended motors
    assert '1 passed, 1 skipped' in answer.stdout, answer.stdout


def test_the_command_moves_a_board_at_a_port_only_on_request(emulated_port, capsys):
    words = '--back-end', emulated_port, '--only', 'arming_begins'
    facts = facts_of(capsys, *words)
    assert (facts['passed'], facts['skipped']) == (0, 1)
    facts = facts_of(capsys, *words, '--move')
    assert (facts['back_end'], facts['passed'], facts['failures']) == (emulated_port, 1, {})


def positions(samples):
    return [
        (t.time, t.slide_counts, t.turn_counts, t.adc_root, t.adc_tip, t.step_position)
        for t in samples
    ]


def closed_loop(seconds=3.0):
    """Return telemetry of a proportional controller that moves the slide by 30 mm, in lockstep."""
    back_end = back_ends.emulator()
    back_end.reset()
    host = Host(back_end)
    host.hello()
    host.stream(1000)
    host.accepted(Arm())
    host.telemetry.clear()
    duty = 0.0
    for _ in range(round(seconds * 1000)):
        host.wait(1, host.setpoint(duty, step_rate=100.0))
        duty = controller(host.now.slide_counts)
    assert host.now.state == State.ARMED
    back_end.close()
    return host.telemetry


def controller(counts):
    """Return the duty in integer units of the wire."""
    return round(min(max((9000 - counts) * 2e-4, -1.0), 1.0) * 1e4) / 1e4


def test_a_closed_loop_in_lockstep_is_bitwise_reproducible():
    assert positions(closed_loop(1.0)) == positions(closed_loop(1.0))


def test_a_closed_loop_through_the_wire_equals_one_without_it():
    telemetry = closed_loop()
    bench, counts = Bench(), []
    # the ramp of the step rate in closed form: 32000 steps/s2 up to 100 steps/s
    rise = 100 / 32000
    duty = 0.0
    for k in range(len(telemetry)):
        counts.append(bench.read().encoders)
        end = (k + 1) * 1e-3
        steps = 100 * (end - rise / 2) if end > rise else 16000 * end**2
        bench.advance(Drive(duty, True, math.floor(steps + 1e-9), min(100.0, 32000 * end), True))
        duty = controller(counts[-1][0])
    wire = np.array([(t.slide_counts, t.turn_counts) for t in telemetry])
    # the carriage is at rest when armed; the resolution is one encoder count
    assert np.abs(wire - np.array(counts)).max() <= 1
    assert abs(wire[-1][0] - 9000) < 500  # 8 N of friction over 94 N and 2e-4 per count


def test_a_profile_through_the_wire_moves_the_bench_like_its_inputs():
    rows = [Segment(200_000, 0.6, 150.0), Segment(200_000, -0.6, -150.0)]
    back_end = back_ends.emulator()
    back_end.reset()
    host = Host(back_end)
    host.hello()
    host.stream(1000)
    play(host, rows)
    host.telemetry = [t for t in host.telemetry if t.state == State.PROFILE]
    host.keep_alive(395)
    back_end.close()
    played = [t for t in host.telemetry if t.state == State.PROFILE][:390]
    bench = Bench()
    counts, rate, place = [], 0.0, 0.0
    for k in range(len(played)):
        counts.append(bench.read().encoders)
        row = rows[k // 200]
        # the ramp, with a thousand small segments per step
        for _ in range(1000):
            rate += min(max(row.step_rate - rate, -0.032), 0.032)
            place += rate * 1e-6
        bench.advance(Drive(row.duty, True, math.floor(place + 1e-6), rate, True))
    wire = np.array([(t.slide_counts - 45_000, t.turn_counts) for t in played])
    # one count of resolution, plus a microstep from the sum of the ramp
    assert np.abs(wire - np.array(counts)).max() <= 2


def facts_of(capsys, *words):
    """Return the JSON object that `flexsim rig conformance WORDS` prints."""
    assert main(['rig', 'conformance', *words, '--json']) == 0
    return json.loads(capsys.readouterr().out)


def test_command_prints_one_object(capsys):
    facts = facts_of(capsys, '--only', 'motors_stop')
    assert (facts['back_end'], facts['passed'], facts['failed']) == ('emulator', 1, 0)
    assert facts['stop_after_silence_ms'] <= 100


def test_the_command_prints_a_table_and_its_exit_code_shows_a_failure(capsys, monkeypatch):
    assert main(['rig', 'conformance', '--only', 'motors_stop']) == 0
    assert 'ok      motors stop within 100 ms of silence' in capsys.readouterr().out
    monkeypatch.setattr(board_state, 'WATCHDOG', 150_000)
    assert main(['rig', 'conformance', '--only', 'motors_stop']) == 1
    assert 'FAILED  motors stop within' in capsys.readouterr().out


def test_an_invalid_back_end_or_option_is_one_line(capsys):
    assert main(['rig', 'conformance', '--back-end', '/dev/none']) == 2
    assert '/dev/none: there is no such port' in capsys.readouterr().err
    assert main(['rig', 'conformance', '--only', 'zebra']) == 2
    assert capsys.readouterr().err.count('\n') == 1


def test_the_emulator_passes_every_check(emulator):
    outcomes, metrics = run_all(emulator, only='says_who')
    assert [outcome.result for outcome in outcomes] == ['passed']
    assert metrics['steps_per_second'] > 0
    assert not any(reason_to_skip(check, emulator) for check in CHECKS)
