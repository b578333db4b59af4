"""
Force laws along one coordinate of a joint: motor, spring, stops, and all with dry friction.

Every force decreases monotonically with the rate, so that it has one solution for any step h. With
the rate v at mid-step and v0 at the start, the end has v1 = 2 v - v0, and the coordinate moves
from q0 to q0 + h v. Stops and dry friction are dissipative by construction, for any step, inertia
and other laws (T31, T32, T35). With h = 0 the laws are those of an instant. All functions take
plain numbers, because a call with an arm costs more than the computation.
"""

from math import expm1

from flex_robot_sim.dynamics.maxwell_slip import slip_force
from flex_robot_sim.jit.compiled import compiled

RATE_LIMIT_TAPER = 0.02  # share of the rate limit above it in which the motor force fades out
STICTION_DAMPING = 1e9  # damping during static friction, over inertia / step
NO_CREEP = (0.0, 1.0, 0.5)  # argument of `creep_force` for friction that does not creep
MAX_NEWTON_ITERATIONS = 60  # bisection alone reaches rounding within these


@compiled
def dissipative_rate(v, v0, h):
    """
    Rate with the same sign at the middle and the end of a step, and its slope with v.

    A force against it dissipates energy for any step length, and stops motion without rebound.
    """
    if h == 0.0:
        return v, 1.0
    v1 = 2.0 * v - v0
    if v * v1 <= 0.0:
        return 0.0, 0.0
    return (v1 if abs(v1) < abs(2.0 * v) else 2.0 * v), 2.0


@compiled
def stop_force(v, v0, h, gap, k, d, depth):
    """
    Force of one stop: spring part, total, and the slope of the total with v (T31).

    :param v: rate into the stop at mid-step, v0 at the start [rad/s, m/s].
    :param gap: penetration of the stop at the start, negative outside [rad, m].
    :param k: stiffness; d: damping, fully effective from the penetration `depth` on [rad, m].
    """
    end = gap + h * v
    depth_before, depth_after = max(gap, 0.0), max(end, 0.0)
    if depth_before == 0.0 and depth_after == 0.0:
        return 0.0, 0.0, 0.0
    # stored energy difference over the displacement, so that the spring conserves energy
    if depth_before > 0.0 and depth_after > 0.0 or h == 0.0:
        spring, slope = 0.5 * k * (depth_before + depth_after), 0.5 * k * h
    elif depth_after > 0.0:
        spring = 0.5 * k * depth_after * depth_after / (h * v)
        slope = 0.5 * k * depth_after * (h * v - gap) / (h * v * v)
    else:
        spring = -0.5 * k * depth_before * depth_before / (h * v)
        slope = 0.5 * k * depth_before * depth_before / (h * v * v)
    rate, rate_slope = dissipative_rate(v, v0, h)
    fraction = spring / (k * depth)
    if fraction < 1.0:
        slope *= 1.0 + d * rate / (k * depth)
    else:
        fraction = 1.0
    force = spring + d * fraction * rate
    if force < 0.0:  # the contact is unilateral
        return spring, 0.0, 0.0
    return spring, force, slope + d * fraction * rate_slope


@compiled
def motor_force(v, p, s, limit, rate_limit):
    """
    Force of a motor with the demand p - s v, and minus its slope with the rate.

    :param limit: of the force [N m, N].
    :param rate_limit: above it the motor no longer accelerates [rad/s, m/s].
    """
    force = p - s * v
    if abs(force) > limit:
        force, s = (limit if force > 0.0 else -limit), 0.0
    excess_rate = abs(v) - rate_limit
    if excess_rate > 0.0 and force * v > 0.0:
        fraction = 1.0 - excess_rate / (RATE_LIMIT_TAPER * rate_limit)
        if fraction <= 0.0:
            return 0.0, 0.0
        return fraction * force, fraction * s + abs(force) / (RATE_LIMIT_TAPER * rate_limit)
    return force, s


