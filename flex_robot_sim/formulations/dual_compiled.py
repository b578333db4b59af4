"""
The sums of (112) as compiled code; the paper generates code for the same purpose.

The modules dual_projection.py and dual_screw.py use matrices; this one uses loops over halves of
screws. Accelerations need C u only, not C, so the sweep from base to tip propagates twists of
links and their rates instead of columns. A test compares the results with those of the matrices,
to rounding. Rows of a dual screw are

    0 to 2  r omega      3 to 5  d omega      6 to 8  r v      9 to 11  d v

Equation numbers: Cibicik & Egeland (2021), see dual_numbers.py.
"""

from typing import NamedTuple

import numpy as np

from flex_robot_sim.formulations.dual_products import (
    add_cross,
    add_dual_cross,
    add_gyroscopic_product,
    add_small_rotation,
    clear,
    copy_rows,
    dot,
    is_any_nonzero,
    merge_halves,
    move_screw,
    transform_to_frame,
)
from flex_robot_sim.jit.compiled import compiled


class DualSampledArm(NamedTuple):
    """Flat arrays of an arm: n coordinates, b links, g points, at most m modes per link."""

    parent: np.ndarray  # (b,)       parent link; -1: the base
    joint: np.ndarray  # (b,)       coordinate of the joint; -1: fixed
    first: np.ndarray  # (b,)       coordinate of the first mode
    modes: np.ndarray  # (b,)       number of modes
    home_R: np.ndarray  # (b, 3, 3)  rotation in the parent or its section
    home_p: np.ndarray  # (b, 3)     origin in the parent or its section    [m]
    screw: np.ndarray  # (b, 6)     of the joint
    attachment: np.ndarray  # (b,)       attachment point on the parent; -1: frame of the parent
    rotors: np.ndarray  # (n,)       inertia of rotors
    link: np.ndarray  # (g,)       link of a point; attachment points come first
    position: np.ndarray  # (g, 3)     undeformed                             [m]
    Phi: np.ndarray  # (g, 3, m)  displacement by the modes of the link
    Theta: np.ndarray  # (g, 3, m)  rotation
    H: np.ndarray  # (g, m, m)  shortening
    mass: np.ndarray  # (g,)       zero at attachment points              [kg]
    inertia: np.ndarray  # (g, 3, 3)                                         [kg m2]
    gravity: np.ndarray  # (3,)                                              [m/s2]


@compiled(allocates=True)
def mass_matrix_and_bias(arm, exact_end_rotation, omits_section_gyroscopics, keeps_energy, q, u):
    """
    Return M (n, n) of (112), C u minus gravity (109) (n,), and the gravitational energy [J].

    :param arm: SampledArm; the three flags are those of `dual_screw.Variant`.
    """
    n, links = q.size, arm.parent.size
    M, h = np.zeros((n, n)), np.zeros(n)
    # projecting form of all links and of one point; a row here is a column of the paper
    P, columns = np.zeros((links, n, 12)), np.empty((n, 12))
    twist, bias, link_gravity = np.zeros((links, 12)), np.zeros((links, 12)), np.zeros(6)
    # rotation and origin in the base, as polynomials of the elastic states: orders 0, 1 and 2
    R, o = np.zeros((links, 3, 3, 3)), np.zeros((links, 3, 3))
    moments, masses = np.zeros((links, 3, 3)), np.zeros(links)
    wrench, gyroscopic, d, scratch = np.empty(12), np.empty(12), np.empty(3), np.zeros((4, 12))
    attachments = 0
    for i in range(links):
        _set_link(arm, i, exact_end_rotation, keeps_energy, q, u, P, twist, bias, R, o)
        attachments = max(attachments, arm.attachment[i] + 1)
    for g in range(attachments, arm.link.size):
        i = arm.link[g]
        first, mass, inertia = arm.first[i], arm.mass[g], arm.inertia[g]
        copy_rows(P[i], columns)
        _move_columns_to_point(arm, g, q, columns, d)
        masses[i] += mass
        _add_position(arm, g, q, d, mass, R[i], o[i], moments[i])
        for a in range(3):  # gravity in the coordinates of the link        (123), (32)
            link_gravity[a] = link_gravity[3 + a] = 0.0
            for b in range(3):
                link_gravity[a] += R[i, 0, b, a] * arm.gravity[b]
                link_gravity[3 + a] += R[i, 1, b, a] * arm.gravity[b]
        for k in range(n):  # (109)
            for c in range(3):
                h[k] -= mass * (
                    columns[k, 6 + c] * (link_gravity[c] + link_gravity[3 + c])
                    + columns[k, 9 + c] * link_gravity[c]
                )
        _set_wrench(
            arm,
            g,
            omits_section_gyroscopics,
            keeps_energy,
            q,
            u,
            d,
            twist[i],
            bias[i],
            scratch,
            wrench,
            gyroscopic,
        )
        if keeps_energy:
            merge_halves(columns)
        for k in range(n):
            h[k] += dot(columns[k], wrench)
        if omits_section_gyroscopics:
            # gyroscopic moments of a section act on its link, not on its elastic rotation
            for k in range(arm.modes[i]):
                for c in range(3):
                    h[first + k] -= arm.Theta[g, c, k] * gyroscopic[c]
        for k in range(n):  # (112)
            if is_any_nonzero(columns[k : k + 1]):
                _set_momentum(mass, inertia, columns[k], gyroscopic)
                for j in range(k + 1):
                    M[k, j] += dot(columns[j], gyroscopic)
    for k in range(n):
        M[k, k] += arm.rotors[k]
        for j in range(k):
            M[j, k] = M[k, j]
    potential = _add_second_order_gravity(arm, keeps_energy, R, o, masses, moments, h)
    return M, h, potential


