"""`flexsim compare`: comparison of two recordings."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from flex_robot_sim.cli.common import add_json, add_output, print_result
from flex_robot_sim.cli.terminal import show_progress


def add_arguments(parser: ArgumentParser) -> None:
    """Add description and arguments of the command to its parser."""
    parser.description = (
        'Compare two recordings on one HTML page, for instance the bench and its '
        'simulation, or moves with and without a shaper. The page shows both and their '
        'difference. Both are aligned at the first motion of the target.'
    )
    for name in ('first', 'second'):
        parser.add_argument(name, metavar=name.upper(), help='MCAP file, or a folder with one')
    add_output(
        parser,
        '--output',
        metavar='PAGE',
        help='.html file (default: FIRST_SECOND.html in this folder)',
    )
    parser.add_argument(
        '--figures', metavar='FOLDER', help='also write each plot as PNG and SVG into this folder'
    )
    add_json(parser)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    with show_progress('loading'):
        from flex_robot_sim.reports.page import page, write_page
        from flex_robot_sim.reports.recorded_run import read_run
        from flex_robot_sim.reports.run_comparison import compare, numbers_of, plots_of, tables_of
        from flex_robot_sim.reports.run_report import (
            format_tables,
            heading_lines,
            output_path,
            setup_tables,
            write_figures,
        )
    paths = Path(arguments.first), Path(arguments.second)
    page_path = output_path(arguments.output, paths[0], f'_{paths[1].stem}')
    with show_progress('reading'):
        runs = [read_run(path) for path in paths]
        comparison = compare(*runs)
    numbers, plots = numbers_of(comparison), plots_of(comparison)
    names = comparison.names
    lines = [f'{name}: {line}' for name, run in zip(names, runs) for line in heading_lines(run)]
    start_lines = [
        f'the motion of {name} begins at {start:.3f} s, by its {signal}'
        for name, start, signal in zip(names, comparison.motion_starts, comparison.start_signals)
    ]
    notes = [f'{name}: {note}' for name, run in zip(names, runs) for note in run.notes]
    collapsed = [
        (f'{name}: {title}', heading, rows)
        for name, run in zip(names, runs)
        for title, heading, rows in setup_tables(run)
    ]
    with show_progress('drawing'):
        title, tables = ' and '.join(names), tables_of(numbers)
        text = page(title, [*lines, *start_lines], notes, None, plots, tables, collapsed)
        write_page(page_path, text)
        files = write_figures(arguments.figures, plots) if arguments.figures else []
    print_result(
        arguments,
        {**numbers, 'notes': notes, 'files': [str(page_path), *files]},
        lambda facts: [
            *start_lines,
            *format_tables(tables_of(facts)),
            *(f'  note: {note}' for note in notes),
            *(f'  {file}' for file in facts['files']),
        ],
    )
    return 0
