"""
Iterative refinement of the accelerations of a step, without another elimination.

An iteration of (T41) solves A x = f at the mid-step state that the guess g predicts. With the
factors A0 that `eliminate` has left at a nearby state, it suffices to solve

    A0 (x - g) = f - A g                                                                      (T48)

because A - A0 multiplies only the small x - g. Apart from the laws of joints, springs and dampers,
A g is `inverse_dynamics`, and the factors take two short sweeps: together three quarters of an
evaluation, and less for beams with many coordinates.
"""

from flex_robot_sim.dynamics.forces import set_forces
from flex_robot_sim.dynamics.forward_dynamics import (
    implicit_dynamics,
    inverse_dynamics,
    set_acceleration_from_parent,
)
from flex_robot_sim.dynamics.free_base import solve_base
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.spatial.screws import add_scaled, add_to_parent, dot, set_copy


@compiled
def solve_dynamics(arm, q, qd, effort, h, guess, work, qdd):
    """Run `implicit_dynamics`; store poses and Jacobians that `solve_with_factors` needs."""
    implicit_dynamics(arm, q, qd, effort, h, guess, work, qdd)
    for i in range(arm.parent.size):
        set_copy(work.origin[i], work.solved_p[i])
        for r in range(3):
            set_copy(work.R[i, r], work.solved_R[i, r])
        station = arm.station[i]
        if station >= 0:
            for r in range(6):
                for k in range(arm.block[arm.parent[i]]):
                    work.solved_K[station, r, k] = work.K[station, r, k]


@compiled
def refine_dynamics(arm, q, qd, effort, h, guess, work, qdd):
    """
    Accelerations over a step h, with the factors of the last `solve_dynamics` (T48).

    If the slopes of the joint laws have changed, the system is factored again. Arguments
    are those of `implicit_dynamics`.

    :returns: whether it was.
    """
    old_inertia, residual = work.cg_vectors[1], work.cg_vectors[2]
    for k in range(arm.inertia_scale.size - arm.shared.shape[0]):
        old_inertia[k] = work.added_inertia[k]
    set_forces(arm, q, qd, effort, h, guess, work)
    for k in range(arm.inertia_scale.size - arm.shared.shape[0]):
        if work.added_inertia[k] != old_inertia[k]:
            solve_dynamics(arm, q, qd, effort, h, guess, work, qdd)
            return True
    inverse_dynamics(arm, q, qd, guess, work, residual)
    for k in range(qdd.size):
        residual[k] = work.force[k] - residual[k]
    for j in range(arm.motor.size):
        m = arm.motor[j]
        residual[j] += 0.5 * h * work.joint_force_slope[j] * guess[j]
        if m >= 0:
            g = work.transmission[j]
            gear_force = work.coupling[j] / g * (g * guess[m] - guess[j])
            residual[j] += gear_force
            residual[m] += 0.5 * h * work.joint_force_slope[m] * guess[m] - g * gear_force
    for i in range(arm.parent.size):
        first = arm.first[i]  # a free length has no implicit stiffness
        for k in range(arm.modes[i]):
            for m in range(arm.modes[i]):
                residual[first + k] -= work.implicit[i, k, m] * guess[first + m]
    solve_with_factors(arm, residual, work, qdd)
    for k in range(qdd.size):
        qdd[k] += guess[k]
    return False


@compiled
def is_held(arm, j, work):
    """Whether the motion of joint j is prescribed, without an elastic gear."""
    return arm.motor[j] < 0 and work.prescribed[j] != 0.0


@compiled
def solve_with_factors(arm, force, work, qdd):
    """
    Accelerations A^-1 f, with the factors that `eliminate` left in work.

    Those of prescribed drives are zero.

    :param force: on all coordinates, (n,).
    :param qdd: receives the accelerations, (n,).
    """
    work.F0[:] = 0.0
    work.b[:] = 0.0
    for i in range(arm.parent.size - 1, -1, -1):
        parent, station, j, own = arm.parent[i], arm.station[i], arm.joint[i], arm.own[i]
        F0, z, E = work.F0[i], work.z[i], work.E[i]
        if arm.slide[i] >= 0:
            slide = arm.slide[i]
            m = arm.motor[slide]
            if m >= 0 and work.prescribed[slide] == 0.0:
                work.b[i, arm.modes[i]] -= work.coupling[slide] / work.added_inertia[m] * force[m]
        for k in range(arm.block[i]):
            total = force[own[k]] - work.b[i, k]
            for m in range(k):
                total -= E[k, m] * z[m]
            z[k] = total * E[k, k]
            if k == arm.modes[i] and is_held(arm, arm.slide[i], work):
                z[k] = 0.0
            for r in range(6):
                F0[r] += work.Z[i, k, r] * z[k]
        if j >= 0:
            m = arm.motor[j]
            work.tau[i] = force[j] - dot(arm.screw[i], F0)
            if m >= 0 and work.prescribed[j] == 0.0:
                work.tau[i] += work.coupling[j] / work.added_inertia[m] * force[m]
            if m >= 0 or work.prescribed[j] == 0.0:
                add_scaled(work.tau[i] / work.d[i], work.IA[i], F0)
        if parent >= 0 and station < 0:
            add_to_parent(work.solved_R[i], work.solved_p[i], F0, work.F0[parent])
        elif parent >= 0:
            y = work.y
            y[:] = 0.0
            add_to_parent(work.solved_R[i], work.solved_p[i], F0, y)
            add_scaled(1.0, y, work.F0[parent])
            for k in range(arm.block[parent]):
                for r in range(6):
                    work.b[parent, k] += work.solved_K[station, r, k] * y[r]

    for b in range(arm.base.shape[0]):
        work.base_force[b] = force[arm.base[b, 0]] - work.F0[0, arm.base[b, 1]]
    solve_base(arm.base.shape[0], work.base_factor, work.base_force)
    for i in range(arm.parent.size):
        j, dV = arm.joint[i], work.dV[i]
        if arm.parent[i] < 0:
            dV[:] = 0.0
            for b in range(arm.base.shape[0]):
                dV[arm.base[b, 1]] = qdd[arm.base[b, 0]] = work.base_force[b]
        else:
            set_acceleration_from_parent(
                arm, i, work.solved_R[i], work.solved_p[i], work.solved_K, work, qdd
            )
        if j >= 0:
            m, is_prescribed = arm.motor[j], work.prescribed[j] != 0.0
            qdd[j] = (work.tau[i] - dot(work.IA[i], dV)) / work.d[i]
            if m < 0 and is_prescribed:
                qdd[j] = 0.0
            elif m >= 0:
                qdd[m] = (
                    0.0
                    if is_prescribed
                    else (force[m] + work.coupling[j] * qdd[j]) / work.added_inertia[m]
                )
            add_scaled(qdd[j], arm.screw[i], dV)
        first, E, slide, n = arm.first[i], work.E[i], arm.slide[i], arm.modes[i]
        if slide >= 0:
            qdd[slide] = (work.z[i, n] - dot(work.Z[i, n], dV)) * E[n, n]
            for k in range(n):
                work.z[i, k] -= E[n, k] * qdd[slide]
        for k in range(n - 1, -1, -1):
            total = work.z[i, k] - dot(work.Z[i, k], dV)
            for m in range(k + 1, n):
                total -= E[m, k] * qdd[first + m]
            qdd[first + k] = total * E[k, k]
        if slide >= 0:
            m = arm.motor[slide]
            if m >= 0:
                qdd[m] = (
                    0.0
                    if work.prescribed[slide] != 0.0
                    else (force[m] + work.coupling[slide] * qdd[slide]) / work.added_inertia[m]
                )
