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
    # beyond the currents of the largest voltages, the demanded one cannot be held
    low, high = (-voltage - K * v) / resistance, (voltage - K * v) / resistance
    held, held_slope = wanted, slope
    if not low <= wanted <= high:
        held, held_slope = (high if wanted > high else low), K / resistance
    if inductance == 0.0:
        return held, held_slope, held, held * held
    if h == 0.0:
        return start, 0.0, start, start * start
    steps = h * resistance / inductance  # step over the electrical time constant
    final = high if wanted >= start else low
    span, ramp, rise, ramp_slope = final - start, steps, 1.0, 0.0
    if span != 0.0:
        rise = (wanted - start) / span
    if 0.0 <= rise < -expm1(-steps):
        ramp = -log1p(-rise)
        ramp_slope = (slope - rise * K / resistance) / (span * (1.0 - rise))
    # at the largest voltage up to `ramp`, then held: as integrals over the time constant
    end, charge, square, share = relaxation(start, final, ramp)
    slope_sum = share * K / resistance
    if ramp < steps:
        end, held_charge, held_square, share = relaxation(wanted, held, steps - ramp)
        charge, square = charge + held_charge, square + held_square
        slope_sum += share * held_slope + (steps - ramp - share) * slope
        slope_sum += (wanted - end) * ramp_slope
    return charge / steps, slope_sum / steps, end, square / steps


@compiled
def relaxation(start, final, time):
    """
    Current of a winding at a constant voltage: end, integral and integral of the square.

    :param final: current after a long time [A]; time: over the electrical time constant.
    :returns: also the integral of the share of `final` in the current.
    """
    decay, span = -expm1(-time), final - start
    share = time - decay
    square = final * final * time - span * decay * (2.0 * final - span * (1.0 - 0.5 * decay))
    return start + span * decay, start * time + span * share, square, share
