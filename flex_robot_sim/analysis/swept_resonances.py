"""
Modes from the response to a sweep, as the resonance test of a 3D printer makes it.

A sweep excites all frequencies of its band evenly, one after the other. The spectrum of the whole
recording is the square of the frequency response times a smooth function. All modes are fitted at
once, because the flank of one mode shifts the peak of another.
"""

import itertools
from typing import NamedTuple

import numpy as np
from scipy import signal
from scipy.optimize import least_squares

from flex_robot_sim.analysis.resonance import Resonance

WINDOWS = 60  # of the recording, for its frequency over time
MIN_RISING_SHARE = 0.7  # of windows in which the frequency follows the sweep
MAX_FREQUENCY_ERROR = 0.15  # of such a window, relative
MIN_FREQUENCY_RATIO = 3.0  # end of a sweep over its begin
MIN_WIDTH_LINES = 20  # of a sweep, over the resolution of one window
BAND_MARGIN = 0.06  # at either end of a sweep, relative
LINES = 250  # of the averaged spectrum
MAX_MODES = 4
TRIAL_FREQUENCIES, TRIAL_RATIOS = 40, (0.02, 0.05, 0.1)
PAIR_RATIO = 0.06  # damping of trial pairs
RATIO_BOUNDS = 2e-3, 0.4
MAX_TILT = 3.0
MAX_RELATIVE_STD = 0.05
MIN_SIZE = 0.03  # over that of the largest mode
EDGE = 0.02  # of the band, relative: noise below it imitates a mode at the edge
MIN_PEAK_SHARE = 0.3  # power of a mode at its frequency, over that of all


class Sweep(NamedTuple):
    """Excitation whose frequency rises, or falls, in time."""

    low: float  # [Hz]
    high: float  # [Hz]


