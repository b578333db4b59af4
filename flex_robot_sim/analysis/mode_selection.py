"""Modes of a free vibration: poles of ERA are added while they explain more than noise."""

import numpy as np

from flex_robot_sim.analysis.damped_sinusoids import SinusoidFit, basis, fit_sinusoids
from flex_robot_sim.analysis.realisation import stable_poles

MAX_MODES = 6  # of a fit
MAX_REJECTED = 2  # poles in succession that explain no more than noise
MIN_CYCLES = 3.0  # of a mode
MAX_RATE_SHARE = 0.45  # frequency of a mode over the sampling rate
MAX_CANDIDATE_RATIO = 0.35  # damping ratio of a pole of ERA
MIN_GAIN_RATIO = 1.5  # gain over that which the Bayesian information criterion asks for


def candidate_poles(samples: np.ndarray, rate: float) -> np.ndarray:
    """Return poles (m,) [1/s] of ERA that may be modes of samples (k, n)."""
    poles = stable_poles(samples, rate)
    frequencies = np.abs(poles) / (2 * np.pi)
    return poles[
        (frequencies * len(samples) > MIN_CYCLES * rate)
        & (frequencies < MAX_RATE_SHARE * rate)
        & (-poles.real < MAX_CANDIDATE_RATIO * np.abs(poles))
    ]


def select_modes(times: np.ndarray, samples: np.ndarray, poles: np.ndarray) -> SinusoidFit:
    """Return the SinusoidFit to samples (k, n) with as many of the poles as they determine."""
    fit = without_modes(times, samples)
    rejected = 0
    while poles.size and fit.decay.size < MAX_MODES and rejected < MAX_REJECTED:
        gains = [_gain(fit, pole) for pole in poles]
        best = int(np.argmax(gains))
        grown = fit_sinusoids(
            times,
            samples,
            np.append(fit.decay, max(-poles[best].real, 0.0)),
            np.append(fit.rate, poles[best].imag),
            evaluations=8,
        )
        poles = np.delete(poles, best)
        if _is_better(grown, fit):
            fit, rejected = grown, 0
        else:
            rejected += 1
    return fit


def without_modes(times: np.ndarray, samples: np.ndarray) -> SinusoidFit:
    """Return the fit of a constant and a ramp."""
    return fit_sinusoids(times, samples, np.zeros(0), np.zeros(0))


def _gain(fit, pole):
    """Return the sum of squares of the residual that a mode with this pole explains."""
    columns = basis(fit.times, np.append(fit.decay, -pole.real), np.append(fit.rate, pole.imag))
    m = fit.decay.size
    order = [*range(m), *range(m + 1, 2 * m + 1), 2 * m + 2, 2 * m + 3, m, 2 * m + 1]
    q = np.linalg.qr(columns[:, order])[0][:, -2:]
    return float(((q.T @ fit.residual) ** 2).sum())


def _is_better(grown, fit):
    """Whether one mode more explains more than noise would (S13)."""
    k, n = fit.residual.shape
    before, after = (fit.residual**2).sum(), (grown.residual**2).sum()
    if not after > 0.0:
        return before > 0.0
    return k * n * np.log(before / after) > MIN_GAIN_RATIO * (2 + 2 * n) * np.log(k * n)
