"""
The sums of (112) as machine code, as the paper generates code for its own.

What dual_projection.py and dual_screw.py do with matrices is done here with halves of screws, in
loops. Accelerations need C u only, not C: twists of the links and their rates go from base to tip
in the place of columns. The results are those of the matrices to rounding, which a test compares.
Rows of a dual screw are

    0 to 2  r omega      3 to 5  d omega      6 to 8  r v      9 to 11  d v

Equation numbers: Cibicik & Egeland (2021), see dual_numbers.py.
"""

from typing import NamedTuple

import numpy as np

from flex_robot_sim.formulations.dual_products import (
    add_cross,
    add_dual_cross,
    add_small_turn,
    add_turned,
    clear,
    copy_rows,
    dot,
    is_any,
    join_halves,
    move_screw,
    take_to_frame,
)
from flex_robot_sim.jit.compiled import compiled


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
def mass_matrix_and_bias(arm, turning_ends, held_sections, keeps_energy, q, u):
    """
    Return M (n, n) of (112), C u less the gravity of (109) (n,), and the energy of height [J].

    :param arm: Sampled; the three flags are those of `dual_screw.Variant`.
    """
    n, links = q.size, arm.parent.size
    M, h = np.zeros((n, n)), np.zeros(n)
    # a row for every speed: the columns of the projecting form, of all links and of one point
    P, local = np.zeros((links, n, 12)), np.empty((n, 12))
    twist, bias, fall = np.zeros((links, 12)), np.zeros((links, 12)), np.zeros(6)
    # rotation and origin in the base, as polynomials of the elastic states: orders 0, 1 and 2
    R, o = np.zeros((links, 3, 3, 3)), np.zeros((links, 3, 3))
    moments, masses = np.zeros((links, 3, 3)), np.zeros(links)
    wrench, turned, d, scratch = np.empty(12), np.empty(12), np.empty(3), np.zeros((4, 12))
    carried = 0
    for i in range(links):
        _set_link(arm, i, turning_ends, keeps_energy, q, u, P, twist, bias, R, o)
        carried = max(carried, arm.rides[i] + 1)
    for g in range(carried, arm.link.size):
        i = arm.link[g]
        first, mass, inertia = arm.first[i], arm.mass[g], arm.inertia[g]
        copy_rows(P[i], local)
        _to_point(arm, g, q, local, d)
        masses[i] += mass
        _add_place(arm, g, q, d, mass, R[i], o[i], moments[i])
        for a in range(3):      # gravity in the coordinates of the link        (123), (32)
            fall[a] = fall[3 + a] = 0.0
            for b in range(3):
                fall[a] += R[i, 0, b, a] * arm.gravity[b]
                fall[3 + a] += R[i, 1, b, a] * arm.gravity[b]
        for k in range(n):                                                      # (109)
            for c in range(3):
                h[k] -= mass * (local[k, 6 + c] * (fall[c] + fall[3 + c])
                                + local[k, 9 + c] * fall[c])
        _set_wrench(arm, g, held_sections, keeps_energy, q, u, d, twist[i], bias[i], scratch,
                    wrench, turned)
        if keeps_energy:
            join_halves(local)
        for k in range(n):
            h[k] += dot(local[k], wrench)
        if held_sections:
            # the inertia of a section stays with the root: its own turn feels no turning
            for k in range(arm.modes[i]):
                for c in range(3):
                    h[first + k] -= arm.Theta[g, c, k] * turned[c]
        for k in range(n):                                                      # (112)
            if is_any(local[k:k + 1]):
                _set_momentum(mass, inertia, local[k], turned)
                for j in range(k + 1):
                    M[k, j] += dot(local[j], turned)
    for k in range(n):
        M[k, k] += arm.rotors[k]
        for j in range(k):
            M[j, k] = M[k, j]
    height = _add_weight(arm, keeps_energy, R, o, masses, moments, h)
    return M, h, height


