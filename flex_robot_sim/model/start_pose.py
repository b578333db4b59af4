"""
Start pose of an arm: its zero pose, or the nearest pose within the joint limits.

Many public robots have joints whose range excludes zero. Beyond a limit the stiff stop would
accelerate the arm violently.
"""

from collections.abc import Iterable

import numpy as np

from flex_robot_sim.model.arm_model import ArmModel

LIMIT_ROUNDING = 1e-9  # of a limit that is written with few digits          [rad, m]
STOP_CONTACT_DEPTH = 1e-3  # beyond a limit, in contact with the stop            [rad, m]


def nearest_within_limits(arm: ArmModel, position: np.ndarray | float = 0.0) -> np.ndarray:
    """Return joint positions (joints,) or (poses, joints), each at most at its limit [rad, m]."""
    return np.clip(position, arm.arrays.lower, arm.arrays.upper)


def start_position(arm: ArmModel) -> np.ndarray:
    """Start position (joints,) of an arm: zero, or the nearest one within limits."""
    return nearest_within_limits(arm, 0.0)


def start_coordinates(arm: ArmModel) -> np.ndarray:
    """All coordinates (n,) of the start position, with straight links."""
    q = np.zeros(arm.size)
    arm.set_joints(q, start_position(arm))
    return q


def start_note(arm: ArmModel) -> str:
    """Return the line about an arm that cannot start in its zero pose, or ''."""
    start = start_position(arm)
    moved = [
        f'"{arm.joint_names[k]}" at {start[k]:g} {arm.units[k]}'
        for k in np.flatnonzero(np.abs(start) > LIMIT_ROUNDING)
    ]
    return (
        moved
        and (f'the zero pose is beyond joint limits: the arm starts with {", ".join(moved)}')
        or ''
    )


def state_note(arm: ArmModel, motor_position: np.ndarray) -> str:
    """Return the line about a position (joints,) beyond a limit [rad, m], or ''."""
    beyond = beyond_limits(arm, motor_position, STOP_CONTACT_DEPTH)
    return beyond and f'the state has {beyond}; its stop pushes it back'


def stop_contact(arm: ArmModel, coordinates: np.ndarray) -> str:
    """Return a phrase about the first joint in contact with its stop, or ''; coordinates (n,)."""
    arrays, position = arm.arrays, coordinates[arm.joint_q]
    rows = np.flatnonzero((position < arrays.lower) | (position > arrays.upper))
    return f'"{arm.joint_names[rows[0]]}" leans on its stop' if rows.size else ''


def beyond_limits(arm: ArmModel, position: Iterable[float], margin: float = LIMIT_ROUNDING) -> str:
    """Phrase about the first joint beyond its limits by more than a margin [rad, m], or ''."""
    arrays = arm.arrays
    for name, value, low, high, unit in zip(
        arm.joint_names, position, arrays.lower, arrays.upper, arm.units
    ):
        if value < low - margin or value > high + margin:
            return f'"{name}" at {value:g} {unit} is beyond its limits, {low:g} to {high:g} {unit}'
    return ''
