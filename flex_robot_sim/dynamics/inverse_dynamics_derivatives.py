"""
Derivatives of inverse dynamics by coordinates, rates and accelerations, in two sweeps.

Every coordinate l moves a subtree by the screw J_l, its joint axis or a column of K. With the
rates J_l' and J_l'' of (T60), a change of q_l or of its rate changes the wrench on the subtree by

    dF/dq_l = ad^*_{J_l} F + I J_l'' + 2 B J_l' + L J_l,   dF/dq_l' = 2 I J_l' + 2 B J_l     (T62)

Its power on the screws of the bodies before is a derivative of their forces. The transposed
products, rows of I and 2 B, give those of the forces in the subtree by the coordinates before it.
Frames have the axes of the base and the origins of the bodies, so that a wrench changes its frame
by one vector product, and no digits are lost far from the base. Sources: Carpentier & Mansard, RSS
2018; Singh, Russell & Wensing, IEEE RA-L 7 (2022) 1776. Equation numbers: docs/theory.md.
"""

from flex_robot_sim.dynamics.beam_derivatives import add_beam_derivatives
from flex_robot_sim.dynamics.composite_bodies import (
    add_dead_load,
    add_inertia_wrench,
    add_load_row,
    add_load_wrench,
    add_moved_wrench,
    add_rigid_body,
    add_velocity_row,
    add_velocity_wrench,
    set_shifted,
    set_shifted_loads,
)
from flex_robot_sim.dynamics.derivative_arrays import BY_ACCELERATION, BY_COORDINATE, BY_RATE
from flex_robot_sim.dynamics.forward_dynamics import set_acceleration_without_joint
from flex_robot_sim.dynamics.free_base import add_base_rates
from flex_robot_sim.dynamics.kinematics import set_base_poses, set_motion
from flex_robot_sim.dynamics.loads import set_loads
from flex_robot_sim.dynamics.numeric_derivatives import set_numeric_derivatives
from flex_robot_sim.dynamics.station_derivatives import (
    add_station_stiffness,
    set_rotated_screw,
    set_station_derivatives,
)
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.spatial.screws import add_bracket, add_scaled, dot


@compiled
def inverse_dynamics_derivatives(
    arm, loads, order, q, qd, qdd, work, arrays, M, by_rate, by_coordinate
):
    """
    Mass matrix, and derivatives of the forces that a motion and the loads need, (n, n) each.

    :param loads: LoadArrays; order: ColumnOrder; arrays: DerivativeArrays of the arm.
    :param M: receives the derivatives by the accelerations qdd (n,), rotors included.
    :param by_rate: receives those by the rates qd; by_coordinate: those by the coordinates q.
    """
    set_loads(arm, loads, q, work)
    set_motion(arm, q, qd, work)
    for i in range(arm.parent.size):
        set_acceleration_without_joint(arm, i, work, qdd)
        if arm.joint[i] >= 0:
            add_scaled(qdd[arm.joint[i]], arm.screw[i], work.dV[i])
        elif i == 0 and arm.base.shape[0] > 0:
            add_base_rates(arm, qdd, work.dV[i])
    set_derivatives_in_motion(
        arm, loads, order, q, qd, qdd, work, arrays, M, by_rate, by_coordinate
    )


@compiled
def set_derivatives_in_motion(
    arm, loads, order, q, qd, qdd, work, arrays, M, by_rate, by_coordinate
):
    """Set `inverse_dynamics_derivatives`, with loads and motion of the bodies already in work."""
    for r in range(q.size):
        for k in range(q.size):
            M[r, k] = by_rate[r, k] = by_coordinate[r, k] = 0.0
    if arm.slide_data.shape[0] > 0:
        set_numeric_derivatives(arm, loads, q, qd, qdd, work, M, by_rate, by_coordinate)
        return
    for j in range(arm.motor.size):
        k = j if arm.motor[j] < 0 else arm.motor[j]
        M[k, k] = arm.rotor[j]
    set_base_poses(arm, work)
    for i in range(arm.parent.size):
        _set_screws(arm, i, order, q, qd, qdd, work, arrays)
        arrays.composite[i, :] = 0.0
        add_rigid_body(
            arm.inertia[i], work.base_R[i], arrays.V[i], arrays.A[i], arrays.composite[i]
        )
        if arm.modes[i] > 0:
            add_beam_derivatives(
                arm, i, order.elastic[i], q, qd, qdd, work, arrays, M, by_rate, by_coordinate
            )
    has_dead_loads = _add_loads(arm, loads, work, arrays)
    for i in range(arm.parent.size - 1, -1, -1):
        if arm.joint[i] >= 0:
            _set_joint_column(arm, i, order, has_dead_loads, arrays, M, by_rate, by_coordinate)
        if i == 0 and arm.base.shape[0] > 0:
            set_base_columns(arm, order, has_dead_loads, work, arrays, M, by_rate, by_coordinate)
        if arm.parent[i] >= 0:
            _add_to_parent(
                arm, i, order, has_dead_loads, q, work, arrays, M, by_rate, by_coordinate
            )
        first = arm.first[i]
        for k in range(first, first + arm.modes[i]):
            for l in range(first, k):
                M[l, k] = M[k, l]


