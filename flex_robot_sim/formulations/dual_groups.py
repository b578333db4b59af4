"""
The groups G1 of dual rotations and G2 of dual poses: frames with a small elastic rotation.

An element X = (A, [theta] A) of G1 is the rotation A followed by the small rotation theta, both in
one real matrix (8). It maps dual vectors between frames, as a rotation maps vectors (39). An
element Y = (X, v) of G2 also moves the origin by the dual vector v (14), as a pose does.

    G1    X = [A, 0; [theta] A, A]                           (6, 6)
    G2    Y = [X, v; 0, 1]                                   (7, 7)

Both have inverses, adjoints, an exponential and a logarithm in closed form. G1 has the structure
of the adjoint matrices of SE(3) and the same exponential, but theta is a rotation, not a distance.

Equation numbers: Cibicik & Egeland (2021), see dual_numbers.py.
"""

import numpy as np

from flex_robot_sim.formulations.dual_numbers import dual_hat, dual_matrix, hat

MAX_SERIES_ANGLE = 1.0  # below it, series; above it, closed forms lose no digits       [rad]


def g1(A: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Element X (6, 6) of G1, a rotation A (3, 3) and a small rotation theta (3,) [rad] (8)."""
    return dual_matrix(A, hat(theta) @ A)


def g1_parts(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rotation A (3, 3) and small rotation theta (3,) of an element of G1."""
    A = X[:3, :3]
    return A, vee(X[3:, :3] @ A.T)


def g1_inverse(X: np.ndarray) -> np.ndarray:
    """Inverse (6, 6) of an element of G1: (A^T, -(A^T [theta] A) A^T), which is (32)."""
    A, B = X[:3, :3], X[3:, :3]
    return dual_matrix(A.T, -A.T @ B @ A.T)


def g1_adjoint(X: np.ndarray) -> np.ndarray:
    """Adjoint map (6, 6) of G1, which is the element itself (12)."""
    return X


def g1_hat(w: np.ndarray) -> np.ndarray:
    """Element (6, 6) of the Lie algebra of G1 from its vector (6,) (10), (11)."""
    return dual_hat(w)


def g1_vee(W: np.ndarray) -> np.ndarray:
    """Vector (6,) of an element (6, 6) of the Lie algebra of G1 (11)."""
    return np.concatenate([vee(W[:3, :3]), vee(W[3:, :3])])


def g1_exp(w: np.ndarray) -> np.ndarray:
    """Exponential (6, 6) of a vector (u, w) of the algebra of G1 (136)."""
    u, theta = w[:3], left_jacobian(w[:3]) @ w[3:]
    A = rotation(u)
    return dual_matrix(A, hat(theta) @ A)


def g1_log(X: np.ndarray) -> np.ndarray:
    """Logarithm (6,) of an element of G1 (137)."""
    A, theta = g1_parts(X)
    phi = rotation_vector(A)
    return np.concatenate([phi, np.linalg.solve(left_jacobian(phi), theta)])


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


def g2_hat(t: np.ndarray) -> np.ndarray:
    """Element (7, 7) of the Lie algebra of G2 from a dual twist (12,) (55)."""
    T = np.zeros((7, 7))
    T[:6, :6], T[:6, 6] = g1_hat(t[:6]), t[6:]
    return T


def g2_vee(T: np.ndarray) -> np.ndarray:
    """Dual twist (12,) of an element (7, 7) of the Lie algebra of G2 (56)."""
    return np.concatenate([g1_vee(T[:6, :6]), T[:6, 6]])


def g2_exp(t: np.ndarray) -> np.ndarray:
    """Exponential (7, 7) of a vector (12,) of the algebra of G2 (141)."""
    return g2(g1_exp(t[:6]), g1_left_jacobian(t[:6]) @ t[6:])


def g2_log(Y: np.ndarray) -> np.ndarray:
    """Logarithm (12,) of an element of G2 (145)."""
    X, v = g2_parts(Y)
    w = g1_log(X)
    return np.concatenate([w, np.linalg.solve(g1_left_jacobian(w), v)])


def g1_left_jacobian(w: np.ndarray) -> np.ndarray:
    """Left Jacobian (6, 6) of G1 (143); its lower left block is Q of (144)."""
    phi, gamma = w[:3], w[3:]
    P, G = hat(phi), hat(gamma)
    angle = np.linalg.norm(phi)
    a, b, c = _factors(angle)
    Q = (
        G / 2
        + a * (P @ G + G @ P + P @ G @ P)
        - b * (P @ P @ G + G @ P @ P - 3 * P @ G @ P)
        - c * (P @ G @ P @ P + P @ P @ G @ P)
    )
    return dual_matrix(left_jacobian(phi), Q)


def _factors(angle):
    """Return the three factors of (144), by series where the closed forms lose digits."""
    if angle < MAX_SERIES_ANGLE:
        t = angle * angle
        c3, c4, c5 = (_series(k, t) for k in (3, 4, 5))
    else:
        c3 = (angle - np.sin(angle)) / angle**3
        c4 = (np.cos(angle) - 1 + angle**2 / 2) / angle**4
        c5 = (np.sin(angle) - angle + angle**3 / 6) / angle**5
    # (1 - angle^2/2 - cos) / angle^4 is -c4, and (angle - sin - angle^3/6) / angle^5 is -c5
    return c3, -c4, 0.5 * (3.0 * c5 - c4)


def rotation(phi: np.ndarray) -> np.ndarray:
    """Rotation matrix exp([phi]) (3, 3), which is (22) with the angle |phi|."""
    angle = np.linalg.norm(phi)
    P = hat(phi)
    return np.eye(3) + _series(1, angle**2) * P + _series(2, angle**2) * P @ P


def rotation_vector(A: np.ndarray) -> np.ndarray:
    """Logarithm (3,) of a rotation matrix, of an angle up to pi, through its quaternion [rad]."""
    # four times the products of the quaternion (w, x, y, z); the largest row loses no digits
    products = np.empty((4, 4))
    products[0, 0] = 1.0 + np.trace(A)
    products[0, 1:] = products[1:, 0] = 2.0 * vee(A)
    products[1:, 1:] = A + A.T + (1.0 - np.trace(A)) * np.eye(3)
    row = products[np.argmax(np.diag(products))]
    w, vector = abs(row[0]), row[1:] * (1.0 if row[0] >= 0.0 else -1.0)
    sine = np.linalg.norm(vector)
    return 2.0 * vector / w if sine == 0.0 else 2.0 * np.arctan2(sine, w) / sine * vector


def left_jacobian(phi: np.ndarray) -> np.ndarray:
    """Left Jacobian (3, 3) of SO(3), that is, the sum of [phi]^k / (k + 1)!."""
    t, P = phi @ phi, hat(phi)
    return np.eye(3) + _series(2, t) * P + _series(3, t) * P @ P


def _series(k, t):
    """Sum over j of (-t)^j / (k + 2 j)!; enough terms for angles beyond pi."""
    total, term = 0.0, 1.0
    for factor in range(2, k + 1):
        term /= factor
    for j in range(1, 25):
        total += term
        term *= -t / ((k + 2 * j - 1) * (k + 2 * j))
    return total


def vee(W: np.ndarray) -> np.ndarray:
    """Vector (3,) of a skew matrix."""
    return np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]]) / 2
