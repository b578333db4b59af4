"""Gains over a grid of poses, interpolated linearly in every joint that the grid resolves."""

import itertools
from collections.abc import Sequence

import numpy as np

NEAR = 1e-4             # change of a pose, over the grid, that needs no new gains


class GainTable:
    """One set of named arrays at any pose; `values` are views that `update` renews."""

    def __init__(self, axes: Sequence[np.ndarray],
                 entries: dict[tuple[int, ...], dict[str, np.ndarray]]) -> None:
        """
        Lay out the grid.

        :param axes: rising positions per joint; entries: index of the grid -> {name: array}.
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
        self._now, self._part = self._table[0].copy(), np.zeros(size)
        self.values, at = {}, 0
        for name, value in first.items():
            self.values[name] = self._now[at:at + np.size(value)].reshape(np.shape(value))
            at += np.size(value)
        self._sides = list(itertools.product((0, 1), repeat=len(shape)))
        self._last = np.full(len(shape), np.inf)
        self._near = np.array([NEAR * (axis[-1] - axis[0]) for axis in self._axes])

    def update(self, position: np.ndarray) -> None:
        """Renew `values` for a pose (joints,) [rad, m]; beyond the grid they are those of it."""
        if not self._joints:
            return
        here = position[self._joints]
        if (np.abs(here - self._last) <= self._near).all():
            return
        self._last[:] = here
        cells, shares = [], []
        for axis, value in zip(self._axes, here):
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
                np.multiply(self._table[row], weight, out=self._part)
                self._now += self._part
