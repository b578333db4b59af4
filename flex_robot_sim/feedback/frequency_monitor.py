"""
Frequency of the first mode of the links, estimated while a controller moves the drives.

With the drives as the input, the first mode obeys, whatever controller acts,

    s'' + 2 z w s' + w^2 s = b q'' + c,                                                      (C31)

with the modal strain s, the drive positions q and a slowly changing constant c. Means of blocks of
samples replace s and q. With the central differences D1 and D2 over the time h of a block,

    D2 s = -w^2 h^2 (s[k+1] + 10 s[k] + s[k-1]) / 12 - 2 z w h D1 s + b D2 q + c h^2

is exact to the fourth order (Numerov). Recursive least squares with forgetting give w and its
standard deviation.
"""

from __future__ import annotations

import math

import numpy as np

from flex_robot_sim.util.serialization import Serializable

BLOCKS_PER_PERIOD = 10  # of the first mode of the model
MEMORY_PERIODS = 3.0  # time constant of the forgetting, over the period of the first mode
MIN_BLOCKS_PER_PARAMETER = 4  # before the first estimate
STD_FACTOR = 2.0  # on the standard deviation, because residuals of adjacent blocks correlate


class FrequencyMonitor(Serializable):
    """Estimates the frequency of the first mode from modal strain and drive positions."""

    def __init__(self, frequency: float, joints: int, period: float) -> None:
        """Begin without data; `frequency` of the model [Hz], `period` of the samples [s]."""
        self._size = max(1, round(1.0 / (BLOCKS_PER_PERIOD * frequency * period)))
        self._step = self._size * period
        self._forgetting = math.exp(-self._step * frequency / MEMORY_PERIODS)
        self._sum, self._means = np.zeros(1 + joints), np.zeros((3, 1 + joints))
        count = joints + 3
        self._square, self._product = np.zeros((count, count)), np.zeros(count)
        self._energy, self._weight, self._row = 0.0, 0.0, np.zeros(count)
        self._samples = self._blocks = 0
        self.frequency, self.std = math.nan, math.inf  # latest estimate, and its std [Hz]

    def reset(self) -> None:
        """Forget the last samples, after a gap; the estimate remains."""
        self._samples = self._blocks = 0
        self._sum[:] = 0.0

    def update(self, strain: float, position: np.ndarray) -> bool:
        """Add a sample; returns whether a block is complete and the estimate is new."""
        self._sum[0] += strain
        self._sum[1:] += position
        self._samples += 1
        if self._samples < self._size:
            return False
        means = self._means
        means[:-1] = means[1:]
        means[-1] = self._sum / self._size
        self._sum[:] = 0.0
        self._samples = 0
        self._blocks += 1
        if self._blocks < 3:
            return False
        before, now, after = means
        row, second = self._row, after - 2 * now + before
        row[0] = -(after[0] + 10 * now[0] + before[0]) / 12
        row[1] = -(after[0] - before[0]) / 2
        row[2:-1] = second[1:]
        row[-1] = 1.0
        keep = self._forgetting
        self._square *= keep
        self._square += row[:, None] * row
        self._product *= keep
        self._product += second[0] * row
        self._energy = keep * self._energy + second[0] ** 2
        self._weight = keep * self._weight + 1.0
        return self._estimate()

    def _estimate(self):
        count = len(self._row)
        if self._blocks < MIN_BLOCKS_PER_PARAMETER * count or self._weight < 1.5 * count:
            return False
        sizes = np.sqrt(np.diag(self._square))
        sizes[sizes == 0.0] = 1.0
        square = self._square / np.outer(sizes, sizes)
        square[np.diag_indices(count)] += 1e-12
        inverse = np.linalg.inv(square) / np.outer(sizes, sizes)
        solution = inverse @ self._product
        variance = max(self._energy - solution @ self._product, 0.0) / (self._weight - count)
        if not solution[0] > 0.0:
            self.frequency, self.std = math.nan, math.inf
            return False
        rate = math.sqrt(solution[0]) / self._step
        relative = math.sqrt(max(variance * inverse[0, 0], 0.0)) / (2 * solution[0])
        self.frequency = rate / (2 * math.pi)
        self.std = STD_FACTOR * relative * self.frequency
        return True