@compiled(allocates=True)
def _set_link(arm, i, turning_ends, keeps_energy, q, u, P, twist, bias, R, o):
    """
    Set what is known of link i: its pose, and about its origin its columns and its motion.

    `twist` is the Jacobian form (91) times u, and `bias` its rate when no speed changes, which is
    what the geometric rule (76) to (79) sums up; if energy is kept, those of the projecting form.
    """
    parent, j, g = arm.parent[i], arm.joint[i], arm.rides[i]
    here, V, b = P[i], twist[i], bias[i]
    theta, spin, once = np.zeros(3), np.zeros(3), np.zeros(3)
    p, turn = np.zeros(3), np.empty((3, 3))
    bent = np.zeros((3, 3, 3))          # rotation of what carries the link, by order
    if parent < 0:
        for a in range(3):
            bent[0, a, a] = 1.0
    else:
        copy_rows(P[parent], here)
        for order in range(3):
            copy_rows(R[parent, order], bent[order])
        for c in range(12):
            V[c], b[c] = twist[parent, c], bias[parent, c]
    if g >= 0:
        first = arm.first[parent]
        _to_point(arm, g, q, here, p)                                           # (59), (60), (89)
        _add_place(arm, g, q, p, 1.0, R[parent], o[parent], o[i])
        _move_to_point(arm, g, keeps_energy, q, u, p, V, b)
        for k in range(arm.modes[parent]):
            for a in range(3):
                theta[a] += arm.Theta[g, a, k] * q[first + k]
                spin[a] += arm.Theta[g, a, k] * u[first + k]
        if turning_ends:
            # the velocity of exp(theta) is that of theta plus half of theta x dtheta/dt
            for k in range(arm.modes[parent]):
                add_cross(0.5, theta, arm.Theta[g, :, k], here[first + k, 3:6])
            if keeps_energy:
                add_cross(0.5, theta, spin, V[3:6])
        for a in range(3):
            # a row of A [theta] is the row of A times theta; half of its square follows  (45)
            add_cross(1.0, bent[1, a], theta, bent[2, a])
            add_cross(1.0, bent[0, a], theta, bent[1, a])
            if turning_ends:
                clear(once)
                add_cross(0.5, bent[0, a], theta, once)
                add_cross(1.0, once, theta, bent[2, a])
        for k in range(q.size):
            add_small_turn(theta, here[k], here[k])                            # (62)
        add_small_turn(theta, b, b)
        add_small_turn(spin, V, b)
        add_small_turn(theta, V, V)
    elif parent >= 0:
        copy_rows(o[parent], o[i])
    _set_joint(arm.home_R[i], arm.home_p[i], arm.screw[i], q[j] if j >= 0 else 0.0, turn, p)
    for order in range(3):
        for a in range(3):
            for c in range(3):
                o[i, order, a] += bent[order, a, c] * p[c]
                for k in range(3):
                    R[i, order, a, k] += bent[order, a, c] * turn[c, k]
    for k in range(q.size):                                                     # (65), (73)
        take_to_frame(p, turn, here[k])
    take_to_frame(p, turn, V)
    take_to_frame(p, turn, b)
    if j >= 0:
        axis, along = arm.screw[i, :3], arm.screw[i, 3:]
        for half in range(0, 6, 3):
            add_cross(-u[j], axis, V[half:half + 3], b[half:half + 3])
            add_cross(-u[j], axis, V[6 + half:9 + half], b[6 + half:9 + half])
            add_cross(-u[j], along, V[half:half + 3], b[6 + half:9 + half])
        for c in range(3):                                                      # (58)
            here[j, c], here[j, 6 + c] = axis[c], along[c]
            here[j, 3 + c] = here[j, 9 + c] = 0.0
            V[c] += axis[c] * u[j]
            V[6 + c] += along[c] * u[j]


