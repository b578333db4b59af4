"""
Springs and dampers of constraints in models at one state.

A compliant row with the gap g, the stiffness k and the damping d needs the generalised force
W^T f of the other parts, with f = k g + d g'. Small changes x of the coordinates change it by

    W^T (k W x + d W x' + d dW/dq v x) + d(W^T f)/dq x                                       (T79)
"""

import numpy as np

from flex_robot_sim.analysis.constraint_terms import all_gaps_and_jacobian
from flex_robot_sim.analysis.differences import slopes, symmetric_stiffness
from flex_robot_sim.model.arm_model import ArmModel


def compliance_force(arm: ArmModel, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the force (n,) that a motion needs against the springs and dampers."""
    gap, W = all_gaps_and_jacobian(arm, q)
    return W.T @ _row_force(arm, gap, W @ v)


def compliance_slopes(
    arm: ArmModel, q: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the parts of D and K (n, n) of (T50) by springs and dampers (T79)."""
    arrays = arm.arrays
    gap, W = all_gaps_and_jacobian(arm, q)
    force = _row_force(arm, gap, W @ v)
    by_turn = slopes(arm, lambda at: all_gaps_and_jacobian(arm, at)[1].T @ force, q)
    D = W.T @ (arrays.constraint_damping[:, None] * W)
    K = W.T @ (arrays.constraint_stiffness[:, None] * W) + symmetric_stiffness(arm, by_turn)
    if v.any():
        rates = slopes(arm, lambda at: all_gaps_and_jacobian(arm, at)[1] @ v, q)
        K += W.T @ (arrays.constraint_damping[:, None] * rates)
    return D, K


def _row_force(arm, gap, rate):
    """Return the forces (c,) against the springs and dampers; zero for rigid rows."""
    return arm.arrays.constraint_stiffness * gap + arm.arrays.constraint_damping * rate
