"""
Dual numbers, vectors and matrices as real matrices, for first-order expansions in the bending.

A dual number is r + eps d with eps^2 = 0. The real part r is the value in an arm that does not
bend, the dual part d its first-order change by the bending. Products then contain no terms of
second order. Real matrices represent dual quantities, so plain linear algebra applies:

    number  [r, 0; d, r]      vector  [r; d]      matrix  [R, 0; D, R]

A product of the matrices is the product of the dual numbers. Equation numbers are those of
Cibicik & Egeland, Kinematics and dynamics of flexible robotic manipulators using dual screws,
IEEE Transactions on Robotics (2021), here and in the modules dual_*.
"""

import numpy as np
from numpy.typing import ArrayLike


def dual_vector(real: np.ndarray, dual: np.ndarray) -> np.ndarray:
    """Vector [r; d] (2 m,), or with trailing axes (2 m, ...), as in (37)."""
    return np.concatenate([real, dual])


def dual_matrix(real: ArrayLike, dual: ArrayLike) -> np.ndarray:
    """Matrix [R, 0; D, R] (2 m, 2 m) of R + eps D, as in (31); numbers become (2, 2)."""
    real, dual = np.atleast_2d(real), np.atleast_2d(dual)
    m = len(real)
    out = np.zeros((2 * m, 2 * m))
    out[:m, :m] = out[m:, m:] = real
    out[m:, :m] = dual
    return out


def hat(a: np.ndarray) -> np.ndarray:
    """Matrix (3, 3) of the cross product, [a] b = a x b."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


UNIT_DUAL_HATS = np.array([dual_matrix(hat(a[:3]), hat(a[3:])) for a in np.eye(6)])


def dual_hat(a: np.ndarray) -> np.ndarray:
    """Matrices [a]^ (..., 6, 6) of the dual cross product, from vectors (..., 6) (13), (38)."""
    return (a @ UNIT_DUAL_HATS.reshape(6, 36)).reshape(*a.shape[:-1], 6, 6)


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cross products (..., 3, k) of columns; np.cross takes ten times as long."""
    ax, ay, az = a[..., 0, :], a[..., 1, :], a[..., 2, :]
    bx, by, bz = b[..., 0, :], b[..., 1, :], b[..., 2, :]
    out = np.empty(np.broadcast_shapes(a.shape, b.shape))
    out[..., 0, :] = ay * bz - az * by
    out[..., 1, :] = az * bx - ax * bz
    out[..., 2, :] = ax * by - ay * bx
    return out


def dual_cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Products [a]^ b (..., 6, k) of columns that are dual vectors (13)."""
    ra, da, rb, db = a[..., :3, :], a[..., 3:, :], b[..., :3, :], b[..., 3:, :]
    out = np.empty(
        (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), 6, max(a.shape[-1], b.shape[-1]))
    )
    out[..., :3, :] = cross(ra, rb)
    out[..., 3:, :] = cross(ra, db) + cross(da, rb)
    return out