@compiled(allocates=True)
def _set_link(arm, i, exact_end_rotation, keeps_energy, q, u, P, twist, bias, R, o):
    """
    Set the pose of link i, and its columns and motion about its origin.

    `twist` is the Jacobian form (91) times u. `bias` is its rate at constant speeds, the sum of
    the geometric rule (76) to (79). With `keeps_energy` both belong to the projecting form.
    """
    parent, j, g = arm.parent[i], arm.joint[i], arm.attachment[i]
    columns, V, b = P[i], twist[i], bias[i]
    theta, theta_rate, half_cross = np.zeros(3), np.zeros(3), np.zeros(3)
    p, joint_R = np.zeros(3), np.empty((3, 3))
    parent_R = np.zeros((3, 3, 3))  # rotation of the parent or its section, by order
    if parent < 0:
        for a in range(3):
            parent_R[0, a, a] = 1.0
    else:
        copy_rows(P[parent], columns)
        for order in range(3):
            copy_rows(R[parent, order], parent_R[order])
        for c in range(12):
            V[c], b[c] = twist[parent, c], bias[parent, c]
    if g >= 0:
        first = arm.first[parent]
        _move_columns_to_point(arm, g, q, columns, p)  # (59), (60), (89)
        _add_position(arm, g, q, p, 1.0, R[parent], o[parent], o[i])
        _move_motion_to_point(arm, g, keeps_energy, q, u, p, V, b)
        for k in range(arm.modes[parent]):
            for a in range(3):
                theta[a] += arm.Theta[g, a, k] * q[first + k]
                theta_rate[a] += arm.Theta[g, a, k] * u[first + k]
        if exact_end_rotation:
            # the velocity of exp(theta) is that of theta plus half of theta x dtheta/dt
            for k in range(arm.modes[parent]):
                add_cross(0.5, theta, arm.Theta[g, :, k], columns[first + k, 3:6])
            if keeps_energy:
                add_cross(0.5, theta, theta_rate, V[3:6])
        for a in range(3):
            # a row of A [theta] is the cross product of the row and theta                (45)
            add_cross(1.0, parent_R[1, a], theta, parent_R[2, a])
            add_cross(1.0, parent_R[0, a], theta, parent_R[1, a])
            if exact_end_rotation:
                clear(half_cross)
                add_cross(0.5, parent_R[0, a], theta, half_cross)
                add_cross(1.0, half_cross, theta, parent_R[2, a])
        for k in range(q.size):
            add_small_rotation(theta, columns[k], columns[k])  # (62)
        add_small_rotation(theta, b, b)
        add_small_rotation(theta_rate, V, b)
        add_small_rotation(theta, V, V)
    elif parent >= 0:
        copy_rows(o[parent], o[i])
    _set_joint(arm.home_R[i], arm.home_p[i], arm.screw[i], q[j] if j >= 0 else 0.0, joint_R, p)
    for order in range(3):
        for a in range(3):
            for c in range(3):
                o[i, order, a] += parent_R[order, a, c] * p[c]
                for k in range(3):
                    R[i, order, a, k] += parent_R[order, a, c] * joint_R[c, k]
    for k in range(q.size):  # (65), (73)
        transform_to_frame(p, joint_R, columns[k])
    transform_to_frame(p, joint_R, V)
    transform_to_frame(p, joint_R, b)
    if j >= 0:
        axis, linear = arm.screw[i, :3], arm.screw[i, 3:]
        for half in range(0, 6, 3):
            add_cross(-u[j], axis, V[half : half + 3], b[half : half + 3])
            add_cross(-u[j], axis, V[6 + half : 9 + half], b[6 + half : 9 + half])
            add_cross(-u[j], linear, V[half : half + 3], b[6 + half : 9 + half])
        for c in range(3):  # (58)
            columns[j, c], columns[j, 6 + c] = axis[c], linear[c]
            columns[j, 3 + c] = columns[j, 9 + c] = 0.0
            V[c] += axis[c] * u[j]
            V[6 + c] += linear[c] * u[j]


