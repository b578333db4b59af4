"""Coordinate updates by a velocity: the only module that defines their addition."""

from flex_robot_sim.jit.compiled import compiled


@compiled
def integrate(q, v, h, out):
    """
    Move coordinates along a constant velocity for a time.

    :param q: coordinates, (n,) [rad, m]; v: velocities, (n,); h: time [s].
    :param out: receives the coordinates, (n,); it may be q.
    """
    for k in range(q.size):
        out[k] = q[k] + h * v[k]
