"""Spectrum of what was measured, with the frequencies that the model predicts beside it."""

from __future__ import annotations

import numpy as np

LEAST = 32              # samples that make a spectrum
GAP = 5.0               # periods of the samples without one, over which nobody can interpolate


def spectrum(times: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return frequencies (m,) [Hz] and amplitudes (m, k) of the oscillations in samples.

    A lasting sine of amplitude a that falls on a line has the height a there: a window of Hann
    without what is constant. What comes and goes is lower and wider. Empty where there are too few
    samples, or a hole is in them.

    :param times: (n,) [s], rising, nearly even; values: (n, k).
    """
    nothing = np.zeros(0), np.zeros((0, values.shape[1]))
    if len(times) < LEAST:
        return nothing
    period = float(np.median(np.diff(times)))
    if not np.diff(times).max() <= GAP * period:
        return nothing
    count = round((times[-1] - times[0]) / period) + 1
    even = times[0] + (times[-1] - times[0]) * np.arange(count) / (count - 1)
    rows = np.column_stack([np.interp(even, times, column) for column in values.T])
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(count) / count)
    rows -= (window @ rows) / window.sum()
    amplitudes = 2 * np.abs(np.fft.rfft(window[:, None] * rows, axis=0)) / window.sum()
    return np.arange(len(amplitudes)) / (count * (even[1] - even[0])), amplitudes


def with_comb(frequencies: np.ndarray, amplitudes: np.ndarray,
              predicted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return a spectrum with one more column, that is zero but for a spike at each prediction.

    :param predicted: frequencies (p,) [Hz]; those beyond the spectrum are left out.
    """
    if not len(frequencies):
        return frequencies, np.column_stack([amplitudes, amplitudes[:, :1]])
    inside = predicted[(predicted > 0.0) & (predicted < frequencies[-1])]
    width = 1e-3 * (frequencies[1] - frequencies[0])
    x = np.unique(np.concatenate([frequencies, inside - width, inside, inside + width]))
    y = np.column_stack([np.interp(x, frequencies, column) for column in amplitudes.T])
    comb = np.where(np.isin(x, inside), 1.1 * amplitudes.max(initial=0.0), 0.0)
    return x, np.column_stack([y, comb])