@compiled(allocates=True)
def _set_joint(home_R, home_p, screw, value, R, p):
    """Set rotation R and origin p of a child after a motion along a screw in its frame (48)."""
    axis, v, axis_v, axis_axis_v = screw[:3], screw[3:], np.zeros(3), np.zeros(3)
    s, c = np.sin(value), np.cos(value)
    axis_norm_squared = axis[0] ** 2 + axis[1] ** 2 + axis[2] ** 2  # 1, or 0 for a prismatic joint
    add_cross(1.0, axis, v, axis_v)
    add_cross(1.0, axis, axis_v, axis_axis_v)
    for a in range(3):
        p[a] = home_p[a]
        for b in range(3):
            p[a] += home_R[a, b] * (
                value * v[b] + (1.0 - c) * axis_v[b] + (value - s) * axis_axis_v[b]
            )
            # 1 + sin [axis] + (1 - cos) [axis]^2, and [axis]^2 = axis axis^T - size
            R[a, b] = home_R[a, b] * (1.0 - (1.0 - c) * axis_norm_squared)
            for d in range(3):
                R[a, b] += (1.0 - c) * home_R[a, d] * axis[d] * axis[b]
        add_cross(s, home_R[a], axis, R[a])


@compiled
def _move_columns_to_point(arm, g, q, P, d):
    """Move P (n, 12) of a link to its point g, including its modes; set the displacement d."""
    i = arm.link[g]
    first = arm.first[i]
    clear(d)
    for k in range(arm.modes[i]):
        for c in range(3):
            d[c] += arm.Phi[g, c, k] * q[first + k]
    for k in range(q.size):  # (88), (89)
        move_screw(arm.position[g], P[k])
        add_cross(-1.0, d, P[k, 0:3], P[k, 9:12])
    for k in range(arm.modes[i]):
        for c in range(3):
            P[first + k, c] += arm.Theta[g, c, k]  # (75), (95)
            P[first + k, 6 + c] += arm.Phi[g, c, k]
        for l in range(arm.modes[i]):
            P[first + k, 9] -= arm.H[g, k, l] * q[first + l]


@compiled
def _move_motion_to_point(arm, g, keeps_energy, q, u, d, V, b):
    """
    Move twist V and bias b (12,) of a link to its point g at the displacement d, with its modes.

    The rate of a mode is dual in the Jacobian form, and real in the projecting form (70).
    """
    i = arm.link[g]
    first, half = arm.first[i], 0 if keeps_energy else 3
    for row in (V, b):  # (60)
        move_screw(arm.position[g], row)
        add_cross(-1.0, d, row[0:3], row[9:12])
    x, y, z = V[0], V[1], V[2]
    for k in range(arm.modes[i]):
        speed = u[first + k]
        rx, ry, rz = arm.Phi[g, 0, k] * speed, arm.Phi[g, 1, k] * speed, arm.Phi[g, 2, k] * speed
        b[9] += y * rz - z * ry  # rate of U(-p)
        b[10] += z * rx - x * rz
        b[11] += x * ry - y * rx
        V[6 + half] += rx
        V[7 + half] += ry
        V[8 + half] += rz
        for c in range(3):
            V[half + c] += arm.Theta[g, c, k] * speed
        if keeps_energy:
            # velocity of the shortening -e^T H e / 2, and its rate at constant de
            for l in range(arm.modes[i]):
                V[9] -= speed * arm.H[g, k, l] * q[first + l]
                b[9] -= speed * arm.H[g, k, l] * u[first + l]


