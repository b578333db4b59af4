"""`flexsim report`: one HTML page about a recording."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from flex_robot_sim.cli.common import add_json, add_output, print_result
from flex_robot_sim.cli.terminal import show_progress


def add_arguments(parser: ArgumentParser) -> None:
    """Add description and arguments of the command to its parser."""
    parser.description = (
        'Make one HTML page of a recording, which needs nothing else to be read: the arm in '
        'motion, plots, numbers, and how it was set up.'
    )
    parser.add_argument('recording', metavar='FILE', help='MCAP file, or a folder with one')
    add_output(
        parser, '--output', metavar='PAGE', help='.html file (default: named after FILE, here)'
    )
    parser.add_argument(
        '--figures', metavar='FOLDER', help='each plot as PNG and SVG into this folder, too'
    )
    parser.add_argument(
        '--namespace',
        default='',
        metavar='NAME',
        help='of the arm, where there are several (default: the first)',
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
    page_path = output_path(arguments.output, Path(arguments.recording))
    with show_progress('reading'):
        report = make_report(arguments.recording, arguments.namespace)
    with show_progress('drawing'):
        write_page(page_path, report.page())
        files = write_figures(arguments.figures, report.plots) if arguments.figures else []
    print_result(arguments, {**report.numbers, 'files': [str(page_path), *files]}, report_lines)
    return 0
