"""Gravity efforts of arms with closed loops: motors and constraint forces carry the weight."""

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.constraint_terms import gaps_and_jacobian
from flex_robot_sim.control.joint_springs import spring_efforts
from flex_robot_sim.dynamics.constraints.closing import MIN_SINGULAR_VALUE, closed_coordinates
from flex_robot_sim.dynamics.forward_dynamics import inverse_dynamics
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.workspace import make_workspace


def closed_pose(arm: ArmModel, position: ArrayLike) -> np.ndarray:
    """Coordinates (n,) at joint positions [rad, m], with passive joints that close the loops."""
    q = np.zeros(arm.size)
    arm.set_joints(q, position)
    return closed_coordinates(arm, q)


def loop_gravity(arm: ArmModel, q: np.ndarray) -> np.ndarray:
    """Motor efforts (joints,) [N m, N] that hold undeformed links at closed coordinates q (n,)."""
    return gravity_forces(arm, q)[0]


def gravity_forces(arm: ArmModel, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Motor efforts (joints,) of `loop_gravity`, and the forces of the constraint rows (c,)."""
    (zero, force), joints, actuated = np.zeros((2, arm.size)), arm.joint_q, arm.actuated
    inverse_dynamics(arm.arrays, q, zero, zero, make_workspace(arm.arrays), force)
    needed = force[joints] + spring_efforts(arm, q[joints])
    motors = np.eye(actuated.size)[:, actuated]
    matrix = np.hstack([motors, gaps_and_jacobian(arm, q)[1][:, joints].T])
    solution = np.linalg.lstsq(matrix, needed, rcond=MIN_SINGULAR_VALUE)[0]
    return motors @ solution[: motors.shape[1]], solution[motors.shape[1] :]
