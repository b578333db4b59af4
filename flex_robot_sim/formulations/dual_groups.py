"""
The groups G1 of dual rotations and G2 of dual poses: frames with a small elastic rotation.

An element X = (A, [theta] A) of G1 is the rotation A followed by the small rotation theta, both in
one real matrix (8). It maps dual vectors between frames, as a rotation maps vectors (39). An
element Y = (X, v) of G2 also moves the origin by the dual vector v (14), as a pose does.

    G1    X = [A, 0; [theta] A, A]                           (6, 6)
    G2    Y = [X, v; 0, 1]                                   (7, 7)

G1 has the structure of the adjoint matrices of SE(3), but theta is a rotation, not a distance.

Equation numbers: Cibicik & Egeland (2021), see dual_numbers.py.
"""

import numpy as np

from flex_robot_sim.formulations.dual_numbers import dual_hat, dual_matrix, hat


def g1(A: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Element X (6, 6) of G1, a rotation A (3, 3) and a small rotation theta (3,) [rad] (8)."""
    return dual_matrix(A, hat(theta) @ A)


def g1_inverse(X: np.ndarray) -> np.ndarray:
    """Inverse (6, 6) of an element of G1: (A^T, -(A^T [theta] A) A^T), which is (32)."""
    A, B = X[:3, :3], X[3:, :3]
    return dual_matrix(A.T, -A.T @ B @ A.T)


def g2(X: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Element Y (7, 7) of G2 from X of G1 and the dual vector v (6,) of the origin [m] (14)."""
    Y = np.eye(7)
    Y[:6, :6], Y[:6, 6] = X, v
    return Y


def g2_parts(Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Dual rotation X (6, 6) and dual origin v (6,) [m] of an element of G2."""
    return Y[:6, :6], Y[:6, 6]


def g2_inverse(Y: np.ndarray) -> np.ndarray:
    """Inverse (7, 7) of an element of G2: (X^-1, -X^-1 v), which is (51)."""
    X, v = g2_parts(Y)
    X_inverse = g1_inverse(X)
    return g2(X_inverse, -X_inverse @ v)


def g2_adjoint(Y: np.ndarray) -> np.ndarray:
    """Adjoint map (12, 12) of G2, which maps dual twists to another frame (19)."""
    X, v = g2_parts(Y)
    Ad = np.zeros((12, 12))
    Ad[:6, :6] = Ad[6:, 6:] = X
    Ad[6:, :6] = dual_hat(v) @ X
    return Ad


def rotation(phi: np.ndarray) -> np.ndarray:
    """Rotation matrix exp([phi]) (3, 3), which is (22) with the angle |phi|."""
    angle = np.linalg.norm(phi)
    P = hat(phi)
    return np.eye(3) + _series(1, angle**2) * P + _series(2, angle**2) * P @ P


def _series(k, t):
    """Sum over j of (-t)^j / (k + 2 j)!; enough terms for angles beyond pi."""
    total, term = 0.0, 1.0
    for factor in range(2, k + 1):
        term /= factor
    for j in range(1, 25):
        total += term
        term *= -t / ((k + 2 * j - 1) * (k + 2 * j))
    return total
