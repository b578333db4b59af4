"""Report of a recording: page, key figures and plots."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from flex_robot_sim.reports.animation import motion_of
from flex_robot_sim.reports.charts import Plot, plots_of
from flex_robot_sim.reports.energies import energies
from flex_robot_sim.reports.numbers import numbers_of, tables_of
from flex_robot_sim.reports.page import page
from flex_robot_sim.reports.recorded_run import RecordedRun, read_run
from flex_robot_sim.reports.tip_vibration import residual_vibration
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.files import why_unwritable
from flex_robot_sim.util.plots import write_charts_of_both_kinds
from flex_robot_sim.util.summary import summarized

Tables = list[tuple[str, list[str], list[list[str]]]]


@summarized
class Report(NamedTuple):
    """Contents of the report of one recording."""

    run: RecordedRun
    numbers: dict[str, Any]
    plots: list[Plot]
    motion: dict[str, Any] | None

    def page(self) -> str:
        """Return the HTML page."""
        return page(
            f'{self.run.name}: {self.run.path.name}',
            heading_lines(self.run),
            self.run.notes,
            self.motion,
            self.plots,
            tables_of(self.numbers),
            setup_tables(self.run),
        )


def make_report(path: str | Path, namespace: str = '') -> Report:
    """Return the Report of a recording; UsageError if it has no joint states."""
    run = read_run(path, namespace)
    vibration, energy = residual_vibration(run), energies(run)
    return Report(
        run, numbers_of(run, vibration, energy), plots_of(run, vibration, energy), motion_of(run)
    )


def heading_lines(run: RecordedRun) -> list[str]:
    """Return lines with date and duration of the recording and a description of the arm."""
    when = run.metadata.get('recorded', '').replace('T', ' ')
    lines = [
        ', '.join(
            part
            for part in (
                f'recorded {when}'
                if when
                else 'recorded in simulated time'
                if run.metadata
                else '',
                f'{run.seconds:.2f} s',
                f'namespace {run.namespace}' if run.namespace else '',
            )
            if part
        )
    ]
    if run.arm is not None:
        arm = run.arm
        flexible = f', {len(arm.tips)} of its links bend' if arm.tips else ''
        gravity = -arm.arrays.base_acceleration[3:]
        lines.append(
            f'{len(arm.joint_names)} joints, {arm.size} coordinates{flexible}; coupling '
            f'{arm.coupling}, gravity {" ".join(f"{value:.4g}" for value in gravity)} m/s2'
        )
    shaper = run.parameters.get('controller', {}).get('shaper')
    if shaper:
        feedback = run.parameters['controller'].get('vibration_feedback', 'none')
        lines.append(f'controller: shaper {shaper}, vibration feedback {feedback}')
    if run.events:
        lines.append(
            'external inputs: '
            + ', '.join(f'{what} at {time:.2f} s' for time, what in run.events[:8])
            + (f' and {len(run.events) - 8} more' if len(run.events) > 8 else '')
        )
    return lines


def setup_tables(run: RecordedRun) -> Tables:
    """Return tables of the node parameters and of the topics in the file."""
    topics: Tables = [
        (
            'Topics in the file',
            ['topic', 'type', 'messages', 'rate'],
            [
                [
                    tally.name,
                    tally.kind,
                    str(tally.count),
                    f'{tally.rate:.1f} Hz' if tally.rate else '',
                ]
                for tally in sorted(run.tallies, key=lambda tally: tally.name)
            ],
        )
    ]
    parameters: Tables = [
        (
            f'Parameters of {node}',
            ['parameter', 'value'],
            [[name, str(value)] for name, value in sorted(values.items())],
        )
        for node, values in sorted(run.parameters.items())
    ]
    return [*parameters, *topics]


def write_figures(folder: str | Path, plots: Sequence[Plot]) -> list[str]:
    """Write each plot as PNG and SVG into a folder, created if needed; return the files."""
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f'{folder}: is no folder for figures: {error.strerror}.') from error
    files = []
    for plot in plots:
        files += write_charts_of_both_kinds(folder / plot.file_stem, '', [plot.chart], 1)
    return files


def output_path(requested: str | None, recording: Path, ending: str = '') -> Path:
    """Return the path of a page: as requested, or named after the recording in this folder."""
    path = Path(requested) if requested else Path(f'{recording.stem}{ending}.html')
    if path.suffix.lower() not in ('.html', '.htm'):
        raise UsageError(f'{path}: a page ends in .html. Name such a file by --output.')
    problem = why_unwritable(path)
    if problem:
        raise UsageError(f'{path}: cannot be written: {problem}. Name another file by --output.')
    return path


def report_lines(facts: Mapping[str, Any]) -> list[str]:
    """Return the report as lines of text."""
    return [
        f'{facts["robot"]}: {facts["seconds"]:.2f} s',
        *format_tables(tables_of(facts)),
        *(f'  note: {note}' for note in facts['notes']),
        *(f'  {file}' for file in facts['files']),
    ]


def format_tables(tables: Tables) -> list[str]:
    """Return tables as aligned lines of text."""
    lines = []
    for title, heading, rows in tables:
        if not rows:
            continue
        printed_rows = [heading, *rows] if any(heading) else rows
        widths = [max(len(row[k]) for row in printed_rows) for k in range(len(printed_rows[0]))]
        lines.append(f'  {title}')
        lines += [
            '    '
            + '  '.join(
                cell.ljust(width) if k == 0 else cell.rjust(width)
                for k, (cell, width) in enumerate(zip(row, widths))
            ).rstrip()
            for row in printed_rows
        ]
    return lines
