"""Arguments that commands share, and how a result is printed."""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import flex_robot_sim as frs
from flex_robot_sim.description.tool import note_of_equal_arms
from flex_robot_sim.start import no_ros_line
from flex_robot_sim.util.exceptions import UsageError, plain
from flex_robot_sim.util.files import why_unwritable
from flex_robot_sim.util.xacro_arguments import xacro_arguments

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel

MAX_NUMBER = 1e12  # in any unit; powers of it stay finite


def numbers(text: str) -> list[float]:
    """Numbers separated by commas."""
    try:
        values = [float(part) for part in text.split(',')]
    except ValueError as error:
        raise argparse.ArgumentTypeError(f'"{text}" is not numbers with commas') from error
    # the commands themselves refuse nan and inf
    if any(MAX_NUMBER <= abs(value) < math.inf for value in values):
        raise argparse.ArgumentTypeError(f'"{text}" must be below {MAX_NUMBER:g} in size')
    return values


def accept_negative_numbers(parser: argparse.ArgumentParser) -> None:
    """Let values such as -0.5,0.3 follow an option; argparse takes them for options."""
    parser._negative_number_matcher = re.compile(r'-\.?\d')


def expect_within(option: str, value: float | None, upper: float = 1e9) -> None:
    """Refuse a value that is not above 0 and below `upper`; None passes."""
    if value is not None and not 0.0 < value < upper:
        raise UsageError(f'{option} must be above 0 and below {upper:g}.')


def expect_writable(path: str) -> None:
    """Refuse a file that cannot be written, before the command runs."""
    problem = why_unwritable(path)
    if problem:
        raise UsageError(f'{path or "a file without a name"}: cannot be written: {problem}.')


def expect_drawable(path: str | None) -> None:
    """Refuse a file that no figure can be written to, before the command runs; None passes."""
    if path:
        from flex_robot_sim.util.plots import check_figure_path  # matplotlib loads slowly

        check_figure_path(path)


def add_output(parser: ArgumentParser, option: str, **settings: Any) -> None:
    """Add an option that names a file to write, and --force; `main` refuses a file that exists."""
    previous_options = parser.get_default('outputs') or ()
    parser.add_argument(option, **settings)
    if not previous_options:
        parser.add_argument('--force', action='store_true', help='overwrite existing output files')
    parser.set_defaults(outputs=(*previous_options, option))


def refuse_existing(arguments: Namespace) -> None:
    """Refuse output files that exist already, unless --force is given."""
    for option in getattr(arguments, 'outputs', ()):
        path = getattr(arguments, option.lstrip('-'))
        if path and not arguments.force:
            refuse_existing_file(option, path)


def refuse_existing_file(option: str, path: str | os.PathLike[str]) -> None:
    """Raise UsageError if a file or folder exists; devices and pipes are accepted."""
    real_path = os.path.realpath(path)  # a link to a device counts as the device
    if (
        os.path.lexists(path)
        and not real_path.startswith(('/dev/', '/proc/'))
        and (
            os.path.isfile(real_path) or os.path.isdir(real_path) or not os.path.exists(real_path)
        )
    ):
        raise UsageError(
            f'{option} {path}: exists already. Name another one, or replace it by --force.'
        )


def remove_forced(arguments: Namespace, path: str) -> None:
    """Remove a file that --force replaces, for a program that only writes new ones."""
    if arguments.force and os.path.isfile(path):
        os.unlink(path)


def beyond_limits(arm: ArmModel, option: str, pose: Sequence[float] | None) -> str:
    """Return a line about the joint of a pose that is beyond its stops, or ''."""
    from flex_robot_sim.model import start_pose  # imported late: other commands do not need it

    line = start_pose.beyond_limits(arm, pose or ())
    return line and f'{option}: {line}'


def note_beyond(command: str, arm: ArmModel, option: str, pose: Sequence[float] | None) -> None:
    """Print a note if a joint of a pose is beyond its stops: their stiffness takes effect."""
    line = beyond_limits(arm, option, pose)
    if line:
        print(
            f'flexsim {command}: note: {line}; the stiffness of its stop is part of the result',
            file=sys.stderr,
        )


def add_robot(parser: ArgumentParser) -> None:
    """Add the robot and the arguments for its xacro file."""
    parser.add_argument(
        'robot', metavar='URDF', help='URDF or xacro file, or name of a shipped robot'
    )
    parser.add_argument(
        'xacro', nargs='*', default=[], metavar='NAME:=VALUE', help='arguments for xacro'
    )


def add_model(parser: ArgumentParser) -> None:
    """Add the options of the equations of motion."""
    parser.add_argument(
        '--coupling',
        default='shortening',
        choices=('shortening', 'zero_order'),
        help='shortening: bending shortens a link, which stiffens a rotating one; zero_order: '
        'without this effect (default: %(default)s)',
    )
    parser.add_argument(
        '--gravity',
        type=numbers,
        metavar='X,Y,Z',
        help='gravity [m/s2] (default: that of the robot, 0,0,-9.81 without <gravity>)',
    )
    add_tool(parser)


def add_tool(parser: ArgumentParser) -> None:
    """Add --tool."""
    parser.add_argument(
        '--tool',
        default='',
        metavar='LINK',
        help='tool link (default: the one that flexsim check prints)',
    )


def add_json(parser: ArgumentParser) -> None:
    """Add --json."""
    parser.add_argument('--json', action='store_true', help='print one JSON object')


def pose_text(pose: Sequence[float], units: Sequence[str]) -> str:
    """Return a pose as text; a unit that all joints share appears once."""
    values = [f'{value:g}' for value in pose]
    if len(set(units)) < 2:
        return ' '.join([*values, *units[:1]])
    return ', '.join(f'{value} {unit}' for value, unit in zip(values, units))


def parse_payload(words: str, tool: str) -> tuple[str, float]:
    """Return link and mass [kg] of a --payload; the default link is the tool."""
    link, _, mass = words.rpartition('=')
    try:
        return link or tool, float(mass)
    except ValueError as error:
        raise UsageError(f'--payload {words}: is not a mass. Write KG or LINK=KG.') from error


def no_ros(error: ImportError, instead: str = '') -> UsageError:
    """Return the error if rclpy cannot be imported; `instead`: an alternative without ROS."""
    return UsageError(f'{no_ros_line(error)}{instead}')


def read_arm(arguments: Namespace) -> ArmModel:
    """Return the ArmModel that the arguments name; print a note if the tool is ambiguous."""
    arm = frs.load(
        arguments.robot,
        coupling=arguments.coupling,
        gravity=arguments.gravity,
        xacro_arguments=xacro_arguments(arguments.xacro),
        tool=arguments.tool,
    )
    note = note_of_equal_arms(arm.description.tool)
    if note:
        print(f'flexsim {arguments.command}: note: {plain(note)} (--tool)', file=sys.stderr)
    return arm


def print_result(
    arguments: Namespace,
    summary: Mapping[str, Any],
    as_text: Callable[[Mapping[str, Any]], Iterable[str]],
) -> None:
    """Print a summary as one JSON object, or as the lines that `as_text` makes of it."""
    if arguments.json:
        print(json.dumps(summary, indent=2))
    else:
        print('\n'.join(map(plain, as_text(summary))))
