"""The board in Python, the firmware in QEMU and a real board against one suite of checks."""

import json
import math

import numpy as np
import pytest

from flex_robot_sim.cli import main
from flex_robot_sim.rig import board_commands, board_senses, emulated_board
from flex_robot_sim.rig.bench import Bench, Drive
from flex_robot_sim.rig.conformance import back_ends
from flex_robot_sim.rig.conformance.checks import CHECKS
from flex_robot_sim.rig.conformance.host import Host
from flex_robot_sim.rig.conformance.run import reason_to_skip, run_all, run_check
from flex_robot_sim.rig.conformance.safety_checks import play
from flex_robot_sim.rig.emulator_process import EmulatorProcess
from flex_robot_sim.rig.firmware import TOOLS, missing_tools
from flex_robot_sim.rig.protocol import Arm, Fault, Segment, State
from flex_robot_sim.rig.qemu import PACKAGES

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


@pytest.fixture(scope='module')
def moving_port():
    """Return the emulator behind a port, in real time."""
    emulator = EmulatorProcess()
    back_end = back_ends.PortBackEnd(emulator.port, moves=True)
    yield back_end
    back_end.close()
    emulator.close()


def judge(check, back_end):
    reason = reason_to_skip(check, back_end)
    if reason:
        pytest.skip(reason)
    outcome = run_check(check, back_end)
    assert (outcome.result, outcome.detail) == ('passed', '')


@by_name
def test_board_in_python(check, emulator):
    judge(check, emulator)


@pytest.mark.slow
@by_name
def test_firmware_in_qemu(check, qemu):
    judge(check, qemu)


@pytest.mark.rig
@by_name
def test_board_at_a_port(check, port):
    judge(check, port)


WITH_MOTORS_AT_A_PORT = [
    'answers_while_homing_are_those_of_the_table', 'joint_without_a_lower_switch_is_not_homed',
    'motors_stop_within_100_ms_of_silence_and_stay_off', 'motor_obeys_signs',
    'reversed_encoder_is_turned_round', 'set_point_in_a_profile_only_keeps_it_alive',
    'step_position_is_that_of_the_start_of_the_step']


@pytest.mark.slow
@pytest.mark.parametrize('name', WITH_MOTORS_AT_A_PORT)
def test_check_that_moves_the_motors_can_be_made_through_a_port(name, moving_port):
    check = next(check for check in CHECKS if check.name == name)
    # a busy computer may take longer than the 50 ms in which a board answers
    outcomes = (run_check(check, moving_port) for _ in range(3))
    assert any(outcome.result == 'passed' for outcome in outcomes)


def test_what_a_port_cannot_do_is_said_check_by_check():
    class Port:
        bench, can_reboot, moves = None, False, False

    reasons = {check.name: reason_to_skip(check, Port()) for check in CHECKS}
    assert reasons['lost_steps_latch'] == 'needs a stepper that slips, when told to'
    assert reasons['nothing_is_sent_before_hello'] == 'needs a board that is reset when told to'
    assert reasons['motor_obeys_signs'] == 'moves the motors: give --move'
    assert reasons['says_who_it_is'] == ''


def _estop_of_this_session_only(commands, frame, handle=board_commands.Commands.handle):
    if frame.message.ID == 0x2F and frame.session != commands.session:
        return
    handle(commands, frame)


def _carries_out_again(commands, frame, command=board_commands.Commands._command):
    commands._last = None
    command(commands, frame)


MUTANTS = {
    'watchdog of 120 ms': (
        'motors_stop_within_100_ms_of_silence_and_stay_off', emulated_board, 'WATCHDOG', 120_000),
    'no watchdog': (
        'nothing_but_a_set_point_feeds_the_watchdog', emulated_board, 'WATCHDOG', 60_000_000),
    'ESTOP of one session': (
        'estop_is_taken_in_every_session', board_commands.Commands, 'handle',
        _estop_of_this_session_only),
    'repetitions carried out': (
        'repeated_command_is_answered_alike_and_carried_out_once', board_commands.Commands,
        '_command', _carries_out_again),
    'old set points taken': (
        'old_set_point_is_not_taken', board_commands, '_is_newer', lambda sequence, last: True),
    'switches of the slide swapped': (
        'limit_in_motion_latches_and_lets_go_only_away_from_it', board_senses, 'LOWER', (2, 4)),
    'no validity': (
        'set_point_holds_for_its_validity', emulated_board.EmulatedBoard, 'drive',
        lambda board, setpoint: (board.feed_watchdog(),
                                 setattr(board, '_asked', setpoint[1:3]),
                                 setattr(board, '_valid_until', math.inf))),
    'other versions may arm': (
        'other_version_may_look_and_not_touch', board_commands, 'READ_ONLY_REFUSES', set()),
    'motion after a profile': (
        'profile_switches_in_the_step_in_which_it_is_due', emulated_board, 'STAND',
        emulated_board.Asked(0.05, 0.0)),
    'no ramp': (
        'step_rate_follows_its_ramp', emulated_board.StepRamp, 'advance',
        lambda ramp, target, *_: setattr(ramp, 'rate', target)),
    'limits do not latch': (
        'limit_in_motion_latches_and_lets_go_only_away_from_it', board_senses, 'LIMIT',
        (Fault(0), Fault(0))),
    'faults go by themselves': (
        'stop_button_latches_in_every_state_and_clear_waits_for_its_release',
        emulated_board.EmulatedBoard, 'persisting', lambda board: Fault(0)),
}


