"""
Axis of a spatial beam: a cubic spline through points, and the frames of its sections.

The x axis of a section is the tangent. Its y axis starts at the root across the tangent, as close
as possible to `y_axis`, and then follows the curve without turning about the tangent: the frame R
obeys R' = (t x t')~ R with the tangent t.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.elastic.quadrature import gauss_stations
from flex_robot_sim.util.read_only import make_read_only

STEPS_PER_PIECE = 64  # of the frames between two points
LENGTH_STATIONS = 16  # Gauss stations of the length of such a step
NEWTON_STEPS = 4  # from an arc length to the parameter of the spline
# Gauss points of the fourth-order Magnus step of a rotation, and the weight of its commutator
_GAUSS = 0.5 + np.array([-1.0, 1.0]) / np.sqrt(12.0)
_COMMUTATOR = np.sqrt(3.0) / 12.0


@dataclass(frozen=True, eq=False)
class AxisCurve:
    """Curve through points, from the root on; positions are in the frame of the points."""

    points: np.ndarray  # (k, 3)  of the axis, k >= 2                          [m]
    y_axis: np.ndarray  # (3,)    of the section at the root, not along the curve

    def __post_init__(self) -> None:
        make_read_only((self.points, self.y_axis))

    @cached_property
    def _key(self):
        return self.points.tobytes(), self.y_axis.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AxisCurve) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def length(self) -> float:
        """Arc length [m]."""
        return float(self.breaks[-1])

    @cached_property
    def breaks(self) -> np.ndarray:
        """Arc length at the points, (k,) [m]."""
        return self._grid[1][::STEPS_PER_PIECE]

    def positions(self, s: ArrayLike) -> np.ndarray:
        """Positions (m, 3) [m] at arc lengths s (m,) [m]."""
        return self._spline(self._parameter(s))

    def tangents(self, s: ArrayLike) -> np.ndarray:
        """Unit tangents (m, 3) at arc lengths s (m,) [m]."""
        return self._tangent(self._parameter(s))

    def frames(self, s: ArrayLike) -> np.ndarray:
        """Rotations (m, 3, 3) of the sections at arc lengths s (m,) [m]; columns x, y, z."""
        u = self._parameter(s)
        grid, _, frames = self._grid
        start = np.clip(np.searchsorted(grid, u, side='right') - 1, 0, len(grid) - 2)
        return self._turns(grid[start], u - grid[start]) @ frames[start]

    def nearest(self, point: np.ndarray) -> float:
        """Arc length [m] of the position nearest to a point (3,) [m]."""
        s = self._grid[1]
        nodes = self.positions(s)
        middle = int(np.argmin(((nodes - point) ** 2).sum(axis=1)))
        low, high = s[max(middle - 1, 0)], s[min(middle + 1, len(s) - 1)]
        for _ in range(60):  # bisection of the distance along the tangent
            centre = 0.5 * (low + high)
            along = self.tangents([centre])[0] @ (point - self.positions([centre])[0])
            low, high = (centre, high) if along > 0.0 else (low, centre)
        ends = np.array([s[0], s[-1], 0.5 * (low + high)])
        return float(ends[np.argmin(((self.positions(ends) - point) ** 2).sum(axis=1))])

    @cached_property
    def _spline(self):
        from scipy.interpolate import CubicSpline  # slow to import

        chords = np.sqrt((np.diff(self.points, axis=0) ** 2).sum(axis=1))
        return CubicSpline(np.concatenate([[0.0], np.cumsum(chords)]), self.points)

    @cached_property
    def _grid(self):
        """Parameters of the spline, their arc lengths, and the frames there."""
        knots = self._spline.x
        shares = np.arange(STEPS_PER_PIECE) / STEPS_PER_PIECE
        u = np.append((knots[:-1, None] + np.diff(knots)[:, None] * shares).ravel(), knots[-1])
        stations, weights = gauss_stations(u, LENGTH_STATIONS)
        pieces = (weights * self._speed(stations)).reshape(len(u) - 1, -1).sum(axis=1)
        x = self._tangent(u[:1])[0]
        y = self.y_axis - (self.y_axis @ x) * x
        y /= np.sqrt(y @ y)
        frames = [np.column_stack([x, y, np.cross(x, y)])]
        for turn in self._turns(u[:-1], np.diff(u)):
            frames.append(turn @ frames[-1])
        return u, np.concatenate([[0.0], np.cumsum(pieces)]), np.array(frames)

    def _speed(self, u):
        return np.sqrt((self._spline(u, 1) ** 2).sum(axis=-1))

    def _tangent(self, u):
        return self._spline(u, 1) / self._speed(u)[..., None]

    def _parameter(self, s):
        """Parameters (m,) of the spline at arc lengths (m,)."""
        s = np.atleast_1d(np.asarray(s, float))
        grid, lengths, _ = self._grid
        start = np.clip(np.searchsorted(lengths, s, side='right') - 1, 0, len(grid) - 2)
        u = np.interp(s, lengths, grid)
        for _ in range(NEWTON_STEPS):
            size = (u - grid[start])[:, None]
            nodes, weights = gauss_stations(np.array([0.0, 1.0]), LENGTH_STATIONS)
            along = (size * weights * self._speed(grid[start][:, None] + size * nodes)).sum(axis=1)
            u = u - (lengths[start] + along - s) / self._speed(u)
        return u

    def _turns(self, u, size):
        """Rotations (m, 3, 3) along the curve from parameters u over steps `size`, (m,)."""
        from scipy.spatial.transform import Rotation  # slow to import

        at = u[:, None] + size[:, None] * _GAUSS
        first, second = self._spline(at, 1), self._spline(at, 2)
        rate = np.cross(first, second) / (first**2).sum(axis=-1)[..., None]
        mean, difference = rate.mean(axis=1), np.cross(rate[:, 1], rate[:, 0])
        vector = size[:, None] * mean + _COMMUTATOR * size[:, None] ** 2 * difference
        return Rotation.from_rotvec(vector).as_matrix()
