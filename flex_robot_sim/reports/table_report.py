"""Report of a table, such as a CSV file: its times, gaps, and extremes of its columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from flex_robot_sim.recording.read import delimited
from flex_robot_sim.recording.read.columns import Recording
from flex_robot_sim.recording.read.reader import read_head, read_recording
from flex_robot_sim.reports.charts import TIME_LABEL, Plot
from flex_robot_sim.reports.numbers import format_value
from flex_robot_sim.reports.page import page
from flex_robot_sim.reports.run_report import Tables, format_tables
from flex_robot_sim.reports.series import decimate, to_json_value
from flex_robot_sim.util.plots import Chart, Curve

MIN_GAP_PERIODS = 2.5  # a longer step of the time is a gap
MAX_PLOTS = 24  # columns with a plot
MISSING = (
    'a table names no robot and no topics: the arm in motion, tracking errors, tips, energy and '
    'delays are left out; record MCAP for them'
)


class TableReport(NamedTuple):
    """Contents of the report of a table."""

    name: str
    numbers: dict[str, Any]
    plots: list[Plot]

    def page(self) -> str:
        """Return the HTML page."""
        line = _time_line(self.numbers)
        tables = tables_of(self.numbers)
        return page(self.name, [line], self.numbers['notes'], None, self.plots, tables, [])


def is_table(path: str | Path) -> bool:
    """Whether a file is text, and not named as MCAP."""
    path = Path(path)
    return path.suffix != '.mcap' and path.is_file() and delimited.sniff(path, read_head(path))


def make_table_report(path: str | Path) -> TableReport:
    """Return the TableReport of a text file; UsageError if it is no table."""
    recording = read_recording(path)
    numbers = to_json_value(
        {
            'recording': str(path),
            **_timing(recording),
            'columns': {name: _extremes(column) for name, column in recording.columns.items()},
            'notes': [*recording.notes, f'{path}: {MISSING}'],
        }
    )
    return TableReport(Path(path).name, numbers, [*_plots(recording)])


def _timing(recording: Recording) -> dict[str, Any]:
    """Return rows, duration, rate and gaps; only the rows if there is no time."""
    time = next((column.time for column in recording.columns.values()), np.zeros(0))
    if not recording.has_times or time.size < 2:
        return {'rows': time.size}
    steps = np.diff(time)
    period = float(np.median(steps))
    gaps = steps > MIN_GAP_PERIODS * period
    return {
        'rows': time.size,
        'seconds': time[-1] - time[0],
        'rate': 1 / period if period > 0.0 else np.nan,
        'longest_step': steps.max(),
        'gaps': int(gaps.sum()),
        'steps_back': int((steps < 0.0).sum()),
    }


def _extremes(column):
    """Return extremes, mean and standard deviation of the finite values of a column."""
    values = column.values[np.isfinite(column.values)]
    row = {'invalid': column.values.size - values.size}
    for key, value in (('least', np.min), ('largest', np.max), ('mean', np.mean), ('std', np.std)):
        row[key] = float(value(values)) if values.size else np.nan
    return row


def _plots(recording) -> Iterator[Plot]:
    """Yield a plot of each column."""
    label = TIME_LABEL if recording.has_times else 'row'
    for k, (name, column) in enumerate([*recording.columns.items()][:MAX_PLOTS]):
        curve = Curve(name, *decimate(column.time, column.values))
        yield Plot(f'column_{k + 1}', Chart(name, label, name, [curve]), recording.has_times)


def tables_of(numbers: Mapping[str, Any]) -> Tables:
    """Return the figures as tables."""
    heading = ['column', 'least', 'largest', 'mean', 'standard deviation', 'no number']
    keys = 'least', 'largest', 'mean', 'std', 'invalid'
    rows = [
        [name, *(format_value(row[key]) for key in keys)]
        for name, row in numbers['columns'].items()
    ]
    return [('Columns', heading, rows)]


def _time_line(numbers):
    """Return one line on the times of a table."""
    if 'seconds' not in numbers:
        return f'{numbers["rows"]} rows, without a column of the time'
    return (
        f'{numbers["rows"]} rows, {numbers["seconds"]:.2f} s, '
        f'{format_value(numbers["rate"], "Hz")}, longest step '
        f'{format_value(numbers["longest_step"], "ms", 1e3)}, gaps: {numbers["gaps"]}, '
        f'steps back: {numbers["steps_back"]}'
    )


def table_report_lines(facts: Mapping[str, Any]) -> list[str]:
    """Return the report as lines of text."""
    return [
        f'{facts["recording"]}: {_time_line(facts)}',
        *format_tables(tables_of(facts)),
        *(f'  note: {note}' for note in facts['notes']),
        *(f'  {file}' for file in facts['files']),
    ]