@compiled
def _set_screws(arm, i, order, q, qd, qdd, work, arrays):
    """Motion of body i, and its screws with their rates (T60), in the axes of the base."""
    R, V, A, parent, s = (work.base_R[i], work.V[i], work.dV[i], arm.parent[i], arm.station[i])
    set_rotated_screw(R, V[0], V[1], V[2], V[3], V[4], V[5], arrays.V[i])
    set_rotated_screw(R, A[0], A[1], A[2], A[3], A[4], A[5], arrays.A[i])
    if arm.joint[i] >= 0:
        S, c = arm.screw[i], order.start[i]
        screw, rate, second = arrays.screw[c], arrays.screw_rate[c], arrays.screw_second[c]
        set_rotated_screw(R, S[0], S[1], S[2], S[3], S[4], S[5], screw)
        rate[:] = 0.0
        second[:] = 0.0
        add_bracket(1.0, arrays.V[i], screw, rate)
        add_bracket(1.0, arrays.A[i], screw, second)
        add_bracket(1.0, arrays.V[i], rate, second)
    if parent >= 0:
        p, P, d = work.origin[i], work.base_R[parent], arrays.offset[i]
        for a in range(3):
            d[a] = P[a, 0] * p[0] + P[a, 1] * p[1] + P[a, 2] * p[2]
        if s >= 0:
            set_station_derivatives(arm, s, parent, order, q, qd, qdd, work, arrays)


@compiled
def _add_loads(arm, loads, work, arrays):
    """Subtract the loads from the wrenches of all bodies; return whether any is a dead load."""
    has_dead_loads = False
    for i in range(arm.parent.size):
        R, C, F = work.base_R[i], arrays.composite[i], work.load[i]
        for a in range(3):
            C[22 + a] -= R[a, 0] * F[0] + R[a, 1] * F[1] + R[a, 2] * F[2]
            C[25 + a] -= R[a, 0] * F[3] + R[a, 1] * F[4] + R[a, 2] * F[5]
    for k in range(loads.body.size):
        if not loads.follows[k]:
            has_dead_loads = True
            R, p = work.base_R[loads.body[k]], loads.point[k]
            f, m = loads.force[k], loads.moment[k]
            add_dead_load(
                m[0],
                m[1],
                m[2],
                f[0],
                f[1],
                f[2],
                R[0, 0] * p[0] + R[0, 1] * p[1] + R[0, 2] * p[2],
                R[1, 0] * p[0] + R[1, 1] * p[1] + R[1, 2] * p[2],
                R[2, 0] * p[0] + R[2, 1] * p[1] + R[2, 2] * p[2],
                arrays.composite[loads.body[k]],
            )
    return has_dead_loads


@compiled
def _set_joint_column(arm, i, order, has_dead_loads, arrays, M, by_rate, by_coordinate):
    """Wrenches and rows of the joint of body i, and all entries with the coordinates behind it."""
    c, j, C = order.start[i], arm.joint[i], arrays.composite[i]
    screw, rate, second = arrays.screw[c], arrays.screw_rate[c], arrays.screw_second[c]
    wrench, row = arrays.wrench[c], arrays.row[c]
    for kind in range(3):
        for a in range(6):
            wrench[kind, a] = 0.0
    for a in range(3):
        row[0, a] = row[1, a] = 0.0
    _add_wrenches(C, screw, rate, second, has_dead_loads, wrench, row)
    M[j, j] += dot(screw, wrench[BY_ACCELERATION])
    by_coordinate[j, j] += dot(screw, wrench[BY_COORDINATE])
    by_rate[j, j] += dot(screw, wrench[BY_RATE])
    add_moved_wrench(C, screw, wrench[BY_COORDINATE])  # without power on the screw itself
    _set_entries(
        j,
        screw,
        rate,
        second,
        c + 1,
        order.end[i],
        order,
        has_dead_loads,
        arrays,
        M,
        by_rate,
        by_coordinate,
    )


