"""Thinning of even samples behind an anti-alias filter."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.signal import firwin, upfirdn

HALF_WIDTH = 16  # of the filter, in periods of the thinned samples
CUTOFF_RATIO = 0.85  # of the filter, over half the rate of the thinned samples
PASSBAND_RATIO = 0.7  # up to which the filter changes a signal by less than 1e-3, over the same
KAISER_BETA = 7.0  # of the window: 70 dB
MIN_BAND_RATIO = 3.0  # passband over the highest resonance in the log
MIN_BAND_HZ = 40.0  # of the passband


class Thinning(NamedTuple):
    """
    A symmetric low-pass filter, and one in `every` samples behind it.

    Products of a thinned signal in the passband with any other thinned one have the same sum as
    those of all samples.
    """

    every: int
    coefficients: np.ndarray  # (2 HALF_WIDTH every + 1,)

    def mean(self, table: np.ndarray) -> np.ndarray:
        """Return the filtered samples (k', c) of a table (k, c)."""
        if self.every == 1:
            return table
        margin, count = HALF_WIDTH * self.every, self.length(len(table))
        out = np.empty((count, table.shape[1]))
        first = 2 * HALF_WIDTH  # outputs before the filter has all its inputs
        for thinned, column in zip(out.T, table.T):
            padded = np.pad(column, margin, mode='edge')
            thinned[:] = upfirdn(self.coefficients, padded, 1, self.every)[first : first + count]
        return out

    def apply(self, table: np.ndarray) -> np.ndarray:
        """Return the filtered samples (k', c), scaled so that sums of products stay the same."""
        return math.sqrt(self.every) * self.mean(table)

    def length(self, count: int) -> int:
        """Return the number of samples that remain of so many."""
        return -(-count // self.every)

    def passband(self, period: float) -> float:
        """Return the end of the passband [Hz] for samples of a period [s]."""
        return PASSBAND_RATIO * 0.5 / (self.every * period)


def make_thinning(every: int) -> Thinning:
    """Return the Thinning to one in `every` samples."""
    if every == 1:
        return Thinning(1, np.ones(1))
    coefficients = firwin(
        2 * HALF_WIDTH * every + 1, CUTOFF_RATIO / every, window=('kaiser', KAISER_BETA)
    )
    return Thinning(every, coefficients)


def largest_factor(period: float, highest: float) -> int:
    """
    Return the largest number of samples that one may replace.

    :param period: of the samples [s]; highest: frequency of the highest resonance in them [Hz].
    """
    band = max(MIN_BAND_HZ, MIN_BAND_RATIO * highest)
    return max(1, int(PASSBAND_RATIO * 0.5 / (band * period) + 1e-9))
