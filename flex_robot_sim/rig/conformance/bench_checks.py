"""Checks of the board's monitoring of the bench: switches, encoders, sensors, motors."""

from collections.abc import Iterator
from contextlib import contextmanager

from flex_robot_sim.rig.bench.parts import SLIDE, TURN
from flex_robot_sim.rig.conformance.check_registry import check
from flex_robot_sim.rig.conformance.host import Host, expect, expect_equal
from flex_robot_sim.rig.conformance.safety_checks import load_profile, play
from flex_robot_sim.rig.wire import protocol as wire
from flex_robot_sim.rig.wire.board_parameters import PARAMETERS, Parameter
from flex_robot_sim.rig.wire.vocabulary import (
    Access,
    EventKind,
    Fault,
    Input,
    Joint,
    Mode,
    Result,
    State,
)


def latched(host: Host) -> bool:
    """Whether the newest telemetry reports FAULT."""
    return host.now.state == State.FAULT


def expect_fault(host: Host, fault: Fault) -> None:
    """Expect FAULT with this fault only, and the motors off."""
    now = host.fresh()
    expect_equal((now.state, now.faults), (State.FAULT, fault), 'state and faults')
    expect_equal((now.duty, now.step_rate), (0.0, 0.0), 'outputs')


@contextmanager
def temporary_parameter(host: Host, parameter: Parameter, value: int) -> Iterator[None]:
    """Change a parameter, and restore it at the end, with the motors off."""
    original = host.accepted(wire.Param(Access.READ, parameter, 0)).value
    host.accepted(wire.Param(Access.WRITE, parameter, value))
    try:
        yield
    finally:
        host.command(wire.Disarm())
        host.accepted(wire.Param(Access.WRITE, parameter, original))


@check(bench='an arm that is put near its switches')
def homing_finds_the_switch_and_gives_the_origin(host: Host) -> None:
    host.back_end.reset(start=(0.006, -1.45))
    host.hello()
    host.stream_armed()
    bench, parts = host.back_end.bench, host.back_end.bench.parts
    scales = parts.counts_per_metre, parts.counts_per_radian
    for joint, scale in zip((Joint.SLIDE, Joint.TURN), scales):
        home, origin = Input[f'{joint.name}_HOMED'], Parameter[f'{joint.name}_HOME_COUNTS']
        counts = f'{joint.name.lower()}_counts'
        begin = len(host.telemetry)
        host.accepted(wire.Home(joint))
        done = host.keep_alive(8000, lambda host: host.now.state != State.HOMING)
        expect(done, f'{joint.name} is not homed after 8 s')
        expect_equal((host.now.state, host.now.faults), (State.ARMED, Fault(0)), joint.name)
        expect(host.now.inputs & home, f'{joint.name} is not called homed')
        homing_telemetry = host.telemetry[begin:]
        states = [message.state for message in homing_telemetry]
        last = len(states) - 1 - states[::-1].index(State.HOMING)
        # telemetry of the step in which the switch opened
        expect_equal(
            getattr(homing_telemetry[last + 1], counts),
            PARAMETERS[origin].default,
            f'{joint.name} where its switch opens',
        )
        host.keep_alive(200)
        expect(host.has_event(EventKind.HOMED, joint), f'no event: {joint.name} homed')
        # the board samples once per step: error up to the motion in a step, plus a count
        first = states.index(State.HOMING)
        places = [getattr(message, counts) for message in homing_telemetry[first : last + 1]]
        late = 1 + max(abs(after - before) for before, after in zip(places, places[1:]))
        off = getattr(host.now, counts) - bench.simulation.position[joint] * scale
        expect(
            abs(off) <= late,
            f'{joint.name} is said to be {off:.3g} counts from where it is, '
            f'and goes {late - 1} counts in a step',
        )


@check(bench='switches that close')
def switch_that_bounces_is_not_the_origin(host: Host) -> None:
    switches = host.back_end.bench.faults.closed_lower
    host.stream_armed()
    for joint, home in ((Joint.SLIDE, Input.SLIDE_HOMED), (Joint.TURN, Input.TURN_HOMED)):
        host.accepted(wire.Home(joint))
        for _ in range(4):
            switches.add(int(joint))
            host.keep_alive(8)
            switches.clear()
            host.keep_alive(2)
        expect_equal((host.now.state, host.now.inputs & home), (State.HOMING, 0), joint.name)
        switches.add(int(joint))
        host.keep_alive(40)
        switches.clear()
        host.keep_alive(10)
        expect_equal((host.now.state, host.now.inputs & home), (State.ARMED, home), joint.name)


