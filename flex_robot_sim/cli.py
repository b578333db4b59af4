"""The command `flexsim`: arguments in, text or JSON out, exit code 2 for a user's mistake."""

import argparse
import json
import os
import sys

from flex_robot_sim import __version__
from flex_robot_sim.description import read_description
from flex_robot_sim.description.summary import as_text, summarise
from flex_robot_sim.exceptions import FlexRobotSimError, UsageError

XACRO_ARGUMENT = ':='


def main(words=None):
    """Run `flexsim` with `words` (default: the command line); return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, 'reconfigure'):
            stream.reconfigure(errors='replace')    # a terminal without box characters shows '?'
    arguments = _parser().parse_args(words)
    try:
        return arguments.run(arguments)
    except FlexRobotSimError as error:
        print(f'flexsim {arguments.command}: {error}', file=sys.stderr)
        return 2
    except BrokenPipeError:                         # flexsim check ... | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130


class _Parser(argparse.ArgumentParser):
    """A parser whose complaint is one line."""

    def error(self, message):
        self.exit(2, f'{self.prog}: {message}. Try {self.prog} --help.\n')


def _parser():
    parser = _Parser(prog='flexsim', description='Robot arms whose links bend and twist.')
    parser.add_argument('--version', action='version', version=f'flexsim {__version__}')
    commands = parser.add_subparsers(dest='command', required=True, metavar='COMMAND',
                                     parser_class=_Parser)

    check = commands.add_parser('check', help='read robots and say what they are',
                                description='Read robots and say what they are. Exit code 2 if '
                                            'one of them is unusable.')
    check.add_argument('robots', nargs='+', metavar='URDF',
                       help='URDF or xacro file, or the name of a shipped robot; '
                            'name:=value is an argument for xacro')
    check.add_argument('--json', action='store_true',
                       help='print one JSON object: the robot, or {"robots": [...]} of several')
    check.set_defaults(run=_check)

    demo = commands.add_parser('demo', help='not there yet: the simulated arm in motion')
    demo.set_defaults(run=_demo)
    return parser


def _check(arguments):
    xacro_words = [word for word in arguments.robots if XACRO_ARGUMENT in word]
    sources = [word for word in arguments.robots if XACRO_ARGUMENT not in word]
    if not sources:
        raise UsageError('no robot given. Name a URDF file beside the arguments for '
                         'xacro.')
    xacro_arguments = dict(word.split(XACRO_ARGUMENT, 1) for word in xacro_words)
    summaries = []
    for source in sources:
        try:
            summaries.append(summarise(read_description(source, xacro_arguments)))
        except FlexRobotSimError as error:
            summaries.append({'source': source, 'error': str(error)})
    if arguments.json:
        print(json.dumps(summaries[0] if len(sources) == 1 else {'robots': summaries}, indent=2))
    for summary in summaries:
        if 'error' in summary:
            print(summary['error'], file=sys.stderr)
        elif not arguments.json:
            print('\n'.join(as_text(summary)))
    return 2 if any('error' in summary for summary in summaries) else 0


def _demo(arguments):
    raise UsageError('the simulated arm is not part of this version. `flexsim check two_link` '
                     'shows the robot that it will move.')

