"""`flexsim benchmark`: speed and accuracy on this machine, compared with other libraries."""

import importlib
import sys
from argparse import ArgumentParser, Namespace

from flex_robot_sim.cli.common import add_json, print_result
from flex_robot_sim.demo.screen import Screen
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.share import share_folder

PARTS = (
    'step_time',
    'derivatives_time',
    'batch_time',
    'batch_mujoco',
    'sweep_time',
    'scale',
    'manoeuvre',
    'start_time',
    'work_precision',
    'formulations_time',
    'paper_costs',
)
SLOW_PARTS = ('control', 'identify', 'demo_start')  # run on request only: they take minutes
PAGE_MODULE = 'page'  # module that writes tables into pages
LABEL_WIDTH = 56


def add_arguments(parser: ArgumentParser) -> None:
    """Add description and arguments of the command to its parser."""
    parser.description = (
        'Measure speed on this machine, beside Pinocchio, MuJoCo and Exudyn where they are '
        'installed (in the checkout: pip install -e ".[benchmark]"). Needs the source tree.'
    )
    parser.add_argument(
        'part',
        nargs='?',
        choices=(*PARTS, *SLOW_PARTS),
        metavar='PART',
        help=f'one of {", ".join((*PARTS, *SLOW_PARTS))} (default: all but the last three)',
    )
    parser.add_argument('--quick', action='store_true', help='a look in under a minute')
    parser.add_argument(
        '--page', metavar='FILE', help='write the tables into a page, such as docs/benchmark.md'
    )
    add_json(parser)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    folder = share_folder()
    if not (folder / 'benchmarks').is_dir():
        raise UsageError(
            'the benchmarks are part of the source tree only. Get the sources and '
            'call ./run benchmark there.'
        )
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    page = importlib.import_module(f'benchmarks.{PAGE_MODULE}')
    parts = (arguments.part,) if arguments.part else PARTS
    if arguments.page:
        page.check_page(arguments.page, parts)
    summary, tables, screen = page.machine(), {}, Screen()
    for name in parts:
        part = importlib.import_module(f'benchmarks.{name}')
        screen.show(f'measuring: {name}')
        results = part.measure(arguments.quick)
        summary.update(results)
        tables[name] = [*part.as_text(results)]
        if arguments.page:  # written at once: the next part may take minutes
            page.write(arguments.page, summary, {name: tables[name]})
    screen.show('')
    print_result(arguments, summary, lambda _: _as_text(summary, tables))
    return 0


def _as_text(summary, tables):
    yield (
        f'flex_robot_sim {summary["version"]}, Python {summary["python"]}, '
        f'{summary["processors"]} processors ({summary["processor"]}), {summary["date"]}'
    )
    for lines in tables.values():
        for label, value in lines:
            yield f'  {label:{LABEL_WIDTH}s}{value}'
