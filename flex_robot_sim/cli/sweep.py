"""`flexsim sweep`: a move of an arm with varied parameters, as a table."""

import os
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from flex_robot_sim.cli import common
from flex_robot_sim.cli.terminal import show_progress
from flex_robot_sim.demo.screen import Screen
from flex_robot_sim.description import read_description
from flex_robot_sim.sweeps.cluster import cluster
from flex_robot_sim.sweeps.execution import run_plan
from flex_robot_sim.sweeps.journal import count_written_runs
from flex_robot_sim.sweeps.manoeuvre import SHAPERS, Manoeuvre
from flex_robot_sim.sweeps.plan import make_plan
from flex_robot_sim.sweeps.pools import processes
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.table_files import has_parquet
from flex_robot_sim.util.xacro_arguments import xacro_arguments

PROGRESS_PERIOD_S = 0.5  # shortest time between two updates of the progress line
MAX_PROCESSES = 512
FORMS = '0.8,1,1.2, even:FROM,TO,COUNT, uniform:LOW,HIGH, log:LOW,HIGH or normal:MEAN,DEVIATION'


def add_arguments(parser: ArgumentParser) -> None:
    """Add description and arguments of the command to its parser."""
    parser.description = (
        'Repeat a move with varied parameters of the robot, the payload, the servos or the '
        'move, and write a table of the results. The controller uses the nominal '
        'parameters.'
    )
    parser.epilog = (
        f'FORM is {FORMS}. NAME is a parameter of the URDF, such as forearm.EIz or '
        'tool.mass; payload, within, or servo, a factor of the frequency of the servos; or '
        'JOINT.to, JOINT.start, JOINT.servo_stiffness, JOINT.servo_damping. The same call '
        'continues an interrupted sweep.'
    )
    common.add_robot(parser)
    for option, text in (
        ('--vary', 'values of a parameter; once per parameter'),
        ('--scale', 'values of a parameter, as multiples of the described one'),
    ):
        parser.add_argument(option, action='append', default=[], metavar='NAME=FORM', help=text)
    design = parser.add_mutually_exclusive_group()
    design.add_argument(
        '--latin',
        type=int,
        metavar='N',
        help='N runs of a Latin hypercube (default: all combinations)',
    )
    design.add_argument('--random', type=int, metavar='N', help='N random runs')
    parser.add_argument(
        '--seed', type=int, default=0, help='seed of all random numbers (default: 0)'
    )
    for name, options in (
        ('to', {'metavar': 'POSE'}),
        ('start', {'metavar': 'POSE'}),
        ('within', {'metavar': 'S'}),
        ('seconds', {}),
        ('payload', {'metavar': 'KG'}),
        ('shaper', {'choices': SHAPERS, 'metavar': 'KIND'}),
        ('stiffness', {}),
        ('damping', {}),
        ('time-step', {}),
        ('rate', {}),
    ):
        _add_setting(parser, name, options)
    common.add_model(parser)
    parser.add_argument(
        '--output',
        metavar='FOLDER',
        help='folder of runs and tables (default: sweep_ROBOT in this folder)',
    )
    workers = parser.add_mutually_exclusive_group()
    workers.add_argument(
        '--processes',
        type=int,
        metavar='N',
        help='worker processes on this machine (default: one per processor)',
    )
    workers.add_argument(
        '--scheduler',
        metavar='ADDRESS',
        help='scheduler of a Dask cluster for the runs, such as tcp://host:8786',
    )
    common.add_json(parser)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    with show_progress('reading the robot'):
        description = read_description(
            arguments.robot, tool=arguments.tool, xacro_arguments=xacro_arguments(arguments.xacro)
        )
    method, count = next(
        (
            (name, size)
            for name in ('latin', 'random')
            if (size := getattr(arguments, name)) is not None
        ),
        ('grid', None),
    )
    manoeuvre = Manoeuvre(
        **{name: _setting_value(arguments, name) for name in Manoeuvre.__dataclass_fields__}
    )
    with show_progress('looking for gains that hold the arm'):
        plan = make_plan(
            description,
            _parse_assignments('--vary', arguments.vary),
            _parse_assignments('--scale', arguments.scale),
            manoeuvre,
            method,
            count,
            arguments.seed,
            arguments.coupling,
            arguments.gravity,
        )
    if plan.note:
        print(f'flexsim sweep: note: {plan.note}', file=sys.stderr)
    folder = Path(arguments.output or f'sweep_{description.name}')
    progress = _SweepProgress()
    try:
        with _executor(arguments, len(plan)) as (executor, workers, watch):
            table = run_plan(plan, folder, executor, workers, progress, watch)
    except KeyboardInterrupt:
        progress.clear()
        print(
            f'flexsim sweep: interrupted; {count_written_runs(folder)} of {len(plan)} runs are '
            f'kept in {folder}, and the same call goes on.',
            file=sys.stderr,
        )
        return 130
    finally:
        progress.clear()
    if not has_parquet():
        print(
            'flexsim sweep: note: no Parquet without pyarrow. Install it by '
            f'{sys.executable} -m pip install pyarrow, and call again.',
            file=sys.stderr,
        )
    common.print_result(arguments, _summary(folder, table, plan.names, progress), _as_text)
    return 0


