"""
The sums of (112) as machine code, as the paper generates code for its own.

What dual_projection.py and dual_screw.py do with matrices is done here with halves of screws, in
loops, and summed over the speeds before it is projected: accelerations need C u only, not C. The
results are those of the matrices to rounding, which a test compares. Rows of a dual screw are

    0 to 2  r omega      3 to 5  d omega      6 to 8  r v      9 to 11  d v

Equation numbers: Cibicik & Egeland (2021), see dual_numbers.py.
"""

from typing import NamedTuple

import numpy as np

from flex_robot_sim.core.compiled import compiled


class Sampled(NamedTuple):
    """An arm with n coordinates, b links and g points, as loops want it; m modes at most."""

    parent: np.ndarray      # (b,)       link that carries it; -1: the base
    joint: np.ndarray       # (b,)       its coordinate; -1: fixed
    first: np.ndarray       # (b,)       its first mode
    modes: np.ndarray       # (b,)
    home_R: np.ndarray      # (b, 3, 3)  in what carries it
    home_p: np.ndarray      # (b, 3)                                            [m]
    screw: np.ndarray       # (b, 6)     of the joint
    rides: np.ndarray       # (b,)       point of the parent that carries it; -1: its frame
    elastic: np.ndarray     # (n,)       whether a coordinate is a mode
    before: np.ndarray      # (n, n)     which speeds (rows) move the carrier of a column
    rotors: np.ndarray      # (n,)       inertia of rotors
    link: np.ndarray        # (g,)       of the points; those that carry links come first
    place: np.ndarray       # (g, 3)     undeformed                             [m]
    Phi: np.ndarray         # (g, 3, m)  displacement by the modes of the link
    Theta: np.ndarray       # (g, 3, m)  turn
    H: np.ndarray           # (g, m, m)  shortening
    mass: np.ndarray        # (g,)       zero where only a link is carried      [kg]
    inertia: np.ndarray     # (g, 3, 3)                                         [kg m2]
    gravity: np.ndarray     # (3,)                                              [m/s2]


@compiled(allocates=True)
def mass_matrix_and_bias(arm, turning_ends, held_sections, q, u):
    """
    Return M (n, n) of (112), and C u less the gravity of (109), (n,).

    :param arm: Sampled; the two flags are those of `dual_screw.Variant`.
    """
    n, links = q.size, arm.parent.size
    M, h = np.zeros((n, n)), np.zeros(n)
    # a row for every speed: the columns of the projecting form, of all links and of one point
    P, local = np.zeros((links, n, 12)), np.empty((n, 12))
    twist, bias, fall = np.zeros((links, 12)), np.zeros((links, 12)), np.zeros((links, 6))
    A, B = np.zeros((links, 3, 3)), np.zeros((links, 3, 3))
    for i in range(links):
        _set_link(arm, i, turning_ends, q, P, A, B)
        _set_motion(arm, P[i], u, twist[i], bias[i])
        for a in range(3):      # gravity in the coordinates of the link        (123), (32)
            for b in range(3):
                fall[i, a] += A[i, b, a] * arm.gravity[b]
        for a in range(3):
            for b in range(3):
                for c in range(3):
                    fall[i, 3 + a] -= A[i, b, a] * B[i, b, c] * fall[i, c]
    wrench, turned, d, scratch = np.empty(12), np.empty(12), np.empty(3), np.empty((4, 12))
    masses = 0
    for i in range(links):
        masses = max(masses, arm.rides[i] + 1)
    for g in range(masses, arm.link.size):
        i = arm.link[g]
        first, mass, inertia = arm.first[i], arm.mass[g], arm.inertia[g]
        _copy(P[i], local)
        _to_point(arm, g, q, local, d)
        _set_wrench(arm, g, held_sections, u, d, twist[i], bias[i], fall[i], scratch, wrench,
                    turned)
        for k in range(n):
            h[k] += _dot(local[k], wrench)
        if held_sections:
            # the inertia of a section stays with the root: its own turn feels no turning
            for k in range(arm.modes[i]):
                for c in range(3):
                    h[first + k] -= arm.Theta[g, c, k] * turned[c]
        for k in range(n):                                                      # (112)
            if _is_any(local[k:k + 1]):
                _set_momentum(mass, inertia, local[k], turned)
                for j in range(k + 1):
                    M[k, j] += _dot(local[j], turned)
    for k in range(n):
        M[k, k] += arm.rotors[k]
        for j in range(k):
            M[j, k] = M[k, j]
    return M, h


