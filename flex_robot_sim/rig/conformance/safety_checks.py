"""Checks of the safety functions: states, watchdog, set points, profiles and limits."""

from collections.abc import Sequence
from typing import Any

from flex_robot_sim.rig.conformance.check_registry import check
from flex_robot_sim.rig.conformance.host import Host, expect, expect_equal
from flex_robot_sim.rig.wire import protocol as wire
from flex_robot_sim.rig.wire.behaviour import ALIVE, ANSWERS, WRITE
from flex_robot_sim.rig.wire.binary_layout import Message, MessageClass
from flex_robot_sim.rig.wire.board_parameters import Parameter
from flex_robot_sim.rig.wire.frames import encode
from flex_robot_sim.rig.wire.profile import profile_crc
from flex_robot_sim.rig.wire.ticks import elapsed
from flex_robot_sim.rig.wire.vocabulary import (
    CONSTANTS,
    Access,
    EventKind,
    Fault,
    Joint,
    Mode,
    Result,
    State,
)

WATCHDOG = CONSTANTS['WATCHDOG_MS'][0]
LONG_PROFILE = (wire.Segment(5_000_000, 0.0, 0.0),)


def load_profile(host: Host, rows: Sequence[wire.Segment]) -> int:
    """Load a profile and return its CRC."""
    crc = profile_crc(rows)
    for first in range(0, len(rows), 8):
        chunk = wire.ProfileLoad(first, len(rows), crc, tuple(rows[first : first + 8]))
        expect_equal(host.accepted(chunk).value, min(first + 8, len(rows)), 'segments held')
    return crc


def give_origins(host: Host) -> None:
    """Declare both joints homed at their present position, in the middle of their travel."""
    host.accepted(wire.Zero(Joint.SLIDE, 45_000))
    host.accepted(wire.Zero(Joint.TURN, 0))


def play(host: Host, rows: Sequence[wire.Segment]) -> None:
    """Start a profile from DISARMED, with both joints homed."""
    give_origins(host)
    crc = load_profile(host, rows)
    host.accepted(wire.Arm())
    host.accepted(wire.ProfileStart(crc))


def bring_to_state(host: Host, state: State) -> None:
    """Bring the board into a state from any other."""
    host.command(wire.Disarm())
    host.command(wire.Clear())
    if state == State.ARMED:
        host.accepted(wire.Arm())
    elif state == State.HOMING:
        host.accepted(wire.Arm())
        host.accepted(wire.Home(Joint.SLIDE))
    elif state == State.PROFILE:
        play(host, LONG_PROFILE)
    elif state == State.FAULT:
        host.command(wire.Estop())
    expect_equal(host.fresh().state, state, 'state that was asked for')


def example(kind: MessageClass, variant: str) -> Message:
    """Return a message of a kind with fields in range."""
    examples = {
        wire.Home: wire.Home(Joint.SLIDE),
        wire.Zero: wire.Zero(Joint.SLIDE, 45_000),
        wire.Stream: wire.Stream(1000),
        wire.ProfileLoad: wire.ProfileLoad(0, 1, profile_crc(LONG_PROFILE), LONG_PROFILE),
        wire.ProfileStart: wire.ProfileStart(profile_crc(LONG_PROFILE)),
        wire.Param: wire.Param(
            Access.WRITE if variant == WRITE else Access.READ, Parameter.HOME_RATE, 320
        ),
    }
    return examples[kind] if kind in examples else kind()


def answer_of(host: Host, kind: MessageClass, variant: str) -> Result:
    """Send a command or a set point, and return its result."""
    if kind is not wire.Setpoint:
        return host.command(example(kind, variant)).result
    mode = Mode.ALIVE if variant == ALIVE else Mode.DRIVE
    host.wait(3, host.setpoint(mode=mode))
    sequence = host.last_setpoint
    if host.fresh().setpoint_sequence == sequence:
        return Result.ACCEPTED
    return host.health().last_refusal


