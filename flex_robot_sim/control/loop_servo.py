"""Servo of arms with closed loops, from given gains."""

import math

import numpy as np

from flex_robot_sim.analysis.equations import mass_matrix
from flex_robot_sim.control.gains import Servo
from flex_robot_sim.control.loop_gravity import MIN_SINGULAR_VALUE, loop_jacobian
from flex_robot_sim.dynamics.constraints.closing import closed_coordinates
from flex_robot_sim.model.arguments import expect_motors
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.start_pose import start_coordinates
from flex_robot_sim.util.exceptions import SettingError


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
    moves[passive] = -np.linalg.lstsq(W[:, passive], W[:, rows], rcond=MIN_SINGULAR_VALUE)[0]
    own = np.diag(moves.T @ mass_matrix(arm, q)[joints, joints] @ moves)
    driven = stiffness[rows] > 0.0
    rates = np.sqrt(stiffness[rows][driven] / own[driven])
    return Servo(stiffness, damping, float(rates.min(initial=math.inf) / (2 * math.pi)))