@contextmanager
def _executor(arguments, runs):
    """Yield the executor, the number of its workers, and a function that checks them or None."""
    if arguments.scheduler is not None:
        with ExitStack() as stack:
            with show_progress('waiting for the cluster'):
                resources = stack.enter_context(cluster(arguments.scheduler))
            yield resources
        return
    count = arguments.processes
    if count is None:
        count = min(len(os.sched_getaffinity(0)), runs)
    if not 1 <= count <= MAX_PROCESSES:
        raise UsageError(f'--processes must be from 1 to {MAX_PROCESSES}.')
    with processes(count) as pool:
        yield pool, count, None


class _SweepProgress:
    """Progress line on a terminal."""

    def __init__(self):
        self._begin, self._shown_at, self._screen = None, 0.0, Screen()
        self.old_runs = 0  # found in the folder when this call started

    def __call__(self, done, total):
        now = time.monotonic()
        if self._begin is None:
            self._begin, self.old_runs = now, done
        if now - self._shown_at < PROGRESS_PERIOD_S:
            return
        self._shown_at = now
        runs_made = done - self.old_runs
        time_left = ''
        if runs_made:
            time_left = f', {(now - self._begin) / runs_made * (total - done):.0f} s left'
        self._screen.show(f'{done / total:4.0%}  {done} of {total} runs{time_left}')

    def clear(self):
        self._screen.show('')


def _add_setting(parser, name, options):
    """Add an option for a field of Manoeuvre."""
    item = Manoeuvre.__dataclass_fields__[name.replace('-', '_')]
    unit = f' [{item.metadata["unit"]}]' if item.metadata['unit'] else ''
    default = '' if item.default == () else f' (default: {item.default})'
    kind = common.numbers if isinstance(item.default, tuple) else type(item.default)
    if item.metadata['choices']:
        unit += f': {", ".join(item.metadata["choices"])}'
    parser.add_argument(
        f'--{name}', type=kind, help=item.metadata['help'] + unit + default, **options
    )


def _setting_value(arguments, name):
    value = getattr(arguments, name, None)
    return (
        Manoeuvre.__dataclass_fields__[name].default
        if value is None
        else (tuple(value) if isinstance(value, list) else value)
    )


def _parse_assignments(option, assignments):
    forms = {}
    for assignment in assignments:
        name, sign, form = assignment.partition('=')
        if not sign:
            raise UsageError(f'{option} {assignment}: write NAME=FORM, such as forearm.EIz=5,6,7.')
        if name in forms:
            raise UsageError(f'{option} {name} is given twice.')
        forms[name] = form
    return forms


def _summary(folder, table, varied, progress):
    """Return the results as --json prints them."""
    figures = [
        name
        for name, column in table.items()
        if name not in ('run', 'note', *varied) and column.dtype.kind == 'f'
    ]
    columns = {}
    for name in figures:
        column = table[name][np.isfinite(table[name])]
        columns[name] = (
            {
                'least': float(column.min()),
                'median': float(np.median(column)),
                'largest': float(column.max()),
            }
            if column.size
            else None
        )
    noted_rows = np.flatnonzero(table['note'] != '')
    return {
        'folder': str(folder),
        'runs': len(table['run']),
        'made_now': len(table['run']) - progress.old_runs,
        'varied': list(varied),
        'figures': columns,
        'files': [str(path) for path in sorted(folder.glob('table.*'))],
        'notes': len(noted_rows),
        'first_note': None
        if not noted_rows.size
        else {'run': int(noted_rows[0]), 'note': str(table['note'][noted_rows[0]])},
    }


def _as_text(summary: Mapping[str, Any]) -> Iterable[str]:
    before = summary['runs'] - summary['made_now']
    yield _count(summary['runs']) + (f', {before} of them made before' if before else '')
    width = max(map(len, summary['figures']), default=0)
    yield f'  {"":{width}} {"least":>11} {"median":>11} {"largest":>11}'
    for name, row in summary['figures'].items():
        yield f'  {name:{width}} ' + (
            '          -' if row is None else ' '.join(f'{value:11.4g}' for value in row.values())
        )
    yield (
        '  error in rad, or m where a joint slides; max_deflection and residual_vibration in m; '
        'arrival in s'
    )
    if summary['notes']:
        first = summary['first_note']
        yield f'  with a note: {_count(summary["notes"])}; run {first["run"]}: {first["note"]}'
    yield '  ' + ', '.join(summary['files'])


def _count(runs: int) -> str:
    return f'{runs} run' + 's' * (runs != 1)
