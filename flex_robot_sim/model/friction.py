"""
Friction law of the drives, and its parameters as columns of `ArmArrays.friction` (T32).

The compiled functions take the row of one joint, the others the table (joints, COLUMN_COUNT).
"""

from __future__ import annotations

from collections.abc import Iterable
from math import exp, tanh
from typing import TYPE_CHECKING, Annotated, TypeAlias

import numpy as np

from flex_robot_sim.jit.compiled import compiled

if TYPE_CHECKING:
    from flex_robot_sim.description.links import JointFriction

# viscous friction [N m s/rad]; dry friction in motion, and its excess at rest [N m, N]; rate of
# the transition between the two, rate below which explicit schemes smooth it, and rate at which
# friction that creeps reaches its level, 0: it sticks [rad/s, m/s]
COLUMN_COUNT = 6
VISCOUS, COULOMB, STICTION, STRIBECK_RATE, SMOOTHING_RATE, CREEP_RATE = range(COLUMN_COUNT)
FrictionRows: TypeAlias = Annotated[np.ndarray, COLUMN_COUNT]
DEFAULT_SMOOTHING_RATE = 1e-2  # [rad/s, m/s]


def friction_rows(joints: Iterable[JointFriction]) -> np.ndarray:
    """Return the rows of joints, in the order of the columns."""
    return np.array(
        [
            (
                joint.viscous_friction,
                joint.coulomb_friction,
                joint.stiction,
                joint.stribeck_rate,
                DEFAULT_SMOOTHING_RATE,
                joint.creep_rate,
            )
            for joint in joints
        ],
        float,
    ).reshape(-1, COLUMN_COUNT)


@compiled
def static_friction(row):
    """Largest dry friction at rest; 0: the joint has no dry friction [N m, N]."""
    return row[COULOMB] + row[STICTION]


@compiled
def friction_level(v, row):
    """Dry friction at a rate: Coulomb friction, plus stiction near rest (Stribeck) [N m, N]."""
    if row[STICTION] == 0.0:
        return row[COULOMB]
    ratio = v / row[STRIBECK_RATE]
    return row[COULOMB] + row[STICTION] * exp(-ratio * ratio)


@compiled
def stribeck_slope(v, row):
    """Slope of `friction_level` with the rate."""
    if row[STICTION] == 0.0:
        return 0.0
    ratio = v / row[STRIBECK_RATE]
    return -2.0 * ratio / row[STRIBECK_RATE] * row[STICTION] * exp(-ratio * ratio)


@compiled
def friction_direction(v, row):
    """Dry friction over its level at a rate: linear if it creeps, else smoothed."""
    if row[CREEP_RATE] > 0.0:
        return min(max(v / row[CREEP_RATE], -1.0), 1.0)
    return tanh(v / row[SMOOTHING_RATE])


@compiled
def smoothed_friction(v, row):
    """
    Force of dry friction as a function of the rate, and its slope at a constant level.

    Friction that creeps is one; the other is smoothed, for explicit schemes.
    """
    direction, level = friction_direction(v, row), friction_level(v, row)
    if row[CREEP_RATE] > 0.0:
        slope = level / row[CREEP_RATE] if abs(v) < row[CREEP_RATE] else 0.0
        return level * direction, slope
    return level * direction, level * (1.0 - direction * direction) / row[SMOOTHING_RATE]


def static_frictions(table: np.ndarray) -> np.ndarray:
    """Return `static_friction` of all joints, (joints,) [N m, N]."""
    return table[:, COULOMB] + table[:, STICTION]


def smoothed_slopes_at_rest(table: np.ndarray) -> np.ndarray:
    """Return the slopes of `smoothed_friction` at rest, (joints,) [N m s/rad, N s/m]."""
    creep = table[:, CREEP_RATE]
    return static_frictions(table) / np.where(creep > 0.0, creep, table[:, SMOOTHING_RATE])


def has_dry_friction(table: np.ndarray) -> bool:
    """Whether any joint has dry friction."""
    return bool(static_frictions(table).any())


def has_friction(table: np.ndarray) -> bool:
    """Whether any joint has friction, viscous or dry."""
    return bool(table[:, VISCOUS].any()) or has_dry_friction(table)


def without_dry_friction(table: np.ndarray) -> np.ndarray:
    """Return the rows of all joints with viscous friction only."""
    table = table.copy()
    table[:, [COULOMB, STICTION]] = 0.0
    return table
