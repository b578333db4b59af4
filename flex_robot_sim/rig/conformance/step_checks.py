"""The pulses of the stepper: their rate, and how many have been sent when."""

from flex_robot_sim.rig.conformance.checks import check
from flex_robot_sim.rig.conformance.host import expect
from flex_robot_sim.rig.wire.parameters import Parameter
from flex_robot_sim.rig.wire.protocol import Arm, Disarm, Param
from flex_robot_sim.rig.wire.vocabulary import Access


@check(moves=True)
def step_rate_follows_its_ramp(host):
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
    # steps are the integral of the rate: trapezoids, and a step is whole
    way = sum((a + b) / 2 * 1e-3 for a, b in zip(rates, rates[1:]))
    moved = host.now.step_position - first.step_position
    expect(abs(way - moved) < 1.2, f'{moved} steps, and the rate makes {way:.2f}')
    host.accepted(Disarm())
    host.accepted(Param(Access.WRITE, Parameter.STEP_ACCELERATION, acceleration))


# at this rate the swinging arm takes the stepper along, and is flung when the board lets go
@check(bench='an arm that may fly')
def step_position_is_that_of_the_start_of_the_step(host):
    host.stream()
    host.accepted(Arm())
    host.wait(2, host.alive())
    host.telemetry.clear()
    host.drive(80, step_rate=2500.0)
    rates = [t.step_rate for t in host.telemetry]
    places = [t.step_position - host.telemetry[0].step_position for t in host.telemetry]
    # between the start of the first step and that of the last one: trapezoids where the ramp is
    # smooth, half a step more where the rate jumps, a whole one more if the last step counts too
    way = sum((a + b) / 2 * 1e-3 for a, b in zip([0.0, *rates], rates[:-1]))
    expect(max(rates) == 2500.0, 'the rate was not reached')
    expect(-1.2 < places[-1] - way < 1.4,
           f'{places[-1]} pulses, and the rate makes {way:.2f} before the step')
    host.drive(90)
