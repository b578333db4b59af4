"""Stops: springs that push and never pull, with dampers that dissipate at any step (T31)."""

from flex_robot_sim.jit.compiled import compiled


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
