"""
Least squares fit of damped sinusoids with common poles to several signals.

Amplitudes and phases are linear parameters and are eliminated (variable projection, Golub and
Pereyra 1973; derivatives after Kaufman 1975). The covariance allows for coloured residuals.
"""

from typing import NamedTuple

import numpy as np
from scipy.ndimage import uniform_filter1d
from scipy.optimize import least_squares

MAX_FREQUENCY_CHANGE = 0.15  # of the fit, relative to its start
MAX_DECAY_RATIO = 0.6  # decay over rate
SMOOTHED_SHARE = 1 / 20  # of the spectrum of the residual that is averaged


class SinusoidFit(NamedTuple):
    """Sum of m damped sinusoids, a constant and a ramp, fitted to n signals."""

    times: np.ndarray  # (k,)                                                       [s]
    decay: np.ndarray  # (m,)                                                     [1/s]
    rate: np.ndarray  # (m,)                                                    [rad/s]
    columns: np.ndarray  # (k, 2 m + 2), `basis`
    coefficients: np.ndarray  # (2 m + 2, n), of the columns
    residual: np.ndarray  # (k, n)

    @property
    def amplitudes(self) -> np.ndarray:
        """Amplitudes (m,) at the first time, root of the sum of squares over all signals."""
        m = self.decay.size
        return np.sqrt((self.coefficients[: 2 * m] ** 2).reshape(2, m, -1).sum(axis=(0, 2)))

    def part(self, row: int) -> np.ndarray:
        """Return the signal (k, n) of one sinusoid."""
        rows = [row, self.decay.size + row]
        return self.columns[:, rows] @ self.coefficients[rows]

    def energies(self) -> np.ndarray:
        """Return the sum of squares of each sinusoid, (m,)."""
        return np.array([(self.part(row) ** 2).sum() for row in range(self.decay.size)])

    def vibration(self) -> np.ndarray:
        """Return the sum of all sinusoids (k, n)."""
        return self.columns[:, :-2] @ self.coefficients[:-2]


def basis(times: np.ndarray, decay: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """Return columns (k, 2 m + 2): cosines, sines, constant and ramp."""
    t = (times - times[0])[:, None]
    envelope = np.exp(-decay * t)
    line = np.column_stack([np.ones(times.size), np.linspace(-1.0, 1.0, times.size)])
    return np.hstack([envelope * np.cos(rate * t), envelope * np.sin(rate * t), line])


def fit_sinusoids(
    times: np.ndarray,
    samples: np.ndarray,
    decay: np.ndarray,
    rate: np.ndarray,
    evaluations: int = 30,
) -> SinusoidFit:
    """Return the SinusoidFit to samples (k, n) from start values (m,)."""
    problem = _Projection(times, samples)
    m = len(decay)
    if m:
        scale = np.concatenate([rate, rate])
        low = np.concatenate([0 * rate, (1 - MAX_FREQUENCY_CHANGE) * rate])
        high = np.concatenate([MAX_DECAY_RATIO * rate, (1 + MAX_FREQUENCY_CHANGE) * rate])
        start = np.clip(np.concatenate([decay, rate]), low + 1e-9 * scale, high - 1e-9 * scale)
        found = least_squares(
            problem.residual,
            start,
            problem.jacobian,
            bounds=(low, high),
            x_scale=0.01 * scale,
            max_nfev=evaluations,
            xtol=1e-10,
            ftol=1e-10,
        ).x
        decay, rate = found[:m], found[m:]
    return SinusoidFit(times, decay, rate, *problem.solution(np.concatenate([decay, rate])))


def with_rates(
    times: np.ndarray, samples: np.ndarray, decay: np.ndarray, rate: np.ndarray
) -> SinusoidFit:
    """Return the SinusoidFit whose decay and rate (m,) are known."""
    problem = _Projection(times, samples)
    return SinusoidFit(times, decay, rate, *problem.solution(np.concatenate([decay, rate])))


def covariance(fit: SinusoidFit, samples: np.ndarray) -> np.ndarray:
    """
    Return the covariance (2 m, 2 m) of decay and rate (S14).

    The spectrum of the residual, smoothed, is that of the noise.
    """
    k, n = samples.shape
    m = fit.decay.size
    problem = _Projection(fit.times, samples)
    J = problem.jacobian(np.concatenate([fit.decay, fit.rate])).reshape(k, n, 2 * m)
    freedom = k - (2 * m + 2) - 2 * m / n
    power = np.abs(np.fft.rfft(fit.residual, 2 * k, axis=0)) ** 2 / max(freedom, 1.0)
    width = max(9, 2 * int(SMOOTHED_SHARE * k))
    power = uniform_filter1d(power, min(width, len(power)), axis=0, mode='reflect')
    waves = np.fft.rfft(J, 2 * k, axis=0)
    weights = np.full(len(power), 2.0)
    weights[[0, -1]] = 1.0
    inner = np.einsum('f,fn,fnp,fnq->pq', weights, power, waves.conj(), waves, optimize=True)
    inverse = np.linalg.pinv(np.einsum('knp,knq->pq', J, J))
    return inverse @ (inner.real / (2 * k)) @ inverse


class _Projection:
    """Residual of the best linear combination of sinusoids, as a function of decay and rate."""

    def __init__(self, times, samples):
        self._times, self._samples, self._parameters = times, samples, None

    def _update(self, p):
        if self._parameters is not None and np.array_equal(p, self._parameters):
            return
        m = p.size // 2
        self._columns = basis(self._times, p[:m], p[m:])
        self._q, r = np.linalg.qr(self._columns)
        projection = self._q.T @ self._samples
        self._coefficients = np.linalg.lstsq(r, projection, rcond=1e-12)[0]
        self._residual = self._samples - self._q @ projection
        self._parameters = p.copy()

    def solution(self, p):
        """Return columns, coefficients and residual."""
        self._update(p)
        return self._columns, self._coefficients, self._residual

    def residual(self, p):
        """Return the residual (k n,)."""
        self._update(p)
        return self._residual.ravel()

    def jacobian(self, p):
        """Return its derivatives (k n, 2 m)."""
        self._update(p)
        m, t = p.size // 2, (self._times - self._times[0])[:, None]
        cosine, sine = t * self._columns[:, :m], t * self._columns[:, m : 2 * m]
        a, b = self._coefficients[:m], self._coefficients[m : 2 * m]
        by_decay = cosine[:, :, None] * a + sine[:, :, None] * b  # of minus the model
        by_rate = sine[:, :, None] * a - cosine[:, :, None] * b
        slopes = np.concatenate([by_decay, by_rate], axis=1)  # (k, 2 m, n)
        k, _, n = slopes.shape
        flat = slopes.reshape(k, -1)
        flat -= self._q @ (self._q.T @ flat)
        return flat.reshape(k, 2 * m, n).transpose(0, 2, 1).reshape(k * n, 2 * m)
