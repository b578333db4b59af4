"""Targets of arms with passive joints: only motors have one, and loops must be able to close."""

from collections.abc import Sequence

import numpy as np

from flex_robot_sim.dynamics.constraints.closing import closed_coordinates
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import SettingError


def refuse_passive_joints(arm: ArmModel, names: Sequence[str]) -> None:
    """Raise SettingError if a joint has no motor."""
    if arm.actuated.all():
        return
    motors = arm.description.actuated_joint_names
    for name in names:
        if name not in motors:
            raise SettingError(
                f'joint "{name}" is passive and has no target. Joints with a motor: '
                f'{", ".join(motors) or "none"}'
            )


def refuse_open_loops(
    arm: ArmModel, present: np.ndarray, rows: Sequence[int] | np.ndarray, positions: np.ndarray
) -> None:
    """
    Raise SettingError if a loop does not close at positions (m,) or (points, m) of joints.

    :param present: positions of all joints (joints,), near which the passive ones are looked for.
    :param rows: of the joints of `positions`.
    """
    if not arm.closed_loops:
        return
    q = np.zeros(arm.size)
    arm.set_joints(q, present)
    for point in np.atleast_2d(positions):
        joints = q[arm.joint_q].copy()
        joints[rows] = point
        arm.set_joints(q, joints)
        try:
            q = closed_coordinates(arm, q)
        except SettingError as error:
            raise SettingError(f'the target is out of reach: {error}') from None
