"""
Dynamics of a tree of rigid and elastic bodies in O(number of bodies).

Every body i has a frame (at its root, x along the beam if it is elastic), the twist V of that
frame and n elastic coordinates e. With the accelerations dV and dde, the isolated body obeys

    [I   B] [dV ]   [F0]   [wrench from its neighbours   ]
    [B^T E] [dde] + [b ] = [force on elastic coordinates ]                                    (T20)

A child is attached to a station of the body, which moves relative to the root with the twist
K de. Transformed to the root of the parent, inertia Y and bias wrench y of the child add

    I += Y,  B += Y K,  E += K^T Y K,  F0 += y,  b += K^T y                                   (T21)

Eliminating dde and then the joint acceleration results in the articulated inertia, added to the
parent. This is the articulated body algorithm (Featherstone, Rigid Body Dynamics Algorithms,
2008, table 7.1) with a block of modes in addition to every joint. Equation numbers are those of
docs/theory.md.
"""

from numpy import sqrt  # uncompiled, math.sqrt raises where this returns nan

from flex_robot_sim.dynamics.beam_inertia import add_beam, add_beam_force
from flex_robot_sim.dynamics.forces import set_forces
from flex_robot_sim.dynamics.free_base import add_base_acceleration, add_base_rates, factor_base
from flex_robot_sim.dynamics.kinematics import set_motion
from flex_robot_sim.dynamics.moved_base import set_base_acceleration
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.body_kinds import COMMON_SHAPES
from flex_robot_sim.spatial.screws import (
    add_inertia_to_parent,
    add_product,
    add_scaled,
    add_to_parent,
    add_turning_wrench,
    dot,
    set_in_child,
    set_product,
)


@compiled
def forward_dynamics(arm, q, qd, effort, work, qdd):
    """
    Accelerations of all coordinates.

    :param arm: ArmModel with n coordinates.
    :param q: coordinates, (n,) [rad, m]: joints, motors, elastic; qd are their rates.
    :param effort: of the motors, by joint, (joints,) [N m, N].
    :param work: Workspace of the arm; work.load holds the external wrenches on the bodies.
    :param qdd: receives the accelerations, (n,) [rad/s2, m/s2].
    """
    implicit_dynamics(arm, q, qd, effort, 0.0, qdd, work, qdd)


@compiled
def implicit_dynamics(arm, q, qd, effort, h, guess, work, qdd):
    """
    Accelerations over a step h that is implicit in every spring and damper (T40).

    :param h: step [s]; 0 makes it `forward_dynamics`.
    :param guess: accelerations that q and qd at mid-step were predicted with, (n,).
    """
    set_bodies(arm, q, qd, work)
    set_forces(arm, q, qd, effort, h, guess, work)
    eliminate(arm, work)
    set_accelerations(arm, work, qdd)


@compiled
def inverse_dynamics(arm, q, qd, qdd, work, force):
    """
    Forces on all coordinates for the accelerations qdd, without springs (recursive Newton-Euler).

    Leaves in work.F the wrench (6,) on every body from its parent, in the frame of the body.

    :param force: receives the generalised forces, (n,) [N m, N].
    """
    set_motion(arm, q, qd, work)
    for i in range(arm.parent.size):
        set_acceleration_without_joint(arm, i, work, qdd)
        j, F, dV = arm.joint[i], work.F[i], work.dV[i]
        if j >= 0:
            add_scaled(qdd[j], arm.screw[i], dV)
        elif arm.parent[i] < 0:
            add_base_rates(arm, qdd, dV)
        # wrench for the motion of the isolated body                                        (T20)
        set_product(arm.inertia[i], dV, F)
        add_turning_wrench(arm.inertia[i], work.V[i], F)
        add_scaled(-1.0, work.load[i], F)
        if arm.modes[i] > 0:
            add_beam_force(arm, i, q, qd, qdd, work, force)

    # tip to base: project each wrench on its joint, and add it to the parent
    for i in range(arm.parent.size - 1, -1, -1):
        j, parent, station, F = arm.joint[i], arm.parent[i], arm.station[i], work.F[i]
        if j >= 0:
            force[j] = dot(F, arm.screw[i])
            m = arm.motor[j]
            if m < 0:
                force[j] += arm.rotor[j] * qdd[j]
            else:
                force[m] = arm.rotor[j] * qdd[m]
        if parent >= 0:
            y = work.y
            y[:] = 0.0
            add_to_parent(work.R[i], work.origin[i], F, y)
            add_scaled(1.0, y, work.F[parent])
            if station >= 0:
                for k in range(arm.block[parent]):
                    for r in range(6):
                        force[arm.own[parent, k]] += work.K[station, r, k] * y[r]
        slide = arm.slide[i]
        if slide >= 0 and arm.motor[slide] < 0:
            force[slide] += arm.rotor[slide] * qdd[slide]
        elif slide >= 0:
            force[arm.motor[slide]] = arm.rotor[slide] * qdd[arm.motor[slide]]
    for b in range(arm.base.shape[0]):
        force[arm.base[b, 0]] = work.F[0, arm.base[b, 1]]


