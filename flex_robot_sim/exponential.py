"""
Exponential and logarithm of turns, SO(3), and poses, SE(3), with their derivatives.

With phi a rotation vector [rad] and t = phi . phi,

    exp(phi) = 1 + c1 [phi] + c2 [phi]^2                                                     (1)
    dexp(phi) = 1 + s c2 [phi] + c3 [phi]^2,    s = -1 in the body, +1 in space              (2)
    dexp(phi)^-1 = 1 - s/2 [phi] + e [phi]^2,   e = -c2' / c2                                (3)

and Stumpff's functions c_k(t) = sum over j of (-t)^j / (k + 2j)!, which obey

    c_k = 1/k! - t c_{k+2}                                                                   (4)
    c_k' = dc_k/dt = (k c_{k+2} - c_{k+1}) / 2                                               (5)

so nothing here divides by the angle. dexp takes the rate of phi to the angular velocity omega: in
the body, [omega] = exp(phi)^-1 d exp(phi)/dt, in space [omega] = (d exp(phi)/dt) exp(phi)^-1.

A pose is exp of (phi, rho), (angular, linear), and has the same formulas with phi + eps rho for
phi, eps^2 = 0: its matrix [A, 0; B, A] stands for A + eps B, and B is the derivative of A along
rho. Hence (2) and (3) need their first derivatives here and their second ones for rates.

Sources: Stumpff, Himmelsmechanik I (1959); Mueller, Proc. R. Soc. A 477 (2021) 20210303 for dexp
of SE(3); Shepperd, J. Guidance 1 (1978) 223 for the logarithm.
"""

from math import atan2, factorial

from numpy import sin, sqrt  # where those of math raise, uncompiled, these return nan

from flex_robot_sim.compiled import compiled
from flex_robot_sim.screws import set_product

BODY, SPACE = -1.0, 1.0
"""Side of dexp: the velocity is seen in the moved frame, or in the frame it moves in."""

# coefficients 1/(k + 2j)! of c_k, j = 0, 1, ...
_C2, _C3, _C7, _C8 = (tuple(1.0 / factorial(k + 2 * j) for j in range(14)) for k in (2, 3, 7, 8))


@compiled
def stumpff(t):
    """
    Stumpff's functions c1 to c8 at t = angle^2 >= 0.

    c1 = sin(angle)/angle, c2 = (1 - cos(angle))/t, c3 = (1 - c1)/t, ...
    """
    if t < 10.0:            # enough terms for the last digit; above, the recurrence loses none
        c7 = c8 = 0.0
        for j in range(6 if t < 0.5 else 13, -1, -1):
            c7, c8 = _C7[j] - t * c7, _C8[j] - t * c8
        c6, c5 = _C2[2] - t * c8, _C3[1] - t * c7                                    # (4)
        c4, c3 = _C2[1] - t * c6, _C3[0] - t * c5
        c2, c1 = _C2[0] - t * c4, 1.0 - t * c3
    else:
        angle = sqrt(t)
        c1, c2 = sin(angle) / angle, 2.0 * sin(0.5 * angle)**2 / t
        c3, c4 = (1.0 - c1) / t, (_C2[0] - c2) / t                                   # (4)
        c5, c6 = (_C3[0] - c3) / t, (_C2[1] - c4) / t
        c7, c8 = (_C3[1] - c5) / t, (_C2[2] - c6) / t
    return c1, c2, c3, c4, c5, c6, c7, c8


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
def _add_hat(x, a, out):
    """Matrix x [a]."""
    u, v, w = x * a[0], x * a[1], x * a[2]
    out[0, 1] -= w
    out[0, 2] += v
    out[1, 0] += w
    out[1, 2] -= u
    out[2, 0] -= v
    out[2, 1] += u


