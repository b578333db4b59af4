"""Control of arms with closed loops: gravity feed-forward of the motors, and their servo."""

import math

import numpy as np

from flex_robot_sim.analysis.equations import mass_matrix
from flex_robot_sim.control.gains import Servo
from flex_robot_sim.dynamics.constraints.closing import closed_coordinates
from flex_robot_sim.dynamics.constraints.rows import set_jacobian
from flex_robot_sim.dynamics.forward_dynamics import inverse_dynamics
from flex_robot_sim.dynamics.kinematics import set_motion
from flex_robot_sim.jit.compiled import call_with_tables, compiled
from flex_robot_sim.model.arguments import expect_motors
from flex_robot_sim.model.arm_model import ArmModel, make_workspace
from flex_robot_sim.model.start_pose import start_coordinates
from flex_robot_sim.util.exceptions import SettingError


class LoopGravity:
    """
    Motor efforts that carry the weight of an arm with closed loops and undeformed links.

    Its interface is that of FeedForward.
    """

    def __init__(self, arm: ArmModel) -> None:
        n = len(arm.joint_names)
        self._arm, self._work, self._actuated = arm, make_workspace(arm.arrays), arm.actuated
        self._q, self._zero, self._force = np.zeros((3, arm.size))
        self._motors = np.eye(n)[:, self._actuated]
        self._key: np.ndarray | None = None
        self.effort, self.lead = np.zeros((2, n))  # of the motors    [N m, N]; not used
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
        inverse_dynamics(arm.arrays, self._q, self._zero, self._zero, self._work, self._force)
        W = loop_jacobian(arm, self._q)[:, arm.joint_q]
        # the weight is carried by motors and constraint forces
        matrix, weight = np.hstack([self._motors, W.T]), self._force[arm.joint_q]
        solution = np.linalg.lstsq(matrix, weight, rcond=1e-9)[0]
        self.effort[self._actuated] = solution[: self._motors.shape[1]]


def loop_servo(
    arm: ArmModel, stiffness: np.ndarray | None, damping: np.ndarray | None, feed_forward: str
) -> Servo:
    """Return the Servo of given gains (joints,); SettingError if the loop does not support it."""
    name = arm.description.name
    if stiffness is None or damping is None:
        raise SettingError(
            f'the controller of "{name}" needs position_gain and velocity_gain, because gains '
            'are designed for trees only'
        )
    if feed_forward == 'sag':
        raise SettingError(
            f'feed_forward = sag works on trees only, and "{name}" has closed loops: take gravity'
        )
    expect_motors(arm, 'position_gain', stiffness)
    expect_motors(arm, 'velocity_gain', damping)
    q, joints = closed_coordinates(arm, start_coordinates(arm)), arm.joint_q
    W = loop_jacobian(arm, q)[:, joints]
    rows, passive = np.flatnonzero(arm.actuated), np.flatnonzero(~arm.actuated)
    moves = np.zeros((len(arm.joint_names), rows.size))  # of all joints by the actuated ones
    moves[rows] = np.eye(rows.size)
    moves[passive] = -np.linalg.lstsq(W[:, passive], W[:, rows], rcond=1e-9)[0]
    own = np.diag(moves.T @ mass_matrix(arm, q)[joints, joints] @ moves)
    driven = stiffness[rows] > 0.0
    rates = np.sqrt(stiffness[rows][driven] / own[driven])
    return Servo(stiffness, damping, float(rates.min(initial=math.inf) / (2 * math.pi)))


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
