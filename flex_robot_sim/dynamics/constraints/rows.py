"""
Gaps of the rows of closed loops, their rates by coordinate, and the wrenches of their forces.

A row acts on two bodies with opposite wrenches. In the base frame, the wrench on the child has a
moment m about the base and a force f, for the world vectors u and b, d = p_B - p_A (T71):

    ALONG       f = u,        m = p_B x f
    ANGLE       f = 0,        m = b x u
    DISTANCE    f = d / |d|,  m = p_B x f
    MIMIC       along the joint axis of the child

The power of both wrenches is the rate of the gap, so that their generalised forces are a row of
the Jacobian W. The row kinds are those of model/constraint_rows.py.
"""

from numpy import sqrt

from flex_robot_sim.dynamics.kinematics import set_base_poses
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.constraint_rows import ALONG, ANGLE, MIMIC


@compiled(inline=True)
def turned(work, i, v):
    """Vector v, fixed to body i, in the axes of the world, as three numbers; -1: the base."""
    if i < 0 and work.base_moves[0] == 0.0:
        return v[0], v[1], v[2]
    R = work.root_R if i < 0 else work.base_R[i]
    return (
        R[0, 0] * v[0] + R[0, 1] * v[1] + R[0, 2] * v[2],
        R[1, 0] * v[0] + R[1, 1] * v[1] + R[1, 2] * v[2],
        R[2, 0] * v[0] + R[2, 1] * v[1] + R[2, 2] * v[2],
    )


@compiled(inline=True)
def placed(work, i, v):
    """Point v, fixed to body i, in the frame of the world, as three numbers; -1: the base."""
    x, y, z = turned(work, i, v)
    if i >= 0:
        x += work.base_p[i, 0]
        y += work.base_p[i, 1]
        z += work.base_p[i, 2]
    elif work.base_moves[0] != 0.0:
        x += work.root_p[0]
        y += work.root_p[1]
        z += work.root_p[2]
    return x, y, z


