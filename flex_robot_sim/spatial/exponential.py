"""
Exponential and logarithm of rotations, SO(3), with their derivatives.

With phi a rotation vector [rad] and t = phi . phi,

    exp(phi) = 1 + c1 [phi] + c2 [phi]^2                                                     (1)
    dexp(phi) = 1 - c2 [phi] + c3 [phi]^2                                                    (2)

and Stumpff's functions c_k(t) = sum over j of (-t)^j / (k + 2j)!, which obey

    c_k = 1/k! - t c_{k+2}                                                                   (3)
    c_k' = dc_k/dt = (k c_{k+2} - c_{k+1}) / 2                                               (4)

so no formula divides by the angle. dexp maps the rate of phi to the angular velocity omega in
the body, [omega] = exp(phi)^-1 d exp(phi)/dt.

Sources: Stumpff, Himmelsmechanik I (1959); Shepperd, J. Guidance 1 (1978) 223 for the logarithm.
"""

from math import atan2, factorial

from numpy import sin, sqrt  # return nan where those of math raise

from flex_robot_sim.jit.compiled import compiled

# coefficients 1/(k + 2j)! of c_k, j = 0, 1, ...
_C2, _C3, _C4, _C5 = (tuple(1.0 / factorial(k + 2 * j) for j in range(14)) for k in (2, 3, 4, 5))


@compiled
def stumpff(t):
    """
    First five of Stumpff's functions, c1 to c5, at t = angle^2 >= 0.

    c1 = sin(angle)/angle, c2 = (1 - cos(angle))/t, c3 = (1 - c1)/t, ...
    """
    if t < 10.0:            # series to full precision; above it, the recurrence is exact
        c4 = c5 = 0.0
        for j in range(3 if t < 0.01 else 7 if t < 0.5 else 13, -1, -1):
            c4, c5 = _C4[j] - t * c4, _C5[j] - t * c5
        c3, c2 = _C3[0] - t * c5, _C2[0] - t * c4                                    # (3)
        c1 = 1.0 - t * c3
    else:
        angle = sqrt(t)
        c1, c2 = sin(angle) / angle, 2.0 * sin(0.5 * angle)**2 / t
        c3, c4 = (1.0 - c1) / t, (_C2[0] - c2) / t                                   # (3)
        c5 = (_C3[0] - c3) / t
    return c1, c2, c3, c4, c5


@compiled
def stumpff_123(t):
    """First three of Stumpff's functions, c1, c2, c3, at t = angle^2 >= 0."""
    if t < 0.25:
        c2 = c3 = 0.0
        for j in range(6, -1, -1):
            c2, c3 = _C2[j] - t * c2, _C3[j] - t * c3
        c1 = 1.0 - t * c3
    else:
        angle = sqrt(t)
        c1, c2 = sin(angle) / angle, 2.0 * sin(0.5 * angle)**2 / t
        c3 = (1.0 - c1) / t
    return c1, c2, c3


@compiled
def _dot3(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@compiled
def _set_polynomial(x, y, a, out):
    """Matrix 1 + x [a] + y [a]^2."""
    xx, yy, zz = a[0] * a[0], a[1] * a[1], a[2] * a[2]
    xy, yz, xz = y * a[0] * a[1], y * a[1] * a[2], y * a[0] * a[2]
    u, v, w = x * a[0], x * a[1], x * a[2]
    out[0, 0], out[0, 1], out[0, 2] = 1.0 - y * (yy + zz), xy - w, xz + v
    out[1, 0], out[1, 1], out[1, 2] = xy + w, 1.0 - y * (xx + zz), yz - u
    out[2, 0], out[2, 1], out[2, 2] = xz - v, yz + u, 1.0 - y * (xx + yy)


@compiled
def set_rotation(phi, R):
    """Rotation matrix exp(phi) (1)."""
    c1, c2, _ = stumpff_123(_dot3(phi, phi))
    _set_polynomial(c1, c2, phi, R)


@compiled
def set_rotation_vector(R, phi):
    """Logarithm of a rotation matrix, of an angle up to pi [rad], through the quaternion of R."""
    trace = R[0, 0] + R[1, 1] + R[2, 2]
    i = 0                                   # the largest of the diagonal
    if R[1, 1] > R[i, i]:
        i = 1
    if R[2, 2] > R[i, i]:
        i = 2
    j, k = (i + 1) % 3, (i + 2) % 3
    if trace > R[i, i]:                     # quaternion times a common factor
        w = 1.0 + trace
        phi[0], phi[1], phi[2] = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    else:
        w = R[k, j] - R[j, k]
        phi[i] = 1.0 + 2.0 * R[i, i] - trace
        phi[j] = R[j, i] + R[i, j]
        phi[k] = R[k, i] + R[i, k]
    length = sqrt(_dot3(phi, phi))
    if w < 0.0:
        w, length = -w, -length
    factor = 2.0 / w if length == 0.0 else 2.0 * atan2(abs(length), w) / length
    for m in range(3):
        phi[m] *= factor


@compiled
def set_turn(phi, dphi, R, G, alpha):
    """
    Rotation, dexp and its rate at once, all expressed in the frame of phi.

    There omega = G dphi with G = R dexp(phi) = dexp(phi)^T, and domega/dt = G ddphi + alpha. With
    a = phi x dphi and t' = 2 phi . dphi,

        alpha = dG/dt dphi = c2' t' a + c3' t' phi x a + c3 dphi x a                         (5)

    :param phi: rotation vector, (3,) [rad]; dphi is its rate [rad/s].
    """
    c1, c2, c3, c4, c5 = stumpff(_dot3(phi, phi))
    _set_polynomial(c1, c2, phi, R)
    _set_polynomial(c2, c3, phi, G)
    dt = 2.0 * _dot3(phi, dphi)
    x, y = (c4 - 0.5 * c3) * dt, (1.5 * c5 - 0.5 * c4) * dt                    # (4)
    p0, p1, p2, d0, d1, d2 = phi[0], phi[1], phi[2], dphi[0], dphi[1], dphi[2]
    a0, a1, a2 = p1 * d2 - p2 * d1, p2 * d0 - p0 * d2, p0 * d1 - p1 * d0
    v0, v1, v2 = y * p0 + c3 * d0, y * p1 + c3 * d1, y * p2 + c3 * d2
    alpha[0] = x * a0 + v1 * a2 - v2 * a1
    alpha[1] = x * a1 + v2 * a0 - v0 * a2
    alpha[2] = x * a2 + v0 * a1 - v1 * a0
