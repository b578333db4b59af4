"""Checks that motion ends in all conditions: stops, silence, other hosts, clock wrap."""

from typing import Any

from flex_robot_sim.rig.bench.parts import SLIDE, TURN
from flex_robot_sim.rig.conformance.check_registry import check
from flex_robot_sim.rig.conformance.host import Host, expect, expect_equal
from flex_robot_sim.rig.conformance.safety_checks import WATCHDOG, bring_to_state, play
from flex_robot_sim.rig.wire import protocol as wire
from flex_robot_sim.rig.wire.frames import encode
from flex_robot_sim.rig.wire.ticks import WRAP, elapsed
from flex_robot_sim.rig.wire.vocabulary import Fault, Input, Joint, Mode, Result, State

LINE_BYTES_PER_MS = 92  # throughput of the line


def expect_off(host: Host, state: State, faults: Fault, what: str) -> None:
    """Expect the board in this state with these faults, and its outputs off."""
    now = host.fresh()
    expect_equal((now.state, now.faults, now.duty, now.step_rate), (state, faults, 0.0, 0.0), what)


def expect_watchdog(host: Host, since: int, what: str) -> None:
    """Expect a latched watchdog, at most WATCHDOG ms of board time after `since` [us]."""
    off: Any = next((t for t in host.telemetry if t.state == State.FAULT), None)
    expect(off is not None, f'{what}: still {host.now.state.name}')
    expect_equal((off.faults, off.duty, off.step_rate), (Fault.WATCHDOG, 0.0, 0.0), what)
    late = elapsed(off.time, since)
    expect(late <= WATCHDOG * 1000, f'{what}: outputs off after {late / 1000} ms')


def stamp_of(host: Host, sequence: int) -> int:
    """Return the board time [us] of the step that accepted the set point with this number."""
    return next(t.time for t in host.telemetry if t.setpoint_sequence == sequence)


@check(reboot=True)
def estop_is_taken_before_any_hello(host: Host) -> None:
    host.back_end.reboot()
    ack = host.command(wire.Estop(), session=0)
    expect_equal(
        (ack.result, ack.state, ack.faults),
        (Result.ACCEPTED, State.FAULT, Fault.ESTOP_COMMAND),
        'answer',
    )
    host.hello()
    host.stream()
    expect_off(host, State.FAULT, Fault.ESTOP_COMMAND, 'after HELLO')
    expect_equal(host.command(wire.Arm()).result, Result.LATCHED, 'ARM')


@check()
def estop_is_taken_in_a_read_only_session_which_cannot_clear_it(host: Host) -> None:
    host.hello(major=wire.MAJOR + 1)
    ack = host.command(wire.Estop())
    expect_equal((ack.result, ack.state), (Result.ACCEPTED, State.FAULT), 'answer')
    expect_equal(host.command(wire.Clear()).result, Result.READ_ONLY, 'CLEAR')
    host.hello()
    host.stream()
    expect_off(host, State.FAULT, Fault.ESTOP_COMMAND, 'in the next session')
    host.accepted(wire.Clear())


@check(moves=True)
def estop_adds_itself_to_a_fault_and_only_arm_after_clear_moves_again(host: Host) -> None:
    host.stream_armed()
    host.drive(30, duty=0.05)
    host.wait(2 * WATCHDOG)
    host.command(wire.Estop())
    both = Fault.WATCHDOG | Fault.ESTOP_COMMAND
    expect_off(host, State.FAULT, both, 'ESTOP after the watchdog')
    host.drive(30, duty=0.05, step_rate=50.0)
    expect_off(host, State.FAULT, both, 'set points while it is latched')
    expect_equal(host.command(wire.Arm()).result, Result.LATCHED, 'ARM while it is latched')
    host.accepted(wire.Clear())
    host.drive(30, duty=0.05, step_rate=50.0)
    expect_off(host, State.DISARMED, Fault(0), 'set points after CLEAR')
    expect_equal(host.command(wire.Home(Joint.SLIDE)).result, Result.NOT_ARMED, 'HOME after CLEAR')
    host.accepted(wire.Arm())
    host.wait(10)
    expect_off(host, State.ARMED, Fault(0), 'after ARM, before a set point')
    host.drive(30, duty=0.05)
    expect_equal((host.now.state, host.now.duty), (State.ARMED, 0.05), 'set points after ARM')


@check(moves=True)
def hello_of_another_version_stops_motion_and_cannot_begin_it_again(host: Host) -> None:
    for other in ({'major': wire.MAJOR + 1}, {'schema_crc': wire.SCHEMA_CRC ^ 1}):
        host.hello()
        host.stream_armed()
        host.drive(30, duty=0.05)
        host.hello(**other)
        host.stream()
        host.drive(30, duty=0.05)
        expect_off(host, State.DISARMED, Fault(0), 'set points of another version')
        expect_equal(host.health().last_refusal, Result.READ_ONLY, 'refusal of the set points')
        expect_equal(host.command(wire.Arm()).result, Result.READ_ONLY, 'ARM')


@check(moves=True)
def replay_of_a_session_touches_nothing_in_the_one_that_runs(host: Host) -> None:
    host.stream()
    setpoints = [host.setpoint(0.05, 50.0) for _ in range(20)]
    first, second = ((host.last_command + k) % 65536 for k in (5, 6))
    recorded = [host.encode(wire.Arm(), first), *setpoints, host.encode(wire.Disarm(), second)]
    host.hello()
    host.stream_armed()
    host.wait(2, host.alive())
    since = stamp_of(host, host.last_setpoint)
    host.telemetry.clear()
    for data in recorded * 10:
        host.wait(1, data)
    armed = [t for t in host.telemetry if t.state == State.ARMED]
    expect(
        armed and all((t.duty, t.step_rate) == (0.0, 0.0) for t in host.telemetry),
        'the replay moved the motors or disarmed',
    )
    expect_watchdog(host, since, 'nothing but a replay')


