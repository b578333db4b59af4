"""Amplitude spectrum of samples, with the frequencies that the model predicts."""

import numpy as np

MIN_SAMPLES = 32            # of a spectrum
MAX_GAP_PERIODS = 5.0       # longest gap to interpolate, in sampling periods


def spectrum(times: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return frequencies (m,) [Hz] and amplitudes (m, k) of the oscillations in samples.

    Hann window, mean removed: a steady sine of amplitude a on a spectral line has the height a.
    A transient is lower and wider. Empty if there are too few samples, or a gap between them.

    :param times: (n,) [s], increasing, nearly uniform; values: (n, k).
    """
    empty = np.zeros(0), np.zeros((0, values.shape[1]))
    if len(times) < MIN_SAMPLES:
        return empty
    period = float(np.median(np.diff(times)))
    if not np.diff(times).max() <= MAX_GAP_PERIODS * period:
        return empty
    count = round((times[-1] - times[0]) / period) + 1
    uniform_times = times[0] + (times[-1] - times[0]) * np.arange(count) / (count - 1)
    rows = np.column_stack([np.interp(uniform_times, times, column) for column in values.T])
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(count) / count)
    rows -= (window @ rows) / window.sum()
    amplitudes = 2 * np.abs(np.fft.rfft(window[:, None] * rows, axis=0)) / window.sum()
    return np.arange(len(amplitudes)) / (count * (uniform_times[1] - uniform_times[0])), amplitudes


def with_comb(frequencies: np.ndarray, amplitudes: np.ndarray,
              predicted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return a spectrum with another column, zero except for a spike at each prediction.

    :param predicted: frequencies (p,) [Hz]; those outside the spectrum are left out.
    """
    if not len(frequencies):
        return frequencies, np.column_stack([amplitudes, amplitudes[:, :1]])
    in_range = predicted[(predicted > 0.0) & (predicted < frequencies[-1])]
    width = 1e-3 * (frequencies[1] - frequencies[0])
    x = np.unique(np.concatenate([frequencies, in_range - width, in_range, in_range + width]))
    y = np.column_stack([np.interp(x, frequencies, column) for column in amplitudes.T])
    comb = np.where(np.isin(x, in_range), 1.1 * amplitudes.max(initial=0.0), 0.0)
    return x, np.column_stack([y, comb])