def check_answers(host: Host, state: State, table: Any) -> None:
    """Compare the answer to every command in one state with the table of the page."""
    host.stream()
    give_origins(host)
    load_profile(host, LONG_PROFILE)
    for (kind, variant), row in table.items():
        bring_to_state(host, state)
        answer = row[state]
        if (kind, state) == (wire.ProfileStart, State.ARMED):
            # reaching another state may have dropped the profile
            bring_to_state(host, State.DISARMED)
            give_origins(host)
            load_profile(host, LONG_PROFILE)
            host.accepted(wire.Arm())
        expect_equal(
            answer_of(host, kind, variant),
            answer.result,
            f'{kind.__name__} {variant} in {state.name}',
        )
        actual_state = host.fresh().state
        moved_on = State.FAULT if state in (State.ARMED, State.HOMING, State.PROFILE) else None
        expected_state = (
            state if answer.state is None or answer.result != Result.ACCEPTED else answer.state
        )
        # HEALTH takes up to 100 ms, in which the watchdog may latch
        if not (kind is wire.Setpoint and actual_state == moved_on):
            expect_equal(
                actual_state,
                expected_state,
                f'state after {kind.__name__} {variant} in {state.name}',
            )


@check()
def answers_while_disarmed_are_those_of_the_table(host: Host) -> None:
    check_answers(
        host, State.DISARMED, {key: row for key, row in ANSWERS.items() if key[0] is not wire.Arm}
    )


@check()
def answers_in_fault_are_those_of_the_table(host: Host) -> None:
    check_answers(host, State.FAULT, ANSWERS)


@check(moves=True)
def answers_while_armed_are_those_of_the_table(host: Host) -> None:
    check_answers(
        host, State.ARMED, {key: row for key, row in ANSWERS.items() if key[0] is not wire.Home}
    )


@check(moves=True)
def answers_while_homing_are_those_of_the_table(host: Host) -> None:
    check_answers(host, State.HOMING, ANSWERS)


@check(moves=True)
def answers_during_a_profile_are_those_of_the_table(host: Host) -> None:
    check_answers(host, State.PROFILE, ANSWERS)


@check()
def values_out_of_range_are_refused_with_their_place(host: Host) -> None:
    rows = (wire.Segment(1000, 0.0, 0.0),)
    crc = profile_crc(rows)
    for message, place in (
        (wire.Zero(9, 0), 0),  # type: ignore[arg-type]
        (wire.Stream(7), 0),
        (wire.ProfileLoad(3, 2, crc, rows), 0),
        (wire.ProfileLoad(0, 257, crc, rows), 1),
        (wire.ProfileLoad(0, 1, crc, (wire.Segment(999, 0.0, 0.0),)), 3),
        (wire.ProfileLoad(0, 1, crc, (wire.Segment(60_000_001, 0.0, 0.0),)), 3),
        (wire.ProfileLoad(0, 1, crc, (wire.Segment(1000, 1.5, 0.0),)), 3),
        (wire.ProfileLoad(0, 1, crc, (wire.Segment(1000, 0.0, 1e5),)), 3),
    ):
        ack = host.command(message)
        expect_equal((ack.result, ack.value), (Result.OUT_OF_RANGE, place), repr(message))


@check()
def profile_that_does_not_fit_together_is_refused(host: Host) -> None:
    rows = tuple(wire.Segment(1000 + k, 0.0, 0.0) for k in range(20))
    crc = profile_crc(rows)
    chunks = [wire.ProfileLoad(first, 20, crc, rows[first : first + 8]) for first in (0, 8, 16)]
    for order, what in (([0, 2], 'a chunk is missing'), ([1], 'the first chunk is missing')):
        for k in order[:-1]:
            host.accepted(chunks[k])
        ack = host.command(chunks[order[-1]])
        expect_equal(ack.result, Result.BAD_PROFILE, what)
    for k in (0, 1):
        host.accepted(chunks[k])
    wrong = chunks[2]._replace(segments=(wire.Segment(5000, 0.0, 0.0),) * 4)
    expect_equal(host.command(wrong).result, Result.BAD_PROFILE, 'wrong CRC')
    expect_equal(load_profile(host, rows), crc, 'CRC')


@check(moves=True)
def profile_needs_to_be_there_and_both_joints_homed(host: Host) -> None:
    host.stream()
    crc = load_profile(host, LONG_PROFILE)
    host.accepted(wire.Arm())
    if not host.back_end.can_reboot:
        return
    expect_equal(host.command(wire.ProfileStart(crc)).result, Result.NOT_HOMED, 'not homed')
    expect_equal(host.command(wire.ProfileStart(crc ^ 1)).result, Result.NO_PROFILE, 'another one')


