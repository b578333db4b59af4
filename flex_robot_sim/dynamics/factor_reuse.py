"""
Accelerations of a step that are known nearly, without another elimination.

An iteration of (T41) solves A x = f at the middle that the guess g makes. With the factors that
`eliminate` has left at a middle near by, A0, it is as good to solve

    A0 (x - g) = f - A g                                                                      (T48)

because A - A0 meets the small x - g alone. What A g needs beyond the laws of joints, springs and
dampers is `inverse_dynamics`, and the factors take two short sweeps: together three quarters of an
evaluation, and less of one for beams of many coordinates.
"""

from flex_robot_sim.dynamics.forces import set_forces
from flex_robot_sim.dynamics.forward_dynamics import (
    implicit_dynamics,
    inverse_dynamics,
    set_by_carrier,
)
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.spatial.screws import add_scaled, add_to_parent, dot, set_copy


@compiled
def solve_dynamics(arm, q, qd, effort, h, guess, work, qdd):
    """Do what `implicit_dynamics` does, and keep what `set_answer` takes beside the factors."""
    implicit_dynamics(arm, q, qd, effort, h, guess, work, qdd)
    for i in range(arm.parent.size):
        set_copy(work.origin[i], work.solved_p[i])
        for r in range(3):
            set_copy(work.R[i, r], work.solved_R[i, r])
        station = arm.station[i]
        if station >= 0:
            for r in range(6):
                for k in range(arm.modes[arm.parent[i]]):
                    work.solved_K[station, r, k] = work.K[station, r, k]


@compiled
def refine_dynamics(arm, q, qd, effort, h, guess, work, qdd):
    """
    Accelerations over a step h, by the factors of the last `solve_dynamics` of it (T48).

    Where the laws of joints have other slopes by now, it is solved from the beginning. Arguments
    are those of `implicit_dynamics`.
    """
    slopes, lack = work.together[1], work.together[2]
    for k in range(arm.inertia_scale.size - arm.shared.shape[0]):
        slopes[k] = work.added_inertia[k]
    set_forces(arm, q, qd, effort, h, guess, work)
    for k in range(arm.inertia_scale.size - arm.shared.shape[0]):
        if work.added_inertia[k] != slopes[k]:
            solve_dynamics(arm, q, qd, effort, h, guess, work, qdd)
            return
    inverse_dynamics(arm, q, qd, guess, work, lack)
    for k in range(qdd.size):
        lack[k] = work.force[k] - lack[k]
    for j in range(arm.motor.size):
        m = arm.motor[j]
        lack[j] += 0.5 * h * work.joint_force_slope[j] * guess[j]
        if m >= 0:
            pull = work.coupling[j] * (guess[m] - guess[j])
            lack[j] += pull
            lack[m] += 0.5 * h * work.joint_force_slope[m] * guess[m] - pull
    for i in range(arm.parent.size):
        first = arm.first[i]
        for k in range(arm.modes[i]):
            for m in range(arm.modes[i]):
                lack[first + k] -= work.implicit[i, k, m] * guess[first + m]
    set_answer(arm, lack, work, qdd)
    for k in range(qdd.size):
        qdd[k] += guess[k]


@compiled
def set_answer(arm, force, work, qdd):
    """
    Accelerations A^-1 f, by the factors that `eliminate` left in work.

    Drives whose motion is prescribed get none.

    :param force: on all coordinates, (n,).
    :param qdd: receives the accelerations, (n,).
    """
    work.F0[:] = 0.0
    work.b[:] = 0.0
    for i in range(arm.parent.size - 1, -1, -1):
        parent, station, j, first = arm.parent[i], arm.station[i], arm.joint[i], arm.first[i]
        F0, z, E = work.F0[i], work.z[i], work.E[i]
        for k in range(arm.modes[i]):
            total = force[first + k] - work.b[i, k]
            for m in range(k):
                total -= E[k, m] * z[m]
            z[k] = total * E[k, k]
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
            for k in range(arm.modes[parent]):
                for r in range(6):
                    work.b[parent, k] += work.solved_K[station, r, k] * y[r]

    for i in range(arm.parent.size):
        j, dV = arm.joint[i], work.dV[i]
        if arm.parent[i] < 0:
            dV[:] = 0.0
        else:
            set_by_carrier(arm, i, work.solved_R[i], work.solved_p[i], work.solved_K, work, qdd)
        if j >= 0:
            m, is_given = arm.motor[j], work.prescribed[j] != 0.0
            qdd[j] = (work.tau[i] - dot(work.IA[i], dV)) / work.d[i]
            if m < 0 and is_given:
                qdd[j] = 0.0
            elif m >= 0:
                qdd[m] = 0.0 if is_given else (
                    force[m] + work.coupling[j] * qdd[j]) / work.added_inertia[m]
            add_scaled(qdd[j], arm.screw[i], dV)
        first, E = arm.first[i], work.E[i]
        for k in range(arm.modes[i] - 1, -1, -1):
            total = work.z[i, k] - dot(work.Z[i, k], dV)
            for m in range(k + 1, arm.modes[i]):
                total -= E[m, k] * qdd[first + m]
            qdd[first + k] = total * E[k, k]