@compiled
def _add_hats(y, a, b, out):
    """Matrix y ([a][b] + [b][a]) = y (a b^T + b a^T - 2 (a . b) 1)."""
    trace = 2.0 * y * _dot3(a, b)
    for i in range(3):
        for j in range(3):
            out[i, j] += y * (a[i] * b[j] + b[i] * a[j])
        out[i, i] -= trace


@compiled
def _add_first(x, dx, y, dy, a, b, out):
    """Add the derivative along b of x [a] + y [a]^2, where dx and dy are dx/dt and dy/dt."""
    t1 = 2.0 * _dot3(a, b)
    _add_hat(dx * t1, a, out)
    _add_hat(x, b, out)
    _add_hats(0.5 * dy * t1, a, a, out)
    _add_hats(y, a, b, out)


@compiled
def _add_second(dx, ddx, y, dy, ddy, a, b, c, out):
    """Add the derivative along c of the derivative along b of x [a] + y [a]^2."""
    t1, t2, t12 = 2.0 * _dot3(a, b), 2.0 * _dot3(a, c), 2.0 * _dot3(b, c)
    _add_hat(ddx * t1 * t2 + dx * t12, a, out)
    _add_hat(dx * t2, b, out)
    _add_hat(dx * t1, c, out)
    _add_hats(0.5 * (ddy * t1 * t2 + dy * t12), a, a, out)
    _add_hats(dy * t2, a, b, out)
    _add_hats(dy * t1, a, c, out)
    _add_hats(y, b, c, out)


@compiled
def _direct(side, t):
    """Factors of (2), x = s c2 and y = c3: x, x', x'', y, y', y''."""
    _, c2, c3, c4, c5, c6, c7, _ = stumpff(t)
    return (side * c2, side * (c4 - 0.5 * c3), side * (2.0 * c6 - 1.25 * c5 + 0.25 * c4),
            c3, 1.5 * c5 - 0.5 * c4, 3.75 * c7 - 1.75 * c6 + 0.25 * c5)              # by (5)


@compiled
def _inverse(side, t):
    """Factors of (3), x = -s/2 and y = e: x, x', x'', y, y', y''."""
    _, c2, c3, c4, c5, c6, c7, c8 = stumpff(t)
    d1 = (c4 - 0.5 * c3) / c2                                                        # by (5)
    d2 = (2.0 * c6 - 1.25 * c5 + 0.25 * c4) / c2
    d3 = (6.0 * c8 - 4.125 * c7 + 1.125 * c6 - 0.125 * c5) / c2
    return (-0.5 * side, 0.0, 0.0,
            -d1, d1 * d1 - d2, 3.0 * d1 * d2 - 2.0 * d1 * d1 * d1 - d3)


@compiled
def _factors(side, inverse, t):
    if inverse:
        return _inverse(side, t)
    return _direct(side, t)


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
def set_turn(phi, dphi, R, J, dJ):
    """
    Rotation, body dexp and its rate at once: omega = J dphi, domega/dt = J ddphi + dJ dphi.

    :param phi: rotation vector, (3,) [rad]; dphi is its rate [rad/s].
    """
    c1, c2, c3, c4, c5, _, _, _ = stumpff(_dot3(phi, phi))
    _set_polynomial(c1, c2, phi, R)
    _set_polynomial(-c2, c3, phi, J)
    dJ[:] = 0.0
    _add_first(-c2, 0.5 * c3 - c4, c3, 1.5 * c5 - 0.5 * c4, phi, dphi, dJ)


@compiled
def set_dexp3(side, phi, out):
    """Matrix (3, 3) from the rate of a rotation vector to angular velocity (2)."""
    _, c2, c3 = stumpff_123(_dot3(phi, phi))
    _set_polynomial(side * c2, c3, phi, out)


@compiled
def set_dexp3_inverse(side, phi, out):
    """Matrix (3, 3) from angular velocity to the rate of a rotation vector (3)."""
    x, _, _, y, _, _ = _inverse(side, _dot3(phi, phi))
    _set_polynomial(x, y, phi, out)


