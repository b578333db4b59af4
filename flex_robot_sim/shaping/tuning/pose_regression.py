"""
Regression of measured values over the poses of an arm, by a Gaussian process.

Values are a mean plus a smooth function of some joints, whose covariance between two poses is

    s^2 exp(-1/2 sum_j ((q_j - q'_j) / l_j)^2)

and an error with a standard deviation e, which stands for joints that are left out. Lengths l_j,
s and e have the largest likelihood in a coarse grid (Rasmussen and Williams 2006, chapter 5). The
standard deviation of a prediction is multiplied by the error of predictions of each pose from all
others, over its expectation, if that exceeds 1.
"""

from __future__ import annotations

import numpy as np

LENGTHS = 0.35, 0.5, 0.7, 1.0, 1.5, 2.5, np.inf  # over the range of a joint
SIGNALS = 0.03, 0.1, 0.25, 0.6  # s, of the logarithm of a frequency
ERRORS = 0.001, 0.004, 0.015  # e
MEAN_DEVIATION = 1.0  # of the mean, much more than s: it is unknown
SWEEPS = 3  # of the search along single lengths
MAX_JOINTS = 3  # of which values depend
PENALTY = 0.5  # of the logarithm of the likelihood, for each joint that is used
START_LENGTH = 1.5  # of all joints that move, if they are at most MAX_JOINTS
MAX_CALIBRATION = 5.0  # factor on the standard deviation
_COMBINATIONS = np.array([[s, e] for s in SIGNALS for e in ERRORS]).T
SMOOTHING = 1.0, 0.3, 0.02  # length, s and e of `expected_value`


def expected_value(poses: np.ndarray, values: np.ndarray, pose: np.ndarray) -> float:
    """Return the value expected in a pose (n,) from values (k,) in poses (k, n), by SMOOTHING."""
    length, signal, error = SMOOTHING
    spans = length * np.where(np.ptp(poses, axis=0) > 0.0, np.ptp(poses, axis=0), np.inf)
    scaled = np.vstack([poses, pose]) / spans
    squares = ((scaled[:, None] - scaled) ** 2).sum(axis=2)
    total = signal**2 * np.exp(-0.5 * squares) + MEAN_DEVIATION**2
    inner = total[:-1, :-1] + error**2 * np.eye(len(poses))
    mean = values.mean()
    return float(mean + total[-1, :-1] @ np.linalg.solve(inner, values - mean))


class PoseRegression:
    """Values over poses (n,), with standard deviations."""

    def __init__(self, poses: np.ndarray, values: np.ndarray, deviations: np.ndarray) -> None:
        """Fit values (k,) with standard deviations (k,) in poses (k, n)."""
        self._spans = np.where(np.ptp(poses, axis=0) > 0.0, np.ptp(poses, axis=0), 1.0)
        self._poses, self._values = poses / self._spans, np.asarray(values, float)
        self._variances = np.asarray(deviations, float) ** 2
        self.lengths = np.full(poses.shape[1], np.inf)  # over the ranges of the joints
        self._signal, self._error = SIGNALS[0], ERRORS[0]
        self._search(np.flatnonzero(np.ptp(poses, axis=0) > 0.0))
        self._solve()

    @property
    def joints(self) -> list[int]:
        """Joints on which the values depend."""
        return np.flatnonzero(np.isfinite(self.lengths)).tolist()

    def at(self, poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values and their standard deviations, (m,) each, in poses (m, n)."""
        weights = self._covariance(poses / self._spans, self._poses) + MEAN_DEVIATION**2
        prior = self._signal**2 + MEAN_DEVIATION**2
        variances = prior - np.einsum('mk,kl,ml->m', weights, self._inverse, weights)
        deviations = np.sqrt(np.maximum(variances, 0.0) + self._error**2)
        return self._mean + weights @ self._weighted, self._calibration * deviations

    def _search(self, candidates):
        """Find lengths, signal and error with the largest likelihood, from two starts."""
        found = [self._searched(candidates, np.inf)]
        if len(candidates) <= MAX_JOINTS:
            found.append(self._searched(candidates, START_LENGTH))
        self.lengths[:] = max(found, key=lambda one: one[0])[1]
        self._fitted()

    def _searched(self, candidates, start):
        """Return the largest likelihood and its lengths, changed one by one."""
        self.lengths[candidates] = start
        best = self._fitted()
        for _ in range(SWEEPS):
            before = best
            for joint in candidates:
                kept = self.lengths[joint]
                for length in LENGTHS:
                    self.lengths[joint] = length
                    found = self._fitted() if len(self.joints) <= MAX_JOINTS else -np.inf
                    if found > best + 1e-9:
                        best, kept = found, length
                self.lengths[joint] = kept
            if best <= before + 1e-9:
                break
        return best, self.lengths.copy()

    def _fitted(self):
        """Set the best signal and error for the lengths; return the penalised likelihood."""
        shape = self._covariance(self._poses, self._poses, 1.0)
        signals, errors = _COMBINATIONS
        totals = signals[:, None, None] ** 2 * shape + MEAN_DEVIATION**2
        totals += np.eye(len(shape)) * (self._variances + errors[:, None, None] ** 2)
        factors = np.linalg.cholesky(totals)
        centred = self._values - self._values.mean()
        rest = np.linalg.solve(factors, np.tile(centred[:, None], (len(totals), 1, 1)))[..., 0]
        diagonals = np.einsum('ckk->ck', factors)
        likelihoods = -0.5 * (rest**2).sum(axis=1) - np.log(diagonals).sum(axis=1)
        best = int(np.argmax(likelihoods))
        self._signal, self._error = float(signals[best]), float(errors[best])
        return float(likelihoods[best]) - PENALTY * len(self.joints)

    def _covariance(self, first, second, signal=None):
        signal = self._signal if signal is None else signal
        scaled = [poses / self.lengths for poses in (first, second)]
        squares = ((scaled[0][:, None] - scaled[1]) ** 2).sum(axis=2)
        return signal**2 * np.exp(-0.5 * squares)

    def _solve(self):
        """Prepare predictions, and calibrate their standard deviations."""
        total = self._covariance(self._poses, self._poses) + MEAN_DEVIATION**2
        total[np.diag_indices_from(total)] += self._variances + self._error**2
        self._inverse, self._mean = np.linalg.inv(total), self._values.mean()
        self._weighted = self._inverse @ (self._values - self._mean)
        # error of the prediction of each pose from all others, over its standard deviation
        ratios = self._weighted / np.sqrt(np.diag(self._inverse))
        self._calibration = float(np.clip(np.sqrt((ratios**2).mean()), 1.0, MAX_CALIBRATION))
