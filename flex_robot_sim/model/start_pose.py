"""
Where an arm starts: its zero pose, or the nearest pose within the limits of its joints.

Many public robots have joints whose range leaves out zero. Beyond a limit the stop pushes with all
its stiffness, and an arm that starts there is thrown.
"""

from collections.abc import Iterable

import numpy as np

from flex_robot_sim.model.arm_model import ArmModel

ROUNDING = 1e-9     # of a limit that is written with few digits              [rad, m]
LEANING = 1e-3      # beyond a limit, of an arm that leans on its stop        [rad, m]


def nearest_within_limits(arm: ArmModel, position: np.ndarray | float = 0.0) -> np.ndarray:
    """Return joint positions (joints,) or (poses, joints), each at most at its limit [rad, m]."""
    return np.clip(position, arm.arrays.lower, arm.arrays.upper)


def start_position(arm: ArmModel) -> np.ndarray:
    """Position (joints,) in which an arm starts: zero, or the nearest one within limits."""
    return nearest_within_limits(arm, 0.0)


def start_note(arm: ArmModel) -> str:
    """Return the line about an arm that cannot start in its zero pose, or ''."""
    start = start_position(arm)
    moved = [f'"{arm.joint_names[k]}" at {start[k]:g} {arm.units[k]}'
             for k in np.flatnonzero(np.abs(start) > ROUNDING)]
    return moved and (f'the zero pose is beyond joint limits: the arm starts with '
                      f'{", ".join(moved)}') or ''


def state_note(arm: ArmModel, motor_position: np.ndarray) -> str:
    """Return the line about an arm that is put beyond a limit (joints,) [rad, m], or ''."""
    beyond = beyond_limits(arm, motor_position, LEANING)
    return beyond and f'the state has {beyond}; its stop pushes it back'


def leaning(arm: ArmModel, coordinates: np.ndarray) -> str:
    """Return a phrase about the first joint that leans on its stop, or ''; coordinates (n,)."""
    arrays, place = arm.arrays, coordinates[:len(arm.joint_names)]
    rows = np.flatnonzero((place < arrays.lower) | (place > arrays.upper))
    return f'"{arm.joint_names[rows[0]]}" leans on its stop' if rows.size else ''


def beyond_limits(arm: ArmModel, position: Iterable[float], margin: float = ROUNDING) -> str:
    """
    Return a phrase about the first joint of a position that is beyond its limits, or ''.

    :param margin: by which a joint may be beyond them [rad, m].
    """
    arrays = arm.arrays
    for name, value, low, high, unit in zip(arm.joint_names, position, arrays.lower,
                                            arrays.upper, arm.units):
        if value < low - margin or value > high + margin:
            return (f'"{name}" at {value:g} {unit} is beyond its limits, {low:g} to '
                    f'{high:g} {unit}')
    return ''