@compiled(allocates=True)
def _set_joint(home_R, home_p, screw, value, R, p):
    """Rotation R and origin p of a child that moves along a screw of its own frame (48)."""
    axis, v, once, twice = screw[:3], screw[3:], np.zeros(3), np.zeros(3)
    s, c = np.sin(value), np.cos(value)
    size = axis[0]**2 + axis[1]**2 + axis[2]**2             # one, or zero for a slide
    add_cross(1.0, axis, v, once)
    add_cross(1.0, axis, once, twice)
    for a in range(3):
        p[a] = home_p[a]
        for b in range(3):
            p[a] += home_R[a, b] * (value * v[b] + (1.0 - c) * once[b] + (value - s) * twice[b])
            # 1 + sin [axis] + (1 - cos) [axis]^2, and [axis]^2 = axis axis^T - size
            R[a, b] = home_R[a, b] * (1.0 - (1.0 - c) * size)
            for d in range(3):
                R[a, b] += (1.0 - c) * home_R[a, d] * axis[d] * axis[b]
        add_cross(s, home_R[a], axis, R[a])


@compiled
def _to_point(arm, g, q, P, d):
    """Bring P (n, 12) of a link to its point g, own modes included; set its displacement d."""
    i = arm.link[g]
    first = arm.first[i]
    clear(d)
    for k in range(arm.modes[i]):
        for c in range(3):
            d[c] += arm.Phi[g, c, k] * q[first + k]
    for k in range(q.size):                                                     # (88), (89)
        move_screw(arm.place[g], P[k])
        add_cross(-1.0, d, P[k, 0:3], P[k, 9:12])
    for k in range(arm.modes[i]):
        for c in range(3):
            P[first + k, c] += arm.Theta[g, c, k]                               # (75), (95)
            P[first + k, 6 + c] += arm.Phi[g, c, k]
        for l in range(arm.modes[i]):
            P[first + k, 9] -= arm.H[g, k, l] * q[first + l]


@compiled
def _move_to_point(arm, g, keeps_energy, q, u, d, V, b):
    """
    Bring twist V and bias b (12,) of a link to its point g at the displacement d, modes included.

    The rate of a mode is small in the Jacobian form, and has its size in the projecting form (70).
    """
    i = arm.link[g]
    first, half = arm.first[i], 0 if keeps_energy else 3
    for row in (V, b):                                                          # (60)
        move_screw(arm.place[g], row)
        add_cross(-1.0, d, row[0:3], row[9:12])
    x, y, z = V[0], V[1], V[2]
    for k in range(arm.modes[i]):
        speed = u[first + k]
        rx, ry, rz = arm.Phi[g, 0, k] * speed, arm.Phi[g, 1, k] * speed, arm.Phi[g, 2, k] * speed
        b[9] += y * rz - z * ry                                 # the rate of U(-p) itself
        b[10] += z * rx - x * rz
        b[11] += x * ry - y * rx
        V[6 + half] += rx
        V[7 + half] += ry
        V[8 + half] += rz
        for c in range(3):
            V[half + c] += arm.Theta[g, c, k] * speed
        if keeps_energy:
            # shortening -e^T H e / 2: its velocity, and the rate of that when de does not change
            for l in range(arm.modes[i]):
                V[9] -= speed * arm.H[g, k, l] * q[first + l]
                b[9] -= speed * arm.H[g, k, l] * u[first + l]


