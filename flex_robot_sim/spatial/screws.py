"""
Rigid motion: poses, twists, wrenches and inertias, and the operations of a recursion on them.

A pose (R, p) of a frame in its parent maps coordinates x of a point to R x + p. A twist
V = (omega, v) is (angular, linear) in the body frame [rad/s, m/s]. A wrench F = (moment, force) is
in the same frame [N m, N], so that F . V is power. `set_x` overwrites its last argument, `add_x`
adds to it; nothing is allocated, and an output must not be an input as well. Arguments are arrays
(3,), (6,), (3, 3) or (6, 6). Equation and section numbers: Lynch & Park, Modern Robotics (2017).
"""

from math import isfinite

import numpy as np
from numpy import cos, sin  # return nan where those of math raise

from flex_robot_sim.jit.compiled import compiled


@compiled
def dot(a, b):
    """Sum of a[i] b[i]: the power of a wrench on a twist, for instance."""
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@compiled
def is_finite(a):
    """Whether all numbers of a vector are finite."""
    finite = True
    for i in range(a.size):
        finite = finite and isfinite(a[i])
    return finite


@compiled
def set_copy(a, out):
    """Copy of a vector; numba's `out[:] = a` makes a temporary array."""
    for i in range(out.size):
        out[i] = a[i]


@compiled
def add_scaled(factor, a, out):
    """Product factor a."""
    for i in range(out.size):
        out[i] += factor * a[i]


@compiled
def set_product(A, x, out):
    """Matrix times vector, A x."""
    for i in range(A.shape[0]):
        total = 0.0
        for j in range(A.shape[1]):
            total += A[i, j] * x[j]
        out[i] = total


@compiled
def add_product(A, x, out):
    """Matrix times vector, A x."""
    for i in range(A.shape[0]):
        total = 0.0
        for j in range(A.shape[1]):
            total += A[i, j] * x[j]
        out[i] += total


@compiled
def set_composed(R1, p1, R2, p2, R, p):
    """Pose T1 T2 (section 3.3.1)."""
    for i in range(3):
        p[i] = R1[i, 0] * p2[0] + R1[i, 1] * p2[1] + R1[i, 2] * p2[2] + p1[i]
        for j in range(3):
            R[i, j] = R1[i, 0] * R2[0, j] + R1[i, 1] * R2[1, j] + R1[i, 2] * R2[2, j]


@compiled
def set_inverse(R1, p1, R, p):
    """Pose of the parent in the frame (R1, p1), T1^-1 (3.64)."""
    for i in range(3):
        p[i] = -(R1[0, i] * p1[0] + R1[1, i] * p1[1] + R1[2, i] * p1[2])
        for j in range(3):
            R[i, j] = R1[j, i]


@compiled
def set_pose(home_R, home_p, A, q, R, p):
    """
    Pose of a body that moves along a screw axis, T = M exp([A] q) (3.88), (8.50).

    :param A: screw axis in the body: |omega| = 1, or omega = 0 and |v| = 1.
    :param q: coordinate [rad or m].
    """
    x, y, z = A[0], A[1], A[2]
    half_sin, half_cos = sin(0.5 * q), cos(0.5 * q)
    s, u = 2.0 * half_sin * half_cos, 2.0 * half_sin * half_sin  # sin q and 1 - cos q
    # exp([omega] q) = 1 + s [omega] + u [omega]^2 (3.51), by columns
    xx, xy, xz = 1.0 - u * (y * y + z * z), u * x * y + s * z, u * x * z - s * y
    yx, yy, yz = u * x * y - s * z, 1.0 - u * (x * x + z * z), u * y * z + s * x
    zx, zy, zz = u * x * z + s * y, u * y * z - s * x, 1.0 - u * (x * x + y * y)
    # its translation q v + u omega x v + (q - s) omega x (omega x v) (3.88)
    a, b, c = y * A[5] - z * A[4], z * A[3] - x * A[5], x * A[4] - y * A[3]
    k = q - s
    px = q * A[3] + u * a + k * (y * c - z * b)
    py = q * A[4] + u * b + k * (z * a - x * c)
    pz = q * A[5] + u * c + k * (x * b - y * a)
    for i in range(3):
        h0, h1, h2 = home_R[i, 0], home_R[i, 1], home_R[i, 2]
        R[i, 0] = h0 * xx + h1 * xy + h2 * xz
        R[i, 1] = h0 * yx + h1 * yy + h2 * yz
        R[i, 2] = h0 * zx + h1 * zy + h2 * zz
        p[i] = h0 * px + h1 * py + h2 * pz + home_p[i]


