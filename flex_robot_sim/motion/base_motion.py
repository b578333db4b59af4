"""Motions of a moved base: splines through sampled poses, and functions of time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.description.base_motion import SAMPLES_REMEDY, coarse_sample
from flex_robot_sim.dynamics.moved_base import COLUMNS, RATE, TWIST
from flex_robot_sim.model.arguments import array_or_nan
from flex_robot_sim.motion.base_spline import set_spline_samples, vector_of_product
from flex_robot_sim.spatial.turns import are_unit, continuous_signs, rotation
from flex_robot_sim.util.exceptions import SettingError, shortened

BaseMotion: TypeAlias = 'Callable[[float], Any] | tuple[ArrayLike, ArrayLike] | SampledBaseMotion'
"""A function of time [s], or times and poses (k, 7), or a motion made from these."""

DIFFERENCE_S = 2e-4  # between the poses of a function whose differences give twist and rate [s]
MAX_TRAVEL_ERROR = 0.1  # of the poses of a function, over the travel between them
JUMP_TOLERANCE = 1e-6  # of these poses                                          [m, rad]
REST_SHARE = 2e-2  # of the largest speed: below it a motion ends at rest
_CENTRAL = np.array([1.0, -8.0, 0.0, 8.0, -1.0]) / (12.0 * DIFFERENCE_S)
_SECOND = np.array([-1.0, 16.0, -30.0, 16.0, -1.0]) / (12.0 * DIFFERENCE_S**2)


class StandingBase:
    """A base that stands still."""

    end = np.inf  # of the motion [s]

    def __init__(self, pose: np.ndarray) -> None:
        """Stand at a pose (7,)."""
        self.pose = pose

    def samples(self, times: np.ndarray) -> np.ndarray:
        """Samples (k, 19) at times (k,) [s], see `dynamics.moved_base.place_base`."""
        return np.tile(np.append(self.pose, np.zeros(12)), (len(times), 1))


class SampledBaseMotion:
    """
    A motion through sampled poses, smooth up to its acceleration; at rest beyond both ends.

    Cubic splines join the positions and the quaternions, see `base_spline.set_spline_samples`.
    """

    def __init__(self, times: np.ndarray, poses: np.ndarray) -> None:
        """Join poses (k, 7) at ascending times (k,) [s]."""
        from scipy.interpolate import CubicSpline  # imported late: rarely needed

        self.times, self.poses = times, poses
        self._join(CubicSpline(times, with_continuous_signs(poses)))
        twists = self.samples(self._tables[0])[:, TWIST:RATE].reshape(len(times), 2, 3)
        speeds = np.linalg.norm(twists, axis=2)
        ends_in_motion = (speeds[-1] > REST_SHARE * speeds.max(axis=0)).any()
        self.end = float(times[-1]) if ends_in_motion else np.inf

    def __reduce__(self):
        return type(self), (self.times, self.poses)

    def samples(self, times: np.ndarray) -> np.ndarray:
        """Samples (k, 19) at times (k,) [s], see `dynamics.moved_base.place_base`."""
        out = np.empty((len(times), COLUMNS))
        set_spline_samples(times, *self._tables, np.empty((3, TWIST)), out)
        return out

    def _join(self, spline):
        """Store knots and polynomials of a spline of SciPy."""
        self._tables = np.array(spline.x), np.array(spline.c, order='C')


class FunctionBaseMotion:
    """A function of time with checks of its values."""

    end = np.inf  # of the motion [s]

    def __init__(self, function: Callable[[float], Any]) -> None:
        """Store a function from time [s] to a pose, or to pose, twist and rate of the twist."""
        self._function = function

    def samples(self, times: np.ndarray) -> np.ndarray:
        """Samples (k, 19) at times (k,) [s], see `dynamics.moved_base.place_base`."""
        return np.array([self._sample(float(time)) for time in times])

    def _sample(self, time):
        parts = self._parts(time)
        if len(parts) == 3:
            return np.concatenate(parts)
        poses = [self._parts(time + k * DIFFERENCE_S)[0] if k else parts[0] for k in range(-2, 3)]
        sample, jump = sample_of_differences(with_continuous_signs(np.array(poses)))
        if jump > JUMP_TOLERANCE:
            raise SettingError(
                f'the motion of the base jumps by about {jump:.2g} m or rad at {time:.6g} s: give '
                'a smooth one, or its twist and rate, too'
            )
        return sample

    def _parts(self, time):
        """Return pose (7,), or pose, twist (6,) and its rate (6,)."""
        value = self._function(time)
        parts = [array_or_nan(value)]
        if parts[0].shape != (7,):
            try:
                parts = [array_or_nan(part) for part in value]
            except TypeError:
                parts = []
        if (
            [part.shape for part in parts] not in ([(7,)], [(7,), (6,), (6,)])
            or not all(np.isfinite(part).all() for part in parts)
            or not are_unit(parts[0][3:])
        ):
            raise SettingError(
                f'the motion of the base at {time:.6g} s must be a finite pose (7,): x y z [m] '
                'and unit quaternion x y z w; or such a pose, twist (6,) and its rate (6,)'
            )
        return parts


def as_base_motion(motion: BaseMotion) -> SampledBaseMotion | FunctionBaseMotion:
    """Return a motion of a base from a function, or from times and poses (k, 7)."""
    if isinstance(motion, SampledBaseMotion):
        return motion
    if callable(motion):
        return FunctionBaseMotion(motion)
    try:
        times, poses = (np.array(values, float) for values in motion)
        fault = _fault_of_samples(times, poses)
    except (TypeError, ValueError):
        fault = f'not {shortened(repr(motion), 60)}'
    if fault:
        raise SettingError(
            'the motion of the base must be a function of time, or a pair of arrays: times that '
            f'rise (k,) [s], and poses (k, 7), x y z [m] and unit quaternion x y z w; {fault}'
        )
    coarse = coarse_sample(times, with_continuous_signs(poses))
    if coarse is not None:
        raise SettingError(f'samples of the motion of the base: {coarse[1]}. {SAMPLES_REMEDY}')
    return SampledBaseMotion(times, poses)


def _fault_of_samples(times, poses):
    """Return what is wrong with times and poses of a base, '' if they are valid."""
    if times.ndim != 1 or times.size < 2 or poses.shape != (times.size, 7):
        return f'not arrays of the shapes {times.shape} and {poses.shape}'
    finite = np.isfinite(times) & np.isfinite(poses).all(axis=1)
    if not finite.all():
        return f'row {int(np.argmin(finite))} is not finite'
    rises = np.diff(times) > 0
    if not rises.all():
        row = int(np.argmin(rises)) + 1
        return f'the time {times[row]:g} s of row {row} is not after {times[row - 1]:g} s'
    return '' if are_unit(poses[:, 3:]) else 'a quaternion has another length than 1'


def sample_of_differences(poses: np.ndarray) -> tuple[np.ndarray, float]:
    """
    Return the sample (19,) at the middle of five poses (5, 7), DIFFERENCE_S apart.

    The number is the distance [m, rad] between the poses and a curve with this twist, or zero if
    that is small compared with the travel.
    """
    middle, R = poses[2], rotation(poses[2, 3:] / np.linalg.norm(poses[2, 3:]))
    # half the rotation vectors from the middle
    sine = np.array([vector_of_product(middle, pose) for pose in poses])
    size = np.linalg.norm(sine, axis=1, keepdims=True)
    half = sine / np.sinc(np.arcsin(np.minimum(size, 1.0)) / np.pi)
    omega, alpha = 2.0 * _CENTRAL @ half, 2.0 * _SECOND @ half
    offsets = poses[:, :3] - middle[:3]
    v = R.T @ (_CENTRAL @ offsets)
    dv = R.T @ (_SECOND @ offsets) - np.cross(omega, v)
    # travel between the outer poses, of a smooth motion about 4 DIFFERENCE_S times the rates
    travel = np.concatenate([2.0 * (half[-1] - half[0]), R.T @ (offsets[-1] - offsets[0])])
    expected = 4.0 * DIFFERENCE_S * np.concatenate([omega, v])
    error = float(abs(travel - expected).max())
    is_smooth = error < MAX_TRAVEL_ERROR * abs(expected).max()
    return np.concatenate([middle, omega, v, alpha, dv]), 0.0 if is_smooth else error


def with_continuous_signs(poses: np.ndarray) -> np.ndarray:
    """Return poses (k, 7) with unit quaternions of which each has the sign nearest to the last."""
    out = poses.copy()
    out[:, 3:] /= np.linalg.norm(out[:, 3:], axis=1, keepdims=True)
    out[:, 3:] *= continuous_signs(out[:, 3:])
    return out
