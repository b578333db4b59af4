"""
Closed loops outside the implicit step: explicit schemes and prescribed drives.

Positions and rates return to the closed loops along the responses X of the last factors, by the
least change in the norm of kinetic energy. The response of prescribed drives is zero, so that they
stay on their motion.
"""

from math import inf

from flex_robot_sim.dynamics.constraints.compliance import keep_open
from flex_robot_sim.dynamics.constraints.end_motion import set_end_poses
from flex_robot_sim.dynamics.constraints.instant import constrain_accelerations
from flex_robot_sim.dynamics.constraints.responses import remove_rates
from flex_robot_sim.dynamics.constraints.rows import set_mimic_gaps, set_rows
from flex_robot_sim.dynamics.constraints.solution import (
    CLOSED_GAP,
    LINEAR_ROUNDS,
    MAX_GAP,
    MAX_NEWTON_STEPS,
    close_rates,
)
from flex_robot_sim.dynamics.factor_reuse import solve_dynamics, solve_with_factors
from flex_robot_sim.dynamics.forward_dynamics import implicit_dynamics
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.spatial.screws import dot


@compiled
def instant_dynamics(arm, q, qd, effort, work, qdd):
    """Accelerations (n,) at an instant, with closed loops."""
    if arm.constraint_kind.size > 0:
        solve_dynamics(arm, q, qd, effort, 0.0, qdd, work, qdd)
        constrain_accelerations(arm, qd, work, qdd)
    else:
        implicit_dynamics(arm, q, qd, effort, 0.0, qdd, work, qdd)


@compiled
def close_loops(arm, q, qd, work):
    """
    Move coordinates and rates (n,) onto the closed loops; return whether they are closed.

    :param work: Workspace with responses and factor at a state near q.
    """
    W, change, largest = work.constraint_end_jacobian, work.cg_vectors[0], inf
    for number in range(MAX_NEWTON_STEPS):
        set_end_poses(arm, q, qd, work)
        previous = largest
        largest = max(set_rows(arm, work, W), set_mimic_gaps(arm, q, work))
        if not largest > CLOSED_GAP or not largest < previous or number == MAX_NEWTON_STEPS - 1:
            break
        for k in range(q.size):
            change[k] = 0.0
        keep_open(arm, work)
        remove_rates(arm, W, 0.25 * CLOSED_GAP, LINEAR_ROUNDS, work, change)
        for k in range(q.size):
            q[k] += change[k]
    is_closed = largest <= MAX_GAP
    is_closed &= close_rates(arm, qd, work)
    return is_closed


@compiled
def add_prescribed_reactions(arm, W, force, factor, work, total, response):
    """
    Add what the constraint forces take to the efforts of prescribed drives.

    :param W: Jacobian of the rows, (c, n); force: on the rows, (c,), counted with the factor.
    :param work: Workspace with the factors of the step; total, response: temporaries, (n,).
    """
    for k in range(total.size):
        total[k] = 0.0
        for r in range(force.size):
            total[k] += factor * force[r] * W[r, k]
    subtract_from_drives(arm, work, total, response)


@compiled
def subtract_from_drives(arm, work, force, response):
    """
    Add what the generalised forces of constraints take to the efforts of prescribed drives.

    :param force: (n,); response: temporary, (n,).
    """
    solve_with_factors(arm, force, work, response)
    for i in range(arm.parent.size):
        j = arm.joint[i]
        if j >= 0 and work.prescribed[j] != 0.0:
            m = arm.motor[j]
            if m < 0:
                work.prescribed_effort[j] += dot(work.IA[i], work.dV[i]) - work.tau[i]
            else:
                work.prescribed_effort[j] -= force[m] + work.coupling[j] * response[j]
