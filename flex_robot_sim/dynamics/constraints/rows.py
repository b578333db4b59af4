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


@compiled
def turned(work, i, v):
    """Vector v, fixed to body i, in the axes of the base, as three numbers; -1: the base."""
    if i < 0:
        return v[0], v[1], v[2]
    R = work.base_R[i]
    return (
        R[0, 0] * v[0] + R[0, 1] * v[1] + R[0, 2] * v[2],
        R[1, 0] * v[0] + R[1, 1] * v[1] + R[1, 2] * v[2],
        R[2, 0] * v[0] + R[2, 1] * v[1] + R[2, 2] * v[2],
    )


@compiled
def placed(work, i, v):
    """Point v, fixed to body i, in the frame of the base, as three numbers; -1: the base."""
    x, y, z = turned(work, i, v)
    if i >= 0:
        x += work.base_p[i, 0]
        y += work.base_p[i, 1]
        z += work.base_p[i, 2]
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
    :returns: largest coordinate of the child frame, which rounding of the gap scales with [m].
    """
    a, b, kind = arm.constraint_body[r, 0], arm.constraint_body[r, 1], arm.constraint_kind[r]
    if kind == MIMIC:
        set_axis_wrench(arm, b, work, F)
        return 0.0
    if kind == ANGLE:
        u, v = (
            turned(work, a, arm.constraint_axis[r, 0]),
            turned(work, b, arm.constraint_axis[r, 1]),
        )
        work.constraint_gap[r] = u[0] * v[0] + u[1] * v[1] + u[2] * v[2]
        F[0], F[1], F[2] = cross(v, u)
        F[3] = F[4] = F[5] = 0.0
        return 0.0
    p, e = placed(work, a, arm.constraint_point[r, 0]), placed(work, b, arm.constraint_point[r, 1])
    d = e[0] - p[0], e[1] - p[1], e[2] - p[2]
    if kind == ALONG:
        f = turned(work, a, arm.constraint_axis[r, 0])
        work.constraint_gap[r] = f[0] * d[0] + f[1] * d[1] + f[2] * d[2]
    else:
        distance = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
        f = d[0] / distance, d[1] / distance, d[2] / distance
        work.constraint_gap[r] = distance - arm.constraint_length[r]
    F[0], F[1], F[2] = cross(e, f)
    F[3], F[4], F[5] = f
    return max(abs(e[0]), abs(e[1]), abs(e[2]))


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
    largest = 0.0
    for r in range(arm.constraint_kind.size):
        if arm.constraint_kind[r] == MIMIC:
            work.constraint_gap[r] = mimic_difference(arm, r, q) - arm.constraint_length[r]
            size = abs(q[arm.joint[arm.constraint_body[r, 1]]]) + abs(arm.constraint_length[r])
        else:
            size = set_gap(arm, r, work, work.y)
        largest = max(largest, abs(work.constraint_gap[r]) / (1.0 + size))
    return largest


@compiled
def set_jacobian(arm, work):
    """
    Gaps and Jacobian W of all rows, for the poses and the Jacobians of stations in `work`.

    From the two bodies of a row towards the base, each joint and each elastic coordinate feels
    the wrench; at the body that both have in common the two wrenches cancel.
    """
    set_base_poses(arm, work)
    for r in range(arm.constraint_kind.size):
        W, F = work.constraint_jacobian[r], work.parent_motion
        W[:] = 0.0
        a, b = arm.constraint_body[r, 0], arm.constraint_body[r, 1]
        if arm.constraint_kind[r] == MIMIC:
            W[arm.joint[b]] = 1.0
            W[arm.joint[a]] = -arm.constraint_ratio[r]
            continue
        set_gap(arm, r, work, F)
        while a != b:  # parents come before their children
            if a > b:
                add_generalised_force(arm, a, -1.0, F, work, W)
                a = arm.parent[a]
            else:
                add_generalised_force(arm, b, 1.0, F, work, W)
                b = arm.parent[b]


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
def add_generalised_force(arm, i, factor, F, work, out):
    """Add the force of a wrench on body i on its joint, and on the modes of its parent."""
    y, j, s, parent = work.y, arm.joint[i], arm.station[i], arm.parent[i]
    if j >= 0:
        set_in_body(work, i, F, y)
        for r in range(6):
            out[j] += factor * arm.screw[i, r] * y[r]
    if s >= 0:
        set_in_body(work, parent, F, y)
        for k in range(arm.modes[parent]):
            for r in range(6):
                out[arm.first[parent] + k] += factor * work.K[s, r, k] * y[r]


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
