"""`flexsim benchmark`: how fast and how exact it is on this machine, beside other libraries."""

import importlib
import os
import platform
import sys

from flex_robot_sim import __version__
from flex_robot_sim.cli.arguments import add_json, print_result
from flex_robot_sim.exceptions import UsageError
from flex_robot_sim.share import share_folder

PARTS = ('step_time', 'manoeuvre', 'start_time', 'work_precision')
LABEL_WIDTH = 34


def add_to(commands, about):
    """Add the command to the parser."""
    parser = commands.add_parser(
        'benchmark', help=about,
        description='Measure speed on this machine, beside Pinocchio, MuJoCo and Exudyn where '
                    'they are installed (pip install "flex_robot_sim[benchmark]"). Needs the '
                    'source tree.')
    parser.add_argument('--quick', action='store_true', help='a look in under a minute')
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments):
    """Carry out the command."""
    folder = share_folder()
    if not (folder / 'benchmarks').is_dir():
        raise UsageError('the benchmarks are part of the source tree only. Get the sources and '
                         'call ./run benchmark there.')
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    summary, lines = _machine(), []
    for name in PARTS:
        part = importlib.import_module(f'benchmarks.{name}')
        if sys.stderr.isatty():
            print(f'\rmeasuring: {name}' + ' ' * 10, end='', file=sys.stderr, flush=True)
        found = part.measure(arguments.quick)
        summary.update(found)
        lines += part.as_text(found)
    if sys.stderr.isatty():
        print('\r' + ' ' * 40 + '\r', end='', file=sys.stderr)
    print_result(arguments, summary, lambda _: _as_text(summary, lines))
    return 0


def _machine():
    return {'version': __version__, 'python': platform.python_version(),
            'machine': platform.machine(), 'processors': os.cpu_count()}


def _as_text(summary, lines):
    yield (f'flex_robot_sim {summary["version"]}, Python {summary["python"]}, '
           f'{summary["processors"]} processors ({summary["machine"]})')
    for what, value in lines:
        yield f'  {what:{LABEL_WIDTH}s}{value}'
