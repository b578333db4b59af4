"""Parameters of the board, one line each: 32-bit integers, not kept over a reset."""

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
    DUTY_MAX = '1e-4', 10_000, 0, 10_000, 'largest duty taken'
    STEP_RATE_MAX = 'steps/s', 6400, 0, 50_000, 'largest step rate taken'
    STEP_ACCELERATION = 'steps/s2', 32_000, 100, 1_000_000, 'of the ramp of the step rate'
    SLIDE_SOFT_LOWER = 'counts', 1500, -NO_LIMIT, NO_LIMIT, 'no motion below it once homed'
    SLIDE_SOFT_UPPER = 'counts', 88_500, -NO_LIMIT, NO_LIMIT, 'no motion above it once homed'
    TURN_SOFT_LOWER = 'counts', -535, -NO_LIMIT, NO_LIMIT, 'no motion below it once homed'
    TURN_SOFT_UPPER = 'counts', 535, -NO_LIMIT, NO_LIMIT, 'no motion above it once homed'
    SLIDE_HOME_COUNTS = 'counts', 600, -NO_LIMIT, NO_LIMIT, 'where its lower switch opens'
    TURN_HOME_COUNTS = 'counts', -573, -NO_LIMIT, NO_LIMIT, 'where its lower switch opens'
    HOME_DUTY = '1e-4', 3000, 0, 10_000, 'while the slide is homed'
    HOME_RATE = 'steps/s', 320, 0, 50_000, 'while the turn is homed'
    HOME_TIMEOUT = 'ms', 60_000, 100, 600_000, 'of the whole search'
    SLIDE_REVERSED = '', 0, 0, 1, '1: the encoder falls where duty is positive'
    TURN_REVERSED = '', 0, 0, 1, '1: the encoder falls where the step rate is positive'
    SWITCHES_FITTED = 'bits', 15, 0, 15, 'limit switches that exist, bits as in Input'
    ENCODER_JUMP = 'counts', 200, 10, 10_000, 'most that a count changes in a control step'
    LOST_STEPS = 'counts', 32, 1, 100_000, 'most between encoder and steps of the turn'
    STALL_DUTY = '1e-4', 4000, 0, 10_000, 'from which on the slide must move'
    STALL_COUNTS = 'counts', 5, 1, 10_000, 'that it must move'
    STALL_TIME = 'ms', 300, 10, 10_000, 'in which it must move'
    CURRENT_MAX = 'mA', 2500, 0, 30_000, 'of the DC motor'
    CURRENT_TIME = 'ms', 50, 1, 10_000, 'for which it may be exceeded'
    ADC_LOW = 'counts', 655, 0, 65_535, 'a reading below is at the rail'
    ADC_HIGH = 'counts', 64_865, 0, 65_535, 'a reading above is at the rail'
    ADC_TIME = 'ms', 20, 1, 10_000, 'at a rail before the fault latches'
    ADC_WATCH = 'bits', 3, 0, 3, 'flex sensors that are watched: 1 root, 2 tip'
    # fmt: on


PARAMETERS = {parameter: parameter.text._replace(name=parameter.name) for parameter in Parameter}