@check(moves=True)
def flood_feeds_no_watchdog_and_the_board_lives_on(host: Host) -> None:
    host.stream()
    foreign_set_points = encode(
        wire.Setpoint(Mode.DRIVE, 0.05, 50.0, 100), host.session % 255 + 1, 1
    )
    for noise, what in (
        (lambda: host.random.randbytes(LINE_BYTES_PER_MS), 'random bytes'),
        (lambda: foreign_set_points * 4, 'set points of another session'),
        (lambda: b'\x55' * LINE_BYTES_PER_MS, 'a frame without end'),
    ):
        host.accepted(wire.Arm())
        host.drive(30, duty=0.05)
        since = stamp_of(host, host.last_setpoint)
        host.telemetry.clear()
        for _ in range(2 * WATCHDOG):
            host.wait(1, noise())
        expect_watchdog(host, since, what)
        host.wait(100, b'\0')
        host.accepted(wire.Clear())


@check(moves=True, reboot=True)
def clock_wraps_in_motion_and_every_time_is_kept(host: Host) -> None:
    def before_the_wrap(milliseconds):
        host.back_end.reboot_before_wrap(1.0)
        host.hello()
        host.stream()
        host.wait((WRAP - host.now.time) // 1000 - milliseconds)

    before_the_wrap(100)
    host.accepted(wire.Arm())
    host.drive(30, duty=0.05)
    host.telemetry.clear()
    host.drive(300, duty=0.05)
    expect(host.now.time < WRAP // 2 < host.telemetry[0].time, 'the clock has not wrapped')
    expect(
        {(t.state, t.duty) for t in host.telemetry} == {(State.ARMED, 0.05)},
        'the motion was not even',
    )

    before_the_wrap(50)  # the last set point before the wrap, the watchdog after it
    host.accepted(wire.Arm())
    host.drive(30, duty=0.05)
    since = stamp_of(host, host.last_setpoint)
    host.wait(2 * WATCHDOG)
    expect_watchdog(host, since, 'silence over the wrap')
    off = next(t for t in host.telemetry if t.state == State.FAULT)
    expect(off.time < WRAP // 2, 'the watchdog did not wait for the wrap')
    expect(elapsed(off.time, since) >= (WATCHDOG - 2) * 1000, 'the watchdog bit early')

    before_the_wrap(20)  # and its validity
    host.accepted(wire.Arm())
    host.telemetry.clear()
    host.wait(80, host.setpoint(0.03, validity=40))
    held = [t.time for t in host.telemetry if t.duty == 0.03]
    expect(held and held[-1] < WRAP // 2 < held[0], 'the validity does not span the wrap')
    expect_equal(elapsed(held[-1], held[0]) + 1000, 40_000, 'duty held [us]')

    before_the_wrap(100)  # and a profile
    play(host, [wire.Segment(150_000, 0.02, 0.0), wire.Segment(100_000, -0.02, 0.0)])
    host.telemetry = [t for t in host.telemetry if t.state == State.PROFILE]
    host.keep_alive(300)
    played = [t for t in host.telemetry if t.state == State.PROFILE]
    expect(played[-1].time < WRAP // 2 < played[0].time, 'the profile does not span the wrap')
    turned = next(t.time for t in played if t.duty < 0)
    expect_equal(
        (elapsed(turned, played[0].time), elapsed(played[-1].time, played[0].time)),
        (150_000, 249_000),
        'switching instants [us]',
    )
    expect_equal((host.now.state, host.now.faults), (State.ARMED, Fault(0)), 'after the profile')


@check(bench='switches that close, and a stop button that is pressed')
def homing_ends_with_estop_silence_and_every_other_switch(host: Host) -> None:
    host.stream()
    faults = host.back_end.bench.faults
    bring_to_state(host, State.HOMING)
    host.keep_alive(30)
    host.command(wire.Estop())
    expect_off(host, State.FAULT, Fault.ESTOP_COMMAND, 'ESTOP')
    bring_to_state(host, State.HOMING)
    host.wait(1, host.alive())
    host.fresh()
    since = stamp_of(host, host.last_setpoint)
    host.telemetry.clear()
    host.wait(2 * WATCHDOG)
    expect_watchdog(host, since, 'silence')
    bring_to_state(host, State.HOMING)
    faults.stop_button = True
    host.wait(3)
    expect_off(host, State.FAULT, Fault.ESTOP_INPUT, 'stop button')
    faults.stop_button = False
    host.wait(2)
    for end, joint, fault in (
        ('closed_upper', SLIDE, Fault.LIMIT_SLIDE),
        ('closed_upper', TURN, Fault.LIMIT_TURN),
        ('closed_lower', TURN, Fault.LIMIT_TURN),
    ):
        bring_to_state(host, State.HOMING)
        host.keep_alive(20)
        getattr(faults, end).add(joint)
        host.keep_alive(5)
        expect_off(host, State.FAULT, fault, f'{end} of {Joint(joint).name}')
        getattr(faults, end).discard(joint)
        host.wait(2)
        expect(not host.fresh().inputs & Input.SLIDE_HOMED, 'the slide is called homed')
