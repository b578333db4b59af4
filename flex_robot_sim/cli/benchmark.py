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
    'elastic_time',
    'contact_time',
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
# run on request only: they take minutes
SLOW_PARTS = ('control', 'identify', 'links', 'loops', 'reach', 'demo_start', 'trust')
CHECKS_PART = 'trust'  # comparisons with independent references, each with a verdict
LIMITS_PARTS = ('links', 'loops', 'reach')  # figures, each with a limit
PAGE_MODULE = 'page'  # module that writes tables into pages
LABEL_WIDTH = 56


def add_arguments(parser: ArgumentParser) -> None:
    """Add description and arguments of the command to its parser."""
    parser.description = (
        'Measure speed on this machine, compared with Pinocchio, MuJoCo and Exudyn where they are '
        'installed (in the clone: pip install -e ".[benchmark]"). Needs the source tree.'
    )
    parser.add_argument(
        'part',
        nargs='?',
        choices=(*PARTS, *SLOW_PARTS),
        metavar='PART',
        help=f'one of {", ".join((*PARTS, *SLOW_PARTS))} (default: all but the last seven)',
    )
    parser.add_argument(
        'check', nargs='?', metavar='CHECK', help='one check of trust (default: all of them)'
    )
    parser.add_argument('--quick', action='store_true', help='a short run in less than a minute')
    parser.add_argument('--seed', type=int, help='seed of the first case of trust')
    parser.add_argument('--count', type=int, help='number of cases of each check of trust')
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
    options = _check_options(arguments)
    parts = (arguments.part,) if arguments.part else PARTS
    if arguments.page:
        page.check_page(arguments.page, parts)
    summary, tables, screen = page.machine(), {}, Screen()
    for name in parts:
        part = importlib.import_module(f'benchmarks.{name}')
        screen.show(f'measuring: {name}')
        if name == CHECKS_PART:
            options['report'] = lambda check: screen.show(f'measuring: {check}')
            options['page'] = arguments.page
        results = part.measure(arguments.quick, **options)
        summary.update(results)
        tables[name] = [*part.as_text(results)]
        if arguments.page and name != CHECKS_PART:  # at once: the next part may take minutes
            page.write(arguments.page, summary, {name: tables[name]})
    screen.show('')
    print_result(arguments, summary, lambda _: _as_text(summary, tables))
    judged = (CHECKS_PART, *LIMITS_PARTS)
    figures = [figure for part in judged for figure in summary.get(part, {}).values()]
    return 0 if all(figure['holds'] for figure in figures) else 1


def _check_options(arguments):
    """Return the options of the part of checks; UsageError if another part has some."""
    options = {
        name: value
        for name, value in (
            ('only', arguments.check),
            ('seed', arguments.seed),
            ('count', arguments.count),
        )
        if value is not None
    }
    if options and arguments.part != CHECKS_PART:
        raise UsageError(
            f'CHECK, --seed and --count belong to the part {CHECKS_PART}. '
            f'Call flexsim benchmark {CHECKS_PART}.'
        )
    if options.get('count', 1) < 1 or options.get('seed', 0) < 0:
        raise UsageError('--count must be at least 1, and --seed at least 0.')
    return options


def _as_text(summary, tables):
    yield (
        f'flex_robot_sim {summary["version"]}, Python {summary["python"]}, '
        f'{summary["processors"]} processors ({summary["processor"]}), {summary["date"]}'
    )
    for lines in tables.values():
        for label, value in lines:
            yield f'  {label:{LABEL_WIDTH - 1}s} {value}'
