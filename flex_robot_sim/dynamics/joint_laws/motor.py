"""Motor with a servo, within the limits of its force and its rate."""

from flex_robot_sim.jit.compiled import compiled

RATE_LIMIT_TAPER = 0.02  # share of the rate limit above it in which the motor force fades out


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
