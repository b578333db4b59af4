"""Conditions of the drives in equilibria, modes and linear models: locked, on a servo, or free."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.model.arguments import checked, expect_motors, gains_of_motors, positive
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import SettingError

Gains = tuple[ArrayLike, ArrayLike]
"""Stiffness and damping of the servo of all drives, numbers or (joints,) each."""


def locked_drives(
    arm: ArmModel, joints: str | Sequence[str] | None, has_input: bool
) -> np.ndarray:
    """
    Return the coordinates of the locked drives.

    :param joints: 'locked', 'free', or the names of the joints with locked drives; None: locked,
        unless a drive has an input, which is a servo or an effort.
    """
    if joints is None:
        joints = 'free' if has_input else 'locked'
    if isinstance(joints, str) and joints in ('free', 'locked'):
        return arm.drive_q if joints == 'locked' else np.zeros(0, int)
    if isinstance(joints, str) or not isinstance(joints, Sequence):
        raise SettingError(f"joints = {joints!r} must be 'locked', 'free', or names of joints")
    for name in joints:
        if name not in arm.joint_names:
            raise SettingError(f'no joint "{name}" to lock. Known: {", ".join(arm.joint_names)}')
        if not arm.actuated[arm.joint_names.index(name)]:
            raise SettingError(f'joint "{name}" is passive: it has no drive to lock')
    return arm.motor_q[[arm.joint_names.index(name) for name in joints]]


def expect_servo_on_free_drives(joints: str | Sequence[str] | None, gains: Gains | None) -> None:
    """Raise SettingError for a servo on drives that are all locked."""
    if isinstance(joints, str) and joints == 'locked' and gains is not None:
        raise SettingError(
            "gains hold drives that are not locked, and joints = 'locked' leaves "
            'none. Leave joints out, or name those that are locked'
        )


def servo_gains(arm: ArmModel, gains: Gains | None) -> np.ndarray:
    """Return stiffness and damping of every drive, (joints,) each; None: no servo."""
    if gains is None:
        return np.zeros((2, len(arm.joint_names)))
    try:
        stiffness, damping = gains
    except (TypeError, ValueError) as error:
        raise SettingError('gains must be (stiffness, damping)') from error
    return np.array(
        [
            gains_of_motors(arm, name, values, positive(name, values, arm.joint_names))
            for name, values in (('stiffness', stiffness), ('damping', damping))
        ]
    )


def drive_efforts(arm: ArmModel, effort: ArrayLike) -> np.ndarray:
    """Return checked efforts (joints,); SettingError if a passive joint has one."""
    values = checked('effort', effort, arm.joint_names)
    expect_motors(arm, 'effort', values)
    return values
