"""
Laws of a contact point over a step: normal force and Coulomb friction.

With the mean rate u and the rate u0 at the start, the end has u1 = 2 u - u0. The normal force is
that of a stop (T31). Friction is at most c, the coefficient times the normal force:

    p = -c d/du |u - s(u)|,   s(u) the point nearest to u between 0 and u0/2                 (T116)

So friction opposes u1 where the point slides on; it sticks with u1 = 0; and p . u <= 0 for any
step, because the points between 0 and u0/2 are a convex set. The point responds by u = a + G p,
with a symmetric and positive G, so that u and p are unique.
"""

from math import sqrt

from flex_robot_sim.dynamics.joint_laws.stops import stop_force
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.stops import STOP_DEPTH

MAX_NEWTON_ITERATIONS = 60  # bisection alone reaches rounding within these
MIN_RESPONSE = 1e-13  # of a direction, over that of both tangents; it keeps G invertible
REST_RATE = 1e-12  # below it a point whose motion is prescribed is at rest              [m/s]


@compiled
def normal_force(rate, response, start_rate, h, depth, k, d):
    """
    Normal force of a point [N].

    :param rate: mean rate into the surface without this force [m/s]; response: of the rate to
        the force; start_rate: into the surface.
    :param depth: penetration at the start of the step h [s], negative outside [m].
    :param k: stiffness; d: damping.
    """
    _, force, slope = stop_force(rate, start_rate, h, depth, k, d, STOP_DEPTH)
    if force == 0.0 or response <= 0.0:
        return force
    # v + response force(v) increases monotonically
    v, low, high = rate, rate - response * force, rate
    for _ in range(MAX_NEWTON_ITERATIONS):
        _, force, slope = stop_force(v, start_rate, h, depth, k, d, STOP_DEPTH)
        excess = v + response * force - rate
        if excess > 0.0:
            high = v
        else:
            low = v
        change = -excess / (1.0 + response * slope)
        if abs(change) <= 1e-15 * (abs(v) + abs(rate)) or high - low <= 1e-15 * abs(rate):
            break
        v += change
        if not low < v < high:
            v = 0.5 * (low + high)
    return max((rate - v) / response, 0.0)


@compiled
def invertible(c, x, y, z):
    """
    Response [[x, y], [y, z]] of a point, with a little more, to invert it; see `friction_force`.

    If `a` is the rate less this response times the last force, the addition has no effect on the
    solution of the rounds.
    """
    least = MIN_RESPONSE * (x + z)
    if least <= 0.0:  # prescribed motion
        least = REST_RATE / c if c > 0.0 else 1.0
    return x + least, y, z + least


@compiled
def friction_force(c, a, G, s):
    """
    Friction of a point along its two tangents (T116).

    :param c: largest friction [N]; a: mean rate without it, two numbers [m/s].
    :param G: response, invertible: three numbers of the matrix [[1, 2], [2, 3]].
    :param s: half the rate at the start, two numbers.
    """
    if c <= 0.0:
        return 0.0, 0.0
    p = friction_about(c, (a[0] - s[0], a[1] - s[1]), G)
    if p[0] * s[0] + p[1] * s[1] <= 0.0:
        return p
    p = friction_about(c, a, G)
    if p[0] * s[0] + p[1] * s[1] >= 0.0:
        return p
    # between both: only across the direction of s
    size = sqrt(s[0] * s[0] + s[1] * s[1])
    x, y = -s[1] / size, s[0] / size
    response = x * x * G[0] + 2.0 * x * y * G[1] + y * y * G[2]
    force = min(max(-(a[0] * x + a[1] * y) / response, -c), c)
    return force * x, force * y


@compiled
def friction_about(c, a, G):
    """Friction that stops a rate a, or at least opposes the remainder: p = -(t + G)^-1 a."""
    t, px, py = 0.0, 0.0, 0.0
    for _ in range(MAX_NEWTON_ITERATIONS):
        x, y, z = G[0] + t, G[1], G[2] + t
        determinant = x * z - y * y
        px, py = -(z * a[0] - y * a[1]) / determinant, -(x * a[1] - y * a[0]) / determinant
        square = px * px + py * py
        size = sqrt(square)
        if size <= c * (1.0 + 1e-15):
            break
        # |p| falls with t; 1 / |p| is nearly linear in it
        slope = (z * px * px - 2.0 * y * px * py + x * py * py) / determinant
        t += square * (size - c) / (c * slope)
    return px, py
