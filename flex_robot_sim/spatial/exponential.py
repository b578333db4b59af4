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
_C2, _C3, _C4, _C5, _C6, _C7 = (
    tuple(1.0 / factorial(k + 2 * j) for j in range(14)) for k in (2, 3, 4, 5, 6, 7)
)


@compiled
def stumpff(t):
    """
    First five of Stumpff's functions, c1 to c5, at t = angle^2 >= 0.

    c1 = sin(angle)/angle, c2 = (1 - cos(angle))/t, c3 = (1 - c1)/t, ...
    """
    if t < 10.0:  # series to full precision; above it, the recurrence is exact
        c4 = c5 = 0.0
        for j in range(3 if t < 0.01 else 7 if t < 0.5 else 13, -1, -1):
            c4, c5 = _C4[j] - t * c4, _C5[j] - t * c5
        c3, c2 = _C3[0] - t * c5, _C2[0] - t * c4  # (3)
        c1 = 1.0 - t * c3
    else:
        angle = sqrt(t)
        c1, c2 = sin(angle) / angle, 2.0 * sin(0.5 * angle) ** 2 / t
        c3, c4 = (1.0 - c1) / t, (_C2[0] - c2) / t  # (3)
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
        c1, c2 = sin(angle) / angle, 2.0 * sin(0.5 * angle) ** 2 / t
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
    i = 0  # the largest of the diagonal
    if R[1, 1] > R[i, i]:
        i = 1
    if R[2, 2] > R[i, i]:
        i = 2
    j, k = (i + 1) % 3, (i + 2) % 3
    if trace > R[i, i]:  # quaternion times a common factor
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
    x, y = (c4 - 0.5 * c3) * dt, (1.5 * c5 - 0.5 * c4) * dt  # (4)
    p0, p1, p2, d0, d1, d2 = phi[0], phi[1], phi[2], dphi[0], dphi[1], dphi[2]
    a0, a1, a2 = p1 * d2 - p2 * d1, p2 * d0 - p0 * d2, p0 * d1 - p1 * d0
    v0, v1, v2 = y * p0 + c3 * d0, y * p1 + c3 * d1, y * p2 + c3 * d2
    alpha[0] = x * a0 + v1 * a2 - v2 * a1
    alpha[1] = x * a1 + v2 * a0 - v0 * a2
    alpha[2] = x * a2 + v0 * a1 - v1 * a0


@compiled
def _stumpff_rates(t):
    """Stumpff's functions c2 and c3 at t = angle^2 >= 0, with their first and second slopes."""
    if t < 10.0:
        c6 = c7 = 0.0
        for j in range(3 if t < 0.01 else 7 if t < 0.5 else 13, -1, -1):
            c6, c7 = _C6[j] - t * c6, _C7[j] - t * c7
        c5, c4 = _C5[0] - t * c7, _C4[0] - t * c6  # (3)
        c3, c2 = _C3[0] - t * c5, _C2[0] - t * c4
    else:
        _, c2, c3, c4, c5 = stumpff(t)
        c6, c7 = (_C4[0] - c4) / t, (_C5[0] - c5) / t  # (3)
    first2, first3 = c4 - 0.5 * c3, 1.5 * c5 - 0.5 * c4  # (4)
    first4, first5 = 2.0 * c6 - 0.5 * c5, 2.5 * c7 - 0.5 * c6
    return c2, c3, first2, first3, first4 - 0.5 * first3, 1.5 * first5 - 0.5 * first4


@compiled
def set_turn_rates(phi, dphi, ddphi, first, second):
    """
    First and second rates of the G of `set_turn`, (3, 3) each.

    The rates of [phi]^2 are sums of products

        [a] [b] = b a^T - (a . b) 1                                                          (6)

    :param phi: rotation vector, (3,) [rad]; dphi and ddphi are its rates [rad/s, rad/s2].
    """
    c2, c3, first2, first3, second2, second3 = _stumpff_rates(_dot3(phi, phi))
    squared = _dot3(dphi, dphi)
    dt, ddt = 2.0 * _dot3(phi, dphi), 2.0 * (squared + _dot3(phi, ddphi))
    x1, y1 = first2 * dt, first3 * dt
    x2, y2 = second2 * dt * dt + first2 * ddt, second3 * dt * dt + first3 * ddt
    for i in range(3):
        p, v, a = phi[i], dphi[i], ddphi[i]
        for k in range(3):
            square = p * phi[k]  # of [phi]^2, and its rates      (6)
            rate = p * dphi[k] + v * phi[k]
            acceleration = p * ddphi[k] + a * phi[k] + 2.0 * v * dphi[k]
            if i == k:
                square -= _dot3(phi, phi)
                rate -= dt
                acceleration -= ddt
            first[i, k] = y1 * square + c3 * rate
            second[i, k] = y2 * square + 2.0 * y1 * rate + c3 * acceleration
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):  # component i of [phi] and its rates
        rate = x1 * phi[i] + c2 * dphi[i]
        acceleration = x2 * phi[i] + 2.0 * x1 * dphi[i] + c2 * ddphi[i]
        first[k, j] += rate
        first[j, k] -= rate
        second[k, j] += acceleration
        second[j, k] -= acceleration


@compiled
def set_turn_curvature(phi, y, out):
    """
    Derivatives y . (dG/dphi_a) e_b of the G of `set_turn`, (3, 3), by (4) and (6).

    :param phi: rotation vector, (3,) [rad]; y: constant vector, (3,).
    """
    c2, c3, first2, first3, _, _ = _stumpff_rates(_dot3(phi, phi))
    t, along = _dot3(phi, phi), _dot3(phi, y)
    p0 = y[1] * phi[2] - y[2] * phi[1]
    p1 = y[2] * phi[0] - y[0] * phi[2]
    p2 = y[0] * phi[1] - y[1] * phi[0]
    for b in range(3):
        p = p0 if b == 0 else p1 if b == 1 else p2
        slope = 2.0 * (first2 * p + first3 * (along * phi[b] - t * y[b]))
        for a in range(3):
            out[a, b] = phi[a] * slope + c3 * (y[a] * phi[b] - 2.0 * phi[a] * y[b])
        out[b, b] += c3 * along
    for a, b, c in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):  # components b and c of y x e_a
        out[a, b] += c2 * y[c]
        out[a, c] -= c2 * y[b]