@compiled
def base_power(arm, q, qd, qdd, work, force):
    """
    Power of a moved base on the arm [W]: of the wrenches on the bodies that it carries.

    They include those of constraints between the arm and the base.

    :param work: Workspace with the loads; force: a temporary, (n,).
    """
    inverse_dynamics(arm, q, qd, qdd, work, force)
    wrench = work.y
    wrench[:] = 0.0
    for i in range(arm.parent.size):
        if arm.parent[i] < 0:
            add_to_parent(work.R[i], work.origin[i], work.F[i], wrench)
    return dot(wrench, work.root_V)


@compiled
def set_bodies(arm, q, qd, work):
    """Motion of all bodies; inertia and bias of each isolated body (T20)."""
    set_motion(arm, q, qd, work)
    for i in range(arm.parent.size):
        F0 = work.F0[i]
        for r in range(6):
            F0[r] = -work.load[i, r]
        for r in range(6):
            for s in range(6):
                work.I[i, r, s] = arm.inertia[i, r, s]
        add_turning_wrench(arm.inertia[i], work.V[i], F0)
        if arm.modes[i] > 0:
            add_beam(arm, i, q, qd, work)


@compiled
def eliminate(arm, work):
    """
    Tip to base: eliminate modes and joint of every body, and add the remainder to its parent.

    Leaves in work what `set_accelerations` needs: the Cholesky factor L of E in its place, with
    its diagonal inverted, as divisions are slow; Z = L^-1 B^T, z = L^-1 (force - b), IA = I A,
    the inertia d about the joint, and its force tau.
    """
    for i in range(arm.parent.size - 1, -1, -1):
        parent, station, j, n = arm.parent[i], arm.station[i], arm.joint[i], arm.block[i]
        I, F0, c = work.I[i], work.F0[i], work.c[i]
        if arm.slide[i] >= 0:
            add_slide_drive(arm, i, work)
        if n == COMMON_SHAPES[5]:
            eliminate_modes(arm, i, COMMON_SHAPES[5], work)
        elif n > 0:
            eliminate_modes(arm, i, n, work)
        add_product(I, c, F0)  # velocity-dependent acceleration
        if j >= 0:
            A, IA = arm.screw[i], work.IA[i]
            set_product(I, A, IA)
            d = dot(A, IA)
            work.own_inertia[j] = d + work.coupling[j]
            d += work.added_inertia[j]
            tau = work.force[j] - dot(A, F0)
            m = arm.motor[j]
            if m >= 0 and work.prescribed[j] != 0.0:
                tau += work.coupling[j] * work.prescribed_acceleration[j]
            elif m >= 0 and work.coupling[j] > 0.0:  # eliminate the motor, too
                share = work.coupling[j] / work.added_inertia[m]
                d -= share * work.coupling[j]
                tau += share * work.force[m]
            work.d[i], work.tau[i] = d, tau
            if m < 0 and work.prescribed[j] != 0.0:
                add_scaled(work.prescribed_acceleration[j], IA, F0)
            elif parent >= 0:
                inverse = 1.0 / d
                for r in range(6):
                    share = inverse * IA[r]
                    for s in range(6):
                        I[r, s] -= share * IA[s]
                add_scaled(inverse * tau, IA, F0)
        if parent >= 0:
            if station < 0:
                add_inertia_to_parent(work.R[i], work.origin[i], I, work.I[parent])
                add_to_parent(work.R[i], work.origin[i], F0, work.F0[parent])
            elif arm.block[parent] == COMMON_SHAPES[5]:
                add_to_station(i, parent, station, COMMON_SHAPES[5], work)
            else:
                add_to_station(i, parent, station, arm.block[parent], work)
    if arm.base.shape[0] > 0:
        factor_base(arm, work.I[0], work.base_factor)


