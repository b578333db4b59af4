"""`flexsim shape --code`: the recommended shaper as code or settings for other programs."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flex_robot_sim.cli import common
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.files import open_atomic
from flex_robot_sim.version import __version__

TYPE_CHECKING = False  # True for static tools, as `typing` has it
if TYPE_CHECKING:
    from flex_robot_sim.shaping.shaper_specification import ShaperSpecification

DEFAULT_PERIOD_S = 1e-3
ONE_JOINT = ('joint',)  # of a recording: one instance for each joint
LANGUAGES = {
    'c': 'C99 and C++17',
    'st': 'structured text (IEC 61131-3)',
    'json': 'tables for the ROS plugins',
    'fir': 'FIR coefficients',
    'klipper': 'settings of Klipper',
}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options about code."""
    parser.add_argument(
        '--code',
        choices=LANGUAGES,
        help='write --output as a header of C99 and C++17 (c), as a function block of structured '
        'text (st), as tables for the ROS plugins (json), as FIR coefficients (fir), or as a '
        'section of printer.cfg (klipper). Functions have the name of the file',
    )
    parser.add_argument(
        '--period',
        type=float,
        metavar='S',
        help=f'with --code c, st, json and fir: time between two set points [s] (default: '
        f'{DEFAULT_PERIOD_S:g})',
    )
    parser.add_argument(
        '--axis',
        action='append',
        choices=('x', 'y', 'z'),
        help='with --code klipper: axis of these settings; may be repeated (default: x and y)',
    )


def check(arguments: Namespace) -> None:
    """Raise UsageError if options of --code contradict each other."""
    if not arguments.code:
        for name in ('period', 'axis'):
            if getattr(arguments, name) is not None:
                raise UsageError(f'--{name} needs --code.')
        return
    if not arguments.output:
        raise UsageError('--code needs a file: give --output FILE.')
    if arguments.apply:
        raise UsageError('give either --apply FILE or --code.')
    if arguments.code == 'klipper' and arguments.period is not None:
        raise UsageError('--period does not apply to --code klipper.')
    if arguments.code != 'klipper' and arguments.axis:
        raise UsageError('--axis needs --code klipper.')
    if arguments.period is not None:
        common.expect_within('--period', arguments.period, 10.0)


def write(
    arguments: Namespace, specification: ShaperSpecification, joints: Sequence[str], robot: str
) -> dict[str, Any]:
    """Write the file of --output, and return its figures."""
    period, notes = arguments.period or DEFAULT_PERIOD_S, []
    figures: dict[str, Any] = {'output': arguments.output, 'code': arguments.code}
    if arguments.code != 'klipper':
        specification, note = specification.for_samples(period)
        notes += [note] if note else []
        figures |= {'shaper': specification.name, 'period': period}
    text, more = _text(arguments, specification, joints or ONE_JOINT, robot, period)
    try:
        with open_atomic(arguments.output, 'w', encoding='utf-8') as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f'{arguments.output}: cannot be written: {error.strerror}.') from error
    return {**figures, **more, 'bytes': os.path.getsize(arguments.output), 'notes': notes}


def _text(arguments, specification, joints, robot, period):
    """Return the text of the file, and figures about it."""
    origin = f'Written by flexsim shape --code {arguments.code}, version {__version__}'
    if arguments.code == 'klipper':
        from flex_robot_sim.export.klipper import klipper_text

        axes = list(dict.fromkeys(arguments.axis or ('x', 'y')))
        text, best = klipper_text(specification, axes, robot, origin)
        return text, {'shaper': best.name, 'axes': axes, **best._asdict()}
    if arguments.code == 'fir':
        from flex_robot_sim.export.fir_file import fir_text

        if specification.stages:
            raise UsageError(
                f'the delays of "{specification.name}" follow the pose, so it has no FIR '
                'coefficients: design again with --fixed.'
            )

        text = fir_text(specification, period)
        return text, {'taps': text.count('\n') - 1}
    from flex_robot_sim.export.c_code import c_code
    from flex_robot_sim.export.json_tables import json_tables
    from flex_robot_sim.export.shaper_tables import code_name, shaper_tables
    from flex_robot_sim.export.structured_text import structured_text

    is_json = arguments.code == 'json'  # it has no functions
    name = '' if is_json else code_name(arguments.output)
    tables = shaper_tables(specification, joints, period, name, robot)
    if is_json and joints is ONE_JOINT:
        tables = tables._replace(joints=())  # for any joints
    text = {'c': c_code, 'st': structured_text, 'json': json_tables}[arguments.code](
        tables, origin
    )
    return text, {'joints': list(joints), 'duration': tables.values['duration']}


def as_text(figures: Mapping[str, Any]) -> Iterator[str]:
    """Lines about a written file."""
    yield from (f'  note: {note}' for note in figures['notes'])
    line = f'{figures["output"]}: {LANGUAGES[figures["code"]]}'
    if figures['code'] == 'klipper':
        yield (
            f'{line}: {figures["name"]} at {figures["frequency"]:.2f} Hz leaves '
            f'{figures["vibration"]:.1%} of the vibration, for {" and ".join(figures["axes"])}'
        )
        return
    line += f' of {figures["shaper"]}, every {figures["period"]:g} s'
    if figures['code'] == 'fir':
        yield f'{line}, {figures["taps"]} taps'
    else:
        yield f'{line}, {len(figures["joints"])} joints, adds up to {figures["duration"]:.3f} s'
