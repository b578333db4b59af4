"""Arguments that commands share, and how a result is printed."""

import argparse
import json

import flex_robot_sim as frs
from flex_robot_sim.exceptions import UsageError

XACRO_ARGUMENT = ':='


def numbers(text):
    """Numbers separated by commas."""
    try:
        return [float(part) for part in text.split(',')]
    except ValueError as error:
        raise argparse.ArgumentTypeError(f'"{text}" is not numbers with commas') from error


def add_robot(parser):
    """Add the robot, and arguments for its xacro file."""
    parser.add_argument('robot', metavar='URDF', help='URDF or xacro file, or a shipped robot')
    parser.add_argument('xacro', nargs='*', metavar='NAME:=VALUE', help='arguments for xacro')


def add_json(parser):
    """Add --json."""
    parser.add_argument('--json', action='store_true', help='print one JSON object')


def xacro_arguments(words):
    """{name: value} of words NAME:=VALUE."""
    for word in words:
        if XACRO_ARGUMENT not in word:
            raise UsageError(f'"{word}" is no argument for xacro. Write NAME:=VALUE.')
    return dict(word.split(XACRO_ARGUMENT, 1) for word in words)


def read_arm(arguments):
    """Return the ArmModel that the arguments name."""
    return frs.load(arguments.robot, arguments.coupling, arguments.gravity,
                    xacro_arguments(arguments.xacro))


def print_result(arguments, summary, as_text):
    """Print a summary as one JSON object, or as the lines that `as_text` makes of it."""
    if arguments.json:
        print(json.dumps(summary, indent=2))
    else:
        print('\n'.join(as_text(summary)))
