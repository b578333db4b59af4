"""Parameters of the board, one line each: 32-bit integers, lost at a reset."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class ParameterText(NamedTuple):
    """A parameter: name, value after boot, bounds and meaning."""

    name: str
    unit: str
    default: int
    least: int
    most: int
    meaning: str


NO_LIMIT = 2**30  # beyond the counts of any bench


class Parameter(IntEnum):
    """Numbered from zero in this order; each with unit, value after boot, bounds and meaning."""

    _value_: int
    text: ParameterText

    def __new__(cls, unit: str, default: int, least: int, most: int, meaning: str) -> Parameter:
        """Make a member whose value is its number."""
        member = int.__new__(cls, len(cls.__members__))
        member._value_ = int(member)
        member.text = ParameterText('', unit, default, least, most, meaning)
        return member

    # fmt: off
    DUTY_MAX = '1e-4', 10_000, 0, 10_000, 'largest accepted duty'
    STEP_RATE_MAX = 'steps/s', 6400, 0, 50_000, 'largest accepted step rate'
    STEP_ACCELERATION = 'steps/s2', 32_000, 100, 1_000_000, 'slope of the ramp of the step rate'
    SLIDE_SOFT_LOWER = 'counts', 1500, -NO_LIMIT, NO_LIMIT, 'lower soft limit of a homed joint'
    SLIDE_SOFT_UPPER = 'counts', 88_500, -NO_LIMIT, NO_LIMIT, 'upper soft limit of a homed joint'
    TURN_SOFT_LOWER = 'counts', -535, -NO_LIMIT, NO_LIMIT, 'lower soft limit of a homed joint'
    TURN_SOFT_UPPER = 'counts', 535, -NO_LIMIT, NO_LIMIT, 'upper soft limit of a homed joint'
    SLIDE_HOME_COUNTS = 'counts', 600, -NO_LIMIT, NO_LIMIT, 'counts where the lower switch opens'
    TURN_HOME_COUNTS = 'counts', -573, -NO_LIMIT, NO_LIMIT, 'counts where the lower switch opens'
    HOME_DUTY = '1e-4', 3000, 0, 10_000, 'duty during the homing of the slide'
    HOME_RATE = 'steps/s', 320, 0, 50_000, 'step rate during the homing of the turn'
    HOME_TIMEOUT = 'ms', 60_000, 100, 600_000, 'timeout of a homing'
    SLIDE_REVERSED = '', 0, 0, 1, '1: positive duty decreases the encoder'
    TURN_REVERSED = '', 0, 0, 1, '1: a positive step rate decreases the encoder'
    SWITCHES_FITTED = 'bits', 15, 0, 15, 'installed limit switches, bits as in Input'
    ENCODER_JUMP = 'counts', 200, 10, 10_000, 'largest change of a count in a control step'
    LOST_STEPS = 'counts', 32, 1, 100_000, 'largest difference of encoder and steps of the turn'
    STALL_DUTY = '1e-4', 4000, 0, 10_000, 'duty from which the slide must move'
    STALL_COUNTS = 'counts', 5, 1, 10_000, 'smallest motion of the slide'
    STALL_TIME = 'ms', 300, 10, 10_000, 'time for this motion'
    CURRENT_MAX = 'mA', 2500, 0, 30_000, 'largest current of the DC motor'
    CURRENT_TIME = 'ms', 50, 1, 10_000, 'time for which it may be exceeded'
    ADC_LOW = 'counts', 655, 0, 65_535, 'lower rail: readings below it'
    ADC_HIGH = 'counts', 64_865, 0, 65_535, 'upper rail: readings above it'
    ADC_TIME = 'ms', 20, 1, 10_000, 'time at a rail before the fault latches'
    ADC_WATCH = 'bits', 3, 0, 3, 'monitored flex sensors: 1 root, 2 tip'
    # fmt: on


PARAMETERS = {parameter: parameter.text._replace(name=parameter.name) for parameter in Parameter}
