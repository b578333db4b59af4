"""`flexsim report`: one HTML page about a recording."""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from flex_robot_sim.cli.common import add_json, add_output, print_result
from flex_robot_sim.cli.terminal import show_progress
from flex_robot_sim.util.exceptions import UsageError

if TYPE_CHECKING:
    from flex_robot_sim.reports.run_report import Report
    from flex_robot_sim.reports.table_report import TableReport


def add_arguments(parser: ArgumentParser) -> None:
    """Add description and arguments of the command to its parser."""
    parser.description = (
        'Write a recording as one self-contained HTML page with an animation, plots, '
        'figures and settings. The page of a table, such as CSV, has plots and figures of '
        'its columns.'
    )
    parser.add_argument('recording', metavar='FILE', help='MCAP file, a folder with one, or CSV')
    add_output(
        parser,
        '--output',
        metavar='PAGE',
        help='.html file (default: named after FILE, in this folder)',
    )
    parser.add_argument(
        '--figures', metavar='FOLDER', help='also write each plot as PNG and SVG into this folder'
    )
    parser.add_argument(
        '--namespace',
        default='',
        metavar='NAME',
        help='namespace of the arm, if there are several (default: the first)',
    )
    add_json(parser)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    with show_progress('loading'):
        from flex_robot_sim.reports.page import write_page
        from flex_robot_sim.reports.run_report import (
            make_report,
            output_path,
            report_lines,
            write_figures,
        )
        from flex_robot_sim.reports.table_report import (
            is_table,
            make_table_report,
            table_report_lines,
        )
    page_path = output_path(arguments.output, Path(arguments.recording))
    with show_progress('reading'):
        report: Report | TableReport
        if is_table(arguments.recording):
            if arguments.namespace:
                raise UsageError(f'{arguments.recording}: a table has no namespaces.')
            report, lines = make_table_report(arguments.recording), table_report_lines
        else:
            report, lines = make_report(arguments.recording, arguments.namespace), report_lines
    with show_progress('drawing'):
        write_page(page_path, report.page())
        files = write_figures(arguments.figures, report.plots) if arguments.figures else []
    print_result(arguments, {**report.numbers, 'files': [str(page_path), *files]}, lines)
    return 0
