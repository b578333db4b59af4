"""Motions that drives are made to follow: functions of time, or recorded positions."""

from collections.abc import Callable, Iterable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.exceptions import SettingError

GivenMotion: TypeAlias = Callable[[float], Iterable[float]] | tuple[ArrayLike, ArrayLike]


def as_motion(joint: str, motion: GivenMotion,
              unit: str) -> Callable[[float], tuple[float, float]]:
    """
    Return a function from time [s] to (position, velocity) [rad, m, per s].

    :param motion: such a function, or times, rising, and positions: two arrays of one length.
    :param unit: of the joint, 'rad' or 'm'.
    """
    if callable(motion):
        return _checked_function(joint, motion, unit)
    try:
        times, positions = (np.asarray(values, float) for values in motion)
        good = (times.ndim == 1 and times.shape == positions.shape and times.size > 1
                and np.isfinite([times, positions]).all() and (np.diff(times) > 0).all())
    except (TypeError, ValueError):
        good = False
    if not good:
        raise SettingError(f'the motion of "{joint}" must be a function of time or a pair of '
                           f'arrays of one length: times that rise [s], positions [{unit}]')
    from scipy.interpolate import CubicSpline  # late: few need it

    # it begins and ends at rest, so that there is no jump where it is left
    spline = CubicSpline(times, positions, bc_type='clamped')
    rate = spline.derivative()

    def along(time):
        if not times[0] <= time <= times[-1]:
            return (positions[0] if time < times[0] else positions[-1]), 0.0
        return float(spline(time)), float(rate(time))

    return along


def _checked_function(joint, motion, unit):
    def along(time):
        try:
            position, velocity, *_ = map(float, motion(time))
        except (TypeError, ValueError):
            position = velocity = np.nan
        if not np.isfinite([position, velocity]).all():
            raise SettingError(f'the motion of "{joint}" at {time:.6g} s must be a finite '
                               f'position [{unit}] and velocity [{unit}/s]')
        return position, velocity

    return along