@check(moves=True)
def motors_stop_within_100_ms_of_silence_and_stay_off(host: Host) -> None:
    host.stream()
    longest = 0
    for silence in range(3):
        host.accepted(wire.Arm())
        host.telemetry.clear()
        host.drive(50 + silence, duty=0.05)
        sequence = host.last_setpoint
        host.wait(3 * WATCHDOG)
        acknowledged = next((t for t in host.telemetry if t.setpoint_sequence == sequence), None)
        expect(acknowledged is not None, 'no TELEMETRY shows the last set point')
        off = next((t for t in host.telemetry if t.state == State.FAULT), None)
        expect(off is not None, f'still {host.now.state.name} after {3 * WATCHDOG} ms of silence')
        assert acknowledged and off
        expect_equal(off.faults, Fault.WATCHDOG, 'faults')
        longest = max(longest, elapsed(off.time, acknowledged.time))
        expect(
            all(
                t.duty == 0 and t.step_rate == 0 for t in host.telemetry if t.state == State.FAULT
            ),
            'outputs are not off',
        )
        host.drive(100, duty=0.05)
        expect_equal((host.now.state, host.now.duty), (State.FAULT, 0.0), 'set points after it')
        expect_equal(host.command(wire.Arm()).result, Result.LATCHED, 'ARM after it')
        host.accepted(wire.Clear())
        host.drive(50, duty=0.05)
        expect_equal((host.now.state, host.now.duty), (State.DISARMED, 0.0), 'after CLEAR')
    host.metrics['stop_after_silence_ms'] = longest / 1000
    expect(longest <= WATCHDOG * 1000, f'motors off {longest / 1000} ms after the last set point')


@check(moves=True)
def nothing_but_a_set_point_feeds_the_watchdog(host: Host) -> None:
    host.stream_armed()
    for k in range(30):
        host.wait(5, encode(wire.Setpoint(Mode.ALIVE, 0, 0, 50), host.session % 255 + 1, k))
        host.wait(
            5,
            host.encode(wire.Setpoint(Mode.DRIVE, 0.0, 0.0, 0), (host.last_setpoint + 1) % 65536),
        )
        host.command(wire.Stream(1000))
    expect_equal(host.fresh().faults, Fault.WATCHDOG, 'faults')


@check(moves=True)
def set_point_holds_for_its_validity(host: Host) -> None:
    host.stream_armed()
    host.wait(1, host.alive())
    host.telemetry.clear()
    host.wait(60, host.setpoint(0.03, validity=20))
    applied = [t.time for t in host.telemetry if t.duty == 0.03]
    expect(applied, 'the duty was not applied')
    held = elapsed(applied[-1], applied[0]) + 1000
    expect(19_000 <= held <= 21_000, f'duty held for {held} us instead of 20 ms')
    expect_equal(host.now.state, State.ARMED, 'state after the validity')


@check(moves=True)
def old_set_point_is_not_taken(host: Host) -> None:
    host.stream_armed()
    host.wait(3, host.setpoint(0.03))
    newest = host.last_setpoint
    for back in (0, 1, 5, 32768):
        older = wire.Setpoint(Mode.DRIVE, -0.02, 0.0, 50)
        host.wait(3, host.encode(older, (newest - back) % 65536))
        expect_equal(
            (host.now.setpoint_sequence, host.now.duty),
            (newest, 0.03),
            f'set point {back} before the newest',
        )
    expect_equal(host.health().last_refusal, Result.OLD, 'refusal')


@check(moves=True)
def disarm_and_estop_take_the_outputs_off_at_once(host: Host) -> None:
    host.stream()
    for message, state in ((wire.Disarm(), State.DISARMED), (wire.Estop(), State.FAULT)):
        host.accepted(wire.Arm())
        host.drive(30, duty=0.05, step_rate=50.0)
        expect(host.now.duty != 0, 'the motor was not on')
        host.telemetry.clear()
        ack = host.command(message)
        expect_equal(ack.state, state, 'state in the answer')
        host.wait(5)
        off = [t for t in host.telemetry if t.state == state]
        expect(off and all(t.duty == 0 and t.step_rate == 0 for t in off), 'outputs stayed on')
        host.command(wire.Clear())


