"""
How far a fit may be off, which numbers it cannot tell, and what it is worth on other motions.

Residuals of a model are never white: what it lacks rings as the arm does. So deviations come from
how the score, slope times residual, adds up over blocks of time (I9), (I10).
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Rows
from typing import NamedTuple

import numpy as np
from scipy.signal import welch
from scipy.stats import gamma
from scipy.stats import t as student

from flex_robot_sim.identification.fit import Fit

BLOCKS = 24             # of time, whose scores are taken as independent
KERNEL = 1.5            # by which neighbours that count take degrees of freedom
SURE = 0.95             # of the interval
TOLD = 0.25             # deviation of a number that is told, over the number, at most
TRADES = 0.95           # correlation from which two numbers trade against each other
SEGMENT = 256           # samples of a spectrum
PASSED = 0.1            # share of the power, below which other noise may come after a low-pass
LINES = 8               # of a spectrum, that are enough for a median
OVERLAP = 1.6           # spectra that are independent, over segments side by side
SEEN = 1.0              # variance of a signal that is seen, over that of its noise
CHANCE = 4.0            # deviations of a variance that are put down to chance
STILL = 1e-3            # of the variance of a log, below which nothing much moves
WEAKEST = 1e-5          # least eigenvalue over the largest: slopes are known to three thousandths


class Uncertainty(NamedTuple):
    """Of all that was fitted."""

    covariance: np.ndarray      # (p, p)    of z
    factor: np.ndarray          # (p,)      from a deviation to half the interval of SURE
    blocks: int

    @property
    def deviations(self) -> np.ndarray:
        """Deviations of z, (p,); inf where nothing is told."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def correlations(self) -> np.ndarray:
        """Correlations, (p, p)."""
        size = self.deviations
        with np.errstate(invalid='ignore', divide='ignore'):
            return np.nan_to_num(self.covariance / np.outer(size, size))


def uncertainty(fit: Fit, lengths: Rows[int]) -> Uncertainty:
    """
    Return the Uncertainty of a Fit by the scores of blocks of time (I10).

    :param lengths: rows of each sequence.
    """
    J, r, w = fit.jacobian, fit.residuals, fit.weights
    p = fit.z.size
    inverse, weak = _inverse_information(fit)
    scores = np.einsum('tcp,tc->tp', J, w * r, optimize=True)
    blocks = block_edges(lengths, max(BLOCKS, 2 * p))
    sums = np.array([scores[a:b].sum(axis=0) for a, b in blocks])
    count = len(blocks)
    # neighbours are not quite independent; half of what they share keeps all squares above zero
    shared = sums[1:].T @ sums[:-1]
    meat = sums.T @ sums + 0.5 * (shared + shared.T)
    meat *= count / max(count - p, 1)       # the fit has taken p of them
    covariance = inverse @ meat @ inverse
    covariance[weak, weak] = np.inf
    # a number that few blocks tell is as uncertain as these few
    told = np.array([((J[a:b] @ inverse)**2 * w[a:b, :, None]).sum(axis=(0, 1))
                     for a, b in blocks])
    with np.errstate(over='ignore', invalid='ignore'):      # what has no effect is told by none
        several = np.nan_to_num(told.sum(axis=0)**2 / np.maximum((told**2).sum(axis=0), 1e-300))
    freedom = np.maximum((several - 1) / KERNEL, 1.0)
    return Uncertainty(covariance, student.ppf(0.5 + SURE / 2, freedom), count)


def white_deviations(fit: Fit) -> np.ndarray:
    """Return what deviations (p,) of z would be if residuals were white, of variance 1."""
    return np.sqrt(np.diag(_inverse_information(fit)[0]))


def _inverse_information(fit):
    """Inverse of J^T W J (I10), and the rows that it cannot tell apart."""
    J, w = fit.jacobian, fit.weights
    information = np.einsum('tcp,tc,tcq->pq', J, w, J, optimize=True)
    size = np.sqrt(np.maximum(np.diag(information), 1e-300))
    inverse, weak = _inverse(information / np.outer(size, size))
    return inverse / np.outer(size, size), weak


def _inverse(matrix):
    """Inverse of a symmetric matrix of ones, and the rows that it cannot tell apart."""
    values, vectors = np.linalg.eigh(matrix)
    good = values > WEAKEST * values.max()
    inverse = (vectors[:, good] / values[good]) @ vectors[:, good].T
    weak = np.flatnonzero((vectors[:, ~good]**2).sum(axis=1) > 0.05)
    return inverse, weak


