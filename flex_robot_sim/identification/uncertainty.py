"""
Uncertainty of a fit: covariance, and parameters that it does not determine.

Residuals of a model are never white, because unmodelled dynamics vibrate with the arm. So the
covariance follows from sums of the score, slope times residual, over blocks of time (I9), (I10).
"""

from collections.abc import Sequence as Rows
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from flex_robot_sim.identification.fit import Fit

BLOCKS = 12  # blocks of time whose scores count as independent
FREEDOM_DIVISOR = 1.5  # loss of degrees of freedom by the terms of neighbouring blocks
CONFIDENCE_LEVEL = 0.95  # of the confidence interval
MAX_RELATIVE_STD = 0.25  # standard deviation over value, of an identifiable parameter
MIN_TRADING_CORRELATION = 0.95  # above it two parameters are strongly correlated
ROWS_AT_A_TIME = 2_000  # of the slopes, in sums of products
MIN_EIGENVALUE_RATIO = 1e-5  # least over largest eigenvalue: slopes are known to 0.3 %


class Uncertainty(NamedTuple):
    """Covariance of the fitted unknowns."""

    covariance: np.ndarray  # (p, p)    of z
    factor: np.ndarray  # (p,)      half the confidence interval, over the deviation
    blocks: int
    freedom: np.ndarray  # (p,)      degrees of freedom of the deviations

    @property
    def deviations(self) -> np.ndarray:
        """Standard deviations of z, (p,); inf where the log does not determine it."""
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
    inverse, undetermined = inverse_information(fit)
    scores = np.einsum('tcp,tc->tp', J, w * r, optimize=True)
    blocks = block_edges(lengths, max(BLOCKS, 2 * p))
    sums = np.array([scores[a:b].sum(axis=0) for a, b in blocks])
    count = len(blocks)
    # neighbours are not quite independent; half of their cross terms keeps all squares positive
    cross_terms = sums[1:].T @ sums[:-1]
    meat = sums.T @ sums + 0.5 * (cross_terms + cross_terms.T)
    meat *= count / max(count - p, 1)  # the fit uses p degrees of freedom
    covariance = inverse @ meat @ inverse
    covariance[undetermined, undetermined] = np.inf
    # an unknown that few blocks determine is as uncertain as these few
    block_information = np.array(
        [((J[a:b] @ inverse) ** 2 * w[a:b, :, None]).sum(axis=(0, 1)) for a, b in blocks]
    )
    with np.errstate(over='ignore', invalid='ignore'):  # no block determines it without effect
        effective_blocks = np.nan_to_num(
            block_information.sum(axis=0) ** 2
            / np.maximum((block_information**2).sum(axis=0), 1e-300)
        )
    freedom = np.maximum((effective_blocks - 1) / FREEDOM_DIVISOR, 1.0)
    factor = student.ppf(0.5 + CONFIDENCE_LEVEL / 2, freedom)
    return Uncertainty(covariance, factor, count, freedom)


def white_deviations(fit: Fit) -> np.ndarray:
    """Return the standard deviations (p,) of z for white residuals of variance 1."""
    return np.sqrt(np.diag(inverse_information(fit)[0]))


def information(fit: Fit) -> np.ndarray:
    """Return J^T W J (p, p)."""
    matrix = np.zeros((fit.z.size, fit.z.size))
    for first in range(0, len(fit.weights), ROWS_AT_A_TIME):
        rows = slice(first, first + ROWS_AT_A_TIME)
        J = fit.jacobian[rows].reshape(-1, fit.z.size)
        matrix += J.T @ (J * fit.weights[rows].reshape(-1, 1))
    return matrix


def inverse_information(fit: Fit) -> tuple[np.ndarray, np.ndarray]:
    """Return the inverse (p, p) of J^T W J (I10), and the rows that it does not determine."""
    matrix = information(fit)
    scale = np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    inverse, undetermined = _inverse(matrix / np.outer(scale, scale))
    return inverse / np.outer(scale, scale), undetermined


def _inverse(matrix):
    """Return the pseudoinverse of a matrix with unit diagonal, and its undetermined rows."""
    values, vectors = np.linalg.eigh(matrix)
    is_significant = values > MIN_EIGENVALUE_RATIO * values.max()
    inverse = (vectors[:, is_significant] / values[is_significant]) @ vectors[:, is_significant].T
    undetermined = np.flatnonzero((vectors[:, ~is_significant] ** 2).sum(axis=1) > 0.05)
    return inverse, undetermined


def block_edges(lengths: Rows[int], count: int) -> list[tuple[int, int]]:
    """Return first and last row of blocks of similar length, each within one sequence."""
    length = max(1, sum(lengths) // count)
    edges, start = [], 0
    for rows in lengths:
        block_count = max(1, round(rows / length))
        rows_at = start + np.linspace(0, rows, block_count + 1).astype(int)
        edges += list(zip(rows_at[:-1].tolist(), rows_at[1:].tolist()))
        start += rows
    return edges


def trading(correlations: np.ndarray, row: int, count: int) -> int | None:
    """Return which of the first `count` unknowns correlates most with a row, or None."""
    candidates = [(abs(correlations[row, k]), k) for k in range(count) if k != row]
    correlation, k = max(candidates, default=(0.0, -1))
    return k if correlation > MIN_TRADING_CORRELATION else None


HINTS = {
    'stiffness': 'let the links vibrate: stop a fast move, and record at rest for some periods',
    'damping': 'let the vibration decay at rest, for ten periods and more',
    'friction': 'move slowly at several speeds, and turn back often',
    'hysteresis': 'move slowly back and forth with small and large amplitudes, and log efforts',
    'backlash': 'turn the load back and forth through the backlash, and log the link side, too',
    'kinematic_error': 'move slowly through several turns of the motor, and log the link side',
    'cogging': 'move slowly through several turns of the motor, and log efforts',
    'torque_ripple': 'accelerate or lift loads through several turns, and log efforts',
    'mass': 'move with two known payloads, or hold still in several poses if gravity acts',
    'delay': 'move faster: a sweep up to the first frequencies',
    'gain': 'give one of the stiffnesses, or bend the link by a known weight',
    'imu': 'turn that link about this axis, or shake it along',
    'gravity': 'move joints whose axes are not along gravity, or hold still in several poses',
    'crosstalk': 'bend the link in several shapes: by slow moves, and by vibration',
    'rate_sign': 'move slowly, and turn back often',
    'cable': 'move slowly through all of the range, in both directions',
    'torque_constant': 'accelerate fast, and move masses that are known',
    'geometry': 'record vibration with two known payloads, or give the stiffness',
}
"""Which excitation determines a kind of parameter better."""