@compiled(allocates=True)
def _set_link(arm, i, turning_ends, q, P, A, B):
    """Dual rotation (A, B) of link i, and its projecting form P (n, 12) about its origin."""
    parent, j, g = arm.parent[i], arm.joint[i], arm.rides[i]
    here, theta, p, R = P[i], np.zeros(3), np.empty(3), np.empty((3, 3))
    turned, bent = np.zeros((3, 3)), np.zeros((3, 3))       # dual rotation of what carries it
    for a in range(3):
        turned[a, a] = 1.0
    if parent >= 0:
        _copy(A[parent], turned)
        _copy(B[parent], bent)
        _copy(P[parent], here)
    if g >= 0:
        _to_point(arm, g, q, here, p)                                           # (59), (60), (89)
        for k in range(arm.modes[parent]):
            for a in range(3):
                theta[a] += arm.Theta[g, a, k] * q[arm.first[parent] + k]
        if turning_ends:
            # the velocity of exp(theta) is that of theta plus half of theta x dtheta/dt
            for k in range(arm.modes[parent]):
                _add_cross(0.5, theta, arm.Theta[g, :, k], here[arm.first[parent] + k, 3:6])
        for a in range(3):
            # a row of A [theta] is the row of A times theta                    (45)
            _add_cross(1.0, turned[a], theta, bent[a])
        for k in range(q.size):
            _add_cross(-1.0, theta, here[k, 0:3], here[k, 3:6])                 # (62)
            _add_cross(-1.0, theta, here[k, 6:9], here[k, 9:12])
    _set_joint(arm.home_R[i], arm.home_p[i], arm.screw[i], q[j] if j >= 0 else 0.0, R, p)
    for a in range(3):
        for b in range(3):
            for c in range(3):
                A[i, a, b] += turned[a, c] * R[c, b]
                B[i, a, b] += bent[a, c] * R[c, b]
    for k in range(q.size):                                                     # (65), (73)
        _move(p, here[k])
        for half in range(0, 12, 3):
            x, y, z = here[k, half], here[k, half + 1], here[k, half + 2]
            for c in range(3):
                here[k, half + c] = R[0, c] * x + R[1, c] * y + R[2, c] * z
    if j >= 0:
        for c in range(3):                                                      # (58)
            here[j, c], here[j, 6 + c] = arm.screw[i, c], arm.screw[i, 3 + c]
            here[j, 3 + c] = here[j, 9 + c] = 0.0


@compiled(allocates=True)
def _set_joint(home_R, home_p, screw, value, R, p):
    """Rotation R and origin p of a child that moves along a screw of its own frame (48)."""
    axis, v, once, twice = screw[:3], screw[3:], np.zeros(3), np.zeros(3)
    s, c = np.sin(value), np.cos(value)
    size = axis[0]**2 + axis[1]**2 + axis[2]**2             # one, or zero for a slide
    _add_cross(1.0, axis, v, once)
    _add_cross(1.0, axis, once, twice)
    for a in range(3):
        p[a] = home_p[a]
        for b in range(3):
            p[a] += home_R[a, b] * (value * v[b] + (1.0 - c) * once[b] + (value - s) * twice[b])
            # 1 + sin [axis] + (1 - cos) [axis]^2, and [axis]^2 = axis axis^T - size
            R[a, b] = home_R[a, b] * (1.0 - (1.0 - c) * size)
            for d in range(3):
                R[a, b] += (1.0 - c) * home_R[a, d] * axis[d] * axis[b]
        _add_cross(s, home_R[a], axis, R[a])


@compiled(allocates=True)
def _set_motion(arm, P, u, twist, bias):
    """Twist (91) of a link, and the rate of its Jacobian form times u, (76) to (79)."""
    n = u.size
    screws, against = np.zeros((n, 12)), np.empty(12)
    for k in range(n):                                                          # (92)
        for c in range(3):
            if arm.elastic[k]:
                screws[k, 3 + c], screws[k, 9 + c] = P[k, c] * u[k], P[k, 6 + c] * u[k]
            else:
                for half in range(0, 12, 3):
                    screws[k, half + c] = P[k, half + c] * u[k]
        for c in range(12):
            twist[c] += screws[k, c]
    for k in range(n):
        screw = screws[k]
        if not _is_any(screws[k:k + 1]):
            continue
        for c in range(12):             # of the link that carries this screw, less that of ours
            against[c] = -twist[c]
        for l in range(n):
            if arm.before[l, k] != 0.0:
                for c in range(12):
                    against[c] += screws[l, c]
        _add_dual_cross(against[:6], screw[:6], bias[:6])                       # (77)
        _add_dual_cross(against[:6], screw[6:], bias[6:])
        _add_dual_cross(against[6:], screw[:6], bias[6:])


@compiled
def _to_point(arm, g, q, P, d):
    """Bring P (n, 12) of a link to its point g, own modes included; set its displacement d."""
    i = arm.link[g]
    first = arm.first[i]
    _clear(d)
    for k in range(arm.modes[i]):
        for c in range(3):
            d[c] += arm.Phi[g, c, k] * q[first + k]
    for k in range(q.size):                                                     # (88), (89)
        _move(arm.place[g], P[k])
        _add_cross(-1.0, d, P[k, 0:3], P[k, 9:12])
    for k in range(arm.modes[i]):
        for c in range(3):
            P[first + k, c] += arm.Theta[g, c, k]                               # (75), (95)
            P[first + k, 6 + c] += arm.Phi[g, c, k]
        for l in range(arm.modes[i]):
            P[first + k, 9] -= arm.H[g, k, l] * q[first + l]