@pytest.mark.parametrize('mutant', MUTANTS)
def test_board_that_breaks_a_rule_fails_the_check_of_that_rule(mutant, emulator, monkeypatch):
    name, *change = MUTANTS[mutant]
    (check,) = (check for check in CHECKS if check.name == name)
    monkeypatch.setattr(*change)
    assert run_check(check, emulator).result == 'failed'


def positions(samples):
    return [(t.time, t.slide_counts, t.turn_counts, t.adc_root, t.adc_tip, t.step_position)
            for t in samples]


def closed_loop(seconds=3.0):
    """Telemetry of a proportional controller that brings the slide 30 mm on, in lockstep."""
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
    """Duty, in whole numbers of what the wire holds."""
    return round(min(max((9000 - counts) * 2e-4, -1.0), 1.0) * 1e4) / 1e4


def test_closed_loop_in_lockstep_is_the_same_to_the_last_bit():
    assert positions(closed_loop(1.0)) == positions(closed_loop(1.0))


def test_closed_loop_through_the_wire_is_that_without_it():
    telemetry = closed_loop()
    bench, counts = Bench(conversions=16), []
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
    # the carriage is still when it is armed; a count of the encoders is the resolution
    assert np.abs(wire - np.array(counts)).max() <= 1
    assert abs(wire[-1][0] - 9000) < 500        # 8 N of friction over 94 N and 2e-4 per count


def test_profile_through_the_wire_moves_the_bench_as_its_inputs_do():
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
    bench = Bench(conversions=16)
    counts, rate, place = [], 0.0, 0.0
    for k in range(len(played)):
        counts.append(bench.read().encoders)
        row = rows[k // 200]
        # the ramp, a thousand small pieces for each step
        for _ in range(1000):
            rate += min(max(row.step_rate - rate, -0.032), 0.032)
            place += rate * 1e-6
        bench.advance(Drive(row.duty, True, math.floor(place + 1e-6), rate, True))
    wire = np.array([(t.slide_counts - 45_000, t.turn_counts) for t in played])
    # one count of resolution, and a microstep of the ramp's sum
    assert np.abs(wire - np.array(counts)).max() <= 2


def test_command_prints_one_object(capsys):
    assert main(['rig', 'conformance', '--only', 'motors_stop', '--json']) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts['back_end'], facts['passed'], facts['failed']) == ('emulator', 1, 0)
    assert facts['stop_after_silence_ms'] <= 100


def test_command_prints_a_table_and_its_code_tells_a_failure(capsys, monkeypatch):
    assert main(['rig', 'conformance', '--only', 'motors_stop']) == 0
    assert 'ok      motors stop within 100 ms of silence' in capsys.readouterr().out
    monkeypatch.setattr(emulated_board, 'WATCHDOG', 150_000)
    assert main(['rig', 'conformance', '--only', 'motors_stop']) == 1
    assert 'FAILED  motors stop within' in capsys.readouterr().out


def test_wrong_back_end_and_wrong_word_are_one_line(capsys):
    assert main(['rig', 'conformance', '--back-end', '/dev/none']) == 2
    assert '/dev/none: there is no such port' in capsys.readouterr().err
    assert main(['rig', 'conformance', '--only', 'zebra']) == 2
    assert capsys.readouterr().err.count('\n') == 1


def test_every_check_is_made_by_the_emulator(emulator):
    outcomes, metrics = run_all(emulator, only='says_who')
    assert [outcome.result for outcome in outcomes] == ['passed']
    assert metrics['steps_per_second'] > 0
    assert not any(reason_to_skip(check, emulator) for check in CHECKS)