@check(bench='a slide that jams')
def homing_that_finds_nothing_ends_in_a_fault(host: Host) -> None:
    host.stream()
    host.accepted(wire.Param(Access.WRITE, Parameter.HOME_TIMEOUT, 300))
    host.accepted(wire.Param(Access.WRITE, Parameter.STALL_TIME, 10_000))
    host.back_end.bench.faults.jammed = True
    host.accepted(wire.Arm())
    host.accepted(wire.Home(Joint.SLIDE))
    host.keep_alive(400, latched)
    expect_fault(host, Fault.HOMING)


@check(moves=True)
def joint_without_a_lower_switch_is_not_homed(host: Host) -> None:
    with temporary_parameter(host, Parameter.SWITCHES_FITTED, int(Input.SLIDE_LOWER)):
        host.accepted(wire.Arm())
        ack = host.command(wire.Home(Joint.TURN))
        expect_equal((ack.result, ack.value), (Result.OUT_OF_RANGE, 0), 'HOME')


@check(bench='switches that close')
def limit_in_motion_latches_and_lets_go_only_away_from_it(host: Host) -> None:
    host.stream()
    for end, duty, rate, bit, fault in (
        ('closed_upper', 0.3, 0.0, Input.SLIDE_UPPER, Fault.LIMIT_SLIDE),
        ('closed_lower', -0.3, 0.0, Input.SLIDE_LOWER, Fault.LIMIT_SLIDE),
        ('closed_upper', 0.0, 200.0, Input.TURN_UPPER, Fault.LIMIT_TURN),
        ('closed_lower', 0.0, -200.0, Input.TURN_LOWER, Fault.LIMIT_TURN),
    ):
        joint = SLIDE if fault == Fault.LIMIT_SLIDE else TURN
        host.accepted(wire.Arm())
        host.drive(50, duty, rate)
        getattr(host.back_end.bench.faults, end).add(joint)
        host.drive(20, duty, rate, latched)
        expect_fault(host, fault)
        expect(host.now.inputs & bit, f'{bit.name} is not shown')
        host.accepted(wire.Clear())
        host.accepted(wire.Arm())
        host.drive(20, duty, rate)
        expect_equal(
            (host.now.state, host.now.duty, host.now.step_rate),
            (State.ARMED, 0.0, 0.0),
            f'towards {bit.name}',
        )
        host.drive(20, -duty, -rate)
        expect(
            host.now.state == State.ARMED and (host.now.duty or host.now.step_rate),
            f'no motion away from {bit.name}',
        )
        host.accepted(wire.Disarm())
        host.back_end.bench.clear_faults()


@check(bench='switches that close')
def switch_that_is_not_fitted_is_not_seen(host: Host) -> None:
    host.stream()
    host.accepted(wire.Param(Access.WRITE, Parameter.SWITCHES_FITTED, 0))
    host.back_end.bench.faults.closed_upper.add(SLIDE)
    host.accepted(wire.Arm())
    host.drive(30, duty=0.1)
    expect_equal(
        (host.now.state, host.now.duty, host.now.inputs),
        (State.ARMED, 0.1, Input(0)),
        'state, duty and inputs',
    )


@check(bench='switches that close')
def limit_during_a_profile_ends_it(host: Host) -> None:
    host.stream()
    play(host, [wire.Segment(500_000, 0.2, 0.0)])
    host.keep_alive(50)
    host.back_end.bench.faults.closed_upper.add(SLIDE)
    host.keep_alive(20, latched)
    expect_fault(host, Fault.LIMIT_SLIDE)


