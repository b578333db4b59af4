"""`flexsim rig`: commands for the bench."""

import argparse
from argparse import Namespace

from flex_robot_sim.cli.common import refuse_existing
from flex_robot_sim.cli.completion import is_requested, typed_words
from flex_robot_sim.cli.parser import Command, Parser, add_commands

COMMANDS = {
    'setup': Command(
        'list the ports of this machine, and how to get access to them', 'flexsim rig setup'
    ),
    'info': Command(
        'print version, parameters and state of a board', 'flexsim rig info /dev/ttyACM0'
    ),
    'emulate': Command(
        'emulate a bench behind a serial port',
        'flexsim rig emulate --link /tmp/rig --fault unplug=0.5@10',
    ),
    'conformance': Command(
        'check a board against the specification of the protocol', 'flexsim rig conformance'
    ),
    'calibrate': Command(
        'calibrate a bench, step by step', 'flexsim rig calibrate /dev/ttyACM0 --output bench.yaml'
    ),
    'compare': Command(
        'compare an experiment with its simulation',
        'flexsim rig compare experiment.csv --plot comparison.png',
    ),
}
"""Each command is a module `rig_<name>` of this package, imported when it is called."""


def add_arguments(parser: Parser) -> None:
    """Take all words; the parser of the command of the bench reads them when it runs."""
    if is_requested():
        add_commands(parser, f'{__package__}.rig_', COMMANDS, ''.join(typed_words()[1:2]))
        return
    parser.add_argument('-h', '--help', action='store_true')
    parser.add_argument('words', nargs=argparse.REMAINDER)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    words = ['--help', *arguments.words] if arguments.help else arguments.words
    parser = Parser(
        prog=arguments.parser.prog, description='The bench: its ports, boards and their emulation.'
    )
    parser.example = arguments.parser.example
    add_commands(
        parser, f'{__package__}.rig_', COMMANDS, words[0] if words else None, 'rig_command'
    )
    chosen = parser.parse_args(words)
    refuse_existing(chosen)
    return chosen.run(chosen)
