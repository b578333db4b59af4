"""
Comparisons of an experiment with its paper, as data, and the verdict that follows from them.

A verdict is computed: it *agrees* where our number lies within bounds that come from the paper
(the resolution of a printed number, the width of a line in a figure), and else *differs*. What a
run or a paper does not decide is *not comparable*.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import inf, isfinite, isnan

AGREES, DIFFERS, NOT_COMPARABLE = 'agrees', 'differs', 'not comparable'
LINE = 0.01             # width of a line over the height of its axes: 1 pt on 100 pt
LINE_WIDTH = 'line width, 1 % of the axis'


@dataclass(frozen=True)
class Comparison:
    """One number or claim of a paper next to ours."""

    what: str
    place: str                  # in the paper: figure, equation, table or section
    paper: float | str          # its number, or its claim in words
    ours: float | None          # None: not comparable
    unit: str = ''
    lower: float = -inf         # least value of ours that agrees
    upper: float = inf          # largest value of ours that agrees
    tolerance: str = ''         # where the bounds come from
    reason: str = ''            # why it differs, where that is known, or is not comparable

    @property
    def verdict(self) -> str:
        """One of AGREES, DIFFERS and NOT_COMPARABLE."""
        if self.ours is None or isnan(self.ours):
            return NOT_COMPARABLE
        return AGREES if self.lower <= self.ours <= self.upper else DIFFERS

    @property
    def why(self) -> str:
        """The reason, where the verdict asks for one."""
        return '' if self.verdict == AGREES else self.reason


def number(what: str, place: str, paper: float, ours: float, unit: str, resolution: float,
           tolerance: str = 'print resolution', reason: str = '') -> Comparison:
    """
    Return the Comparison with a printed number.

    :param resolution: largest difference from `paper` that agrees; `tolerance` says why.
    :param reason: why it differs, if it does.
    """
    return Comparison(what, place, paper, float(ours), unit, paper - resolution,
                      paper + resolution, tolerance, reason)


def claim(what: str, place: str, paper: str, ours: float, unit: str, tolerance: str,
          lower: float = -inf, upper: float = inf, reason: str = '') -> Comparison:
    """Return the Comparison with a claim in words, which holds within bounds of our number."""
    return Comparison(what, place, paper, float(ours), unit, lower, upper, tolerance, reason)


def same_curve(what: str, place: str, share: float, reason: str = '',
               paper: str = 'curves coincide') -> Comparison:
    """Return the Comparison of two curves; share: largest difference over the range shown."""
    return claim(what, place, paper, 100.0 * share, '% of range', LINE_WIDTH, upper=100.0 * LINE,
                 reason=reason)


def not_comparable(what: str, place: str, paper: float | str, reason: str,
                   unit: str = '') -> Comparison:
    """Return the Comparison with what the paper or the run does not decide."""
    return Comparison(what, place, paper, None, unit, reason=reason)


def needing(least: float, seconds: float, rows: Iterable[Comparison]) -> tuple[Comparison, ...]:
    """Return Comparisons, without verdict if the run of `seconds` is shorter than `least` [s]."""
    if seconds >= least - 1e-9:
        return tuple(rows)
    return tuple(replace(row, ours=None, reason=f'needs --seconds {least:g} or more')
                 for row in rows)


def as_dict(row: Comparison) -> dict[str, float | str | None]:
    """Return a Comparison as JSON may hold it."""
    ours = row.ours if row.ours is not None and isfinite(row.ours) else None
    return {'what': row.what, 'place': row.place, 'paper': row.paper, 'ours': ours,
            'unit': row.unit, 'lower': row.lower if isfinite(row.lower) else None,
            'upper': row.upper if isfinite(row.upper) else None, 'tolerance': row.tolerance,
            'verdict': row.verdict, 'reason': row.why}