@check(bench='a stop button that is pressed')
def stop_button_latches_in_every_state_and_clear_waits_for_its_release(host: Host) -> None:
    host.stream()
    faults = host.back_end.bench.faults
    for state in (State.DISARMED, State.ARMED, State.PROFILE):
        if state == State.PROFILE:
            play(host, [wire.Segment(500_000, 0.2, 0.0)])
            host.keep_alive(30)
        elif state == State.ARMED:
            host.accepted(wire.Arm())
            host.drive(30, duty=0.2)
        expect_equal(host.now.state, state, 'state before')
        faults.stop_button = True
        host.wait(3)
        expect_fault(host, Fault.ESTOP_INPUT)
        ack = host.command(wire.Clear())
        expect_equal((ack.result, ack.faults), (Result.CAUSE_PERSISTS, Fault.ESTOP_INPUT), 'CLEAR')
        faults.stop_button = False
        host.wait(2)
        expect_equal(host.fresh().state, State.FAULT, 'state after the release')
        host.accepted(wire.Clear())
        expect_equal(host.fresh().state, State.DISARMED, 'state after CLEAR')


@check(bench='flex sensors that break')
def broken_flex_sensor_latches_and_can_be_left_out(host: Host) -> None:
    host.stream()
    faults = host.back_end.bench.faults
    for broken in (faults.open_sensors, faults.shorted_sensors):
        for sensor, fault in ((0, Fault.ADC_ROOT), (1, Fault.ADC_TIP)):
            broken.add(sensor)
            host.wait(15)
            expect_equal(host.now.faults, Fault(0), 'a fault before ADC_TIME')
            host.wait(10)
            expect_fault(host, fault)
            expect_equal(host.command(wire.Clear()).result, Result.CAUSE_PERSISTS, 'CLEAR')
            broken.clear()
            host.wait(3)
            host.accepted(wire.Clear())
    host.accepted(wire.Param(Access.WRITE, Parameter.ADC_WATCH, 1))
    faults.open_sensors.add(1)
    host.wait(60)
    expect_equal(host.now.faults, Fault(0), 'fault of a sensor that is not watched')


@check(bench='encoders that jump')
def encoder_jump_latches_and_costs_the_homing(host: Host) -> None:
    host.stream()
    for joint, fault, bit in (
        (Joint.SLIDE, Fault.ENCODER_SLIDE, Input.SLIDE_HOMED),
        (Joint.TURN, Fault.ENCODER_TURN, Input.TURN_HOMED),
    ):
        host.accepted(wire.Zero(joint, 0))
        host.wait(2)
        expect(host.fresh().inputs & bit, 'ZERO did not home')
        host.back_end.bench.faults.encoder_jump[joint] += 1000
        host.wait(3)
        expect_fault(host, fault)
        expect(not host.now.inputs & bit, f'{joint.name} is still homed')
        host.wait(400)
        expect(host.has_event(EventKind.HOMING_LOST, joint), 'no event reports it')
        host.accepted(wire.Clear())
        expect_equal(host.fresh().state, State.DISARMED, 'state after CLEAR')


@check(bench='encoders that jump')
def count_wraps_without_a_fault(host: Host) -> None:
    host.stream()
    host.accepted(wire.Zero(Joint.SLIDE, 2**31 - 3000))
    # a jump clears the homing, and so the soft limits, which would stop the motion earlier
    host.back_end.bench.faults.encoder_jump[SLIDE] += 1000
    host.wait(5)
    host.accepted(wire.Clear())
    host.accepted(wire.Arm())
    wrapped = host.drive(2000, 0.5, until=lambda host: host.now.slide_counts < 0)
    expect(wrapped, f'the count stands at {host.now.slide_counts}')
    host.drive(20, 0.0)
    expect_equal((host.now.state, host.now.faults), (State.ARMED, Fault(0)), 'beyond the edge')


@check(bench='the whole travel, and the true place of the slide')
def counts_follow_the_slide_further_than_a_register_of_16_bits(host: Host) -> None:
    host.back_end.reset(start=(0.03, 0.0))
    host.hello()
    host.stream(100)
    host.accepted(wire.Arm())
    start = host.back_end.bench.simulation.position[SLIDE]
    first = host.now.slide_counts
    done = host.drive(8000, 1.0, until=lambda host: host.now.slide_counts - first > 70_000)
    expect(done, f'after 8 s the slide has counted {host.now.slide_counts - first}')
    host.drive(500)
    moved = (host.back_end.bench.simulation.position[SLIDE] - start) * 300e3
    expect(
        abs(host.now.slide_counts - first - moved) < 30,
        f'{host.now.slide_counts - first} counts and a way of {moved:.0f}',
    )


