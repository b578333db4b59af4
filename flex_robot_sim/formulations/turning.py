"""
Rotations of cross-sections, independent of the code of `spatial/` that they help to check.

With the rotation vector theta, R = exp(theta~). The angular velocity of the section in the axes of
the link is J dtheta/dt, where t = |theta| and

    J = 1 + a theta~ + b theta~^2,   a = (1 - cos t)/t^2,   b = (t - sin t)/t^3
"""

from math import cos, sin, sqrt

import numpy as np

MAX_SERIES_ANGLE = 1.0  # below it, nine terms of the series are exact            [rad]


def skew(v: np.ndarray) -> np.ndarray:
    """Return v~ (3, 3), for which v~ x is the cross product of v and x."""
    x, y, z = v.tolist()  # Python floats take a third of the time
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the cross product of two vectors (3,)."""
    (a0, a1, a2), (b0, b1, b2) = a.tolist(), b.tolist()
    return np.array([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0])


def rotation_and_jacobian(
    theta: np.ndarray, rate: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return R, J and dJ/dt, (3, 3) each, for a rotation vector (3,) [rad] and its rate."""
    t = sqrt(theta[0] ** 2 + theta[1] ** 2 + theta[2] ** 2)
    if t < MAX_SERIES_ANGLE:
        # sums of (-1)^k t^2k / (2k + m)! for m = 1, 2, 3, and derivatives divided by t
        s = _series(t, 1)
        a = _series(t, 2)
        b = _series(t, 3)
        da = _series_derivative(t, 2)
        db = _series_derivative(t, 3)
    else:
        s, a, b = sin(t) / t, (1 - cos(t)) / t**2, (t - sin(t)) / t**3
        da, db = (s - 2 * a) / t**2, (a - 3 * b) / t**2
    T, dT = skew(theta), skew(rate)
    TT = T @ T
    T_dT = T @ dT
    inner_product = theta[0] * rate[0] + theta[1] * rate[1] + theta[2] * rate[2]
    R = np.eye(3) + s * T + a * TT
    J = np.eye(3) + a * T + b * TT
    dJ = da * inner_product * T + a * dT + db * inner_product * TT + b * (T_dT + dT @ T)
    return R, J, dJ


def rotation(axis: np.ndarray, angle: float) -> np.ndarray:
    """Return the rotation (3, 3) about a unit vector (3,)."""
    K = skew(axis)
    return np.eye(3) + sin(angle) * K + (1 - cos(angle)) * (K @ K)


def _series(t, m):
    total, term = 0.0, 1.0
    for i in range(1, m + 1):
        term /= i
    for k in range(9):
        total += term
        term *= -t * t / ((2 * k + m + 1) * (2 * k + m + 2))
    return total


def _series_derivative(t, m):
    """Derivative of the series, divided by t."""
    total, term = 0.0, 1.0
    for i in range(1, m + 1):
        term /= i
    for k in range(1, 10):
        term *= -1.0 / ((2 * k + m - 1) * (2 * k + m))
        total += 2 * k * term * t ** (2 * k - 2)
    return total