@compiled
def add_slide_drive(arm, i, work):
    """Add the drive of sliding body i to the last diagonal entry of E, without its motor."""
    n, j = arm.modes[i], arm.slide[i]
    m, coupling = arm.motor[j], work.coupling[j]
    work.own_inertia[j] = work.E[i, n, n] + coupling
    work.E[i, n, n] += work.added_inertia[j]
    if m < 0 and work.prescribed[j] != 0.0:
        prescribe_slide(i, n, work.prescribed_acceleration[j], work.force[j], work)
    elif m >= 0 and work.prescribed[j] != 0.0:
        work.b[i, n] -= coupling * work.prescribed_acceleration[j]
    elif m >= 0 and coupling > 0.0:
        share = coupling / work.added_inertia[m]
        work.E[i, n, n] -= share * coupling
        work.b[i, n] -= share * work.force[m]


@compiled
def prescribe_slide(i, n, acceleration, force, work):
    """Replace the row of the free length of sliding body i by its acceleration; store the row."""
    B, E, b, F0, row = work.B[i], work.E[i], work.b[i], work.F0[i], work.slide_held[i]
    for r in range(6):
        row[r] = B[r, n]
        F0[r] += B[r, n] * acceleration
        B[r, n] = 0.0
    for k in range(n):
        row[6 + k] = E[n, k]
        b[k] += E[n, k] * acceleration
        E[n, k] = 0.0
    row[6 + n] = E[n, n] * acceleration + b[n] - force
    E[n, n] = 1.0
    b[n] = force - acceleration


@compiled
def set_slide_motor(arm, i, work, qdd):
    """Acceleration of the motor of sliding body i, and the effort of a prescribed drive."""
    j, n = arm.slide[i], arm.modes[i]
    m = arm.motor[j]
    if m < 0 and work.prescribed[j] != 0.0:
        row = work.slide_held[i]
        work.prescribed_effort[j] = row[6 + n]
        for r in range(6):
            work.prescribed_effort[j] += row[r] * work.dV[i, r]
        for k in range(n):
            work.prescribed_effort[j] += row[6 + k] * qdd[arm.own[i, k]]
    elif m >= 0 and work.prescribed[j] != 0.0:
        qdd[m] = work.prescribed_acceleration[j]
        work.prescribed_effort[j] = (
            work.added_inertia[m] * qdd[m] - work.force[m] - work.coupling[j] * qdd[j]
        )
    elif m >= 0:
        qdd[m] = (work.force[m] + work.coupling[j] * qdd[j]) / work.added_inertia[m]


@compiled(inline=True)
def eliminate_modes(arm, i, n, work):
    """Cholesky factor of E with the implicit terms; eliminate the modes from I and F0."""
    I, F0, B, E, Z, z = work.I[i], work.F0[i], work.B[i], work.E[i], work.Z[i], work.z[i]
    own = arm.own[i]
    for k in range(n):
        for m in range(k + 1):
            total = E[k, m] + work.implicit[i, k, m]
            for l in range(m):
                total -= E[k, l] * E[m, l]
            E[k, m] = 1.0 / sqrt(total) if k == m else total * E[m, m]
        for r in range(6):
            total = B[r, k]
            for l in range(k):
                total -= E[k, l] * Z[l, r]
            Z[k, r] = total * E[k, k]
        total = work.force[own[k]] - work.b[i, k]
        for l in range(k):
            total -= E[k, l] * z[l]
        z[k] = total * E[k, k]
    for k in range(n):
        for r in range(6):
            F0[r] += Z[k, r] * z[k]
            for s in range(6):
                I[r, s] -= Z[k, r] * Z[k, s]


