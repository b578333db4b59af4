"""Samples of a base that moves along splines, compiled: every step needs one."""

from numpy import sqrt

from flex_robot_sim.dynamics.moved_base import RATE, TWIST, in_axes
from flex_robot_sim.jit.compiled import compiled


@compiled
def set_spline_samples(times, knots, polynomials, work, out):
    """
    Set samples (k, 19) at times (k,) [s], see `dynamics.moved_base.place_base`.

    The base is at rest before the first knot and after the last one. With the spline p of a
    quaternion of any length, the angular velocity in the axes of the base is the vector part of
    2 p* p' / |p|^2.

    :param knots: ascending (m + 1,) [s].
    :param polynomials: of position and quaternion between the knots, (4, m, 7), the highest power
        first, as in SciPy.
    :param work: (3, 7), receives position and quaternion, and their two rates.
    """
    last = knots.size - 1
    for k in range(times.size):
        sample, time = out[k], min(max(times[k], knots[0]), knots[last])
        set_derivatives(time, knots, polynomials, work)
        p, dp, ddp = work[0], work[1], work[2]
        square = p[3] * p[3] + p[4] * p[4] + p[5] * p[5] + p[6] * p[6]
        for r in range(3):
            sample[r] = p[r]
        for r in range(3, TWIST):
            sample[r] = p[r] / sqrt(square)
        for r in range(TWIST, sample.size):
            sample[r] = 0.0
        if time == times[k]:
            fade = p[3] * dp[3] + p[4] * dp[4] + p[5] * dp[5] + p[6] * dp[6]
            omega, alpha = vector_of_product(p, dp), vector_of_product(p, ddp)
            v = in_axes(sample, dp[0], dp[1], dp[2])
            dv = in_axes(sample, ddp[0], ddp[1], ddp[2])
            for r in range(3):
                sample[TWIST + r], sample[TWIST + 3 + r] = 2.0 * omega[r] / square, v[r]
            w = sample[TWIST : TWIST + 3]
            for r in range(3):
                i, j = (r + 1) % 3, (r + 2) % 3
                sample[RATE + r] = 2.0 * (alpha[r] - w[r] * fade) / square
                sample[RATE + 3 + r] = dv[r] - (w[i] * v[j] - w[j] * v[i])


@compiled
def set_derivatives(time, knots, polynomials, out):
    """Set the values (7,) of polynomials between knots, and of their two derivatives."""
    row, end = 0, knots.size - 2
    while row < end:
        middle = (row + end + 1) // 2
        if knots[middle] <= time:
            row = middle
        else:
            end = middle - 1
    s = time - knots[row]
    for r in range(out.shape[1]):
        a, b, c = polynomials[0, row, r], polynomials[1, row, r], polynomials[2, row, r]
        out[0, r] = ((a * s + b) * s + c) * s + polynomials[3, row, r]
        out[1, r] = (3.0 * a * s + 2.0 * b) * s + c
        out[2, r] = 6.0 * a * s + 2.0 * b


@compiled
def vector_of_product(p, r):
    """Vector part of the product p* r of the quaternions x y z w in two rows (7,)."""
    return (
        p[6] * r[3] - r[6] * p[3] - (p[4] * r[5] - p[5] * r[4]),
        p[6] * r[4] - r[6] * p[4] - (p[5] * r[3] - p[3] * r[5]),
        p[6] * r[5] - r[6] * p[5] - (p[3] * r[4] - p[4] * r[3]),
    )
