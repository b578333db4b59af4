"""Gains over a grid of poses, interpolated linearly in every joint that the grid resolves."""

from collections.abc import Sequence

import numpy as np

from flex_robot_sim.analysis.pose_table import PoseTable, interpolate
from flex_robot_sim.util.serialization import Serializable, writable

MIN_POSE_CHANGE = 1e-4  # smaller changes, over the grid, are ignored


class GainTable(Serializable):
    """Interpolated named arrays; `values` are views that `update` overwrites."""

    def __init__(
        self, axes: Sequence[np.ndarray], entries: dict[tuple[int, ...], dict[str, np.ndarray]]
    ) -> None:
        """Lay out a grid: increasing positions per joint; entries: index -> {name: array}."""
        self._joints = [j for j, axis in enumerate(axes) if axis.size > 1]
        axes = [axes[j] for j in self._joints]
        first = next(iter(entries.values()))
        self._shapes = {name: np.shape(value) for name, value in first.items()}
        rows = np.zeros((*(axis.size for axis in axes), sum(map(np.size, first.values()))))
        for index, entry in entries.items():
            rows[tuple(index[j] for j in self._joints)] = np.concatenate(
                [np.ravel(value) for value in entry.values()]
            )
        self._table = PoseTable.of(range(len(axes)), axes, rows)
        self._last = np.full(len(axes), np.inf)
        self._min_change = np.array([MIN_POSE_CHANGE * (axis[-1] - axis[0]) for axis in axes])
        self._now = np.zeros(rows.shape[-1])
        # compile or load now, not in a real-time loop; infinitely far out is the last pose
        interpolate(self._table, self._last, self._now)
        self._now[:] = self._table.values[0]
        self._set_views()

    def __setstate__(self, state: dict[str, object]) -> None:
        super().__setstate__(state)
        self._table = PoseTable(*map(writable, self._table))
        self._set_views()

    def _set_views(self):
        self.values: dict[str, np.ndarray] = {}
        start = 0
        for name, shape in self._shapes.items():
            end = start + int(np.prod(shape))
            self.values[name], start = self._now[start:end].reshape(shape), end

    def update(self, position: np.ndarray | None) -> None:
        """Update `values` for a pose (joints,) [rad, m], clipped to the grid; None: one pose."""
        if not self._joints or position is None:
            return
        coordinates = position[self._joints]
        if (np.abs(coordinates - self._last) <= self._min_change).all():
            return
        self._last[:] = coordinates
        interpolate(self._table, self._last, self._now)