@compiled
def cross(a, b):
    """Vector product of two triples of numbers."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@compiled
def set_gap(arm, r, work, F):
    """
    Set the gap of row r, and its wrench on the child at unit force.

    :param work: Workspace with the poses of the bodies in the base frame; receives the gap.
    :param F: receives moment about the base and force, in the base frame, (6,).
    """
    if arm.constraint_kind[r] == MIMIC:
        set_axis_wrench(arm, arm.constraint_body[r, 1], work, F)
        return
    p, e = ends(arm, r, work)
    gap, x, y, z = gap_and_direction(arm, r, p, e, work)
    work.constraint_gap[r] = gap
    if arm.constraint_kind[r] == ANGLE:
        F[0], F[1], F[2] = x, y, z
        F[3] = F[4] = F[5] = 0.0
    else:
        F[0], F[1], F[2] = cross(e, (x, y, z))
        F[3], F[4], F[5] = x, y, z


@compiled(inline=True)
def ends(arm, r, work):
    """Origins of the frames of row r on parent and child, in the base frame."""
    return (
        placed(work, arm.constraint_body[r, 0], arm.constraint_point[r, 0]),
        placed(work, arm.constraint_body[r, 1], arm.constraint_point[r, 1]),
    )


@compiled(inline=True)
def gap_and_direction(arm, r, p, e, work):
    """
    Gap of row r, and three numbers: its force on the child; of ANGLE, its moment (T71).

    :param p, e: origins of its frames on parent and child, in the base frame.
    """
    a, kind = arm.constraint_body[r, 0], arm.constraint_kind[r]
    if kind == ANGLE:
        u = turned(work, a, arm.constraint_axis[r, 0])
        v = turned(work, arm.constraint_body[r, 1], arm.constraint_axis[r, 1])
        x, y, z = cross(v, u)
        return u[0] * v[0] + u[1] * v[1] + u[2] * v[2], x, y, z
    d = e[0] - p[0], e[1] - p[1], e[2] - p[2]
    if kind == ALONG:
        x, y, z = turned(work, a, arm.constraint_axis[r, 0])
        return x * d[0] + y * d[1] + z * d[2], x, y, z
    distance = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
    length = arm.constraint_length[r]
    return distance - length, d[0] / distance, d[1] / distance, d[2] / distance


@compiled
def set_axis_wrench(arm, i, work, F):
    """Set the wrench F (6,) in the base frame of a unit effort of the joint of body i."""
    screw = arm.screw[i]
    force = turned(work, i, (screw[3], screw[4], screw[5]))
    x, y, z = turned(work, i, (screw[0], screw[1], screw[2]))
    p = work.base_p[i]
    moment = cross((p[0], p[1], p[2]), force)
    F[0], F[1], F[2] = x + moment[0], y + moment[1], z + moment[2]
    F[3], F[4], F[5] = force


@compiled
def mimic_difference(arm, r, values):
    """Return the value of the mimic joint of row r, less ratio times that of its leader."""
    leader, follower = arm.joint[arm.constraint_body[r, 0]], arm.joint[arm.constraint_body[r, 1]]
    return values[follower] - arm.constraint_ratio[r] * values[leader]


@compiled
def set_gaps(arm, q, work):
    """
    Set the gaps of all rows; return the largest one, over the size of the arm above 1 m.

    :param q: coordinates (n,) of the poses in `work`.
    """
    largest = set_mimic_gaps(arm, q, work)
    for r in range(arm.constraint_kind.size):
        if arm.constraint_kind[r] != MIMIC:
            p, e = ends(arm, r, work)
            work.constraint_gap[r], _, _, _ = gap_and_direction(arm, r, p, e, work)
            largest = max(largest, abs(work.constraint_gap[r]) / size_of(e))
    return largest


@compiled
def set_mimic_gaps(arm, q, work):
    """Set the gaps of the rows of mimic joints; return the largest one as `set_gaps` does."""
    largest = 0.0
    for r in range(arm.constraint_kind.size):
        if arm.constraint_kind[r] == MIMIC:
            gap = mimic_difference(arm, r, q) - arm.constraint_length[r]
            size = abs(q[arm.joint[arm.constraint_body[r, 1]]]) + abs(arm.constraint_length[r])
            work.constraint_gap[r] = gap
            largest = max(largest, abs(gap) / (1.0 + size))
    return largest


@compiled
def size_of(e):
    """Size of the arm above 1 m that rounding of a gap at a point e scales with [m]."""
    return 1.0 + max(abs(e[0]), abs(e[1]), abs(e[2]))


@compiled
def set_jacobian(arm, work):
    """
    Gaps and Jacobian W of all rows, for the poses and the Jacobians of stations in `work`.

    :param work: Workspace; work.constraint_jacobian receives W.
    """
    set_base_poses(arm, work)
    set_rows(arm, work, work.constraint_jacobian)


@compiled
def set_rows(arm, work, W):
    """
    Gaps and Jacobian of all rows, for the base poses and the Jacobians of stations in `work`.

    Gaps of mimic joints are left to `set_mimic_gaps`.

    :param W: receives the Jacobian, (c, n).
    :returns: the largest gap of a rigid row, over the size of the arm above 1 m, which its
        rounding scales with.
    """
    S, largest = work.relative_screw, 0.0
    for g in range(arm.constraint_rows.shape[0]):
        first, end = arm.constraint_rows[g, 0], arm.constraint_rows[g, 1]
        if arm.constraint_kind[first] == MIMIC:
            for k in range(W.shape[1]):
                W[first, k] = 0.0
            W[first, arm.joint[arm.constraint_body[first, 1]]] = 1.0
            W[first, arm.joint[arm.constraint_body[first, 0]]] = -arm.constraint_ratio[first]
            continue
        p, e = ends(arm, first, work)
        bodies = arm.constraint_body[first]
        set_relative_screws(arm, bodies[0], bodies[1], e, work, S)
        for r in range(first, end):
            gap, x, y, z = gap_and_direction(arm, r, p, e, work)
            work.constraint_gap[r] = gap
            if arm.constraint_stiffness[r] == 0.0:
                largest = max(largest, abs(gap) / size_of(e))
            m = 0 if arm.constraint_kind[r] == ANGLE else 3  # turn or motion of e
            for k in range(W.shape[1]):
                W[r, k] = x * S[k, m] + y * S[k, m + 1] + z * S[k, m + 2]
    return largest


@compiled(inline=True)
def set_relative_screws(arm, a, b, e, work, S):
    """
    Twists of body b relative to body a, by coordinate, in the axes of the base; -1: the base.

    From both bodies towards the base, each joint and each elastic coordinate adds its own; from
    the body that both have in common, the two sides cancel.

    :param e: a point of the child; S: receives angular and linear velocity there, (n, 6).
    """
    for k in range(S.shape[0]):
        for m in range(6):
            S[k, m] = 0.0
    while a != b:  # parents come before their children
        is_child = b > a
        i = b if is_child else a
        sign = 1.0 if is_child else -1.0
        j, s, parent = arm.joint[i], arm.station[i], arm.parent[i]
        if j >= 0:
            A = arm.screw[i]
            add_base_screw(work, i, sign, e, (A[0], A[1], A[2], A[3], A[4], A[5]), S[j])
        if s >= 0:
            K, first = work.K[s], arm.first[parent]
            for k in range(arm.modes[parent]):
                A6 = K[0, k], K[1, k], K[2, k], K[3, k], K[4, k], K[5, k]
                add_base_screw(work, parent, sign, e, A6, S[first + k])
            if arm.slide[parent] >= 0:
                k = arm.modes[parent]
                A6 = K[0, k], K[1, k], K[2, k], K[3, k], K[4, k], K[5, k]
                add_base_screw(work, parent, sign, e, A6, S[arm.slide[parent]])
        elif parent < 0:
            for row in range(arm.base.shape[0]):  # a free base
                m = arm.base[row, 1]
                A6 = unit(m, 0), unit(m, 1), unit(m, 2), unit(m, 3), unit(m, 4), unit(m, 5)
                add_base_screw(work, i, sign, e, A6, S[arm.base[row, 0]])
        if is_child:
            b = parent
        else:
            a = parent


@compiled(inline=True)
def unit(k, m):
    """Component m of unit vector k."""
    return 1.0 if k == m else 0.0


@compiled(inline=True)
def add_base_screw(work, i, factor, e, A, out):
    """Add factor times a twist A of body i, in axes of the base and at point e, to out (6,)."""
    R, p = work.base_R[i], work.base_p[i]
    x = factor * (R[0, 0] * A[0] + R[0, 1] * A[1] + R[0, 2] * A[2])
    y = factor * (R[1, 0] * A[0] + R[1, 1] * A[1] + R[1, 2] * A[2])
    z = factor * (R[2, 0] * A[0] + R[2, 1] * A[1] + R[2, 2] * A[2])
    u = factor * (R[0, 0] * A[3] + R[0, 1] * A[4] + R[0, 2] * A[5])
    v = factor * (R[1, 0] * A[3] + R[1, 1] * A[4] + R[1, 2] * A[5])
    w = factor * (R[2, 0] * A[3] + R[2, 1] * A[4] + R[2, 2] * A[5])
    a, b, c = e[0] - p[0], e[1] - p[1], e[2] - p[2]
    out[0] += x
    out[1] += y
    out[2] += z
    out[3] += u + y * c - z * b
    out[4] += v + z * a - x * c
    out[5] += w + x * b - y * a


@compiled
def set_in_body(work, i, F, out):
    """Wrench F (6,) in the base frame, expressed in the frame of body i."""
    R, p = work.base_R[i], work.base_p[i]
    x, y, z = cross(p, (F[3], F[4], F[5]))
    x, y, z = F[0] - x, F[1] - y, F[2] - z
    for k in range(3):
        out[k] = R[0, k] * x + R[1, k] * y + R[2, k] * z
        out[3 + k] = R[0, k] * F[3] + R[1, k] * F[4] + R[2, k] * F[5]


@compiled
def set_constraint_wrench(arm, first, end, work, out):
    """
    Wrench of a constraint on its child, about the base and in its axes, (6,).

    :param first: its first row; end: the row after its last one.
    """
    F = work.y
    for k in range(6):
        out[k] = 0.0
    for r in range(first, end):
        set_gap(arm, r, work, F)
        for k in range(6):
            out[k] += work.constraint_force[r] * F[k]


@compiled
def add_constraint_loads(arm, work):
    """Add the wrenches of the forces in work.constraint_force to work.load of both bodies."""
    set_base_poses(arm, work)
    F, y = work.parent_motion, work.y
    for r in range(arm.constraint_kind.size):
        if arm.constraint_kind[r] == MIMIC:
            continue  # a force between the bodies of each of its joints
        set_gap(arm, r, work, F)
        for side in range(2):
            i = arm.constraint_body[r, side]
            if i >= 0:
                set_in_body(work, i, F, y)
                for k in range(6):
                    sign = 1.0 if side == 1 else -1.0
                    work.load[i, k] += sign * work.constraint_force[r] * y[k]
