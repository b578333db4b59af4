"""
Terms of closed loops in models at one state.

With the Jacobian W of the gaps and the forces lambda of the rows (T71), changes x of the
coordinates change the generalised forces W^T lambda by H x, and the second rates of the gaps by
G_q x + G_v x':

    H = d(W^T lambda)/dq,    G_q = d(W q'' + dW/dt q')/dq,    G_v = 2 d(W q')/dq              (T80)

H is the geometric stiffness of the constraint forces. H and G_q are differences as in (T51).
Second rates are quadratic in the rates, so that a central difference yields G_v to rounding.
"""

from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.differences import scales, slopes, symmetric_stiffness
from flex_robot_sim.analysis.jacobians import set_rates
from flex_robot_sim.analysis.workspace_pool import borrowed
from flex_robot_sim.dynamics.constraints.instant import second_rate
from flex_robot_sim.dynamics.constraints.rows import mimic_difference, set_jacobian, set_mimic_gaps
from flex_robot_sim.dynamics.kinematics import set_base_poses, set_motion
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.constraint_rows import MIMIC


class ConstraintSlopes(NamedTuple):
    """Derivatives of the second rates of all gaps, (c, n) each."""

    by_q: np.ndarray
    by_v: np.ndarray


def gaps_and_jacobian(arm: ArmModel, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gaps (c,) [m, -] and Jacobian W (c, n) at q (n,); zero for rows with a spring."""
    gap, W = all_gaps_and_jacobian(arm, q)
    return _of_rigid_rows(arm, gap), _of_rigid_rows(arm, W)


def all_gaps_and_jacobian(arm: ArmModel, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gaps (c,) [m, -] and Jacobian W (c, n) at coordinates q (n,), also of rows with a spring."""
    q = np.ascontiguousarray(q)
    with borrowed(arm) as scratch:
        work = scratch.work
        scratch.call(_set_gaps_and_jacobian, arm.arrays, q, np.zeros(q.size), work)
        return work.constraint_gap.copy(), work.constraint_jacobian.copy()


def constraint_stiffness(arm: ArmModel, q: np.ndarray, force: np.ndarray) -> np.ndarray:
    """Geometric stiffness H (n, n) of constraint forces (c,) at coordinates q (n,) (T80)."""
    forces = slopes(arm, lambda at: gaps_and_jacobian(arm, at)[1].T @ force, q)
    return symmetric_stiffness(arm, forces)


def second_rates(arm: ArmModel, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """
    Second rates (c,) of all gaps, zero for rows with a spring.

    :param q, v, a: coordinates, rates and accelerations, (n,) each.
    """
    out = np.zeros(arm.arrays.constraint_kind.size)
    with borrowed(arm) as scratch:
        scratch.call(
            _set_second_rates, arm.arrays, *map(np.ascontiguousarray, (q, v, a)), scratch.work, out
        )
    return _of_rigid_rows(arm, out)


def constraint_slopes(
    arm: ArmModel, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> ConstraintSlopes:
    """Return the ConstraintSlopes G_q and G_v of second rates at q, v and a (n,) (T80)."""
    by_q = slopes(arm, lambda at: second_rates(arm, at, v, a), q)
    if not v.any():
        return ConstraintSlopes(by_q, np.zeros_like(by_q))
    steps = np.abs(v / scales(arm)).max() * np.diag(scales(arm))
    by_v = [
        (second_rates(arm, q, v + step, a) - second_rates(arm, q, v - step, a)) / (2 * step.sum())
        for step in steps
    ]
    return ConstraintSlopes(by_q, np.array(by_v).T)


def _of_rigid_rows(arm, values):
    """Return values (c, ...), with zero for rows with a spring, whose gaps open."""
    values[arm.arrays.constraint_stiffness > 0.0] = 0.0
    return values


@compiled
def _set_gaps_and_jacobian(arm, q, qd, work):
    """Gaps and Jacobian of all rows, in `work`."""
    set_motion(arm, q, qd, work)
    set_jacobian(arm, work)
    set_mimic_gaps(arm, q, work)


@compiled
def _set_second_rates(arm, q, qd, qdd, work, out):
    """Second rates of all gaps into out (c,)."""
    set_motion(arm, q, qd, work)
    set_rates(arm, qdd, work)
    set_base_poses(arm, work)
    for r in range(out.size):
        if arm.constraint_kind[r] == MIMIC:
            out[r] = mimic_difference(arm, r, qdd)
        else:
            out[r] = second_rate(arm, r, work)
