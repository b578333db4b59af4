"""Operating point of linear models: its state and accelerations."""

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.equations import mass_matrix
from flex_robot_sim.analysis.loop_forces import refuse_open_loops
from flex_robot_sim.analysis.statics import equilibrium_and_slopes
from flex_robot_sim.analysis.tangent import Slopes, residual_force
from flex_robot_sim.dynamics.loads import LoadArrays
from flex_robot_sim.dynamics.mass_matrix import refuse_massless, refuse_massless_pose
from flex_robot_sim.model.arguments import array_or_nan, joints_or_coordinates
from flex_robot_sim.model.arm_model import ArmModel


def state_at(
    arm: ArmModel, loads: LoadArrays, q: ArrayLike | None, v: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray, Slopes | None]:
    """Coordinates and rates (n,) of a state or an equilibrium; D and K (T50) of the latter."""
    if q is not None and array_or_nan(q).size == arm.size > len(arm.joint_names):
        q = joints_or_coordinates(arm, 'q', q)
        v = np.zeros(arm.size) if v is None else joints_or_coordinates(arm, 'v', v)
        if arm.closed_loops:
            refuse_open_loops(arm, q, v)
        return q, v, None
    return equilibrium_and_slopes(arm, loads, q, v)


def accelerations(
    arm: ArmModel,
    loads: LoadArrays,
    q: np.ndarray,
    qd: np.ndarray,
    effort: np.ndarray | None,
    locked: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return accelerations, zero if locked, and efforts; effort None: for constant velocity."""
    motors, drives = arm.motor_q, arm.drive_q
    force = residual_force(arm, loads, q, qd, np.zeros(arm.size))
    if effort is None:
        locked = drives
    else:
        force[motors] -= effort
    free = np.setdiff1d(np.arange(arm.size), locked)
    refuse_massless(arm)
    M, qdd = mass_matrix(arm, q), np.zeros(arm.size)
    refuse_massless_pose(arm, M, np.eye(arm.size)[:, free])
    qdd[free] = np.linalg.solve(M[np.ix_(free, free)], -force[free])
    if effort is None:
        effort = np.where(arm.actuated, (M @ qdd + force)[motors], 0.0)
    return qdd, effort
