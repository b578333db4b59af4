"""
Laws of gears and motors beyond springs, dampers and friction: their tables, from a joint.

Wave numbers are those of the motor side in coordinates of the joint: cycles per turn of the motor,
times the gear ratio.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, TypeAlias

import numpy as np

from flex_robot_sim.description.words import MAX_HARMONICS, MAX_STIFFNESSES

if TYPE_CHECKING:
    from flex_robot_sim.description.links import Joint

GearPieces: TypeAlias = Annotated[np.ndarray, MAX_STIFFNESSES]
Harmonics: TypeAlias = Annotated[np.ndarray, MAX_HARMONICS, 3]


def gear_pieces(joint: Joint) -> tuple[np.ndarray, np.ndarray]:
    """Return corners [rad, m] and shares (pieces,) of the spring of a gear, see (T36)."""
    corner, share = np.zeros((2, MAX_STIFFNESSES))
    if not np.isfinite(joint.stiffness):
        return corner, share
    stiffness = np.array([joint.stiffness, *joint.further_stiffness])
    torque = np.array([0.0, *joint.stiffness_torques])
    corner[: stiffness.size] = joint.backlash / 2 + np.concatenate(
        [[0.0], np.cumsum(np.diff(torque) / stiffness[:-1])]
    )
    share[: stiffness.size] = np.diff(stiffness, prepend=0.0) / joint.stiffness
    return corner, share


def harmonics(rows: Sequence[Sequence[float]], gear_ratio: float, scale: float) -> np.ndarray:
    """Return the table of harmonics (amplitude, cycles per turn of the motor, phase)."""
    table = np.zeros((MAX_HARMONICS, 3))
    for k, (amplitude, cycles, phase) in enumerate(rows):
        table[k] = scale * amplitude, gear_ratio * cycles, phase
    return table


def drive_law_tables(joints: Sequence[Joint]) -> dict[str, np.ndarray]:
    """Return the columns of ArmArrays of these laws, one row per joint."""
    pieces = [gear_pieces(joint) for joint in joints]
    tables = {
        'kinematic_error': [harmonics(j.kinematic_error, j.gear_ratio, 1.0) for j in joints],
        'cogging': [harmonics(j.cogging, j.gear_ratio, j.gear_ratio) for j in joints],
        'torque_ripple': [harmonics(j.torque_ripple, j.gear_ratio, 1.0) for j in joints],
    }
    return {
        'gear_corner': np.array([corner for corner, _ in pieces]).reshape(-1, MAX_STIFFNESSES),
        'gear_share': np.array([share for _, share in pieces]).reshape(-1, MAX_STIFFNESSES),
        **{
            name: np.array(rows, float).reshape(-1, MAX_HARMONICS, 3)
            for name, rows in tables.items()
        },
        'has_gear_law': np.array([float(joint.has_gear_law) for joint in joints]),
        'has_motor_law': np.array([float(joint.has_motor_law) for joint in joints]),
    }
