"""Gravity efforts of arms with closed loops: motors and constraint forces carry the weight."""

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.dynamics.constraints.closing import closed_coordinates
from flex_robot_sim.dynamics.constraints.rows import set_jacobian
from flex_robot_sim.dynamics.forward_dynamics import inverse_dynamics
from flex_robot_sim.dynamics.kinematics import set_motion
from flex_robot_sim.jit.compiled import call_with_tables, compiled
from flex_robot_sim.model.arm_model import ArmModel, make_workspace
from flex_robot_sim.util.exceptions import SettingError

MIN_SINGULAR_VALUE = 1e-9  # over the largest one; below it, rows are redundant


class LoopGravity:
    """
    Motor efforts that carry the weight of an arm with closed loops and undeformed links.

    Its interface is that of FeedForward.
    """

    def __init__(self, arm: ArmModel) -> None:
        self._arm, self._actuated, self._q = arm, arm.actuated, np.zeros(arm.size)
        self._key: np.ndarray | None = None
        # of the motors [N m, N]; not used
        self.effort, self.lead = np.zeros((2, len(arm.joint_names)))
        self.has_diverged = False

    def update(self, target: np.ndarray) -> None:
        """
        Update `effort` for motors at `target` (joints,) [rad, m].

        Passive joints continue from their last positions; if their targets change, from these.
        A target at which a loop does not close leaves the last efforts.
        """
        key, arm = self._key, self._arm
        if key is not None and (target == key).all():
            return
        joints = self._q[arm.joint_q].copy()
        moved = self._actuated if key is not None else np.ones(joints.size, bool)
        if key is not None and (target != key)[~self._actuated].any():
            moved = np.ones(joints.size, bool)
        self._key, joints[moved] = target.copy(), target[moved]
        try:
            arm.set_joints(self._q, joints)
            self._q = closed_coordinates(arm, self._q)
        except SettingError:
            return
        self.effort[:] = loop_gravity(arm, self._q)


def closed_pose(arm: ArmModel, position: ArrayLike) -> np.ndarray:
    """Coordinates (n,) at joint positions [rad, m], with passive joints that close the loops."""
    q = np.zeros(arm.size)
    arm.set_joints(q, position)
    return closed_coordinates(arm, q)


def loop_gravity(arm: ArmModel, q: np.ndarray) -> np.ndarray:
    """Motor efforts (joints,) [N m, N] that hold undeformed links at closed coordinates q (n,)."""
    (zero, force), joints, actuated = np.zeros((2, arm.size)), arm.joint_q, arm.actuated
    inverse_dynamics(arm.arrays, q, zero, zero, make_workspace(arm.arrays), force)
    motors = np.eye(actuated.size)[:, actuated]
    matrix = np.hstack([motors, loop_jacobian(arm, q)[:, joints].T])
    solution = np.linalg.lstsq(matrix, force[joints], rcond=MIN_SINGULAR_VALUE)[0]
    return motors @ solution[: motors.shape[1]]


def loop_jacobian(arm: ArmModel, q: np.ndarray) -> np.ndarray:
    """Return the rates of the gaps by coordinate, (rows, n), at coordinates q (n,)."""
    work = make_workspace(arm.arrays)
    call_with_tables(_set_motion_and_jacobian, arm.arrays, q, np.zeros(arm.size), work)
    return work.constraint_jacobian


@compiled
def _set_motion_and_jacobian(arm, q, qd, work):
    """Motion of the bodies, and Jacobian of all rows, at coordinates q."""
    set_motion(arm, q, qd, work)
    set_jacobian(arm, work)