@check(moves=True)
def new_session_disarms(host: Host) -> None:
    host.stream_armed()
    host.drive(30, duty=0.05)
    host.hello()
    host.stream()
    expect_equal((host.now.state, host.now.duty), (State.DISARMED, 0.0), 'state and duty')


@check(moves=True)
def arming_begins_with_an_arm_that_stands(host: Host) -> None:
    host.stream_armed()
    host.drive(20, duty=0.05)
    host.accepted(wire.Disarm())
    host.telemetry.clear()
    host.accepted(wire.Arm())
    host.wait(20)
    expect(all(t.duty == 0 for t in host.telemetry), 'an old set point came back')


@check(moves=True)
def profile_switches_in_the_step_in_which_it_is_due(host: Host) -> None:
    host.stream()
    rows = [
        wire.Segment(20_500, 0.02, 0.0),
        wire.Segment(10_000, -0.02, 0.0),
        wire.Segment(15_400, 0.01, 0.0),
        *(wire.Segment(2_000, 0.001 * (k % 9), 0.0) for k in range(30)),
    ]
    play(host, rows)
    host.telemetry = [t for t in host.telemetry if t.state == State.PROFILE]
    host.keep_alive(150)
    played = [t for t in host.telemetry if t.state == State.PROFILE]
    start, ends, total = played[0].time, [], 0
    for row in rows:
        total += row.duration
        ends.append(total)
    for t in played:
        since = elapsed(t.time, start)
        k = next(k for k, end in enumerate(ends) if since < end)
        expect(abs(t.duty - rows[k].duty) < 1e-9, f'duty {t.duty} at {since} us')
    expect(elapsed(played[-1].time, start) + 1000 >= total, 'the profile was cut')
    expect_equal((host.now.state, host.now.duty), (State.ARMED, 0.0), 'after the profile')
    host.keep_alive(50)
    expect(host.has_event(EventKind.PROFILE_DONE, len(rows)), 'no event reports the end')


@check(moves=True)
def profile_ends_with_estop_and_with_silence(host: Host) -> None:
    host.stream()
    rows = [wire.Segment(2_000_000, 0.02, 0.0)]
    play(host, rows)
    host.keep_alive(50)
    host.command(wire.Estop())
    expect_equal(
        (host.fresh().state, host.now.faults, host.now.duty),
        (State.FAULT, Fault.ESTOP_COMMAND, 0.0),
        'after ESTOP',
    )
    host.accepted(wire.Clear())
    play(host, rows)
    host.wait(2 * WATCHDOG)
    expect_equal(
        (host.now.state, host.now.faults, host.now.duty),
        (State.FAULT, Fault.WATCHDOG, 0.0),
        'after silence',
    )


@check(moves=True)
def soft_limit_stops_motion_outwards_only(host: Host) -> None:
    host.stream()
    give_origins(host)
    host.accepted(wire.Zero(Joint.SLIDE, 88_600))  # beyond the upper soft limit
    host.accepted(wire.Arm())
    host.drive(20, duty=0.02)
    expect_equal((host.now.state, host.now.duty), (State.ARMED, 0.0), 'outwards')
    host.drive(20, duty=-0.02)
    expect_equal((host.now.state, host.now.duty), (State.ARMED, -0.02), 'inwards')
    host.accepted(wire.Disarm())
    host.accepted(wire.Zero(Joint.SLIDE, 45_000))
    host.accepted(wire.Zero(Joint.TURN, -600))
    host.accepted(wire.Arm())
    host.drive(20, step_rate=-50.0)
    expect_equal((host.now.state, host.now.step_rate), (State.ARMED, 0.0), 'turn outwards')
    host.drive(20, step_rate=50.0)
    expect(host.now.step_rate > 0, 'turn inwards')


@check(moves=True)
def profile_that_runs_into_a_soft_limit_ends_in_a_fault(host: Host) -> None:
    host.stream()
    give_origins(host)
    host.accepted(wire.Zero(Joint.SLIDE, 88_600))
    crc = load_profile(host, [wire.Segment(30_000, 0.0, 0.0), wire.Segment(100_000, 0.02, 0.0)])
    host.accepted(wire.Arm())
    host.accepted(wire.ProfileStart(crc))
    host.keep_alive(80)
    expect_equal((host.now.state, host.now.faults), (State.FAULT, Fault.LIMIT_SLIDE), 'fault')