@compiled
def _set_wrench(arm, g, held_sections, keeps_energy, q, u, d, twist, bias, scratch, wrench,
                turned):
    """
    Set the wrench (12,) that point g asks for when no speed changes, without gravity.

    `turned` (12,) becomes the part of it that comes from turning.
    """
    mass, I = arm.mass[g], arm.inertia[g]
    point, section, momentum, rest = scratch[0], scratch[1], scratch[2], scratch[3]
    for c in range(12):
        section[c], rest[c] = twist[c], bias[c]
    _move_to_point(arm, g, keeps_energy, q, u, d, section, rest)
    for c in range(6):                  # the axes turn with the link, the velocity is the point's
        point[c], point[6 + c] = twist[c], section[6 + c]
    if keeps_energy:
        join_halves(scratch)
    _set_momentum(mass, I, rest, wrench)
    _set_momentum(mass, I, section, momentum)
    clear(turned)
    if held_sections:
        add_turned(point, momentum[:6], turned[:6])                            # (103)
    else:
        # D W1 P + W2 D P: W1 turns with the link, W2 with the section          (108)
        if is_any(arm.Theta[g]):
            clear(rest)
            add_dual_cross(point[:6], section[:6], rest[:6])
            _set_momentum(mass, I, rest, turned)
        add_turned(section, momentum[:6], turned[:6])
    add_turned(point, momentum[6:], turned[6:])                                # (103)
    for c in range(12):
        wrench[c] += turned[c]


@compiled
def _add_place(arm, g, q, d, mass, R, o, out):
    """Add `mass` times the place of point g in the base, to second order in e, (3, 3) by order."""
    i = arm.link[g]
    first, shortened = arm.first[i], 0.0
    for k in range(arm.modes[i]):
        for l in range(arm.modes[i]):
            shortened -= 0.5 * q[first + k] * arm.H[g, k, l] * q[first + l]
    for a in range(3):
        for order in range(3):
            out[order, a] += mass * o[order, a]
            for c in range(3):
                out[order, a] += mass * R[order, a, c] * arm.place[g, c]
                if order > 0:
                    out[order, a] += mass * R[order - 1, a, c] * d[c]
        out[2, a] += mass * R[0, a, 0] * shortened


@compiled(allocates=True)
def _add_weight(arm, keeps_energy, R, o, masses, moments, h):
    """
    Return the energy of height to second order in e; if it is kept, add its share to h.

    What the first order of a rigid speed leaves out is of second order here: the weight of all
    that joint j carries, about its axis, where the orders of axis and arm make two.

    :param masses: of the points of the links, (b,), and their first moments (b, 3, 3) by order.
    """
    height, around, arm_of, moment = 0.0, np.empty((3, 3)), np.empty(3), np.empty(3)
    for i in range(arm.parent.size):
        for order in range(3):
            for a in range(3):
                height -= arm.gravity[a] * moments[i, order, a]
    for i in range(arm.parent.size - 1, -1, -1):
        parent, j = arm.parent[i], arm.joint[i]
        if parent >= 0:                 # the parent carries what this link is and carries
            masses[parent] += masses[i]
            for order in range(3):
                for a in range(3):
                    moments[parent, order, a] += moments[i, order, a]
        if j < 0 or not keeps_energy:
            continue
        for order in range(3):
            for a in range(3):
                around[order, a] = 0.0
                for c in range(3):
                    around[order, a] += R[i, order, a, c] * arm.screw[i, c]
        for a in range(3):
            for c in range(3):
                h[j] -= masses[i] * arm.gravity[a] * R[i, 2, a, c] * arm.screw[i, 3 + c]
        for order in range(3):
            for a in range(3):
                arm_of[a] = moments[i, 2 - order, a] - masses[i] * o[i, 2 - order, a]
            clear(moment)
            add_cross(1.0, arm_of, arm.gravity, moment)
            for a in range(3):
                h[j] -= around[order, a] * moment[a]
    return height


@compiled
def _set_momentum(mass, I, t, out):
    """Product of D = [I, I; I, 0] by halves and a dual twist t (12,) (99), (102), (107)."""
    for c in range(3):
        out[3 + c] = I[c, 0] * t[0] + I[c, 1] * t[1] + I[c, 2] * t[2]
        out[c] = out[3 + c] + I[c, 0] * t[3] + I[c, 1] * t[4] + I[c, 2] * t[5]
        out[9 + c] = mass * t[6 + c]
        out[6 + c] = mass * (t[6 + c] + t[9 + c])