@compiled
def set_in_child(R, p, V, out):
    """Twist V of the parent frame expressed in its child (R, p): Ad_{T^-1} V (section 3.3.2)."""
    x = V[3] + V[1] * p[2] - V[2] * p[1]
    y = V[4] + V[2] * p[0] - V[0] * p[2]
    z = V[5] + V[0] * p[1] - V[1] * p[0]
    for i in range(3):
        out[i] = R[0, i] * V[0] + R[1, i] * V[1] + R[2, i] * V[2]
        out[3 + i] = R[0, i] * x + R[1, i] * y + R[2, i] * z


@compiled
def add_to_parent(R, p, F, out):
    """Wrench F of the child (R, p) expressed in the parent frame: Ad_{T^-1}^T F (section 3.4)."""
    x = R[0, 0] * F[3] + R[0, 1] * F[4] + R[0, 2] * F[5]
    y = R[1, 0] * F[3] + R[1, 1] * F[4] + R[1, 2] * F[5]
    z = R[2, 0] * F[3] + R[2, 1] * F[4] + R[2, 2] * F[5]
    out[0] += R[0, 0] * F[0] + R[0, 1] * F[1] + R[0, 2] * F[2] + p[1] * z - p[2] * y
    out[1] += R[1, 0] * F[0] + R[1, 1] * F[1] + R[1, 2] * F[2] + p[2] * x - p[0] * z
    out[2] += R[2, 0] * F[0] + R[2, 1] * F[1] + R[2, 2] * F[2] + p[0] * y - p[1] * x
    out[3] += x
    out[4] += y
    out[5] += z


@compiled
def add_bracket(factor, V, W, out):
    """Lie bracket factor ad_V W (section 8.2.2): the rate of W, fixed to a moving frame."""
    out[0] += factor * (V[1] * W[2] - V[2] * W[1])
    out[1] += factor * (V[2] * W[0] - V[0] * W[2])
    out[2] += factor * (V[0] * W[1] - V[1] * W[0])
    out[3] += factor * (V[1] * W[5] - V[2] * W[4] + V[4] * W[2] - V[5] * W[1])
    out[4] += factor * (V[2] * W[3] - V[0] * W[5] + V[5] * W[0] - V[3] * W[2])
    out[5] += factor * (V[0] * W[4] - V[1] * W[3] + V[3] * W[1] - V[4] * W[0])


@compiled
def add_turning_wrench(G, V, out):
    """Wrench that a rigid body of inertia G needs at constant V: -ad_V^T G V (8.40)."""
    P0 = P1 = P2 = P3 = P4 = P5 = 0.0  # momentum G V
    for j in range(6):
        P0 += G[0, j] * V[j]
        P1 += G[1, j] * V[j]
        P2 += G[2, j] * V[j]
        P3 += G[3, j] * V[j]
        P4 += G[4, j] * V[j]
        P5 += G[5, j] * V[j]
    out[0] += V[1] * P2 - V[2] * P1 + V[4] * P5 - V[5] * P4
    out[1] += V[2] * P0 - V[0] * P2 + V[5] * P3 - V[3] * P5
    out[2] += V[0] * P1 - V[1] * P0 + V[3] * P4 - V[4] * P3
    out[3] += V[1] * P5 - V[2] * P4
    out[4] += V[2] * P3 - V[0] * P5
    out[5] += V[0] * P4 - V[1] * P3


def set_body_inertia(
    mass: float, centre: np.ndarray, inertia: np.ndarray, out: np.ndarray
) -> None:
    """
    Inertia (6, 6) of a rigid body about its frame, moved from the centre of mass; not compiled.

    :param mass: [kg]
    :param centre: centre of mass in the frame, (3,) [m].
    :param inertia: about the centre of mass, in the axes of the frame, (3, 3) [kg m2].
    """
    x, y, z = mass * centre
    out[:3, :3] = inertia + mass * (centre @ centre * np.eye(3) - np.outer(centre, centre))
    out[:3, 3:] = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
    out[3:, :3] = out[:3, 3:].T
    out[3:, 3:] = mass * np.eye(3)