@compiled
def creep_force(v, v0, creep):
    """
    Friction that creeps, and its slope with the rate (T35).

    It is exact for an inertia that this friction alone decelerates.

    :param creep: level of the friction [N m, N], rate at which it reaches it [rad/s, m/s], and
        `end_weight`.
    """
    level, creep_rate, weight = creep
    rate, slope = 2.0 * weight * v, 2.0 * weight
    if v * v0 > 0.0:
        rate -= (slope - 1.0) * v0
        if rate * v <= 0.0:
            return 0.0, 0.0
    if abs(rate) >= creep_rate:
        return (level if rate > 0.0 else -level), 0.0
    return level * rate / creep_rate, level * slope / creep_rate


@compiled
def end_weight(decay):
    """
    Weight of the rate at the end of a step in the rate of a linear damper, from 1/2 to 1.

    The step is then exact for an inertia with this damper only (exponential fitting, HLW).

    :param decay: step over the time constant of inertia and damper.
    """
    if decay < 1e-3:
        return 0.5 + decay / 12.0
    return -1.0 / expm1(-decay) - 1.0 / decay


@compiled
def smooth_force(v, v0, h, laws, slip, creep):
    """
    Total force without the corners of dry friction, and minus its slope with the rate.

    :param laws: numbers of all laws but dry friction: a and s of the force a - s v of springs and
        dampers; demand p and ps of the motor with its limits, see `motor_force`; penetration of
        the upper and of the lower stop at the start of the step; k, d and depth of the stops.
    :param slip: arguments of `slip_force` after the displacement.
    :param creep: argument of `creep_force`; level 0: the friction does not creep.
    """
    a, s, p, ps, limit, rate_limit, above, below, k, d, depth = laws
    motor, motor_slope = motor_force(v, p, ps, limit, rate_limit)
    _, upper_force, upper_slope = stop_force(v, v0, h, above, k, d, depth)
    _, lower_force, lower_slope = stop_force(-v, -v0, h, below, k, d, depth)
    z, stiffness, limit, k_scale, x_scale = slip
    slip_total, slip_slope = slip_force(h * v, z, stiffness, limit, k_scale, x_scale)
    force = a - s * v + motor - upper_force + lower_force - slip_total
    slope = s + motor_slope + upper_slope + lower_slope + h * slip_slope
    if creep[0] > 0.0:
        friction, friction_slope = creep_force(v, v0, creep)
        return force - friction, slope + friction_slope
    return force, slope


@compiled
def solve_joint_laws(w, r, step_inertia, c, v, v0, h, laws, slip, creep):
    """
    Linear force f + g v that represents all laws near the rate that solves them (T33).

    The arm responds along this coordinate as r v = w + force. Where the laws have corners, the
    solution lies on the piece where the step ends.

    :param step_inertia: inertia over half the step; scales the damping during static friction.
    :param c: dry friction that sticks [N m, N]; the other arguments are those of `smooth_force`.
    :returns: f and g <= 0.
    """
    direction = 0.0
    if c > 0.0:
        # friction has corners where the rate is zero at the middle or at the end of the step
        low, high = min(0.0, 0.5 * v0), max(0.0, 0.5 * v0)
        force, slope = smooth_force(low, v0, h, laws, slip, creep)
        residual = w - r * low + force
        if residual < -c:
            direction = -1.0
        elif residual <= 0.0 or (low == high and residual <= c):
            stiction = STICTION_DAMPING * step_inertia
            return force + (slope + stiction) * low, -slope - stiction
        else:
            force, slope = smooth_force(high, v0, h, laws, slip, creep)
            residual = w - r * high + force
            if residual > c:
                direction = 1.0
            elif residual >= 0.0:
                stiction = STICTION_DAMPING * step_inertia
                return force + (slope + stiction) * high, -slope - stiction
    # r v - force(v) increases monotonically, so that its root can be bracketed
    low, high, has_low, has_high = v, v, False, False
    for _ in range(MAX_NEWTON_ITERATIONS):
        force, slope = smooth_force(v, v0, h, laws, slip, creep)
        residual = w - c * direction + force - r * v
        correction = residual / (r + slope)
        if abs(correction) <= 1e-12 * (abs(v) + abs(correction)) or residual == 0.0:
            break
        if residual > 0.0:
            low, has_low = v, True
        else:
            high, has_high = v, True
        v += correction
        if has_low and has_high:
            if not low < v < high:
                v = 0.5 * (low + high)
            if high - low <= 1e-13 * (abs(low) + abs(high)):
                break
    return force - c * direction + slope * v, -slope
