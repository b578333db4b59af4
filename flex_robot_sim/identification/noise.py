"""
Noise of even samples: its variance above the band of the arm, and the removal of spikes.

An estimate needs a band in which no model of the arm predicts a signal. Where a low-pass leaves
none, the estimate covers only the noise that enters behind the low-pass.
"""

from collections.abc import Callable
from collections.abc import Sequence as Rows
from typing import NamedTuple

import numpy as np
from scipy.ndimage import convolve1d, maximum_filter1d, median_filter
from scipy.signal import welch
from scipy.stats import gamma

SEGMENT_SAMPLES = 256  # samples of one spectrum
MIN_PASSED_POWER = 0.1  # below this share, noise added after a low-pass may dominate
MAX_PASSED_POWER = 0.5  # above this share, a low-pass passes the vibration
MIN_SPECTRAL_LINES = 8  # lines that suffice for a median
MIN_SLOPE_LINES = 3  # the same on the slope of a low-pass, where noise has its shape
SPECTRA_PER_SEGMENT = 1.6  # independent spectra per non-overlapping segment
SIGNAL_BAND_MARGIN = 1.5  # lowest frequency of noise, over the highest of the signal
SIGNAL_POWER_SHARE = 0.999  # of the power of a prediction, below its highest frequency
SPIKE_SCALE_SAMPLES = 101  # window of the running scale of a spike
SPIKE_STDS = 6.0  # distance of a spike from its neighbours, in standard deviations
SPIKE_ROUNDS = 3  # searches for spikes next to others
MAX_SPIKE_SHARE = 0.05  # of the samples; more are no spikes


class NoiseFloor(NamedTuple):
    """Noise of channels."""

    variance: np.ndarray  # (c,)
    scatter: np.ndarray  # (c,)  relative standard deviation of the variance in so many samples
    is_complete: np.ndarray  # (c,)  False: noise that passes a low-pass is not included


def noise_floor(
    tables: Rows[np.ndarray],
    passes: Callable[[np.ndarray], np.ndarray] | None = None,
    highest: np.ndarray | float = 0.0,
) -> NoiseFloor:
    """
    Return the NoiseFloor of even samples, tables (k, c) of one rate (I18).

    It is the median of the spectrum above a quarter of its band, where resonances are narrow.

    :param passes: shares (f, c) of white noise power that low-pass filters before the log pass,
        at frequencies (f,) over the sampling rate; None: all.
    :param highest: frequencies (c,) of the signal, over the sampling rate. Noise on the slope of
        a low-pass is read above them.
    """
    rows, weights = [], []
    limits = np.broadcast_to(np.asarray(highest, dtype=float), tables[0].shape[1:])
    for table in tables:
        length = min(SEGMENT_SAMPLES, len(table))
        frequency, power = welch(table, 1.0, nperseg=length, axis=0)
        share = np.ones_like(power) if passes is None else passes(frequency)
        count = max(1.0, SPECTRA_PER_SEGMENT * len(table) / length)
        # one-sided spectrum; and the median of few spectra is less than their mean
        power /= 2 * gamma.ppf(0.5, count) / count
        rows.append(
            [
                (*_level(frequency, power[:, k], share[:, k], limit), share[:, k].mean(), count)
                for k, limit in enumerate(limits)
            ]
        )
        weights.append(len(table))
    level, lines, is_complete, passed, count = np.moveaxis(np.array(rows, dtype=float), 2, 0)
    samples = np.maximum((passed.T * weights).sum(axis=1), 1.0)  # independent ones
    # of a variance, and of the median of spectral lines
    scatter = np.sqrt(2 / samples + (np.pi / 2) / np.maximum((lines * count).sum(axis=0), 1.0))
    return NoiseFloor(np.average(level, axis=0, weights=weights), scatter, is_complete.all(axis=0))


def _level(frequency, power, share, highest):
    """Return the variance of the noise, its spectral lines, and whether it is all noise."""
    rows = np.arange(len(share))
    upper = (rows >= len(rows) // 4) & (rows < len(rows) - 1)
    passed = upper & (share > MIN_PASSED_POWER)
    if passed.sum() >= MIN_SPECTRAL_LINES:
        return np.median(power[passed] / share[passed]) * share.mean(), passed.sum(), True
    # the slope of a low-pass with a lower cutoff, if the arm does not vibrate there
    slope = (share > MIN_PASSED_POWER) & (share <= MAX_PASSED_POWER)
    slope &= frequency > SIGNAL_BAND_MARGIN * highest
    if slope.sum() >= MIN_SLOPE_LINES:
        return np.median(power[slope] / share[slope]) * share.mean(), slope.sum(), True
    return np.median(power[upper]), upper.sum(), False


def highest_frequencies(tables: Rows[np.ndarray]) -> np.ndarray:
    """Return the frequency (c,), over the rate, below which a prediction has its power."""
    highest = []
    for table in tables:
        frequency, power = welch(table, 1.0, nperseg=min(SEGMENT_SAMPLES, len(table)), axis=0)
        total = np.cumsum(power, axis=0)
        has_power = total >= SIGNAL_POWER_SHARE * total[-1]
        highest.append(frequency[np.argmax(has_power, axis=0)])
    return np.max(highest, axis=0)


def without_spikes(table: np.ndarray) -> np.ndarray:
    """
    Return samples (k, c) with interpolated values in place of spikes.

    A spike is far from the cubic through its four neighbours, compared with samples near it. A
    channel of which more than MAX_SPIKE_SHARE would change stays as it is.
    """
    if len(table) < SPIKE_SCALE_SAMPLES:
        return table
    out = table.copy()
    rows = np.arange(len(table))
    for k in range(table.shape[1]):
        is_spike = np.zeros(len(table), dtype=bool)
        for _ in range(SPIKE_ROUNDS):  # a spike hides smaller ones next to it
            is_spike |= _spikes(out[:, k])
            out[is_spike, k] = np.interp(rows[is_spike], rows[~is_spike], table[~is_spike, k])
        if is_spike.mean() > MAX_SPIKE_SHARE:
            out[:, k] = table[:, k]
    return out


def _spikes(column):
    """Return flags (k,) of the samples that are far from their neighbours."""
    # minus a sixth of the fourth difference
    distance = np.abs(convolve1d(column, np.array([1.0, -4.0, 6.0, -4.0, 1.0]) / 6))
    steps = np.abs(np.diff(column))
    # local, as vibration decays; steps of a converter are no spikes
    scale = 1.4826 * median_filter(distance, SPIKE_SCALE_SAMPLES, mode='nearest')
    scale = np.maximum(scale, steps[steps > 0].min(initial=np.ptp(column)))
    is_largest = distance >= maximum_filter1d(distance, 5)  # its neighbours are off by it, too
    return is_largest & (distance > SPIKE_STDS * scale)
