"""Low-pass filters between a sensor and its log."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.signal import bilinear, freqz, sosfilt, sosfilt_zi

from flex_robot_sim.util.exceptions import UsageError

BUTTERWORTH = math.sqrt(0.5)  # damping ratio
MAX_FREQUENCY_PERIODS = 0.4999  # natural frequency times sampling period
FORMS = 'SIGNAL=HZ, SIGNAL=HZ,ZETA or SIGNAL=b0,b1,b2,a1,a2'


class Filter(NamedTuple):
    """A continuous low-pass filter of second order."""

    frequency: float  # natural; of a Butterworth filter, its cutoff               [Hz]
    damping_ratio: float = BUTTERWORTH

    def passes(self, frequency: np.ndarray) -> np.ndarray:
        """Return the share of the power that the filter passes at frequencies [Hz]."""
        ratio = frequency / self.frequency
        return 1 / ((1 - ratio**2) ** 2 + (2 * self.damping_ratio * ratio) ** 2)

    def filtered(self, values: np.ndarray, period: float) -> np.ndarray:
        """Return even samples (k,) after the filter, which is at rest before them."""
        if self.frequency * period > MAX_FREQUENCY_PERIODS:
            return values  # of a coarse grid
        # bilinear transform that is exact at the natural frequency
        rate = 2 / period * math.tan(math.pi * self.frequency * period)
        b, a = bilinear([rate**2], [1.0, 2 * self.damping_ratio * rate, rate**2], 1 / period)
        return _filtered(values, b, a)


class DiscreteFilter(NamedTuple):
    """A filter y_k = b0 u_k + b1 u_k-1 + b2 u_k-2 - a1 y_k-1 - a2 y_k-2."""

    b: tuple[float, float, float]
    a: tuple[float, float]
    period: float  # sampling period that the coefficients are for                  [s]

    def passes(self, frequency: np.ndarray) -> np.ndarray:
        """Return the share of the power that the filter passes at frequencies [Hz]."""
        angles = 2 * np.pi * np.minimum(np.asarray(frequency) * self.period, 0.5)
        return np.abs(freqz(self.b, (1.0, *self.a), worN=angles)[1]) ** 2

    def filtered(self, values: np.ndarray, period: float) -> np.ndarray:
        """Return even samples (k,) after the filter; those of a coarser grid are interpolated."""
        every = max(1, round(period / self.period))
        if every > 1:
            rows = np.arange((len(values) - 1) * every + 1) / every
            values = CubicSpline(np.arange(len(values)), values)(rows)
        return _filtered(values, self.b, (1.0, *self.a))[::every]


def _filtered(values, b, a):
    sections = np.concatenate([b, a])[None, :]
    return sosfilt(sections, values, zi=values[0] * sosfilt_zi(sections))[0]


def parse_filters(
    words: Sequence[str], channels: Sequence[str], period: float
) -> dict[str, Filter | DiscreteFilter]:
    """
    Return the filters of `--filter` by channel; UsageError if one is invalid.

    :param words: each is one of FORMS.
    :param period: sampling period of the log [s].
    """
    filters: dict[str, Filter | DiscreteFilter] = {}
    for word in words:
        name, _, text = word.partition('=')
        if name not in channels:
            raise UsageError(f'--filter {word}: no signal "{name}". Known: {", ".join(channels)}.')
        try:
            numbers = [float(part) for part in text.split(',')]
        except ValueError as error:
            raise UsageError(f'--filter {word}: write {FORMS}.') from error
        if len(numbers) not in (1, 2, 5) or not np.isfinite(numbers).all():
            raise UsageError(f'--filter {word}: write {FORMS}.')
        filters[name] = (
            _discrete(word, numbers, period)
            if len(numbers) == 5
            else _continuous(word, numbers, period)
        )
    return filters


def _continuous(word, numbers, period):
    low_pass, half = Filter(*numbers), 0.5 / period
    if not 0.0 < low_pass.frequency < half:
        raise UsageError(
            f'--filter {word}: must be above 0 and below {half:g} Hz, half the rate of the log.'
        )
    if not 0.0 < low_pass.damping_ratio <= 100.0:
        raise UsageError(f'--filter {word}: the damping ratio must be above 0 and at most 100.')
    return low_pass


def _discrete(word, numbers, period):
    b, (a1, a2) = numbers[:3], numbers[3:]
    if not (abs(a2) < 1.0 and abs(a1) < 1.0 + a2):
        raise UsageError(
            f'--filter {word}: is not stable. Give b0,b1,b2,a1,a2 of '
            'y_k = b0 u_k + b1 u_k-1 + b2 u_k-2 - a1 y_k-1 - a2 y_k-2.'
        )
    if not sum(b) > 0.0:
        raise UsageError(f'--filter {word}: b0 + b1 + b2 must be above 0, as it is a low-pass.')
    return DiscreteFilter(tuple(b), (a1, a2), period)
