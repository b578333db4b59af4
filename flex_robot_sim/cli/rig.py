"""`flexsim rig`: one command for each thing that is done with the bench."""

import argparse
from importlib import import_module

COMMANDS = {
    'setup': 'ports of this machine, and what to do once so that they may be used',
    'info': 'greet a board and print what it says',
    'emulate': 'the rig without a rig, behind a serial port',
    'conformance': 'check a board against the page of the protocol',
    'calibrate': 'measure the constants of a bench, step by step',
    'compare': 'an experiment against the simulation of it',
}
"""Each is a module `rig_<name>` beside this one, imported when it is called."""


def add_to(commands, about):
    """Add the command to the parser; what follows it is parsed when it runs."""
    parser = commands.add_parser('rig', help=about, add_help=False)
    parser.add_argument('-h', '--help', action='store_true')
    parser.add_argument('words', nargs=argparse.REMAINDER)
    parser.set_defaults(run=run, parser_class=type(parser), prog=parser.prog)


def run(arguments):
    """Carry out the command."""
    words = ['--help', *arguments.words] if arguments.help else arguments.words
    wanted = words[0] if words else None
    parser = arguments.parser_class(
        prog=arguments.prog,
        description='The bench: its port, its board, and what stands in for them.')
    commands = parser.add_subparsers(dest='rig_command', required=True, metavar='COMMAND',
                                     parser_class=arguments.parser_class)
    for name, about in COMMANDS.items():
        if name == wanted:
            import_module(f'{__package__}.rig_{name}').add_to(commands, about)
        else:
            commands.add_parser(name, help=about)
    chosen = parser.parse_args(words)
    return chosen.run(chosen)
