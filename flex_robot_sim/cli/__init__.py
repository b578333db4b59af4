"""The command `flexsim`: arguments in, text or JSON out, exit code 2 for a user's mistake."""

import argparse
import errno
import os
import sys
from importlib import import_module

from flex_robot_sim import __version__
from flex_robot_sim.exceptions import FlexRobotSimError

COMMANDS = {
    'check': 'read robots and say what they are',
    'modes': 'natural frequencies of an arm at a pose',
    'simulate': 'drive an arm and write what it did as CSV',
    'benchmark': 'how fast, against other engines in the same run',
    'demo': 'an arm in motion in ROS 2, simulated and controlled',
    'rig': 'the bench: ports, boards, and what stands in for them',
}
"""Each is a module of this package, imported when it is called: some take a while to load."""

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)    # a disk, a quota, a limit


def main(words=None):
    """Run `flexsim` with `words` (default: the command line); return the exit code."""
    words = sys.argv[1:] if words is None else list(words)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, 'reconfigure'):
            stream.reconfigure(errors='replace')    # a terminal without box characters shows '?'
    arguments = _parser(words[0] if words else None).parse_args(words)
    try:
        code = arguments.run(arguments)
        sys.stdout.flush()                          # here an error can still be told
        return code
    except FlexRobotSimError as error:
        print(f'flexsim {arguments.command}: {error}', file=sys.stderr)
        return 2
    except BrokenPipeError:                         # flexsim check ... | head
        _drop_output()
        return 0
    except OSError as error:                        # flexsim check ... > /dev/full
        if error.filename is not None or error.errno not in FULL:
            raise
        _drop_output()
        print(f'flexsim {arguments.command}: the output cannot be written: {error.strerror}.',
              file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _drop_output():
    """Let what is still to be printed go nowhere, so that Python does not complain at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Parser(argparse.ArgumentParser):
    """A parser whose complaint is one line."""

    def error(self, message):
        self.exit(2, f'{self.prog}: {message}. Try {self.prog} --help.\n')


def _parser(wanted):
    parser = _Parser(prog='flexsim', description='Robot arms whose links bend and twist.')
    parser.add_argument('--version', action='version', version=f'flexsim {__version__}')
    commands = parser.add_subparsers(dest='command', required=True, metavar='COMMAND',
                                     parser_class=_Parser)
    for name, about in COMMANDS.items():
        if name == wanted:
            import_module(f'{__name__}.{name}').add_to(commands, about)
        else:
            commands.add_parser(name, help=about)
    return parser
