"""
A move that repeats learns from its errors: norm-optimal iterative learning control.

The reference of the drives gets splines beside it (C26), with weights w. What the tip does over a
whole trial depends on them by the lifted gain G, found by a model of arm and servo. After a trial
with the errors e the weights change by what leaves least, as far as the model knows,

    min over dw of |e + G dw|^2 + R |dw|^2,                                                  (C28)

so that an error of the model only slows the learning down: where it is off by a share s of G, an
error that G can reach shrinks to about s of itself per trial (Amann, Owens & Rogers, 1996). A
trial that was worse than the best one so far is taken back, and followed by a smaller change.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.motion.motion import Motion
from flex_robot_sim.motion.spline_path import SplinePaths
from flex_robot_sim.util.exceptions import SettingError

CAUTION = 1e-2              # R over the largest square of what G does
MORE = 10.0                 # caution after a trial that was worse
LESS = 0.3                  # and after one that was better, down to LEAST of the first one
LEAST = 1e-4                # of the caution that it begins with
WORSE = 1.02                # error over the least one, from which a trial is taken back


class RepeatedMove:
    """References of a move, trial by trial."""

    def __init__(self, motion: Motion, duration: float, joints: int, count: int,
                 caution: float = CAUTION) -> None:
        """
        Begin with a Motion as it is.

        :param motion: of the drives, from 0 on.
        :param duration: of a whole trial, in which the drives may move; longer than the motion by
            a period or two of the first mode [s].
        :param joints: how many; count: splines per joint.
        """
        if not motion.end <= duration < np.inf:
            raise SettingError(f'a trial of {duration!r} s must be finite and not shorter than '
                               f'the motion of {motion.end:g} s')
        if count < 1:
            raise SettingError(f'count = {count!r} must be at least 1 spline per joint')
        if not 0.0 < caution < 1.0:
            raise SettingError(f'caution = {caution!r} must be between 0 and 1')
        self.motion, self.duration = motion, float(duration)
        self._paths = SplinePaths(np.zeros(joints), np.zeros(joints), count)
        self.weights = np.zeros((joints, count))
        self.gain: np.ndarray | None = None
        self.errors: list[float] = []   # root mean squares, one per trial
        self.caution, self._least_caution = caution, LEAST * caution
        # (error, weights, errors of that trial)
        self._best: tuple[float, np.ndarray, np.ndarray] | None = None

    def reference(self, weights: np.ndarray | None = None) -> Callable[[float], np.ndarray]:
        """Return a function from time to places, speeds and accelerations (3, joints)."""
        added = self._paths.motion(self.weights if weights is None else weights, self.duration)
        motion = self.motion

        def sample(t):
            return motion.sample(t) + added.sample(t)
        return sample

    def model(self, run: Callable[[Callable[[float], np.ndarray]], ArrayLike],
              nudge: float) -> np.ndarray:
        """
        Find the lifted gain by trials of a model, one for each weight.

        :param run: function from a reference to errors, rows by sample (t, outputs).
        :param nudge: change of a weight [rad, m].
        """
        plain = np.asarray(run(self.reference()), float)
        columns = []
        for k in range(self.weights.size):
            weights = self.weights.copy()
            weights.flat[k] += nudge
            columns.append((np.ravel(run(self.reference(weights))) - plain.ravel()) / nudge)
        self.gain = gain = np.array(columns).T
        if not np.isfinite(gain).all() or not gain.any():
            raise SettingError('the model does not answer the weights of the splines with finite '
                               'errors: nothing can be learnt')
        return gain

    def learn(self, errors: ArrayLike) -> float:
        """
        Take the errors of a trial with the present reference, and change it.

        :param errors: rows by sample (t, outputs), as those of the model.
        :returns: root mean square of the errors.
        """
        if self.gain is None:
            raise SettingError('there is no gain yet: let `model` find it first')
        errors = np.asarray(errors, float).ravel()
        if errors.size != len(self.gain):
            raise SettingError(f'a trial has {len(self.gain)} errors, and not {errors.size}')
        if not np.isfinite(errors).all():
            raise SettingError('the errors of a trial must be finite: it is left out')
        size = float(np.sqrt(np.mean(errors**2)))
        self.errors.append(size)
        if self._best is not None and size > WORSE * self._best[0]:
            self.caution = min(MORE * self.caution, 1.0)
        else:
            self.caution = max(LESS * self.caution, self._least_caution)
        best = self._best
        if best is None or size < best[0]:
            best = size, self.weights.copy(), errors
        _, weights, errors = self._best = best
        square = self.gain.T @ self.gain
        square += self.caution * np.linalg.norm(square, 2) * np.eye(len(square))
        change = np.linalg.solve(square, self.gain.T @ errors)
        self.weights = weights - change.reshape(weights.shape)
        return size
