"""Column of the time, and its unit."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

UNITS = {
    's': ('s', 'sec', 'secs', 'second', 'seconds'),
    'ms': ('ms', 'msec', 'millisecond', 'milliseconds', 'millis'),
    'us': ('us', 'µs', 'μs', 'usec', 'microsecond', 'microseconds', 'micros'),
    'ns': ('ns', 'nsec', 'nanosecond', 'nanoseconds', 'nanos'),
}
FACTORS = {'s': 1.0, 'ms': 1e-3, 'us': 1e-6, 'ns': 1e-9}
# sampling periods without a unit, from the lower bound on, are in this unit
PERIODS = ((6e4, 'ns'), (60.0, 'us'), (0.2, 'ms'))
MIN_ROWS = 16  # that determine the unit
CLOCK_NAMES = 'time', 't', 'stamp', 'timestamp', 'time_stamp', 'elapsed', 'clock'
_WORDS = {word: unit for unit, words in UNITS.items() for word in words}
_CLOCK = re.compile(
    rf'_*(?P<name>{"|".join(CLOCK_NAMES)})'
    rf'(?:[\s_.-]*[\[(/_.\s-]\s*(?P<unit>{"|".join(map(re.escape, _WORDS))})\s*[\])]?)?'
)


def find_clock(names: Iterable[str]) -> str | None:
    """Return the name of the column of the time, or None."""
    found = {name: _CLOCK.fullmatch(name.strip().lower()) for name in names}
    ranked = [(CLOCK_NAMES.index(match['name']), name) for name, match in found.items() if match]
    return min(ranked, key=lambda pair: pair[0])[1] if ranked else None


def time_factor(path: str, clock: str, unit: str, times: np.ndarray, notes: list[str]) -> float:
    """
    Return the factor from times to seconds, and add a note unless it is 1.

    :param unit: of the units row, or ''.
    """
    match = _CLOCK.fullmatch(clock.strip().lower())
    named = _WORDS.get(unit.strip(' []()').lower()) or (
        _WORDS.get(match['unit'] or '') if match else None
    )
    period = _period(times)
    if named:
        if named != 's':
            notes.append(f'{path}: "{clock}" is in {named}')
        elif period >= PERIODS[-1][0]:
            notes.append(
                f'{path}: "{clock}" is in s by its name, with a period of {period:.4g} s; name it '
                'time_ms if it is in ms'
            )
        return FACTORS[named]
    for bound, name in PERIODS:
        if period >= bound:
            notes.append(
                f'{path}: "{clock}" is taken to be in {name}, as its period is {period:.4g}; '
                f'name it {clock}_s if it is in s'
            )
            return FACTORS[name]
    return 1.0


def _period(times):
    """Return the period of times in their unit; 0 if there are too few."""
    steps = np.diff(times)
    steps = steps[steps > 0.0]
    if len(times) < MIN_ROWS or not steps.size:
        return 0.0
    period = (times[-1] - times[0]) / (len(times) - 1)  # stamps may repeat
    median = float(np.median(steps))
    return period if np.isfinite(period) and 0.2 * median < period < 5 * median else median
