"""Friction that creeps: a function of the rate (T35)."""

from math import expm1

from flex_robot_sim.jit.compiled import compiled

NO_CREEP = (0.0, 1.0, 0.5)  # argument of `creep_force` for friction that does not creep


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