@compiled
def set_base_columns(arm, order, has_dead_loads, work, arrays, M, by_rate, by_coordinate):
    """
    Set all entries with the coordinates of a free base, the joint of body 0 (T113).

    The derivatives by its coordinates are those by a small motion of the body in its own axes.
    """
    C, R, wrench = arrays.composite[0], work.base_R[0], arrays.total
    for b in range(arm.base.shape[0]):
        l, r = arm.base[b, 0], arm.base[b, 1]
        J, rate, second = arrays.base_screw[b], arrays.base_rate[b], arrays.base_second[b]
        for a in range(6):
            J[a] = rate[a] = second[a] = 0.0
        for a in range(3):
            J[a if r < 3 else 3 + a] = R[a, r % 3]
        add_bracket(1.0, arm.base_acceleration, J, second)
        # the motion before the base has no rate
        _set_entries(
            l,
            J,
            rate,
            second,
            order.start[0],
            order.end[0],
            order,
            has_dead_loads,
            arrays,
            M,
            by_rate,
            by_coordinate,
        )
        add_bracket(0.5, arrays.V[0], J, rate)
        for c in range(order.start[0], order.end[0]):
            by_rate[order.coordinate[c], l] += 2.0 * dot(rate, arrays.wrench[c, BY_ACCELERATION])
    for b in range(arm.base.shape[0]):
        k, J = arm.base[b, 0], arrays.base_screw[b]
        for kind in range(3):
            for a in range(6):
                wrench[kind, a] = 0.0
        add_inertia_wrench(1.0, C, J, wrench[BY_ACCELERATION])
        add_inertia_wrench(1.0, C, arrays.base_second[b], wrench[BY_COORDINATE])
        add_inertia_wrench(2.0, C, arrays.base_rate[b], wrench[BY_RATE])
        add_velocity_wrench(C, J, wrench[BY_RATE])
        if has_dead_loads:
            add_load_wrench(C, J, wrench[BY_COORDINATE])
        for a in range(arm.base.shape[0]):
            l, screw = arm.base[a, 0], arrays.base_screw[a]
            M[l, k] = dot(screw, wrench[BY_ACCELERATION])
            by_coordinate[l, k] = dot(screw, wrench[BY_COORDINATE])
            by_rate[l, k] = dot(screw, wrench[BY_RATE])


@compiled
def _add_wrenches(C, screw, rate, second, has_dead_loads, wrench, row):
    """Add wrenches and rows of a screw and its rates, but for the moved wrench (T62)."""
    add_inertia_wrench(1.0, C, screw, wrench[BY_ACCELERATION])
    add_inertia_wrench(1.0, C, second, wrench[BY_COORDINATE])
    add_velocity_wrench(C, rate, wrench[BY_COORDINATE])
    add_inertia_wrench(2.0, C, rate, wrench[BY_RATE])
    add_velocity_wrench(C, screw, wrench[BY_RATE])
    add_velocity_row(C, screw, row[0])
    if has_dead_loads:
        add_load_wrench(C, screw, wrench[BY_COORDINATE])
        add_load_row(C, screw, row[1])


