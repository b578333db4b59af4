"""
A step that is implicit in the dampers that reach from body to body, too.

The recursion solves A x = f with A = M + h/2 D + h^2/4 K of what stays inside bodies and joints
(T40). The dampers S S^T of (T5) are no part of A. Where they are strong for the arm in its present
pose, with joints that are free, iterating with their force at the last guess gains little or
diverges: it leaves a share of the largest eigenvalue of A^-1 h/2 S S^T. Conjugate gradients for

    (A + h/2 S S^T) d = -h/2 S S^T (x - guess),   x + d instead of x                         (T45)

with A as the preconditioner always converge (Saad, Iterative Methods for Sparse Linear Systems,
2003, algorithm 9.1). A is factored by then, and all forces here act on elastic coordinates, so
that each of their steps is two short sweeps.
"""

from flex_robot_sim.core.compiled import compiled
from flex_robot_sim.core.damping import add_shared_pull
from flex_robot_sim.core.dynamics import set_by_carrier
from flex_robot_sim.core.screws import add_scaled, add_to_parent, dot

LEFT_OVER = 1e-4        # share of what was lacking that may be left, in the norm of A^-1
MOST_ROUNDS = 40


@compiled
def damp_together(arm, h, guess, work, qdd):
    """
    Correct accelerations as if the dampers S S^T had been part of the elimination (T45).

    :param h: step of the `implicit_dynamics` that has just left its factors in work [s].
    :param guess: accelerations with which its rates were made, (n,).
    :param qdd: what it found, (n,); corrected.
    :returns: rounds taken.
    """
    way, pull = work.together[0], work.together[1]
    lack, answer = work.together[2], work.together[3]
    for k in range(qdd.size):
        answer[k] = qdd[k] - guess[k]
    way[:] = 0.0
    pull[:] = 0.0
    lack[:] = 0.0
    add_shared_pull(arm, -0.5 * h, answer, work, lack)
    first = last = 0.0
    for rounds in range(MOST_ROUNDS):
        set_answer(arm, lack, work, answer)
        power = turn = whole = 0.0
        for k in range(qdd.size):
            power += lack[k] * answer[k]
        if rounds == 0:
            first = power
        else:
            turn = power / last
        if not power > LEFT_OVER * LEFT_OVER * first:
            return rounds
        for k in range(qdd.size):
            way[k] = answer[k] + turn * way[k]
            pull[k] = lack[k] + turn * pull[k]          # A times the way
            answer[k] = pull[k]
        add_shared_pull(arm, 0.5 * h, way, work, answer)
        for k in range(qdd.size):
            whole += way[k] * answer[k]
        for k in range(qdd.size):
            qdd[k] += power / whole * way[k]
            lack[k] -= power / whole * answer[k]
        last = power
    return MOST_ROUNDS


@compiled
def set_answer(arm, force, work, qdd):
    """
    Accelerations A^-1 f, by the factors that `eliminate` left in work.

    :param force: on elastic coordinates, (n,); zero on all others.
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
            work.tau[i] = -dot(arm.screw[i], F0)
            if arm.motor[j] >= 0 or work.given[j] == 0.0:
                add_scaled(work.tau[i] / work.d[i], work.IA[i], F0)
        if parent >= 0 and station < 0:
            add_to_parent(work.R[i], work.origin[i], F0, work.F0[parent])
        elif parent >= 0:
            y = work.y
            y[:] = 0.0
            add_to_parent(work.R[i], work.origin[i], F0, y)
            add_scaled(1.0, y, work.F0[parent])
            for k in range(arm.modes[parent]):
                for r in range(6):
                    work.b[parent, k] += work.K[station, r, k] * y[r]

    for i in range(arm.parent.size):
        j, dV = arm.joint[i], work.dV[i]
        if arm.parent[i] < 0:
            dV[:] = 0.0
        else:
            set_by_carrier(arm, i, work, qdd)
        if j >= 0:
            m, is_given = arm.motor[j], work.given[j] != 0.0
            qdd[j] = (work.tau[i] - dot(work.IA[i], dV)) / work.d[i]
            if m < 0 and is_given:
                qdd[j] = 0.0
            elif m >= 0:
                qdd[m] = 0.0 if is_given else work.coupling[j] * qdd[j] / work.added[m]
            add_scaled(qdd[j], arm.screw[i], dV)
        first, E = arm.first[i], work.E[i]
        for k in range(arm.modes[i] - 1, -1, -1):
            total = work.z[i, k] - dot(work.Z[i, k], dV)
            for m in range(k + 1, arm.modes[i]):
                total -= E[m, k] * qdd[first + m]
            qdd[first + k] = total * E[k, k]
