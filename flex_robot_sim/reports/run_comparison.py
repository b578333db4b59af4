"""Comparison of two recorded runs: aligned time series and their differences."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from flex_robot_sim.reports.charts import Plot
from flex_robot_sim.reports.numbers import MILLI, error_of, format_value
from flex_robot_sim.reports.recorded_run import RecordedRun
from flex_robot_sim.reports.series import decimate, max_abs, rms, to_json_value
from flex_robot_sim.reports.tip_vibration import mean_residual_amplitude
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.plots import Chart, Curve
from flex_robot_sim.util.summary import summarized

MOTION_START_RATIO = 0.01  # change over range at which the motion of a signal starts
MIN_MOTION_RANGE = 1e-4  # a signal with a smaller range does not move               [rad, m]
LEAD_TIME_S = 0.5  # shown before the motion starts                               [s]
SAMPLE_COUNT = 4000  # points of the common time grid


class RunQuantity(NamedTuple):
    """A quantity recorded in both runs, on the common time grid."""

    name: str
    kind: str  # position, error, effort, tip
    unit: str
    first: np.ndarray  # (k,)
    second: np.ndarray  # (k,)

    @property
    def difference(self) -> np.ndarray:
        """Second minus first, (k,)."""
        return self.second - self.first


@summarized
class RunComparison(NamedTuple):
    """Two runs on one time grid."""

    names: tuple[str, str]
    motion_starts: tuple[float, float]  # each in the time of its run                [s]
    start_signals: tuple[str, str]  # signal in which the start was detected
    time: np.ndarray  # (k,) since the motion started              [s]
    quantities: list[RunQuantity]
    residual_amplitudes: dict[str, tuple[float, float]]  # of tips, at rest       [m]


def compare(first: RecordedRun, second: RecordedRun) -> RunComparison:
    """Return the RunComparison; UsageError if the runs have no time or no joint in common."""
    runs = first, second
    (start_a, signal_a), (start_b, signal_b) = map(motion_start, runs)
    earliest = max(-start_a, -start_b, -LEAD_TIME_S)
    latest = min(first.seconds - start_a, second.seconds - start_b)
    if not latest > earliest:
        raise UsageError(
            'the two recordings have no time in common: one ends before the motion '
            'of the other begins.'
        )
    time = np.linspace(earliest, latest, SAMPLE_COUNT)
    quantities = [
        RunQuantity(
            name,
            kind,
            unit,
            *(
                np.interp(time + start, times, values, np.nan, np.nan)
                for start, (times, values) in ((start_a, a), (start_b, b))
            ),
        )
        for name, kind, unit, a, b in _pairs(first, second)
    ]
    if not quantities:
        raise UsageError(
            f'the two recordings have no joint in common: {", ".join(first.position.names)} and '
            f'{", ".join(second.position.names)}.'
        )
    residual_amplitudes = {
        link: (mean_residual_amplitude(first, link), mean_residual_amplitude(second, link))
        for link in first.tips
        if link in second.tips
    }
    return RunComparison(
        _names(runs),
        (start_a, start_b),
        (signal_a, signal_b),
        time,
        quantities,
        residual_amplitudes,
    )


def motion_start(run: RecordedRun) -> tuple[float, str]:
    """Return when the target or the joints first move [s], and the name of that signal."""
    for series, signal in ((run.target, 'target'), (run.position, 'joints')):
        if len(series.time) < 2:
            continue
        span = np.ptp(series.values, axis=0)
        if span.max() < MIN_MOTION_RANGE:
            continue
        has_moved = np.abs(series.values - series.values[0]) > np.maximum(
            MOTION_START_RATIO * span.max(), MIN_MOTION_RANGE
        )
        return float(series.time[np.flatnonzero(has_moved.any(axis=1))[0]]), signal
    return 0.0, 'beginning'


def _pairs(first: RecordedRun, second: RecordedRun) -> Iterator[tuple]:
    """Yield (name, kind, unit, (times, values) of the first, and of the second)."""
    joint_quantities: tuple[tuple[str, Callable], ...] = (
        ('position', lambda run, name: (run.position.time, run.position.column(name))),
        ('error', error_of),
        (
            'effort',
            lambda run, name: (
                (run.effort.time, run.effort.column(name))
                if name in run.effort.names
                else (np.zeros(0), np.zeros(0))
            ),
        ),
    )
    for kind, extract in joint_quantities:
        for name in first.position.names:
            if name in second.position.names:
                unit = first.unit(name)
                unit = {'rad': 'N m', 'm': 'N'}[unit] if kind == 'effort' else unit
                a, b = extract(first, name), extract(second, name)
                if len(a[0]) > 1 and len(b[0]) > 1:
                    yield name, kind, unit, a, b
    for link, tip in first.tips.items():
        second_tip = second.tips.get(link)
        if second_tip is not None and len(second_tip.time) > 1:
            for axis in 'yz':
                yield (
                    f'{link}, {axis}',
                    'tip',
                    'm',
                    (tip.time, tip.column(axis)),
                    (second_tip.time, second_tip.column(axis)),
                )


def _names(runs):
    """File stems, or full paths if both stems are equal."""
    names = tuple(run.path.stem for run in runs)
    return names if names[0] != names[1] else tuple(str(run.path) for run in runs)


KIND_TITLES = {
    'position': 'position',
    'error': 'tracking error',
    'effort': 'effort',
    'tip': 'deflection of the tip',
}


def plots_of(comparison: RunComparison) -> list[Plot]:
    """Return a Plot per quantity: both runs, and their difference."""
    plots = []
    for index, item in enumerate(comparison.quantities):
        factor, unit = (MILLI, 'mm') if item.kind == 'tip' else (1.0, item.unit)
        curves = [
            Curve(label, *decimate(comparison.time, factor * values), colour, dashes=dashes)
            for label, values, colour, dashes in (
                (comparison.names[0], item.first, 0, 0),
                (comparison.names[1], item.second, 1, 0),
                ('difference', item.difference, 5, 2),
            )
        ]
        plots.append(
            Plot(
                f'{item.kind}_{index}',
                Chart(
                    f'{item.name}: {KIND_TITLES[item.kind]}',
                    'time since the motion began [s]',
                    f'{KIND_TITLES[item.kind]} [{unit}]',
                    tuple(curves),
                ),
            )
        )
    return plots


def numbers_of(comparison: RunComparison) -> dict[str, Any]:
    """Return the results as a dictionary for JSON."""

    def row(item):
        difference_rms = rms(item.difference)
        span = float(np.nanmax(item.first) - np.nanmin(item.first))
        return {
            'unit': item.unit,
            'largest': [max_abs(item.first), max_abs(item.second)],
            'rms': [rms(item.first), rms(item.second)],
            'range': span,
            'difference_rms': difference_rms,
            'difference_largest': max_abs(item.difference),
            'difference_percent': 100 * difference_rms / span if span > 1e-12 else None,
        }

    kinds: dict[str, dict[str, Any]] = {}
    for item in comparison.quantities:
        kinds.setdefault(item.kind, {})[item.name] = row(item)
    return to_json_value(
        {
            'recordings': list(comparison.names),
            'motion_starts': list(comparison.motion_starts),
            'start_signals': list(comparison.start_signals),
            'seconds': float(comparison.time[-1] - comparison.time[0]),
            **kinds,
            'residual_vibration': {
                link: {
                    'amplitudes': list(amplitudes),
                    'ratio': amplitudes[1] / amplitudes[0] if amplitudes[0] else None,
                }
                for link, amplitudes in comparison.residual_amplitudes.items()
            },
        }
    )


def tables_of(numbers: Mapping[str, Any]) -> list[tuple[str, list[str], list[list[str]]]]:
    """Return the results as text tables: (title, heading, rows)."""
    a, b = numbers['recordings']
    tables = []
    for kind, title in KIND_TITLES.items():
        factor, unit = (MILLI, 'mm') if kind == 'tip' else (1.0, '')
        rows = [
            [
                name,
                *(
                    format_value(value, unit or row['unit'], factor)
                    for value in (
                        *row['largest'],
                        row['difference_rms'],
                        row['difference_largest'],
                    )
                ),
                format_value(row['difference_percent'], '%'),
            ]
            for name, row in numbers.get(kind, {}).items()
        ]
        tables.append(
            (
                title.capitalize(),
                [
                    '',
                    f'largest, {a}',
                    f'largest, {b}',
                    'difference, rms',
                    'largest',
                    'rms of the range',
                ],
                rows,
            )
        )
    residual_rows = [
        [
            link,
            *(format_value(value, 'mm', MILLI) for value in row['amplitudes']),
            format_value(row['ratio']),
        ]
        for link, row in numbers['residual_vibration'].items()
        if any(value is not None for value in row['amplitudes'])
    ]
    return [
        *tables,
        ('Residual vibration of the tips', ['', a, b, 'second over first'], residual_rows),
    ]
