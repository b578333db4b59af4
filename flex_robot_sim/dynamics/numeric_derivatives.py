"""
Derivatives of the inverse dynamics of arms with sliding links, by central differences.

Differences by the coordinates are of sixth order. Those of a free base are by small motions in its
own axes (T113). The forces are quadratic in the rates, so that differences by the rates are exact
to rounding.
"""

import numpy as np

from flex_robot_sim.dynamics.compiled_mass_matrix import set_mass_matrix
from flex_robot_sim.dynamics.forward_dynamics import inverse_dynamics
from flex_robot_sim.dynamics.free_base import set_coordinate_rates
from flex_robot_sim.dynamics.loads import set_loads
from flex_robot_sim.dynamics.sliding_body import free_length
from flex_robot_sim.dynamics.sliding_strain import add_sliding_damping
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.body_kinds import SLIDING
from flex_robot_sim.spatial.screws import set_copy

JOINT_STEP = 0.01  # of joints and motors [rad, m]
ELASTIC_STEP = 1e-3  # [m, rad]
SLIDE_STEP = 1 / 300  # of a guide, over the free length: forces contain its power -5
WEIGHTS = np.array([3 / 4, -3 / 20, 1 / 60])  # at 1, 2, 3 steps


@compiled
def set_numeric_derivatives(arm, loads, q, qd, qdd, work, M, by_rate, by_coordinate):
    """
    Set the mass matrix, and derivatives of the forces that a motion needs, (n, n) each.

    They include the damping of sliding links, which depends on the coordinates.
    """
    n = q.size
    moved, force, unit, change = work.cg_vectors
    set_mass_matrix(arm, q, work, M)
    unit[:] = 0.0
    for k in range(n):
        step = difference_step(arm, q, k)
        unit[k] = 1.0
        set_coordinate_rates(arm, q, unit, work, change)
        unit[k] = 0.0
        for m in range(6):
            sign = 1.0 if m < 3 else -1.0
            for r in range(n):
                moved[r] = q[r] + sign * (m % 3 + 1) * step * change[r]
            set_needed_force(arm, loads, moved, qd, qdd, work, force)
            for r in range(n):
                by_coordinate[r, k] += sign * WEIGHTS[m % 3] / step * force[r]
    set_copy(qd, moved)
    for k in range(n):
        for m in range(2):
            sign = 1.0 - 2.0 * m
            moved[k] = qd[k] + sign
            set_needed_force(arm, loads, q, moved, qdd, work, force)
            for r in range(n):
                by_rate[r, k] += 0.5 * sign * force[r]
        moved[k] = qd[k]
    set_needed_force(arm, loads, q, qd, qdd, work, force)


@compiled
def difference_step(arm, q, k):
    """Step of coordinate k [rad, m]."""
    if k >= q.size - arm.shared.shape[0]:
        return ELASTIC_STEP
    for i in range(arm.parent.size):
        if arm.kind[i] == SLIDING and arm.slide[i] == k:
            return SLIDE_STEP * free_length(arm, i, q)
    return JOINT_STEP


@compiled
def set_needed_force(arm, loads, q, qd, qdd, work, force):
    """Set the force (n,) for a motion under loads, with the damping of sliding links."""
    set_loads(arm, loads, q, work)
    inverse_dynamics(arm, q, qd, qdd, work, force)
    for i in range(arm.parent.size):
        if arm.kind[i] == SLIDING:
            add_sliding_damping(arm, i, q, qd, force, 1.0)
