"""
Norm-optimal iterative learning control of a repeated move.

Splines with weights w are added to the reference of the drives (C26). The lifted gain G maps the
weights to the motion of the tip over a trial; a model of arm and servo determines it. After a
trial with the errors e, the change dw of the weights minimises the predicted errors,

    min over dw of sum_k |e + G_k dw|^2 + R |dw|^2,                                          (C28)

With one gain, a small model error only slows the learning down: with a relative error s of G, the
error in the range of G decreases by about the factor s per trial (Amann, Owens & Rogers, 1996).
The gains G_k of arms with other stiffness make the change suit all of them. They also bound it, so
that none of them predicts an error above MAX_PREDICTED_RATIO times that of the first trial. A
trial that is slightly worse than the best one is rejected, and a smaller change follows. A trial
that is clearly worse ends the learning.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.model.arguments import array_or_nan, expect_kind, number_or_nan, whole
from flex_robot_sim.motion.joint_motion import Motion
from flex_robot_sim.motion.spline_path import SplinePaths
from flex_robot_sim.planning.learning_step import bounded_share, constrained_step
from flex_robot_sim.planning.reference_limits import ReferenceLimits, WeightConstraints
from flex_robot_sim.util.exceptions import SettingError, shortened

DEFAULT_REGULARIZATION = 1e-2  # R over the largest squared singular value of G
REGULARIZATION_INCREASE = 10.0  # factor on the regularization after a worse trial
REGULARIZATION_DECREASE = 0.3  # factor after a better one
MIN_REGULARIZATION_SHARE = 1e-4  # minimum regularization, over the first one
REJECTION_RATIO = 1.02  # error over the least one that rejects a trial
END_RATIO = 1.1  # error over the least one that ends the learning
MAX_PREDICTED_RATIO = 1.5  # predicted error of the next trial, over that of the first one

Reference = Callable[[float], np.ndarray]
Run = Callable[[Reference], ArrayLike]

log = logging.getLogger(__name__)


class RepeatedMove:
    """
    Iterative learning control: references of a repeated move, trial by trial.

    Example::

        motion = frs.planning.minimum_jerk_motion([0.0], [0.5], duration=0.6)
        move = frs.planning.RepeatedMove(motion, duration=0.8, count=8)
        times = np.linspace(0.0, 0.8, 40)
        errors = lambda reference: [0.9 * reference(t)[0] - 0.5 for t in times]    # of a trial
        move.model(errors, weight_step=0.01), move.learn(errors(move.reference())), move.warning
    """

    def __init__(
        self,
        motion: Motion,
        *,
        duration: float,
        count: int = 16,
        regularization: float = DEFAULT_REGULARIZATION,
        limits: ReferenceLimits | None = None,
    ) -> None:
        """
        Begin with an unchanged Motion.

        :param motion: of the drives, from 0 on.
        :param duration: of a whole trial; longer than the motion by a period or two of the first
            mode [s].
        :param count: splines per joint.
        :param regularization: R over the largest squared singular value of G, between 0 and 1.
        :param limits: ReferenceLimits of positions, velocities and accelerations; None: none.
        """
        expect_kind('motion', motion, Motion, 'a Motion, such as one of minimum_jerk_motion')
        if not motion.end <= number_or_nan(duration) < np.inf:
            raise SettingError(
                f'duration = {shortened(repr(duration), 60)} of a trial [s] must be finite and '
                f'not shorter than the motion of {motion.end:g} s'
            )
        count = whole('count', count)
        if not 0.0 < number_or_nan(regularization) < 1.0:
            raise SettingError(
                f'regularization = {shortened(repr(regularization), 60)} must be between 0 and 1'
            )
        self.motion, self.duration = motion, float(duration)
        joints = motion.knot_positions.shape[1]
        self._paths = SplinePaths(np.zeros(joints), np.zeros(joints), count)
        self.weights = np.zeros((joints, count))
        if limits is not None:
            expect_kind('limits', limits, ReferenceLimits, 'ReferenceLimits(...)')
        self._constraints = WeightConstraints(
            limits or ReferenceLimits(), motion, self._paths, self.duration
        )
        self.gain: np.ndarray | None = None
        self.other_gains: tuple[np.ndarray, ...] = ()  # of arms with other stiffness
        self.errors: list[float] = []  # root mean squares, one per trial
        self.warning = ''  # why the learning has ended
        self.regularization = regularization
        self._min_regularization = MIN_REGULARIZATION_SHARE * regularization
        # (error, weights, errors of that trial)
        self._best: tuple[float, np.ndarray, np.ndarray] | None = None

    def reference(self, weights: np.ndarray | None = None) -> Reference:
        """Return a function: time -> positions, velocities, accelerations (3, joints)."""
        checked_weights = self.weights if weights is None else array_or_nan(weights)
        if checked_weights.shape != self.weights.shape or not np.isfinite(checked_weights).all():
            raise SettingError(f'weights must be finite numbers {self.weights.shape}')
        correction = self._paths.motion(checked_weights, self.duration)
        motion = self.motion
        return lambda t: motion.sample(t) + correction.sample(t)

    @property
    def is_finished(self) -> bool:
        """Whether a trial has ended the learning; the reference is that of the best trial."""
        return bool(self.warning)

    def model(self, run: Run | Sequence[Run], *, weight_step: float) -> np.ndarray:
        """
        Determine the lifted gain by trials of a model, one for each weight.

        :param run: function from a reference to errors, rows by sample (t, outputs). A sequence
            adds functions for arms with other stiffness, such as `SimulatedTrials.runs(arm)`;
            the change per trial suits all of them.
        :param weight_step: change of a weight in these trials [rad, m].
        :returns: gain (t * outputs, weights) of the first function.
        """
        runs = (run,) if callable(run) else tuple(run) if isinstance(run, Sequence) else ()
        if not runs or not all(callable(each) for each in runs):
            raise SettingError(
                f'run = {shortened(repr(run), 60)} must be a function from a reference to errors, '
                'or a list of such functions'
            )
        if not 0.0 < abs(number_or_nan(weight_step)) < np.inf:
            raise SettingError(
                f'weight_step = {shortened(repr(weight_step), 60)} must be finite and not 0'
            )
        self.gain, *others = (self._gain_of(each, weight_step) for each in runs)
        if any(gain.shape != self.gain.shape for gain in others):
            raise SettingError('the functions in `run` must return equally many errors')
        self.other_gains = tuple(others)
        return self.gain

    def _gain_of(self, run, weight_step):
        nominal = np.ravel(np.asarray(run(self.reference()), float))
        gain = np.zeros((nominal.size, self.weights.size))
        for k in range(self.weights.size):
            weights = self.weights.copy()
            weights.flat[k] += weight_step
            gain[:, k] = (np.ravel(run(self.reference(weights))) - nominal) / weight_step
        if not np.isfinite(gain).all() or not gain.any():
            raise SettingError(
                'the model does not answer the weights of the splines with finite '
                'errors: nothing can be learnt'
            )
        return gain

    def learn(self, errors: ArrayLike) -> float:
        """
        Update the reference from the errors of a trial with the present one.

        A trial whose error exceeds END_RATIO times the least one ends the learning: `warning`
        gives the reason, and the reference of the best trial remains.

        :param errors: rows by sample (t, outputs), as from the model.
        :returns: root mean square of the errors.
        """
        if self.gain is None:
            raise SettingError('there is no gain yet: let `model` find it first')
        errors = array_or_nan(errors).ravel()
        if errors.size != len(self.gain):
            raise SettingError(f'a trial has {len(self.gain)} errors, and not {errors.size}')
        if not np.isfinite(errors).all():
            raise SettingError('the errors of a trial must be finite: it is left out')
        rms = float(np.sqrt(np.mean(errors**2)))
        self.errors.append(rms)
        if self.is_finished:
            return rms
        if self._best is not None and rms > END_RATIO * self._best[0]:
            self._end(rms, *self._best[:2])
            return rms
        if self._best is not None and rms > REJECTION_RATIO * self._best[0]:
            self.regularization = min(REGULARIZATION_INCREASE * self.regularization, 1.0)
        else:
            self.regularization = max(
                REGULARIZATION_DECREASE * self.regularization, self._min_regularization
            )
        best = self._best
        if best is None or rms < best[0]:
            best = rms, self.weights.copy(), errors
        _, weights, errors = self._best = best
        self.weights = weights + self._change(weights, errors).reshape(weights.shape)
        return rms

    def _change(self, weights, errors):
        """Change (w,) of the weights after a trial with these weights and errors, see (C28)."""
        assert self.gain is not None
        gains = self.gain, *self.other_gains
        largest_gain = float(np.linalg.norm(self.gain, 2))
        penalty = len(gains) * self.regularization * largest_gain**2
        rows = self._constraints.rows
        room = np.maximum(self._constraints.bounds - rows @ weights.ravel(), 0.0)
        step = constrained_step(np.vstack(gains), np.tile(errors, len(gains)), penalty, rows, room)
        largest = MAX_PREDICTED_RATIO * self.errors[0] * np.sqrt(errors.size)
        return step * bounded_share(step, errors, gains, largest)

    def _end(self, rms, least, best_weights):
        """End the learning with the best reference, and log the reason."""
        self.weights = best_weights.copy()
        self.warning = (
            f'trial {len(self.errors)} has an error of {rms:.3g}, above {END_RATIO:g} times the '
            f'least one of {least:.3g}: learning ends with the reference of trial '
            f'{self.errors.index(least) + 1}. Correct stiffness and payload of the model, or '
            'shorten the trial'
        )
        log.warning('%s', self.warning)