@compiled
def _set_wrench(arm, g, held_sections, u, d, twist, bias, fall, scratch, wrench, turned):
    """
    Set the wrench (12,) that point g asks for when no speed changes, gravity taken off.

    `turned` (12,) becomes the part of it that comes from turning.
    """
    i, first, mass, I = arm.link[g], arm.first[arm.link[g]], arm.mass[g], arm.inertia[g]
    point, section, momentum, rest = scratch[0], scratch[1], scratch[2], scratch[3]
    for c in range(12):
        point[c], rest[c] = twist[c], bias[c]
    for moved in (point, rest):                                                 # (60)
        _move(arm.place[g], moved)
        _add_cross(-1.0, d, moved[0:3], moved[9:12])
    _clear(section)
    for k in range(arm.modes[i]):
        for c in range(3):
            section[3 + c] += arm.Theta[g, c, k] * u[first + k]
            section[9 + c] += arm.Phi[g, c, k] * u[first + k]
    _add_cross(1.0, point[0:3], section[9:12], rest[9:12])      # the rate of U(-p) itself
    for c in range(3):
        point[9 + c] += section[9 + c]
        section[9 + c] = 0.0
    for c in range(12):
        section[c] += point[c]
    _set_momentum(mass, I, rest, wrench)
    _set_momentum(mass, I, section, momentum)
    _clear(turned)
    if held_sections:
        _add_turned(point, momentum[:6], turned[:6])                            # (103)
    else:
        # D W1 P + W2 D P: W1 turns with the link, W2 with the section          (108)
        if _is_any(arm.Theta[g]):
            _clear(rest)
            _add_dual_cross(point[:6], section[:6], rest[:6])
            _set_momentum(mass, I, rest, turned)
        _add_turned(section, momentum[:6], turned[:6])
    _add_turned(point, momentum[6:], turned[6:])                                # (103)
    for c in range(12):
        wrench[c] += turned[c]
    for c in range(3):
        wrench[6 + c] -= mass * (fall[c] + fall[3 + c])                         # (109)
        wrench[9 + c] -= mass * fall[c]


@compiled
def _set_momentum(mass, I, t, out):
    """Product of D = [I, I; I, 0] by halves and a dual twist t (12,) (99), (102), (107)."""
    for c in range(3):
        out[3 + c] = I[c, 0] * t[0] + I[c, 1] * t[1] + I[c, 2] * t[2]
        out[c] = out[3 + c] + I[c, 0] * t[3] + I[c, 1] * t[4] + I[c, 2] * t[5]
        out[9 + c] = mass * t[6 + c]
        out[6 + c] = mass * (t[6 + c] + t[9 + c])


@compiled
def _copy(rows, out):
    """Copy rows: Numba takes seconds for a slice, whose error it gets ready to word."""
    for a in range(rows.shape[0]):
        for b in range(rows.shape[1]):
            out[a, b] = rows[a, b]


@compiled
def _clear(row):
    for c in range(row.size):
        row[c] = 0.0


@compiled
def _is_any(rows):
    """Whether rows are not all zero."""
    found = False
    for a in range(rows.shape[0]):
        for b in range(rows.shape[1]):
            found |= rows[a, b] != 0.0
    return found


@compiled
def _dot(a, b):
    """Product of two rows (12,)."""
    total = 0.0
    for c in range(12):
        total += a[c] * b[c]
    return total


@compiled
def _move(p, screw):
    """Move a dual screw (12,) to a point at p (3,): U(-p) of (60)."""
    _add_cross(-1.0, p, screw[0:3], screw[6:9])
    _add_cross(-1.0, p, screw[3:6], screw[9:12])


@compiled
def _add_cross(share, a, b, out):
    """Add `share` of the vector product of a and b (3,)."""
    out[0] += share * (a[1] * b[2] - a[2] * b[1])
    out[1] += share * (a[2] * b[0] - a[0] * b[2])
    out[2] += share * (a[0] * b[1] - a[1] * b[0])


@compiled
def _add_dual_cross(a, b, out):
    """Add the product [a]^ b of dual vectors (6,) (13)."""
    _add_cross(1.0, a[:3], b[:3], out[:3])
    _add_cross(1.0, a[:3], b[3:], out[3:])
    _add_cross(1.0, a[3:], b[:3], out[3:])


@compiled
def _add_turned(point, momentum, out):
    """Add W (103) times a half (6,) of what D made: [w, dw; 0, w]."""
    _add_cross(1.0, point[0:3], momentum[0:3], out[0:3])
    _add_cross(1.0, point[3:6], momentum[3:6], out[0:3])
    _add_cross(1.0, point[0:3], momentum[3:6], out[3:6])