@compiled
def _set_entries(
    l, J, rate, second, start, end, order, has_dead_loads, arrays, M, by_rate, by_coordinate
):
    """
    Set the entries of coordinate l with the coordinates of columns [start, end) of its subtree.

    :param J: screw (6,) that l moves them by, with its first and second rates (T62).
    """
    j0, j1, j2, j3, j4, j5 = J[0], J[1], J[2], J[3], J[4], J[5]
    d0, d1, d2, d3, d4, d5 = rate[0], rate[1], rate[2], rate[3], rate[4], rate[5]
    s0, s1, s2, s3, s4, s5 = second[0], second[1], second[2], second[3], second[4], second[5]
    for c in range(start, end):
        k, wrench, row = order.coordinate[c], arrays.wrench[c], arrays.row[c]
        z0 = wrench[0, 0]
        z1 = wrench[0, 1]
        z2 = wrench[0, 2]
        z3 = wrench[0, 3]
        z4 = wrench[0, 4]
        z5 = wrench[0, 5]
        w0, w1, w2 = row[0, 0], row[0, 1], row[0, 2]
        M[l, k] = M[k, l] = j0 * z0 + j1 * z1 + j2 * z2 + j3 * z3 + j4 * z4 + j5 * z5
        by_coordinate[l, k] = (
            j0 * wrench[1, 0]
            + j1 * wrench[1, 1]
            + j2 * wrench[1, 2]
            + j3 * wrench[1, 3]
            + j4 * wrench[1, 4]
            + j5 * wrench[1, 5]
        )
        by_rate[l, k] = (
            j0 * wrench[2, 0]
            + j1 * wrench[2, 1]
            + j2 * wrench[2, 2]
            + j3 * wrench[2, 3]
            + j4 * wrench[2, 4]
            + j5 * wrench[2, 5]
        )
        by_coordinate[k, l] = (
            s0 * z0 + s1 * z1 + s2 * z2 + s3 * z3 + s4 * z4 + s5 * z5 + d0 * w0 + d1 * w1 + d2 * w2
        )
        by_rate[k, l] = (
            2.0 * (d0 * z0 + d1 * z1 + d2 * z2 + d3 * z3 + d4 * z4 + d5 * z5)
            + j0 * w0
            + j1 * w1
            + j2 * w2
        )
        if has_dead_loads:
            by_coordinate[k, l] += j0 * row[1, 0] + j1 * row[1, 1] + j2 * row[1, 2]


@compiled
def _add_to_parent(arm, i, order, has_dead_loads, q, work, arrays, M, by_rate, by_coordinate):
    """Move the columns of the subtree of body i to its parent; set entries with its modes."""
    parent, s, d, C = arm.parent[i], arm.station[i], arrays.offset[i], arrays.shifted[0]
    x, y, z = d[0], d[1], d[2]
    for c in range(order.start[i], order.end[i]):
        for kind in range(3):
            F = arrays.wrench[c, kind]
            F[0] += y * F[5] - z * F[4]
            F[1] += z * F[3] - x * F[5]
            F[2] += x * F[4] - y * F[3]
    set_shifted(arrays.composite[i], d, C)
    add_scaled(1.0, C[:28], arrays.composite[parent, :28])
    if has_dead_loads:
        set_shifted_loads(arrays.composite[i], d, C)
        add_scaled(1.0, C[28:], arrays.composite[parent, 28:])
    if s < 0:
        return
    first, column, n = arm.first[parent], order.elastic[parent], arm.modes[parent]
    for k in range(n):
        _set_entries(
            first + k,
            arrays.K[s, k],
            arrays.K_rate[s, k],
            arrays.K_second[s, k],
            order.start[i],
            order.end[i],
            order,
            has_dead_loads,
            arrays,
            M,
            by_rate,
            by_coordinate,
        )
    # elastic block of the parent                                                           (T64)
    total = arrays.total
    for l in range(n):
        wrench = arrays.wrench[column + l]
        for kind in range(3):
            for a in range(6):
                total[kind, a] = 0.0
        K = arrays.K[s, l]
        _add_wrenches(
            C,
            K,
            arrays.K_rate[s, l],
            arrays.K_second[s, l],
            has_dead_loads,
            total,
            arrays.row[column + l],
        )
        for k in range(l, n):
            M[first + k, first + l] += dot(arrays.K[s, k], total[BY_ACCELERATION])
        for k in range(n):
            by_coordinate[first + k, first + l] += dot(arrays.K[s, k], total[BY_COORDINATE])
            by_rate[first + k, first + l] += dot(arrays.K[s, k], total[BY_RATE])
        add_moved_wrench(C, K, total[BY_COORDINATE])
        for kind in range(3):
            add_scaled(1.0, total[kind], wrench[kind])
    R = work.base_R[parent]
    add_station_stiffness(
        arm,
        s,
        parent,
        order,
        q,
        R[0, 0] * C[22] + R[1, 0] * C[23] + R[2, 0] * C[24],
        R[0, 1] * C[22] + R[1, 1] * C[23] + R[2, 1] * C[24],
        R[0, 2] * C[22] + R[1, 2] * C[23] + R[2, 2] * C[24],
        R[0, 0] * C[25] + R[1, 0] * C[26] + R[2, 0] * C[27],
        R[0, 1] * C[25] + R[1, 1] * C[26] + R[2, 1] * C[27],
        R[0, 2] * C[25] + R[1, 2] * C[26] + R[2, 2] * C[27],
        work,
        arrays,
        by_coordinate,
    )