@compiled
def _rotated(R, S):
    """R S R^T of a matrix S given by rows, as nine numbers."""
    s00, s01, s02, s10, s11, s12, s20, s21, s22 = S
    r00, r01, r02 = R[0, 0], R[0, 1], R[0, 2]
    r10, r11, r12 = R[1, 0], R[1, 1], R[1, 2]
    r20, r21, r22 = R[2, 0], R[2, 1], R[2, 2]
    a0 = r00 * s00 + r01 * s10 + r02 * s20
    a1 = r00 * s01 + r01 * s11 + r02 * s21
    a2 = r00 * s02 + r01 * s12 + r02 * s22
    b0 = r10 * s00 + r11 * s10 + r12 * s20
    b1 = r10 * s01 + r11 * s11 + r12 * s21
    b2 = r10 * s02 + r11 * s12 + r12 * s22
    c0 = r20 * s00 + r21 * s10 + r22 * s20
    c1 = r20 * s01 + r21 * s11 + r22 * s21
    c2 = r20 * s02 + r21 * s12 + r22 * s22
    return (
        a0 * r00 + a1 * r01 + a2 * r02,
        a0 * r10 + a1 * r11 + a2 * r12,
        a0 * r20 + a1 * r21 + a2 * r22,
        b0 * r00 + b1 * r01 + b2 * r02,
        b0 * r10 + b1 * r11 + b2 * r12,
        b0 * r20 + b1 * r21 + b2 * r22,
        c0 * r00 + c1 * r01 + c2 * r02,
        c0 * r10 + c1 * r11 + c2 * r12,
        c0 * r20 + c1 * r21 + c2 * r22,
    )


@compiled
def add_inertia_to_parent(R, p, G, out):
    """
    Inertia G of the child (R, p) expressed in the parent frame: Ad_{T^-1}^T G Ad_{T^-1} (8.42).

    G is any symmetric (6, 6) matrix, such as an articulated inertia. Rotated, its blocks are
    [J, C; C^T, M]; moved by p they become J - C [p] + [p] C^T - [p] M [p], C + [p] M and M.

    :param out: symmetric; the result is added to it.
    """
    x, y, z = p[0], p[1], p[2]
    j00, j01, j02, _, j11, j12, _, _, j22 = _rotated(
        R, (G[0, 0], G[0, 1], G[0, 2], G[0, 1], G[1, 1], G[1, 2], G[0, 2], G[1, 2], G[2, 2])
    )
    m00, m01, m02, _, m11, m12, _, _, m22 = _rotated(
        R, (G[3, 3], G[3, 4], G[3, 5], G[3, 4], G[4, 4], G[4, 5], G[3, 5], G[4, 5], G[5, 5])
    )
    c00, c01, c02, c10, c11, c12, c20, c21, c22 = _rotated(
        R, (G[0, 3], G[0, 4], G[0, 5], G[1, 3], G[1, 4], G[1, 5], G[2, 3], G[2, 4], G[2, 5])
    )
    # D = C + [p] M; its columns are those of C plus p x (columns of M)
    d00, d10, d20 = c00 + y * m02 - z * m01, c10 + z * m00 - x * m02, c20 + x * m01 - y * m00
    d01, d11, d21 = c01 + y * m12 - z * m11, c11 + z * m01 - x * m12, c21 + x * m11 - y * m01
    d02, d12, d22 = c02 + y * m22 - z * m12, c12 + z * m02 - x * m22, c22 + x * m12 - y * m02
    # J - D [p] + [p] C^T, where -D [p] has the rows p x (rows of D)
    out[0, 0] += j00 + y * d02 - z * d01 + y * c02 - z * c01
    out[1, 1] += j11 + z * d10 - x * d12 + z * c10 - x * c12
    out[2, 2] += j22 + x * d21 - y * d20 + x * c21 - y * c20
    out[0, 1] += j01 + z * d00 - x * d02 + y * c12 - z * c11
    out[0, 2] += j02 + x * d01 - y * d00 + y * c22 - z * c21
    out[1, 2] += j12 + x * d11 - y * d10 + z * c20 - x * c22
    out[0, 3] += d00
    out[0, 4] += d01
    out[0, 5] += d02
    out[1, 3] += d10
    out[1, 4] += d11
    out[1, 5] += d12
    out[2, 3] += d20
    out[2, 4] += d21
    out[2, 5] += d22
    out[3, 4] += m01
    out[3, 5] += m02
    out[4, 5] += m12
    out[3, 3] += m00
    out[4, 4] += m11
    out[5, 5] += m22
    for r in range(1, 6):
        for s in range(r):
            out[r, s] = out[s, r]


@compiled
def set_Ad(R, p, out):
    """Adjoint matrix of a pose: maps twists of the child frame to the parent frame."""
    for i in range(3):
        for j in range(3):
            out[i, j] = out[3 + i, 3 + j] = R[i, j]
            out[i, 3 + j] = 0.0
    for j in range(3):
        out[3, j] = p[1] * R[2, j] - p[2] * R[1, j]
        out[4, j] = p[2] * R[0, j] - p[0] * R[2, j]
        out[5, j] = p[0] * R[1, j] - p[1] * R[0, j]
