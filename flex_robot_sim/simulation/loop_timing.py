"""Timing of a control loop: sampling period, and delay of its efforts."""

import math
from typing import NamedTuple

from flex_robot_sim.model.arguments import number_or_nan
from flex_robot_sim.util.exceptions import SettingError, shortened

STEP_TOLERANCE = 1e-6  # deviation from whole time steps, over a step


class LoopTiming(NamedTuple):
    """Period and delay of a control loop."""

    period: float = 1e-3  # between two samples; 0: continuous, where that is allowed  [s]
    delay: float = 1e-3  # from a sample to the resulting effort                     [s]


def one_period_late(period: float) -> LoopTiming:
    """Return the timing of efforts that arrive when the next sample is taken."""
    return LoopTiming(period, period)


def checked_timing(loop: LoopTiming) -> LoopTiming:
    """Return a validated LoopTiming; SettingError if it is invalid."""
    period, delay = number_or_nan(loop.period), number_or_nan(loop.delay)
    if not 0.0 < period < math.inf:
        raise SettingError(
            f'the period of a loop = {shortened(repr(loop.period), 60)} must be > 0 and finite [s]'
        )
    if not 0.0 <= delay <= 1000 * period:
        raise SettingError(
            f'the delay of a loop = {shortened(repr(loop.delay), 60)} must be '
            f'>= 0 and at most 1000 of its periods of {period:g} s'
        )
    return LoopTiming(period, delay)


def whole_steps(name: str, seconds: float, time_step: float) -> int:
    """Return a checked time as a number of time steps, one at least [s]."""
    steps = number_or_nan(seconds) / time_step
    if not 0.5 < steps < math.inf or abs(steps - round(steps)) > STEP_TOLERANCE:
        raise SettingError(
            f'{name} = {shortened(repr(seconds), 60)} must be a whole number '
            f'of time steps of {time_step:g} s'
        )
    return round(steps)
