"""Measurement of the sensors of an arm, as all sampled control laws take it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.model.arguments import array_or_nan, checked, expect_kind
from flex_robot_sim.util.exceptions import SettingError


class Measurement(NamedTuple):
    """
    Sample of the sensors of an arm: a simulation, a machine or any other plant.

    A law checks and uses only the fields that it needs: encoders, flex sensors or the whole state.

    Example::

        measured = frs.feedback.Measurement(0.0, position=[0.1], velocity=[0.0],
                                            curvature=[0.02, 0.01])
    """

    time: float  # [s]
    position: ArrayLike = ()  # (joints,)  of the encoders                           [rad, m]
    velocity: ArrayLike = ()  # (joints,)                                        [rad/s, m/s]
    curvature: ArrayLike = ()  # (k,)       of all flex sensors                          [1/m]
    q: ArrayLike = ()  # (nq,)      all coordinates, for state feedback       [rad, m]
    v: ArrayLike = ()  # (nv,)      their rates                           [rad/s, m/s]


def checked_field(measurement: Measurement, field: str, names: Sequence[str]) -> np.ndarray:
    """Return a field of a Measurement as an array of one finite number per name."""
    _expect_measurement(measurement)
    return checked(field, getattr(measurement, field), names)


def checked_curvature(measurement: Measurement, count: int) -> np.ndarray:
    """Return the curvatures (k,) of a Measurement, of `count` flex sensors."""
    _expect_measurement(measurement)
    curvature = array_or_nan(measurement.curvature)
    if curvature.shape != (count,) or not np.isfinite(curvature).all():
        raise SettingError(f'curvature must be {count} finite numbers, one per flex sensor [1/m]')
    return curvature


def _expect_measurement(measurement):
    expect_kind('measurement', measurement, Measurement, 'a flex_robot_sim.feedback.Measurement')
