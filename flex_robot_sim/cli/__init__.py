"""The command `flexsim`: arguments in, text or JSON out, exit code 2 for a user's mistake."""

import contextlib
import errno
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence

from flex_robot_sim import __version__
from flex_robot_sim.cli import completion
from flex_robot_sim.cli.parser import Command, Parser, add_commands
from flex_robot_sim.cli.terminal import painted
from flex_robot_sim.util.exceptions import FlexRobotSimError
from flex_robot_sim.util.garbage import collected_seldom
from flex_robot_sim.util.xacro_arguments import SIGN

COMMANDS = {
    'robots': Command('the robots that come with the package', 'flexsim robots --json'),
    'check': Command('read robots and say what they are', 'flexsim check two_link'),
    'modes': Command('natural frequencies of an arm at a pose',
                     'flexsim modes two_link --pose 0,0.5,-0.8 --payload 0.2'),
    'shape': Command('input shapers that still an arm, from its model or from a recording',
                     'flexsim shape two_link --pose 0,0.5,-0.8'),
    'view': Command('an arm in a web browser, with its modes and motions',
                    'flexsim view two_link'),
    'simulate': Command('drive an arm and write what it did as CSV or as a recording',
                        'flexsim simulate two_link --to 0.5,0.5,-0.8 --shaper auto'),
    'sweep': Command('a move with many other numbers, as a table, on all processors',
                     'flexsim sweep two_link --to 0.5,0.5,-0.8 --scale forearm.EIz=0.8,1,1.2'),
    'record': Command('what a running system sends in ROS 2, as a recording',
                      'flexsim record --output run.mcap --seconds 10'),
    'replay': Command('a recording, sent again in ROS 2',
                      'flexsim replay run.mcap --speed 0.2 --loop'),
    'report': Command('a page about a recording: plots, numbers, and the arm in motion',
                      'flexsim report run.mcap --output run.html'),
    'compare': Command('two recordings, one over the other, and their difference',
                       'flexsim compare plain.mcap shaped.mcap --output both.html'),
    'export': Command('a recording as tables: CSV, NumPy or Parquet',
                      'flexsim export run.mcap --format numpy'),
    'excite': Command('the motion that tells most about an arm, as files and on a bench',
                      'flexsim excite rig --play emulator --log run.csv'),
    'identify': Command('the numbers of an arm from logs of its motions',
                        'flexsim identify run.mcap two_link --output fitted.urdf'),
    'benchmark': Command('how fast, against other engines in the same run',
                         'flexsim benchmark --quick'),
    'reproduce': Command('the experiments of the papers, with figures and verdicts',
                         'flexsim reproduce spin_up --output figures'),
    'demo': Command('an arm in motion in ROS 2, simulated and controlled',
                    'flexsim demo --compare'),
    'rig': Command('the bench: ports, boards, and what stands in for them', 'flexsim rig emulate'),
}
"""Each is a module of this package, imported when it is called: some take a while to load."""

PATIENCE = 3.0          # with a command that was told to end, before another Ctrl-C ends it [s]
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)    # a disk, a quota, a limit


def main(words: Sequence[str] | None = None) -> int:
    """Run `flexsim` with `words` (default: the command line); return the exit code."""
    if completion.is_asked():
        completion.answer(_parser)
    words = sys.argv[1:] if words is None else list(words)
    _open_streams()
    name = 'flexsim'
    try:
        with _quiet_end(), collected_seldom():
            parser = _parser(words[0] if words else None)
        try:
            arguments = _parsed(parser, words)
            name = f'flexsim {arguments.command}'
            if hasattr(arguments, 'outputs'):
                from flex_robot_sim.cli.arguments import refuse_existing
                refuse_existing(arguments)
            with _interrupted_once():
                return arguments.run(arguments)
        finally:
            sys.stdout.flush()                      # here an error can still be told
    except FlexRobotSimError as error:
        _tell(f'{painted(f"{name}:", "red", sys.stderr)} {error}')
        return 2
    except BrokenPipeError:                         # flexsim check ... | head
        _drop_output()
        return 0
    except OSError as error:                        # flexsim check ... > /dev/full
        if error.filename is not None or error.errno not in FULL:
            raise
        _drop_output()
        _tell(f'{name}: the output cannot be written: {error.strerror}.')
        return 2
    except KeyboardInterrupt:
        return 130


def _open_streams():
    """Let what is printed go nowhere where the shell has closed a stream, as by >&-."""
    for name in ('stdout', 'stderr'):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, 'w', encoding='utf-8'))     # noqa: SIM115
        elif hasattr(stream, 'reconfigure'):
            stream.reconfigure(errors='replace')    # a terminal without box characters shows '?'


def _has_ctrl_c():
    """Whether Ctrl-C comes here, and nobody else has a handler for it."""
    return (threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler)


@contextlib.contextmanager
def _quiet_end():
    """Let Ctrl-C end the process at once while modules are imported, which may swallow it."""
    if not _has_ctrl_c():
        yield
        return
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextlib.contextmanager
def _interrupted_once():
    """
    Let a command that was told to end by Ctrl-C do so in good order, however often it is pressed.

    What is still there after a while ends at once by the next one.
    """
    if not _has_ctrl_c():
        yield
        return
    first = []

    def interrupt(*_):
        if not first:
            first.append(time.monotonic())
            raise KeyboardInterrupt
        if time.monotonic() - first[0] > PATIENCE:
            os._exit(130)
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        if not first:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _tell(line):
    """Print a line to standard error, if anybody is there to read it."""
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        _drop_output('stderr')


def _drop_output(name='stdout'):
    """Let what is still to be printed go nowhere, so that Python does not complain at its end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), getattr(sys, name).fileno())


def _parsed(parser, words):
    """Return the arguments; NAME:=VALUE may stand anywhere, behind options, too."""
    arguments, left = parser.parse_known_args(words)
    place = getattr(arguments, 'xacro', getattr(arguments, 'robots', None))
    if place is None or not all(SIGN in word and word[0] != '-' for word in left):
        return parser.parse_args(words)             # it complains
    place.extend(left)
    return arguments


def _parser(wanted):
    parser = Parser(prog='flexsim', description='Robot arms whose links bend and twist.')
    parser.add_argument('--version', action='version', version=f'flexsim {__version__}')
    add_commands(parser, f'{__name__}.', COMMANDS, wanted)
    return parser
