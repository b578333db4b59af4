"""
Derivatives of the accelerations of closed loops.

With M, D and K of (T50) and H, G_q and G_v of (T80), small changes obey

    M dq'' - W^T dlambda = S du - (K - H) dq - D dq',    W dq'' = -G_q dq - G_v dq'           (T83)

The null space N of W removes dlambda, as in (T82).
"""

import numpy as np

from flex_robot_sim.analysis.constraint_terms import (
    constraint_slopes,
    constraint_stiffness,
    gaps_and_jacobian,
)
from flex_robot_sim.analysis.loop_forces import constraint_forces
from flex_robot_sim.analysis.loop_motion import null_space_basis
from flex_robot_sim.analysis.tangent import residual_force, smooth_slopes, with_compliance
from flex_robot_sim.dynamics.loads import LoadArrays
from flex_robot_sim.model.arm_model import ArmModel


def loop_derivatives(
    arm: ArmModel,
    loads: LoadArrays,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    effort: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
    """
    Return the derivatives (n, m) of accelerations a (n,) by coordinates, rates and efforts.

    The last value is whether no joint sticks or touches a stop; their forces count as constant.
    """
    M, D, K, is_smooth = smooth_slopes(arm, loads, q, v, a)
    D, K = with_compliance(arm, q, v, D, K)
    _, W = gaps_and_jacobian(arm, q)
    needed = residual_force(arm, loads, q, v, a)
    needed[arm.motor_q] -= effort
    force, _ = constraint_forces(arm, W, needed, np.zeros(0, int))
    slopes = constraint_slopes(arm, q, v, a)
    basis = null_space_basis(arm, W, np.arange(arm.size))
    S = np.eye(arm.size)[:, arm.motor_q]
    columns = (
        (constraint_stiffness(arm, q, force) - K, slopes.by_q),
        (-D, slopes.by_v),
        (S, np.zeros((len(W), S.shape[1]))),
    )
    by_q, by_v, by_effort = (_response(M, basis, forces, rates) for forces, rates in columns)
    return by_q, by_v, by_effort, is_smooth


def _response(M, basis, forces, rates):
    """Return accelerations (n, m) by forces (n, m), with second rates (c, m) to cancel."""
    N, following = basis.N, basis.follow(-rates)
    return following + N @ np.linalg.solve(N.T @ M @ N, N.T @ (forces - M @ following))
