"""Two recorded runs, one over the other, and how far they are apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from flex_robot_sim.reports.charts import Plot
from flex_robot_sim.reports.numbers import MILLI, error_of, written
from flex_robot_sim.reports.ringing import swing_after
from flex_robot_sim.reports.series import largest, plain, rms, thinned
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.plots import Chart, Curve
from flex_robot_sim.util.summary import summarized

if TYPE_CHECKING:
    from flex_robot_sim.reports.recorded_run import RecordedRun

BEGUN = 0.01                # share of its way after which a motion has begun
STILL = 1e-4                # way that is none                                       [rad, m]
BEFORE = 0.5                # of the beginning of a motion that is shown              [s]
STEPS = 4000                # at which both are compared


class Quantity(NamedTuple):
    """One thing that both have recorded, on a time that begins with the motion."""

    name: str
    kind: str               # position, error, effort, tip
    unit: str
    first: np.ndarray       # (k,)
    second: np.ndarray      # (k,)

    @property
    def difference(self) -> np.ndarray:
        """Second less first, (k,)."""
        return self.second - self.first


@summarized
class Comparison(NamedTuple):
    """Two runs on one time."""

    names: tuple[str, str]
    begins: tuple[float, float]     # of their motions, in their own times           [s]
    how: tuple[str, str]            # what that was seen by
    time: np.ndarray                # (k,) since the motion began                    [s]
    quantities: list[Quantity]
    swings: dict[str, tuple[float, float]]      # of tips in rests after motions     [m]


def compare(first: RecordedRun, second: RecordedRun) -> Comparison:
    """Return the Comparison; UsageError where the two have nothing in common."""
    runs = first, second
    (begin_a, how_a), (begin_b, how_b) = map(motion_start, runs)
    earliest = max(-begin_a, -begin_b, -BEFORE)
    latest = min(first.seconds - begin_a, second.seconds - begin_b)
    if not latest > earliest:
        raise UsageError('the two recordings have no time in common: one ends before the motion '
                         'of the other begins.')
    time = np.linspace(earliest, latest, STEPS)
    quantities = [Quantity(name, kind, unit, *(
        np.interp(time + begin, times, values, np.nan, np.nan)
        for begin, (times, values) in ((begin_a, a), (begin_b, b))))
        for name, kind, unit, a, b in _pairs(first, second)]
    if not quantities:
        raise UsageError(f'the two recordings have no joint in common: '
                         f'{", ".join(first.position.names)} and '
                         f'{", ".join(second.position.names)}.')
    swings = {link: (swing_after(first, link), swing_after(second, link))
              for link in first.tips if link in second.tips}
    return Comparison(_names(runs), (begin_a, begin_b), (how_a, how_b), time, quantities, swings)


def motion_start(run: RecordedRun) -> tuple[float, str]:
    """When the arm is first told to move, or moves [s], and what tells it."""
    for series, what in ((run.target, 'target'), (run.position, 'joints')):
        if len(series.time) < 2:
            continue
        span = np.ptp(series.values, axis=0)
        if span.max() < STILL:
            continue
        left = np.abs(series.values - series.values[0]) > np.maximum(BEGUN * span.max(), STILL)
        return float(series.time[np.flatnonzero(left.any(axis=1))[0]]), what
    return 0.0, 'beginning'


def _pairs(first: RecordedRun, second: RecordedRun) -> Iterator[tuple]:
    """Yield (name, kind, unit, (times, values) of the first, and of the second)."""
    of_joints: tuple[tuple[str, Callable], ...] = (
        ('position', lambda run, name: (run.position.time, run.position.column(name))),
        ('error', error_of),
        ('effort', lambda run, name: (run.effort.time, run.effort.column(name))
         if name in run.effort.names else (np.zeros(0), np.zeros(0))))
    for kind, of in of_joints:
        for name in first.position.names:
            if name in second.position.names:
                unit = first.unit(name)
                unit = {'rad': 'N m', 'm': 'N'}[unit] if kind == 'effort' else unit
                a, b = of(first, name), of(second, name)
                if len(a[0]) > 1 and len(b[0]) > 1:
                    yield name, kind, unit, a, b
    for link, tip in first.tips.items():
        other = second.tips.get(link)
        if other is not None and len(other.time) > 1:
            for axis in 'yz':
                yield (f'{link}, {axis}', 'tip', 'm', (tip.time, tip.column(axis)),
                       (other.time, other.column(axis)))


def _names(runs):
    """Names of files, or their paths where these are alike."""
    names = tuple(run.path.stem for run in runs)
    return names if names[0] != names[1] else tuple(str(run.path) for run in runs)


TITLES = {'position': 'position', 'error': 'tracking error', 'effort': 'effort',
          'tip': 'deflection of the tip'}


def plots_of(comparison: Comparison) -> list[Plot]:
    """Return a Plot per quantity: both runs, and their difference."""
    found = []
    for number, item in enumerate(comparison.quantities):
        factor, unit = (MILLI, 'mm') if item.kind == 'tip' else (1.0, item.unit)
        curves = [Curve(label, *thinned(comparison.time, factor * values), colour, dashes=dashes)
                  for label, values, colour, dashes in (
                      (comparison.names[0], item.first, 0, 0),
                      (comparison.names[1], item.second, 1, 0),
                      ('difference', item.difference, 5, 2))]
        found.append(Plot(f'{item.kind}_{number}', Chart(
            f'{item.name}: {TITLES[item.kind]}', 'time since the motion began [s]',
            f'{TITLES[item.kind]} [{unit}]', tuple(curves))))
    return found


def numbers_of(comparison: Comparison) -> dict[str, Any]:
    """Return the numbers as JSON may hold them."""
    def row(item):
        apart = rms(item.difference)
        span = float(np.nanmax(item.first) - np.nanmin(item.first))
        return {'unit': item.unit, 'largest': [largest(item.first), largest(item.second)],
                'rms': [rms(item.first), rms(item.second)], 'range': span,
                'difference_rms': apart, 'difference_largest': largest(item.difference),
                'difference_percent': 100 * apart / span if span > 1e-12 else None}
    kinds: dict[str, dict[str, Any]] = {}
    for item in comparison.quantities:
        kinds.setdefault(item.kind, {})[item.name] = row(item)
    return plain({  # type: ignore[return-value]
        'recordings': list(comparison.names), 'motion_begins': list(comparison.begins),
        'seen_by': list(comparison.how),
        'seconds': float(comparison.time[-1] - comparison.time[0]), **kinds,
        'swing_at_rest': {link: {'swings': list(pair),
                                 'ratio': pair[1] / pair[0] if pair[0] else None}
                          for link, pair in comparison.swings.items()}})


def tables_of(numbers: Mapping[str, Any]) -> list[tuple[str, list[str], list[list[str]]]]:
    """Return (title, heading, rows) of numbers, written for people."""
    a, b = numbers['recordings']
    tables = []
    for kind, title in TITLES.items():
        factor, unit = (MILLI, 'mm') if kind == 'tip' else (1.0, '')
        rows = [[name, *(written(value, unit or row['unit'], factor) for value in (
            *row['largest'], row['difference_rms'], row['difference_largest'])),
            written(row['difference_percent'], '%')]
            for name, row in numbers.get(kind, {}).items()]
        tables.append((title.capitalize(), ['', f'largest, {a}', f'largest, {b}',
                                            'difference, rms', 'largest', 'rms of the range'],
                       rows))
    swings = [[link, *(written(value, 'mm', MILLI) for value in row['swings']),
               written(row['ratio'])] for link, row in numbers['swing_at_rest'].items()
              if any(value is not None for value in row['swings'])]
    return [*tables, ('Swing of the tips at rest', ['', a, b, 'second over first'], swings)]