@check(bench='a slide that jams')
def stalled_motor_latches_and_moving_one_does_not(host: Host) -> None:
    host.stream_armed()
    host.drive(1000, duty=0.5)
    expect_equal(host.now.state, State.ARMED, 'state in motion')
    host.back_end.bench.faults.jammed = True
    host.drive(450, duty=0.5, until=latched)
    expect_fault(host, Fault.STALL)


@check(bench='a slide that jams')
def too_much_current_latches(host: Host) -> None:
    host.accepted(wire.Param(Access.WRITE, Parameter.CURRENT_MAX, 500))
    host.stream_armed()
    host.back_end.bench.faults.jammed = True
    host.drive(100, duty=0.39, until=latched)
    expect_fault(host, Fault.OVERCURRENT)


@check(bench='the current of the motor while the board boots', reboot=True)
def reboot_in_motion_stops_the_motors_and_forgets_the_homing(host: Host) -> None:
    host.stream()
    host.accepted(wire.Zero(Joint.SLIDE, 45_000))
    host.accepted(wire.Arm())
    host.drive(100, duty=0.4, step_rate=200.0)
    host.back_end.reboot()
    bench = host.back_end.bench
    expect_equal(bench.current, 0.0, 'current of the motor')
    host.hello()
    host.stream()
    expect_equal(
        (host.now.state, host.now.duty, host.now.inputs),
        (State.DISARMED, 0.0, Input(0)),
        'state, duty and inputs',
    )
    host.drive(30, duty=0.4)
    expect_equal((host.now.state, host.now.duty), (State.DISARMED, 0.0), 'set points after it')


@check(moves=True)
def set_point_in_a_profile_only_keeps_it_alive(host: Host) -> None:
    host.stream()
    host.accepted(wire.Zero(Joint.SLIDE, 45_000))
    host.accepted(wire.Zero(Joint.TURN, 0))
    crc = load_profile(host, [wire.Segment(500_000, 0.1, 0.0)])
    host.accepted(wire.Arm())
    host.accepted(wire.ProfileStart(crc))
    host.wait(20, host.setpoint(-0.1))
    expect_equal((host.now.state, host.now.duty), (State.PROFILE, 0.1), 'DRIVE in a profile')
    host.wait(20, host.setpoint(mode=Mode.ALIVE))
    expect_equal((host.now.state, host.now.duty), (State.PROFILE, 0.1), 'ALIVE in a profile')


@check(moves=True)
def motor_obeys_signs(host: Host) -> None:
    host.stream_armed()
    for duty in (0.5, -0.5):
        before = host.now.slide_counts
        host.drive(600, duty=duty)
        expect((host.now.slide_counts - before) * duty > 0, f'duty {duty} moves the wrong way')
        expect(host.now.current * duty > 0, 'current has the wrong sign')
    for rate in (200.0, -200.0):
        host.drive(200)
        before = host.now.turn_counts
        host.drive(400, step_rate=rate)
        expect((host.now.turn_counts - before) * rate > 0, f'rate {rate} turns the wrong way')


@check()
def reversing_an_encoder_costs_the_homing(host: Host) -> None:
    host.stream()
    for joint, parameter, bit in (
        (Joint.SLIDE, Parameter.SLIDE_REVERSED, Input.SLIDE_HOMED),
        (Joint.TURN, Parameter.TURN_REVERSED, Input.TURN_HOMED),
    ):
        original = host.accepted(wire.Param(Access.READ, parameter, 0)).value
        host.accepted(wire.Zero(joint, 0))
        host.accepted(wire.Param(Access.WRITE, parameter, original))
        expect(host.fresh().inputs & bit, 'the same value cost the homing')
        with temporary_parameter(host, parameter, 1 - original):
            expect(not host.fresh().inputs & bit, f'{joint.name} is still homed')
            host.wait(400)
            expect(host.has_event(EventKind.HOMING_LOST, joint), 'no event reports it')


@check(moves=True)
def reversed_encoder_is_turned_round(host: Host) -> None:
    host.stream()
    original = host.accepted(wire.Param(Access.READ, Parameter.SLIDE_REVERSED, 0)).value
    with temporary_parameter(host, Parameter.SLIDE_REVERSED, 1 - original):
        host.wait(20)
        expect_equal(host.now.state, State.DISARMED, 'state after the reversal')
        before = host.now.slide_counts
        host.accepted(wire.Arm())
        host.drive(600, duty=0.5)
        expect(host.now.slide_counts < before, 'the count still grows')
        host.drive(600, duty=-0.5)