def block_edges(lengths: Rows[int], wanted: int) -> list[tuple[int, int]]:
    """Return first and last row of blocks of about one length, none over two sequences."""
    length = max(1, sum(lengths) // wanted)
    edges, start = [], 0
    for rows in lengths:
        parts = max(1, round(rows / length))
        places = start + np.linspace(0, rows, parts + 1).astype(int)
        edges += list(zip(places[:-1].tolist(), places[1:].tolist()))
        start += rows
    return edges


def explained(measured: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Return the share (c,) of the variance of channels (k, c) that is explained."""
    total = measured.var(axis=0)
    return 1 - (measured - predicted).var(axis=0) / np.where(total > 0, total, np.inf)


def noise_floor(tables: Rows[np.ndarray],
                passes: Callable[[np.ndarray], np.ndarray] | None = None) -> np.ndarray:
    """
    Return the variance (c,) of the noise in even samples, tables (k, c) of one rate (I18).

    It is the median of the spectrum above a quarter of its band: what rings there is narrow.

    :param passes: shares (f, c) of the power of white noise that low-passes before the log let
        through, at frequencies (f,) over the rate of samples; None: all.
    """
    levels, weights = [], []
    for table in tables:
        length = min(SEGMENT, len(table))
        frequency, power = welch(table, 1.0, nperseg=length, axis=0)
        share = np.ones_like(power) if passes is None else passes(frequency)
        count = max(1.0, OVERLAP * len(table) / length)
        # one side of two; and of so few spectra the median is less than the mean
        power /= 2 * gamma.ppf(0.5, count) / count
        levels.append([np.median(power[use, k] / share[use, k]) * share[:, k].mean()
                       for k, use in enumerate(_empty_bands(share))])
        weights.append(len(table))
    return np.average(levels, axis=0, weights=weights)


def _empty_bands(share):
    """Yield flags (f,) for each channel where there is noise, and little else."""
    rows = np.arange(len(share))
    for passed in share.T:
        upper = (rows >= len(rows) // 4) & (rows < len(rows) - 1) & (passed > PASSED)
        # or on the slope of a low-pass that ends before
        yield upper if upper.sum() >= LINES else (passed > PASSED) & (passed <= 0.5)


class Share(NamedTuple):
    """What a model explains of channels where it has not looked."""

    explained: np.ndarray       # (c,)  of the variance that is not noise
    is_seen: np.ndarray         # (c,)  whether there is any


def explainable(off: np.ndarray, total: np.ndarray, predicted: np.ndarray, noise: np.ndarray,
                whole: np.ndarray, count: int) -> Share:
    """
    Return the Share of variances (c,) (I19).

    :param off: of what is left; total: of what was measured; predicted: of what was expected.
    :param noise: of the noise in what was measured.
    :param whole: of all of a log: where little is left of a motion, STILL of it counts instead.
    :param count: samples that these were found of.
    """
    # noise is taken for as much as so many samples may have of it
    chance = CHANCE * np.sqrt(2 / max(count, 1))
    signal = np.maximum(total - noise, 0.0)
    # what is expected, and does not come, can be seen as well
    is_seen = np.maximum(signal, predicted) > np.maximum((SEEN + chance) * noise, 1e-300)
    signal = np.maximum(signal, STILL * whole)
    left = np.maximum(off - (1 + chance) * noise, 0.0)
    return Share(1 - left / np.where(signal > 0, signal, np.inf), is_seen)


def trading(correlations: np.ndarray, row: int, count: int) -> int | None:
    """Return the number among `count` that trades most against the one of a row, or None."""
    others = [(abs(correlations[row, k]), k) for k in range(count) if k != row]
    size, k = max(others, default=(0.0, -1))
    return k if size > TRADES else None


HINTS = {
    'stiffness': 'let the links ring: stop a fast move, and record at rest for some periods',
    'damping': 'let the links ring down at rest, for ten periods and more',
    'friction': 'move slowly at several speeds, and turn back often',
    'mass': 'move with two known payloads, or hold still in several poses if gravity acts',
    'delay': 'move faster: a sweep up to the first frequencies',
    'gain': 'give one of the stiffnesses, or bend the link by a known weight',
    'imu': 'turn that link about this axis, or shake it along',
    'geometry': 'ring with two known payloads, or give the stiffness',
}
"""Which excitation tells more of a kind of number."""
