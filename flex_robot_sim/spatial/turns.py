"""
Conversions of rotations between matrices, vectors and quaternions; not compiled.

SciPy has these functions, too, but importing it takes longer than all other imports of a node.
"""

import numpy as np

UNIT_TOLERANCE = 1e-2  # of the length of a unit quaternion from outside

# 4 q q^T of a quaternion q = (x, y, z, w), row by row, as sums over the rotation matrix R row by
# row: 4 x x = 1 + R00 - R11 - R22, 4 x y = R01 + R10, 4 x w = R21 - R12, ...
_PRODUCTS = np.zeros((9, 4, 4))
_PRODUCTS[[0, 4, 8], :3, :3] = -np.eye(3)
for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    _PRODUCTS[4 * i, i, i] = _PRODUCTS[4 * i, 3, 3] = 1.0
    _PRODUCTS[[3 * i + j, 3 * j + i], i, j] = _PRODUCTS[[3 * i + j, 3 * j + i], j, i] = 1.0
    _PRODUCTS[3 * k + j, i, 3] = _PRODUCTS[3 * k + j, 3, i] = 1.0
    _PRODUCTS[3 * j + k, i, 3] = _PRODUCTS[3 * j + k, 3, i] = -1.0
_PRODUCTS = _PRODUCTS.reshape(9, 16)


def quaternions(R: np.ndarray) -> np.ndarray:
    """
    Return unit quaternions (k, 4), x y z w, of rotation matrices (k, 3, 3).

    This takes a quarter of the time of SciPy, which first checks for valid rotations.
    """
    products = np.reshape(R, (-1, 9)) @ _PRODUCTS
    products[:, ::5] += 1.0
    # the row of the largest of x, y, z, w is far from zero in any pose
    rows = np.arange(len(products))
    unscaled = products.reshape(-1, 4, 4)[rows, products[:, ::5].argmax(axis=1)]
    return unscaled / np.sqrt(np.einsum('ka,ka->k', unscaled, unscaled))[:, None]


def quaternion(R: np.ndarray) -> np.ndarray:
    """Return the unit quaternion (4,), x y z w, of one rotation matrix (3, 3)."""
    return quaternions(R)[0]


def quaternion_about(turn: np.ndarray) -> np.ndarray:
    """Return the unit quaternion (4,), x y z w, of a rotation vector (3,) [rad]."""
    half = np.sqrt(turn @ turn) / 2
    # sinc is that of numpy, sin(pi x) / (pi x), and 1 at zero
    return np.append(turn / 2 * np.sinc(half / np.pi), np.cos(half))


def rotation(turn: np.ndarray) -> np.ndarray:
    """Return the rotation matrix (3, 3) of a unit quaternion (4,), x y z w."""
    x, y, z, w = turn
    hat = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + 2 * (w * hat + hat @ hat)


def are_unit(quaternions: np.ndarray) -> bool:
    """Whether quaternions (..., 4) have the length 1, as far as other programs round them."""
    return bool((np.abs(np.linalg.norm(quaternions, axis=-1) - 1.0) <= UNIT_TOLERANCE).all())


def angle_between(first: np.ndarray, second: np.ndarray) -> float:
    """Angle [rad] between the orientations of two unit quaternions (4,)."""
    return 2.0 * float(np.arccos(min(abs(float(first @ second)), 1.0)))


def continuous_signs(quaternions: np.ndarray) -> np.ndarray:
    """Signs (k, 1) with which each of the quaternions (k, 4) is on the side of the one before."""
    flips = np.einsum('ka,ka->k', quaternions[1:], quaternions[:-1]) < 0.0
    return np.where(np.concatenate([[0], np.cumsum(flips)]) % 2 == 1, -1.0, 1.0)[:, None]
