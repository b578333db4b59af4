"""
DC motor with an ideal current loop, within the limits of its current and of its voltage (T124).

With the current i, L i' = u - R i - K v. The loop takes the largest voltage until the current is
the demanded one, and then holds it. Rate v and motor constant K count as constant over a step, so
that current, loss and electrical energy are exact for any step and inductance.
"""

from math import expm1, log1p

from flex_robot_sim.jit.compiled import compiled

NO_DC_MOTOR = (0.0, 1.0, 0.0, 0.0, 0.0, 0.0)  # argument of `dc_motor_force` without such a motor


@compiled
def dc_motor_force(v, h, demand, slope, motor):
    """
    Mean force of a motor over a step, and minus its slope with the rate.

    :param v: rate at mid-step [rad/s, m/s]; demand: force that is demanded there [N m, N], and
        slope: minus its slope with v.
    :param motor: motor constant K [N m/A, N/A], resistance [Ohm], inductance [H], largest voltage
        [V] and current [A], and current at the start of the step [A].
    """
    K = motor[0]
    mean, current_slope, _, _ = dc_motor_current(v, h, demand / K, slope / K, motor)
    return K * mean, K * current_slope


@compiled
def dc_motor_current(v, h, wanted, slope, motor):
    """
    Current of a motor over a step: mean, minus its slope with v, at the end, and mean square.

    :param wanted: demanded current [A], and slope: minus its slope with v; see `dc_motor_force`.
    """
    K, resistance, inductance, voltage, limit, start = motor
    if abs(wanted) > limit:
        wanted, slope = (limit if wanted > 0.0 else -limit), 0.0
    low, high = (-voltage - K * v) / resistance, (voltage - K * v) / resistance
    if wanted > high:
        wanted, slope = high, K / resistance
    elif wanted < low:
        wanted, slope = low, K / resistance
    if inductance == 0.0:
        return wanted, slope, wanted, wanted * wanted
    if h == 0.0:
        return start, 0.0, start, start * start
    steps = h * resistance / inductance  # step over the electrical time constant
    final = high if wanted >= start else low
    gap, span = wanted - start, final - start
    decay = -expm1(-steps)
    if abs(gap) >= abs(span) * decay:  # the voltage is at its limit during the whole step
        ramp, rise, held = steps, decay, 0.0
        end = start + span * rise
    else:
        rise = gap / span
        ramp, end = -log1p(-rise), wanted
        held = 1.0 - ramp / steps
    # i = final - span e^-s up to s = ramp, with rise = 1 - e^-ramp
    mean = (start * ramp + span * (ramp - rise)) / steps + held * end
    square = (
        final * final * ramp - 2.0 * final * span * rise + span * span * rise * (1.0 - 0.5 * rise)
    )
    slope = held * slope + K / resistance * (ramp - rise) / steps
    return mean, slope, end, square / steps + held * end * end
