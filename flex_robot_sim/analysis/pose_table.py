"""
Pose tables: values over a grid of joint positions, interpolated linearly along every joint.

Poses beyond the grid have the values of the nearest pose of the grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from flex_robot_sim.jit.compiled import compiled


class PoseTable(NamedTuple):
    """Values over the positions of d joints; `cell` and `share` are those of the last pose."""

    joint: np.ndarray  # (d,)       joint of each axis
    origin: np.ndarray  # (d,)       zero of the positions along an axis            [rad, m]
    unit: np.ndarray  # (d,)       of these positions                             [rad, m]
    size: np.ndarray  # (d,)       number of these positions
    positions: np.ndarray  # (d, k)     along each axis, rising
    stride: np.ndarray  # (d,)       rows of the table from one position to the next
    values: np.ndarray  # (rows, m)  the last axis runs fastest
    cell: np.ndarray  # (d,)       index of the position below a pose
    share: np.ndarray  # (d,)       of the way from there to the next position

    @classmethod
    def of(
        cls,
        joints: Sequence[int],
        axes: Sequence[np.ndarray],
        values: np.ndarray,
        evenly_spaced: bool = False,
    ) -> PoseTable:
        """
        Return the table of a grid.

        :param joints: of the axes; axes: positions along each, rising, two or more [rad, m].
        :param values: of the poses, an axis for each joint and one for m values.
        :param evenly_spaced: whether the positions are: poses are then located in steps.
        """
        sizes = np.array([len(axis) for axis in axes], int)
        d, origin, unit = sizes.size, np.zeros(sizes.size), np.ones(sizes.size)
        positions = np.full((d, sizes.max(initial=0)), np.inf)
        for k, axis in enumerate(axes):
            positions[k, : sizes[k]] = np.arange(sizes[k]) if evenly_spaced else axis
            if evenly_spaced:
                origin[k], unit[k] = axis[0], axis[1] - axis[0]
        return cls(
            np.array(joints, int),
            origin,
            unit,
            sizes,
            positions,
            np.array([sizes[k + 1 :].prod() for k in range(d)], int),
            np.array(values, float).reshape(sizes.prod(), values.shape[-1]),
            np.zeros(d, int),
            np.zeros(d),
        )

    def at(self, position: np.ndarray) -> np.ndarray:
        """Values (m,) at joint positions (n,) [rad, m]."""
        out = np.empty(self.values.shape[1])
        interpolate(self, np.array(position, float), out)
        return out


@compiled
def interpolate(table, position, out):
    """Values of a PoseTable at joint positions (n,) [rad, m] into out (m,)."""
    d = table.joint.size
    # the cell of the grid, and the place in it
    for k in range(d):
        along = (position[table.joint[k]] - table.origin[k]) / table.unit[k]
        low, high = 0, table.size[k] - 1
        while high - low > 1:
            middle = (low + high) // 2
            if table.positions[k, middle] < along:
                low = middle
            else:
                high = middle
        begin, end = table.positions[k, low], table.positions[k, high]
        table.cell[k] = low
        table.share[k] = min(max((along - begin) / (end - begin), 0.0), 1.0)
    # weighted mean of its corners
    for i in range(out.size):
        out[i] = 0.0
    for corner in range(1 << d):
        row, weight = 0, 1.0
        for k in range(d):
            side = corner >> (d - 1 - k) & 1
            weight *= table.share[k] if side else 1.0 - table.share[k]
            row += (table.cell[k] + side) * table.stride[k]
        if weight != 0.0:
            for i in range(out.size):
                out[i] += weight * table.values[row, i]