@compiled
def _set_wrench(
    arm,
    g,
    omits_section_gyroscopics,
    keeps_energy,
    q,
    u,
    d,
    twist,
    bias,
    scratch,
    wrench,
    gyroscopic,
):
    """
    Set the inertial wrench (12,) of point g at constant speeds, without gravity.

    `gyroscopic` (12,) is set to its gyroscopic part.
    """
    mass, I = arm.mass[g], arm.inertia[g]
    point_twist = scratch[0]
    section_twist = scratch[1]
    momentum = scratch[2]
    section_bias = scratch[3]
    for c in range(12):
        section_twist[c], section_bias[c] = twist[c], bias[c]
    _move_motion_to_point(arm, g, keeps_energy, q, u, d, section_twist, section_bias)
    for c in range(6):  # axes rotate with the link; velocity of the point
        point_twist[c], point_twist[6 + c] = twist[c], section_twist[6 + c]
    if keeps_energy:
        merge_halves(scratch)
    _set_momentum(mass, I, section_bias, wrench)
    _set_momentum(mass, I, section_twist, momentum)
    clear(gyroscopic)
    if omits_section_gyroscopics:
        add_gyroscopic_product(point_twist, momentum[:6], gyroscopic[:6])  # (103)
    else:
        # D W1 P + W2 D P: W1 has the rate of the link, W2 that of the section  (108)
        if is_any_nonzero(arm.Theta[g]):
            clear(section_bias)
            add_dual_cross(point_twist[:6], section_twist[:6], section_bias[:6])
            _set_momentum(mass, I, section_bias, gyroscopic)
        add_gyroscopic_product(section_twist, momentum[:6], gyroscopic[:6])
    add_gyroscopic_product(point_twist, momentum[6:], gyroscopic[6:])  # (103)
    for c in range(12):
        wrench[c] += gyroscopic[c]


@compiled
def _add_position(arm, g, q, d, mass, R, o, out):
    """Add `mass` times the position of point g in the base, by order in e up to two, (3, 3)."""
    i = arm.link[g]
    first, shortening = arm.first[i], 0.0
    for k in range(arm.modes[i]):
        for l in range(arm.modes[i]):
            shortening -= 0.5 * q[first + k] * arm.H[g, k, l] * q[first + l]
    for a in range(3):
        for order in range(3):
            out[order, a] += mass * o[order, a]
            for c in range(3):
                out[order, a] += mass * R[order, a, c] * arm.position[g, c]
                if order > 0:
                    out[order, a] += mass * R[order - 1, a, c] * d[c]
        out[2, a] += mass * R[0, a, 0] * shortening


@compiled(allocates=True)
def _add_second_order_gravity(arm, keeps_energy, R, o, masses, moments, h):
    """
    Return the gravitational energy to second order in e; with `keeps_energy`, add forces to h.

    These are the second-order forces of gravity on rigid speeds: the weight beyond joint j about
    its axis, in those products of axis and lever arm whose orders sum to two.

    :param masses: masses of the links, (b,).
    :param moments: their first moments in the base by order in e, (b, 3, 3).
    """
    potential, axis, joint_moment, gravity_moment = 0.0, np.empty((3, 3)), np.empty(3), np.empty(3)
    for i in range(arm.parent.size):
        for order in range(3):
            for a in range(3):
                potential -= arm.gravity[a] * moments[i, order, a]
    for i in range(arm.parent.size - 1, -1, -1):
        parent, j = arm.parent[i], arm.joint[i]
        if parent >= 0:  # add the subtree of this link to its parent
            masses[parent] += masses[i]
            for order in range(3):
                for a in range(3):
                    moments[parent, order, a] += moments[i, order, a]
        if j < 0 or not keeps_energy:
            continue
        for order in range(3):
            for a in range(3):
                axis[order, a] = 0.0
                for c in range(3):
                    axis[order, a] += R[i, order, a, c] * arm.screw[i, c]
        for a in range(3):
            for c in range(3):
                h[j] -= masses[i] * arm.gravity[a] * R[i, 2, a, c] * arm.screw[i, 3 + c]
        for order in range(3):
            for a in range(3):
                joint_moment[a] = moments[i, 2 - order, a] - masses[i] * o[i, 2 - order, a]
            clear(gravity_moment)
            add_cross(1.0, joint_moment, arm.gravity, gravity_moment)
            for a in range(3):
                h[j] -= axis[order, a] * gravity_moment[a]
    return potential


@compiled
def _set_momentum(mass, I, t, out):
    """Product of D = [I, I; I, 0] by halves and a dual twist t (12,) (99), (102), (107)."""
    for c in range(3):
        out[3 + c] = I[c, 0] * t[0] + I[c, 1] * t[1] + I[c, 2] * t[2]
        out[c] = out[3 + c] + I[c, 0] * t[3] + I[c, 1] * t[4] + I[c, 2] * t[5]
        out[9 + c] = mass * t[6 + c]
        out[6 + c] = mass * (t[6 + c] + t[9 + c])
