"""
Comparisons of an experiment with its paper, and the verdict computed from each.

A verdict *agrees* if our number lies within bounds that come from the paper: the resolution of a
printed number, or the width of a line in a figure. Otherwise it *differs*. It is *not comparable*
if the paper prints no number or the run is too short.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import inf, isfinite, isnan

AGREES, DIFFERS, NOT_COMPARABLE = 'agrees', 'differs', 'not comparable'
LINE_FRACTION = 0.01  # width of a line over the height of its axes: 1 pt on 100 pt
LINE_WIDTH = 'line width, 1 % of the axis'


@dataclass(frozen=True)
class PaperComparison:
    """A number or claim of a paper, and the corresponding result of this package."""

    what: str  # compared quantity
    place: str  # in the paper: figure, equation, table or section
    paper: float | str  # number in the paper, or its claim in words
    ours: float | None  # our result; None: not comparable
    unit: str = ''
    lower: float = -inf  # smallest value of `ours` that agrees
    upper: float = inf  # largest value of `ours` that agrees
    tolerance: str = ''  # source of the bounds
    reason: str = ''  # why it differs, if known, or is not comparable

    @property
    def verdict(self) -> str:
        """One of AGREES, DIFFERS and NOT_COMPARABLE."""
        if self.ours is None or isnan(self.ours):
            return NOT_COMPARABLE
        return AGREES if self.lower <= self.ours <= self.upper else DIFFERS

    @property
    def shown_reason(self) -> str:
        """The reason, empty if the comparison agrees."""
        return '' if self.verdict == AGREES else self.reason


def check_number(
    what: str,
    place: str,
    paper: float,
    ours: float,
    unit: str,
    resolution: float,
    tolerance: str = 'print resolution',
    reason: str = '',
) -> PaperComparison:
    """
    Return the PaperComparison with a printed number.

    :param resolution: largest difference from `paper` that agrees; `tolerance` names its source.
    :param reason: why our number differs, if it does.
    """
    return PaperComparison(
        what,
        place,
        paper,
        float(ours),
        unit,
        paper - resolution,
        paper + resolution,
        tolerance,
        reason,
    )


def check_claim(
    what: str,
    place: str,
    paper: str,
    ours: float,
    unit: str,
    tolerance: str,
    lower: float = -inf,
    upper: float = inf,
    reason: str = '',
) -> PaperComparison:
    """Return the comparison with a claim in words, which holds if `ours` is within the bounds."""
    return PaperComparison(what, place, paper, float(ours), unit, lower, upper, tolerance, reason)


def check_curves(
    what: str, place: str, error: float, reason: str = '', paper: str = 'curves coincide'
) -> PaperComparison:
    """Return the PaperComparison of two curves; error: largest difference over the range shown."""
    return check_claim(
        what,
        place,
        paper,
        100.0 * error,
        '% of range',
        LINE_WIDTH,
        upper=100.0 * LINE_FRACTION,
        reason=reason,
    )


def not_comparable(
    what: str, place: str, paper: float | str, reason: str, unit: str = ''
) -> PaperComparison:
    """Return a comparison without verdict; reason: why the paper or the run does not decide it."""
    return PaperComparison(what, place, paper, None, unit, reason=reason)


def require_duration(
    min_seconds: float, seconds: float, rows: Iterable[PaperComparison]
) -> tuple[PaperComparison, ...]:
    """Return the rows, without verdict if `seconds` of the run are fewer than `min_seconds`."""
    if seconds >= min_seconds - 1e-9:
        return tuple(rows)
    return tuple(
        replace(row, ours=None, reason=f'needs --seconds {min_seconds:g} or more') for row in rows
    )


def as_dict(row: PaperComparison) -> dict[str, float | str | None]:
    """Return a PaperComparison as a dict of JSON types; infinite bounds become None."""
    ours = row.ours if row.ours is not None and isfinite(row.ours) else None
    return {
        'what': row.what,
        'place': row.place,
        'paper': row.paper,
        'ours': ours,
        'unit': row.unit,
        'lower': row.lower if isfinite(row.lower) else None,
        'upper': row.upper if isfinite(row.upper) else None,
        'tolerance': row.tolerance,
        'verdict': row.verdict,
        'reason': row.shown_reason,
    }
