"""Results of the search for resonances in a recording."""

from typing import NamedTuple


class Resonance(NamedTuple):
    """A mode, with standard deviations."""

    frequency: float  # natural                                                  [Hz]
    frequency_deviation: float
    ratio: float  # damping ratio
    ratio_deviation: float
    size: float  # amplitude, over that of the largest mode
    way: str  # 'decay', 'sweep' or 'spectrum'


class Drift(NamedTuple):
    """A frequency that changes during a recording, or two that a recording does not separate."""

    low: float  # least                                                             [Hz]
    high: float  # largest                                                          [Hz]
    may_be_two: bool = False
