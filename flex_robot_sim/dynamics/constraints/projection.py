"""
Closed loops outside the implicit step: explicit schemes and prescribed drives.

Positions and rates return to the closed loops along the responses X of the last factors, by the
least change in the norm of kinetic energy. The response of prescribed drives is zero, so that they
stay on their motion.
"""

from math import inf

from flex_robot_sim.dynamics.constraints.instant import constrain_accelerations
from flex_robot_sim.dynamics.constraints.rows import set_gaps
from flex_robot_sim.dynamics.constraints.solution import (
    CLOSED_GAP,
    MAX_GAP,
    MAX_ROUNDS,
    add_response,
    close_rates,
    solve_rows,
)
from flex_robot_sim.dynamics.factor_reuse import solve_dynamics, solve_with_factors
from flex_robot_sim.dynamics.forward_dynamics import implicit_dynamics
from flex_robot_sim.dynamics.kinematics import set_poses
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.spatial.screws import dot


@compiled
def instant_dynamics(arm, q, qd, effort, work, qdd):
    """Accelerations (n,) at an instant, with closed loops."""
    if arm.constraint_kind.size > 0:
        solve_dynamics(arm, q, qd, effort, 0.0, qdd, work, qdd)
        constrain_accelerations(arm, work, qdd)
    else:
        implicit_dynamics(arm, q, qd, effort, 0.0, qdd, work, qdd)


@compiled
def close_loops(arm, q, qd, work):
    """
    Move coordinates and rates (n,) onto the closed loops; return whether they are closed.

    :param work: Workspace with responses and factor at a state near q.
    """
    largest = inf
    for number in range(MAX_ROUNDS + 1):
        set_poses(arm, q, arm.parent.size, work)
        largest = set_gaps(arm, work)
        if number == MAX_ROUNDS or not largest > CLOSED_GAP:
            break
        right, change = work.constraint_gap, work.constraint_vectors[2]
        for r in range(arm.constraint_kind.size):
            right[r] = -right[r]
        solve_rows(arm, right, work, change)
        add_response(arm, change, work, q)
    is_closed = largest <= MAX_GAP
    is_closed &= close_rates(arm, q, qd, work)
    return is_closed


@compiled
def add_prescribed_reactions(arm, work, force, response):
    """
    Add what the constraint forces take to the efforts of prescribed drives.

    :param work: Workspace with Jacobian, forces and factors of the step.
    :param force, response: temporaries, (n,).
    """
    for k in range(force.size):
        force[k] = 0.0
        for r in range(arm.constraint_kind.size):
            force[k] += work.constraint_force[r] * work.constraint_jacobian[r, k]
    solve_with_factors(arm, force, work, response)
    for i in range(arm.parent.size):
        j = arm.joint[i]
        if j >= 0 and work.prescribed[j] != 0.0:
            m = arm.motor[j]
            if m < 0:
                work.prescribed_effort[j] += dot(work.IA[i], work.dV[i]) - work.tau[i]
            else:
                work.prescribed_effort[j] -= force[m] + work.coupling[j] * response[j]
