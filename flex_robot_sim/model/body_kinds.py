"""
Kinds of bodies, and the coordinates of an elastic body by direction.

A compiled function reads the data of a body as its kind requires. Code outside of `model` and
`dynamics` does not read the numbers of shapes: it asks for the slices of the coordinates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_arrays import ArmArrays
    from flex_robot_sim.model.arm_model import ArmModel

RIGID, BEAM, COMMON_BEAM, ELASTIC, SLIDING = range(5)
# number of shapes along y and z, of torsion and of stretch, their reach, and all coordinates of
# the most common beam. The compiler unrolls loops over these constants, which halves their time.
# They are an array, because Numba compiles a function again for a literal argument.
COMMON_SHAPES = np.array([2, 2, 1, 0, 1, 5])


def body_kind(beam: Any) -> int:
    """Kind of a body with this Beam or SpatialBeam; None: a rigid body."""
    if beam is None:
        return RIGID
    if beam.is_spatial:
        return ELASTIC
    return COMMON_BEAM if [*beam.count, beam.reach, beam.size] == COMMON_SHAPES.tolist() else BEAM


def has_spatial_bodies(arm: ArmModel, link: str) -> bool:
    """Whether the bodies of a flexible link have fields in space, as of a spatial beam."""
    return bool(arm.arrays.kind[arm.segments[link][0]] == ELASTIC)


def direction_slices(arrays: ArmArrays, body: int) -> list[slice]:
    """Slices of bending_y, bending_z, torsion and stretch in the coordinates of one body."""
    ends = np.cumsum(arrays.count[body])
    return [slice(end - count, end) for count, end in zip(arrays.count[body], ends)]


def bending_slices(arrays: ArmArrays, body: int) -> list[slice]:
    """Slices of the coordinates of one body that bend it; all of an elastic body."""
    if arrays.kind[body] == ELASTIC:
        return [slice(0, int(arrays.modes[body]))]
    return direction_slices(arrays, body)[:2]


def deflection_rows(arrays: ArmArrays, body: int, station: int) -> np.ndarray:
    """Rows (3, nq) whose products with the coordinates are the deflection of a station [m]."""
    rows, first = np.zeros((3, arrays.inertia_scale.size)), arrays.first[body]
    if arrays.kind[body] == ELASTIC:
        n = arrays.modes[body]
        rows[:, first : first + n] = arrays.station_U[station, :n, 3:].T
        return rows
    for row, part in zip(rows[1:], direction_slices(arrays, body)):
        row[first + part.start : first + part.stop] = arrays.station_shape[station, part]
    return rows