@compiled(inline=True)
def add_to_station(i, parent, station, n, work):
    """Add the articulated inertia and bias of body i to its elastic parent with n modes (T21)."""
    Y, y, YK, K = work.Y, work.y, work.YK, work.K[station]
    Y[:] = 0.0
    y[:] = 0.0
    add_inertia_to_parent(work.R[i], work.origin[i], work.I[i], Y)
    add_to_parent(work.R[i], work.origin[i], work.F0[i], y)
    I = work.I[parent]
    B = work.B[parent]
    E = work.E[parent]
    F0 = work.F0[parent]
    b = work.b[parent]
    for r in range(6):
        F0[r] += y[r]
        for s in range(6):
            I[r, s] += Y[r, s]
        for k in range(n):
            total = 0.0
            for s in range(6):
                total += Y[r, s] * K[s, k]
            YK[r, k] = total
            B[r, k] += total
    for k in range(n):
        for r in range(6):
            b[k] += K[r, k] * y[r]
        for m in range(k + 1):
            total = 0.0
            for r in range(6):
                total += K[r, k] * YK[r, m]
            E[k, m] += total


@compiled
def set_accelerations(arm, work, qdd):
    """Base to tip: accelerations of joints, motors and modes, from the factors of `eliminate`."""
    for i in range(arm.parent.size):
        j, n, dV = arm.joint[i], arm.modes[i], work.dV[i]
        set_acceleration_without_joint(arm, i, work, qdd)
        if j >= 0:
            # tau already includes c through F0, so subtract it from dV
            total = work.tau[i]
            for r in range(6):
                total -= work.IA[i, r] * (dV[r] - work.c[i, r])
            m = arm.motor[j]
            qdd[j] = total / work.d[i]
            if m < 0 and work.prescribed[j] != 0.0:
                qdd[j] = work.prescribed_acceleration[j]
                work.prescribed_effort[j] = work.d[i] * qdd[j] - total
            add_scaled(qdd[j], arm.screw[i], dV)
            if m >= 0 and work.prescribed[j] != 0.0:
                qdd[m] = work.prescribed_acceleration[j]
                work.prescribed_effort[j] = (
                    work.added_inertia[m] * qdd[m] - work.force[m] - work.coupling[j] * qdd[j]
                )
            elif m >= 0:
                qdd[m] = (work.force[m] + work.coupling[j] * qdd[j]) / work.added_inertia[m]
        elif arm.parent[i] < 0 and arm.base.shape[0] > 0:
            add_base_acceleration(arm, work, qdd)
        first, slide = arm.first[i], arm.slide[i]
        if slide >= 0:  # the free length comes last
            total = work.z[i, n] - dot(work.Z[i, n], dV)
            qdd[slide] = total * work.E[i, n, n]
            for k in range(n):
                work.z[i, k] -= work.E[i, n, k] * qdd[slide]
        for k in range(n - 1, -1, -1):
            total = work.z[i, k]
            for r in range(6):
                total -= work.Z[i, k, r] * dV[r]
            for m in range(k + 1, n):
                total -= work.E[i, m, k] * qdd[first + m]
            qdd[first + k] = total * work.E[i, k, k]
        if slide >= 0:
            set_slide_motor(arm, i, work, qdd)


@compiled
def set_acceleration_from_parent(arm, i, R, p, K, work, qdd):
    """
    Acceleration dV[i] of body i due to its parent, which may be elastic.

    :param R: pose (R, p) of the body in its parent; K: Jacobians of all stations.
    """
    parent, station, dV = arm.parent[i], arm.station[i], work.dV[i]
    if station < 0:
        set_in_child(R, p, work.dV[parent], dV)
    else:
        parent_motion, first, slide = work.parent_motion, arm.first[parent], arm.slide[parent]
        for r in range(6):
            parent_motion[r] = work.dV[parent, r]
            for k in range(arm.modes[parent]):
                parent_motion[r] += K[station, r, k] * qdd[first + k]
            if slide >= 0:
                parent_motion[r] += K[station, r, arm.modes[parent]] * qdd[slide]
        set_in_child(R, p, parent_motion, dV)


@compiled
def set_acceleration_without_joint(arm, i, work, qdd):
    """Acceleration of body i without its joint acceleration; the base accelerates for gravity."""
    if arm.parent[i] < 0 and work.base_moves[0] != 0.0:
        set_base_acceleration(arm, work, work.parent_motion)
        set_in_child(work.R[i], work.origin[i], work.parent_motion, work.dV[i])
    elif arm.parent[i] < 0:
        set_in_child(work.R[i], work.origin[i], arm.base_acceleration, work.dV[i])
    else:
        set_acceleration_from_parent(arm, i, work.R[i], work.origin[i], work.K, work, qdd)
    add_scaled(1.0, work.c[i], work.dV[i])
