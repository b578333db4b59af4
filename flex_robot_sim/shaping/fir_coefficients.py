"""
Shapers for sampled set points: impulses between two samples, without loss at the modes.

An impulse between two samples could be shared out between them, as a line between the samples
would have it. That leaves about (omega T)^2 / 8 of the vibration. So the shares are then moved, as
little as possible, until the response at every mode of the design is exactly that of the impulses
(S6). Whatever holds or joins the samples behind, steps or lines, does not matter to that.
"""

import math

import numpy as np

from flex_robot_sim.shaping.impulses import Shaper, check_mode, check_period, pole_of

SIDES = (0, 1, 2, 3)        # samples beyond the two neighbours that an impulse may use, in turn
EXACT = 1e-10               # difference of the responses that is none
WHOLE = 1e-9                # of a sample: an impulse so near to one lies on it


def fir_coefficients(shaper: Shaper, period: float) -> tuple[np.ndarray, np.ndarray]:
    """
    Delays in samples (k,) and weights (k,), positive and of sum 1, that do what a Shaper does.

    :param period: of the samples [s].
    """
    check_period(period)
    for frequency, ratio in shaper.modes:
        check_mode(frequency, ratio, period)
    places = shaper.times / period
    nearest = np.round(places)
    if (np.abs(places - nearest) < WHOLE).all():
        return nearest.astype(int), shaper.amplitudes.copy()
    shared = _shared(places, shaper.amplitudes)
    if not shaper.modes:
        return _kept(np.arange(shared.size), shared)
    poles = np.array([pole_of(*mode) for mode in shaper.modes])
    wanted = shaper.response(poles)
    near = np.floor(places).astype(int)
    for sides in SIDES:
        used = np.unique(np.concatenate([near + k for k in range(-sides, sides + 2)]))
        used = used[used >= 0]
        line = np.zeros(used[-1] + 1)
        line[:shared.size] = shared[:line.size]
        weights = _moved(used, line[used], poles * period, wanted)
        if weights is not None:
            return _kept(used, weights)
    return _kept(np.arange(shared.size), shared)


def _shared(places, amplitudes):
    """Weights (k,) by sample, as a line between the samples has them."""
    weights = np.zeros(math.ceil(places[-1]) + 2)
    for place, amplitude in zip(places, amplitudes):
        k = math.floor(place + WHOLE)
        share = max(place - k, 0.0)
        weights[k] += (1 - share) * amplitude
        weights[k + 1] += share * amplitude
    return weights


def _moved(used, line, turns, wanted):
    """Weights nearest to `line` with the wanted responses, or None."""
    from scipy.optimize import linprog  # a tenth of a start, and rarely needed

    size = used.size
    columns = np.exp(-turns[:, None] * used)
    A = np.vstack([np.ones((1, size)), columns.real, columns.imag])
    b = np.concatenate([[1.0], wanted.real, wanted.imag])
    # weights = line + up - down, with the least sum of both
    answer = linprog(np.ones(2 * size), A_eq=np.hstack([A, -A]), b_eq=b - A @ line,
                     A_ub=np.hstack([-np.eye(size), np.eye(size)]), b_ub=line, method='highs')
    # the solver gives up where next to nothing is to be moved; then the last part does it alone
    weights = line if answer.status else np.maximum(line + answer.x[:size] - answer.x[size:], 0.0)
    scaled = A * weights        # what is left by the solver, shared out by size
    weights = weights + weights * (
        A.T @ np.linalg.lstsq(scaled @ A.T, b - A @ weights, rcond=1e-12)[0])
    is_exact = np.abs(A @ weights - b).max() < EXACT and weights.min() >= 0.0
    return weights if is_exact else None


def _kept(delays, weights):
    kept = weights > 0.0
    return np.asarray(delays)[kept], weights[kept] / weights[kept].sum()