def find_sweep(rate: float, samples: np.ndarray) -> Sweep | None:
    """Return the Sweep that excites samples (k, n), or None."""
    size = 2 * max(len(samples) // (WINDOWS + 1), 32)
    if len(samples) < 4 * size:
        return None
    f, times, power = signal.spectrogram(samples, rate, 'hann', size, size // 2, axis=0)
    power = power.sum(axis=1)
    power /= power.mean(axis=1, keepdims=True) + 1e-300  # a sweep passes each frequency once
    frequency = f[1:][np.argmax(power[1:], axis=0)]
    slope = np.median(
        [
            (second - first) / (t2 - t1)
            for t1, first, t2, second in zip(
                times[: times.size // 2],
                frequency[: times.size // 2],
                times[times.size // 2 :],
                frequency[times.size // 2 :],
            )
        ]
    )
    line = np.median(frequency - slope * times) + slope * times
    tolerance = np.maximum(MAX_FREQUENCY_ERROR * np.abs(line), 2 * f[1])
    follows = np.abs(frequency - line) < tolerance
    if follows.mean() < MIN_RISING_SHARE:
        return None
    low, high = np.sort(line[follows][[0, -1]])
    low = max(low, 2 * f[1])
    is_wide = high > MIN_FREQUENCY_RATIO * low and high - low > MIN_WIDTH_LINES * f[1]
    return Sweep(float(low), float(high)) if is_wide else None


def swept_resonances(rate: float, samples: np.ndarray, sweep: Sweep) -> list[Resonance]:
    """Return the modes, largest first, in the response (k, n) to a sweep."""
    f, power = _averaged(rate, samples, sweep)
    best, best_score = None, np.inf
    modes = np.zeros((0, 2))
    for _ in range(MAX_MODES):
        fit = _Fit(f, power, _with_one_more(f, power, modes))
        if len(fit.modes) == 2:  # the sum of two peaks misleads the search for one after the other
            fit = min(fit, _Fit(f, power, _best_pair(f, power)), key=_Fit.score)
        score = fit.score()
        if score < best_score:
            best, best_score = fit, score
        modes = fit.modes
    return _resonances(best) if best is not None else []


def _averaged(rate, samples, sweep):
    """Return frequencies and power of the whole recording, averaged over neighbouring lines."""
    f, power = signal.periodogram(samples, rate, axis=0)
    low, high = (1 + BAND_MARGIN) * sweep.low, (1 - BAND_MARGIN) * sweep.high
    rows = (f >= low) & (f <= high)
    f, power = f[rows], power[rows].sum(axis=1)
    size = max(f.size // LINES, 1)
    count = f.size // size
    f, power = (values[: count * size].reshape(count, size).mean(axis=1) for values in (f, power))
    return f, power / power.max()


def _with_one_more(f, power, modes):
    """Return modes (m + 1, 2), frequencies and ratios, with the best of many trial modes."""
    trials = np.geomspace(f[1], f[-2], TRIAL_FREQUENCIES)
    return min(
        (np.vstack([modes, [frequency, ratio]]) for frequency in trials for ratio in TRIAL_RATIOS),
        key=lambda tried: _linear(f, power, tried)[1],
    )


def _best_pair(f, power):
    """Return the best two of many trial modes (2, 2)."""
    trials = np.geomspace(f[1], f[-2], TRIAL_FREQUENCIES)
    pairs = itertools.combinations(trials, 2)
    return min(
        (np.array([[low, PAIR_RATIO], [high, PAIR_RATIO]]) for low, high in pairs),
        key=lambda tried: _linear(f, power, tried)[1],
    )


def _columns(f, modes, tilt=0.0):
    """Return the columns of the model (S15), (k, 2 m + 1)."""
    x = (f[:, None] / modes[:, 0]) ** 2
    response = 1 / ((x - 1) ** 2 + 4 * modes[:, 1] ** 2 * x)
    scale = (f / f[f.size // 2]) ** tilt
    return scale[:, None] * np.hstack([response, (x - 1) * response, np.ones((f.size, 1))])


def _linear(f, power, modes, tilt=0.0):
    """Return linear parameters and the relative error of the model with these modes."""
    columns = _columns(f, modes, tilt) / power[:, None]
    found = np.linalg.lstsq(columns, np.ones(f.size), rcond=1e-10)[0]
    return found, ((columns @ found - 1) ** 2).sum()


class _Fit:
    """Least squares fit of m modes to the logarithm of a spectrum."""

    def __init__(self, f, power, modes):
        self._f, self._target = f, np.log(power)
        self.band = f[0], f[-1]  # [Hz]
        m = len(modes)
        linear, _ = _linear(f, power, modes)
        start = np.concatenate([np.log(modes[:, 0]), np.log(modes[:, 1]), [0.0], linear])
        low, high = np.full(start.size, -np.inf), np.full(start.size, np.inf)
        low[:m], high[:m] = np.log(f[0]), np.log(f[-1])
        low[m : 2 * m], high[m : 2 * m] = np.log(RATIO_BOUNDS)
        low[2 * m], high[2 * m] = -MAX_TILT, MAX_TILT
        self._m = m
        found = least_squares(
            self._residual,
            np.clip(start, low + 1e-9, high - 1e-9),
            bounds=(low, high),
            x_scale='jac',
            max_nfev=100,
        )
        self.parameters, self.residual, self._jacobian = found.x, found.fun, found.jac
        self.modes = np.exp(found.x[: 2 * m]).reshape(2, m).T

    def _residual(self, p):
        m = self._m
        modes = np.exp(p[: 2 * m]).reshape(2, m).T
        value = _columns(self._f, modes, p[2 * m]) @ p[2 * m + 1 :]
        return np.log(np.maximum(value, 1e-9)) - self._target

    def score(self):
        """Bayesian information criterion; neighbouring lines are correlated."""
        k, r = self.residual.size, self.residual
        correlation = np.clip(r[1:] @ r[:-1] / max(r @ r, 1e-300), 0.0, 0.95)
        independent = k * (1 - correlation) / (1 + correlation)
        return independent * np.log(r @ r / k) + self.parameters.size * np.log(k)

    def covariance(self):
        """Return the covariance of the logarithms of frequencies and ratios (2 m, 2 m)."""
        k, r = self.residual.size, self.residual
        correlation = np.clip(r[1:] @ r[:-1] / max(r @ r, 1e-300), 0.0, 0.95)
        variance = r @ r / max(k - self.parameters.size, 1)
        variance *= (1 + correlation) / (1 - correlation)
        m = self._m
        return (np.linalg.pinv(self._jacobian.T @ self._jacobian) * variance)[: 2 * m, : 2 * m]

    def sizes(self):
        """Return the share of each mode in the acceleration of a step, (m,)."""
        return np.sqrt(np.maximum(self.parameters[2 * self._m + 1 :][: self._m], 0.0))

    def peak_shares(self):
        """Return the power of each mode at its frequency, over that of all modes, (m,)."""
        linear = self.parameters[2 * self._m + 1 :]
        alone = linear[: self._m] / (4 * self.modes[:, 1] ** 2)
        whole = _columns(self.modes[:, 0], self.modes) @ linear
        return alone / np.maximum(whole, 1e-9)


def _resonances(fit):
    """Return the modes of a fit that the recording determines, largest first."""
    m, sizes, peaks = len(fit.modes), fit.sizes(), fit.peak_shares()
    deviations = np.sqrt(np.maximum(np.diag(fit.covariance()), 0.0)).reshape(2, m).T
    found = [
        Resonance(
            float(frequency),
            float(frequency * by_frequency),
            float(ratio),
            float(ratio * by_ratio),
            float(size / max(sizes.max(), 1e-300)),
            'sweep',
        )
        for (frequency, ratio), (by_frequency, by_ratio), size, peak in zip(
            fit.modes, deviations, sizes, peaks
        )
        if by_frequency < MAX_RELATIVE_STD
        and RATIO_BOUNDS[0] * 1.01 < ratio < RATIO_BOUNDS[1] * 0.99
        and size > MIN_SIZE * sizes.max()
        and peak > MIN_PEAK_SHARE
        and (1 + EDGE) * fit.band[0] < frequency < (1 - EDGE) * fit.band[1]
    ]
    return sorted(found, key=lambda mode: -mode.size)
