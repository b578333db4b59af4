"""Checks of the stepper pulses: rate, count at each time, and lost steps."""

from flex_robot_sim.rig.bench.parts import TURN
from flex_robot_sim.rig.conformance.bench_checks import expect_fault, latched
from flex_robot_sim.rig.conformance.check_registry import check
from flex_robot_sim.rig.conformance.host import Host, expect
from flex_robot_sim.rig.wire.board_parameters import Parameter
from flex_robot_sim.rig.wire.protocol import Arm, Disarm, Param
from flex_robot_sim.rig.wire.vocabulary import Access, Fault


@check(moves=True)
def step_rate_follows_its_ramp(host: Host) -> None:
    host.stream()
    acceleration = host.accepted(Param(Access.READ, Parameter.STEP_ACCELERATION, 0)).value
    host.accepted(Param(Access.WRITE, Parameter.STEP_ACCELERATION, 2000))
    host.accepted(Arm())
    host.wait(2, host.alive())
    first = host.now
    host.telemetry.clear()
    host.drive(60, step_rate=60.0)
    host.drive(100, step_rate=-60.0)
    host.drive(60)
    host.wait(2, host.alive())
    rates = [first.step_rate, *(t.step_rate for t in host.telemetry)]
    steepest = max(abs(b - a) for a, b in zip(rates, rates[1:]))
    expect(steepest <= 2.0 + 0.002, f'rate changed by {steepest} steps/s in 1 ms')
    expect(max(rates) == 60.0 and min(rates) == -60.0, 'the rate was not reached')
    # steps are the integral of the rate: trapezoidal rule, and whole steps
    integrated_steps = sum((a + b) / 2 * 1e-3 for a, b in zip(rates, rates[1:]))
    moved = host.now.step_position - first.step_position
    expect(
        abs(integrated_steps - moved) < 1.2,
        f'{moved} steps, and the rate makes {integrated_steps:.2f}',
    )
    host.accepted(Disarm())
    host.accepted(Param(Access.WRITE, Parameter.STEP_ACCELERATION, acceleration))


# at this rate the swinging arm pulls the stepper along, and moves on when the board disarms
@check(bench='an arm that may fly')
def step_position_is_that_of_the_start_of_the_step(host: Host) -> None:
    host.stream_armed()
    host.wait(2, host.alive())
    host.telemetry.clear()
    host.drive(80, step_rate=2500.0)
    rates = [t.step_rate for t in host.telemetry]
    places = [t.step_position - host.telemetry[0].step_position for t in host.telemetry]
    # from the start of the first to the start of the last step: trapezoidal rule on the ramp, half
    # a step more where the rate jumps, and one step more if the last step were included
    integrated_steps = sum((a + b) / 2 * 1e-3 for a, b in zip([0.0, *rates], rates[:-1]))
    expect(max(rates) == 2500.0, 'the rate was not reached')
    expect(
        -1.2 < places[-1] - integrated_steps < 1.4,
        f'{places[-1]} pulses, and the rate makes {integrated_steps:.2f} before the step',
    )
    host.drive(90)


@check(bench='a stepper that slips')
def lost_steps_latch(host: Host) -> None:
    host.stream_armed()
    host.drive(100, step_rate=100.0)
    host.back_end.bench.faults.weak_stepper = 0.01
    host.back_end.bench.push_tip(1.0)
    host.drive(1000, until=latched)
    expect_fault(host, Fault.LOST_STEPS)


@check(bench='a stepper that slips')
def slip_by_one_place_of_the_field_latches_wherever_arming_has_drawn_the_turn_from(
    host: Host,
) -> None:
    bench = host.back_end.bench
    for side in (1, -1):
        host.back_end.reset()
        host.hello()
        host.stream()
        bench.simulation.set_state((0.15, side * 0.055))  # of 0.063 to the next place [rad]
        host.wait(5)
        host.accepted(Arm())
        apart = side * host.now.turn_counts
        host.drive(400)
        drawn = apart - side * host.now.turn_counts
        expect(drawn > 12, f'arming has drawn the turn by {drawn} counts')
        bench.faults.weak_stepper = 0.02
        bench.push_tip(side * 0.1)
        host.drive(400, until=lambda _: abs(bench.simulation.position[TURN]) > 0.09)
        bench.push_tip(0.0)
        bench.faults.weak_stepper = 1.0
        host.drive(500, until=latched)
        expect_fault(host, Fault.LOST_STEPS)
