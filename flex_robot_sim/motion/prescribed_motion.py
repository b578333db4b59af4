"""Prescribed motions of drives: functions of time, or recorded positions."""

from collections.abc import Callable, Iterable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.util.exceptions import SettingError

PrescribedMotion: TypeAlias = Callable[[float], Iterable[float]] | tuple[ArrayLike, ArrayLike]


def as_motion(
    joint: str, motion: PrescribedMotion, unit: str
) -> Callable[[float], tuple[float, float]]:
    """
    Return a function from time [s] to (position, velocity) [rad, m, per s].

    :param motion: such a function, or times, rising, and positions: two arrays of one length.
    :param unit: of the joint, 'rad' or 'm'.
    """
    if callable(motion):
        return FunctionMotion(joint, motion, unit)
    try:
        times, positions = (np.array(values, float) for values in motion)
        is_valid = (
            times.ndim == 1
            and times.shape == positions.shape
            and times.size > 1
            and np.isfinite([times, positions]).all()
            and (np.diff(times) > 0).all()
        )
    except (TypeError, ValueError):
        is_valid = False
    if not is_valid:
        raise SettingError(
            f'the motion of "{joint}" must be a function of time or a pair of '
            f'arrays of one length: times that rise [s], positions [{unit}]'
        )
    return SplineMotion(times, positions)


class SplineMotion:
    """A cubic spline through positions, at rest at both ends and beyond them."""

    def __init__(self, times: np.ndarray, positions: np.ndarray) -> None:
        """Interpolate positions (k,) at ascending times (k,) [s]."""
        from scipy.interpolate import CubicSpline  # imported late: rarely needed

        self._times, self._positions = times, positions
        # clamped ends avoid a velocity jump at the start and at the end
        self._spline = CubicSpline(times, positions, bc_type='clamped')
        self._rate = self._spline.derivative()

    def __call__(self, time: float) -> tuple[float, float]:
        """Position and velocity at a time [s]."""
        times, positions = self._times, self._positions
        if not times[0] <= time <= times[-1]:
            return (positions[0] if time < times[0] else positions[-1]), 0.0
        return float(self._spline(time)), float(self._rate(time))

    def __reduce__(self):
        return type(self), (self._times, self._positions)


class FunctionMotion:
    """A function of time with checks of its values."""

    def __init__(self, joint: str, motion: Callable[[float], Iterable[float]], unit: str) -> None:
        """Store a function from time [s] to position and velocity; `joint` is for messages."""
        self._joint, self._motion, self._unit = joint, motion, unit

    def __call__(self, time: float) -> tuple[float, float]:
        """Position and velocity at a time [s]."""
        try:
            position, velocity, *_ = map(float, self._motion(time))
        except (TypeError, ValueError):
            position = velocity = np.nan
        if not np.isfinite([position, velocity]).all():
            raise SettingError(
                f'the motion of "{self._joint}" at {time:.6g} s must be a finite '
                f'position [{self._unit}] and velocity [{self._unit}/s]'
            )
        return position, velocity