@compiled
def _set_rate3(side, inverse, phi, dphi, out):
    x, dx, _, y, dy, _ = _factors(side, inverse, _dot3(phi, phi))
    out[:] = 0.0
    _add_first(x, dx, y, dy, phi, dphi, out)


@compiled
def set_dexp3_rate(side, phi, dphi, out):
    """Rate of dexp3 while phi changes at the rate dphi."""
    _set_rate3(side, False, phi, dphi, out)


@compiled
def set_dexp3_inverse_rate(side, phi, dphi, out):
    """Rate of the inverse of dexp3 while phi changes at the rate dphi."""
    _set_rate3(side, True, phi, dphi, out)


@compiled
def set_exp(xi, R, p):
    """Pose exp(phi, rho) with p = dexp(phi) rho in space; xi is (6,) [rad, m]."""
    phi = xi[:3]
    c1, c2, c3 = stumpff_123(_dot3(phi, phi))
    _set_polynomial(c2, c3, phi, R)
    set_product(R, xi[3:], p)
    _set_polynomial(c1, c2, phi, R)


@compiled
def set_log(R, p, xi):
    """Logarithm (phi, rho) of a pose, (6,) [rad, m]; the angle is at most pi."""
    phi = xi[:3]
    set_rotation_vector(R, phi)
    x, _, _, y, _, _ = _inverse(SPACE, _dot3(phi, phi))
    a0 = phi[1] * p[2] - phi[2] * p[1]
    a1 = phi[2] * p[0] - phi[0] * p[2]
    a2 = phi[0] * p[1] - phi[1] * p[0]
    xi[3] = p[0] + x * a0 + y * (phi[1] * a2 - phi[2] * a1)
    xi[4] = p[1] + x * a1 + y * (phi[2] * a0 - phi[0] * a2)
    xi[5] = p[2] + x * a2 + y * (phi[0] * a1 - phi[1] * a0)


@compiled
def _set_dual(side, inverse, xi, out):
    """Matrix [A, 0; B, A] of (2) or (3), B its derivative along rho."""
    phi, rho = xi[:3], xi[3:]
    x, dx, _, y, dy, _ = _factors(side, inverse, _dot3(phi, phi))
    out[:] = 0.0
    _set_polynomial(x, y, phi, out[:3, :3])
    _set_polynomial(x, y, phi, out[3:, 3:])
    _add_first(x, dx, y, dy, phi, rho, out[3:, :3])


@compiled
def _set_dual_rate(side, inverse, xi, dxi, out):
    phi, rho, dphi, drho = xi[:3], xi[3:], dxi[:3], dxi[3:]
    x, dx, ddx, y, dy, ddy = _factors(side, inverse, _dot3(phi, phi))
    out[:] = 0.0
    _add_first(x, dx, y, dy, phi, dphi, out[:3, :3])
    _add_first(x, dx, y, dy, phi, dphi, out[3:, 3:])
    _add_first(x, dx, y, dy, phi, drho, out[3:, :3])
    _add_second(dx, ddx, y, dy, ddy, phi, rho, dphi, out[3:, :3])


@compiled
def set_dexp6(side, xi, out):
    """Matrix (6, 6) from the rate of xi to the twist of the pose exp(xi)."""
    _set_dual(side, False, xi, out)


@compiled
def set_dexp6_inverse(side, xi, out):
    """Matrix (6, 6) from the twist of the pose exp(xi) to the rate of xi."""
    _set_dual(side, True, xi, out)


@compiled
def set_dexp6_rate(side, xi, dxi, out):
    """Rate of dexp6 while xi changes at the rate dxi."""
    _set_dual_rate(side, False, xi, dxi, out)


@compiled
def set_dexp6_inverse_rate(side, xi, dxi, out):
    """Rate of the inverse of dexp6 while xi changes at the rate dxi."""
    _set_dual_rate(side, True, xi, dxi, out)
