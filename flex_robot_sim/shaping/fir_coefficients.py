"""
FIR coefficients: shapers for sampled set points, exact at the modes of the design.

Linear interpolation distributes an impulse between two samples over both. That leaves about
(omega T)^2 / 8 of the vibration. The weights are then corrected, as little as possible, until the
response at every mode of the design equals that of the impulses (S6). This is independent of the
reconstruction after the shaper, by steps or by lines.
"""

import math
from collections.abc import Iterable

import numpy as np

from flex_robot_sim.shaping.poles import check_mode, check_period, pole_of, response_of

EXTRA_SAMPLES = (0, 1, 2, 3)  # beyond the two neighbours of an impulse, in trial order
MAX_RESPONSE_ERROR = 1e-10  # error of the response at a mode
MAX_DECAY_EXPONENT = 18.0  # within the shaper; beyond it rounding exceeds MAX_RESPONSE_ERROR
WHOLE_SAMPLE_TOLERANCE = 1e-9  # distance over the period: closer impulses count as on the sample


def fir_coefficients(
    times: np.ndarray, amplitudes: np.ndarray, modes: Iterable[tuple[float, float]], period: float
) -> tuple[np.ndarray, np.ndarray]:
    """
    Delays in samples (k,) and weights (k,), positive, of sum 1.

    :param times: of the impulses, (i,) [s]; amplitudes: (i,).
    :param modes: of the design, (frequency [Hz], damping ratio) each; period: of the samples [s].
    """
    modes = [*modes]
    check_period(period)
    for frequency, ratio in modes:
        check_mode(frequency, ratio, period)
    positions = times / period
    nearest = np.round(positions)
    if (np.abs(positions - nearest) < WHOLE_SAMPLE_TOLERANCE).all():
        return nearest.astype(int), amplitudes.copy()
    interpolated = _interpolated_weights(positions, amplitudes)
    if not modes:
        return _nonzero_taps(np.arange(interpolated.size), interpolated)
    poles = np.array([pole_of(*mode) for mode in modes])
    # a mode that decays fast is observed at the end of the shaper, where its start is negligible
    is_fast = -poles.real * times[-1] > MAX_DECAY_EXPONENT
    origins = np.where(is_fast, positions[-1], 0.0)
    wanted = response_of(times - period * origins[:, None], amplitudes, poles)
    previous = np.floor(positions).astype(int)
    for extra in EXTRA_SAMPLES:
        used = np.unique(np.concatenate([previous + k for k in range(-extra, extra + 2)]))
        used = used[used >= 0]
        line = np.zeros(used[-1] + 1)
        line[: interpolated.size] = interpolated[: line.size]
        columns = np.exp(-period * poles[:, None] * (used - origins[:, None]))
        weights = _corrected_weights(columns, line[used], wanted)
        if weights is not None:
            return _nonzero_taps(used, weights)
    return _nonzero_taps(np.arange(interpolated.size), interpolated)


def _interpolated_weights(positions, amplitudes):
    """Weights (k,) by sample, from linear interpolation."""
    weights = np.zeros(math.ceil(positions[-1]) + 2)
    for position, amplitude in zip(positions, amplitudes):
        k = math.floor(position + WHOLE_SAMPLE_TOLERANCE)
        share = max(position - k, 0.0)
        weights[k] += (1 - share) * amplitude
        weights[k + 1] += share * amplitude
    return weights


def _corrected_weights(columns, interpolated, wanted):
    """Weights nearest to `interpolated` with the wanted responses, or None."""
    from scipy.optimize import linprog  # imported late: slow, rarely needed

    size = interpolated.size
    A = np.vstack([np.ones((1, size)), columns.real, columns.imag])
    b = np.concatenate([[1.0], wanted.real, wanted.imag])
    # weights = interpolated + up - down, with the least sum of both
    solution = linprog(
        np.ones(2 * size),
        A_eq=np.hstack([A, -A]),
        b_eq=b - A @ interpolated,
        A_ub=np.hstack([-np.eye(size), np.eye(size)]),
        b_ub=interpolated,
        method='highs',
    )
    # the solver may fail for tiny corrections; the least squares below then suffice
    weights = interpolated
    if not solution.status:
        weights = np.maximum(interpolated + solution.x[:size] - solution.x[size:], 0.0)
    scaled = A * weights  # residual of the solver, distributed by weight
    weights = weights + weights * (
        A.T @ np.linalg.lstsq(scaled @ A.T, b - A @ weights, rcond=1e-12)[0]
    )
    is_exact = np.abs(A @ weights - b).max() < MAX_RESPONSE_ERROR and weights.min() >= 0.0
    return weights if is_exact else None


def _nonzero_taps(delays, weights):
    is_nonzero = weights > 0.0
    return np.asarray(delays)[is_nonzero], weights[is_nonzero] / weights[is_nonzero].sum()
