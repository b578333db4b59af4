"""Gains over a grid of poses, interpolated linearly in every joint that the grid resolves."""

import itertools
from collections.abc import Sequence

import numpy as np

MIN_POSE_CHANGE = 1e-4  # smaller changes, over the grid, are ignored


class GainTable:
    """Interpolated named arrays; `values` are views that `update` overwrites."""

    def __init__(self, axes: Sequence[np.ndarray],
                 entries: dict[tuple[int, ...], dict[str, np.ndarray]]) -> None:
        """
        Lay out the grid.

        :param axes: increasing positions per joint; entries: grid index -> {name: array}.
        """
        self._joints = [j for j, axis in enumerate(axes) if axis.size > 1]
        self._axes = [axes[j] for j in self._joints]
        first = next(iter(entries.values()))
        size = sum(np.size(value) for value in first.values())
        shape = [axis.size for axis in self._axes]
        self._table = np.zeros((int(np.prod(shape)), size))
        self._strides = [int(np.prod(shape[k + 1:])) for k in range(len(shape))]
        for index, entry in entries.items():
            row = sum(index[j] * stride for j, stride in zip(self._joints, self._strides))
            self._table[row] = np.concatenate([np.ravel(value) for value in entry.values()])
        self._now, self._term = self._table[0].copy(), np.zeros(size)
        self.values, start = {}, 0
        for name, value in first.items():
            self.values[name] = self._now[start:start + np.size(value)].reshape(np.shape(value))
            start += np.size(value)
        self._sides = list(itertools.product((0, 1), repeat=len(shape)))
        self._last = np.full(len(shape), np.inf)
        self._min_change = np.array([MIN_POSE_CHANGE * (axis[-1] - axis[0])
                                     for axis in self._axes])

    def update(self, position: np.ndarray) -> None:
        """Update `values` for a pose (joints,) [rad, m], clipped to the grid."""
        if not self._joints:
            return
        coordinates = position[self._joints]
        if (np.abs(coordinates - self._last) <= self._min_change).all():
            return
        self._last[:] = coordinates
        cells, shares = [], []
        for axis, value in zip(self._axes, coordinates):
            k = int(np.clip(np.searchsorted(axis, value) - 1, 0, axis.size - 2))
            cells.append(k)
            shares.append(min(max((value - axis[k]) / (axis[k + 1] - axis[k]), 0.0), 1.0))
        self._now[:] = 0.0
        for sides in self._sides:
            weight, row = 1.0, 0
            for side, cell, share, stride in zip(sides, cells, shares, self._strides):
                weight *= share if side else 1.0 - share
                row += (cell + side) * stride
            if weight:
                np.multiply(self._table[row], weight, out=self._term)
                self._now += self._term
