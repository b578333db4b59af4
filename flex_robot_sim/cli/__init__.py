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
from flex_robot_sim.cli.terminal import colourize
from flex_robot_sim.util.exceptions import FlexRobotSimError
from flex_robot_sim.util.xacro_arguments import SIGN

COMMANDS = {
    'robots': Command('list the robots of the package', 'flexsim robots --json'),
    'check': Command('read robots, check them and describe them', 'flexsim check two_link'),
    'modes': Command(
        'natural frequencies and mode shapes of an arm at a pose',
        'flexsim modes two_link --pose 0,0.5,-0.8 --payload 0.2',
    ),
    'reach': Command(
        'joint positions at which the tool is at a place, with the sag of the arm',
        'flexsim reach two_link --at 0.45,0.25,0.15 --payload 0.3',
    ),
    'screws': Command(
        'screws of the joints, home poses and Jacobians of an arm',
        'flexsim screws rcm --pose 0.1,0.2,0.3',
    ),
    'reduce': Command(
        'reduce a link from CAD or finite elements to a few elastic coordinates',
        'flexsim reduce upper_arm.step --robot arm.urdf --link upper_arm --material aluminium',
    ),
    'shape': Command(
        'input shapers for an arm, from its model or from a recording',
        'flexsim shape two_link --pose 0,0.5,-0.8',
    ),
    'tune': Command(
        'tune a shaper for an arm without a model, from vibration in several poses',
        'flexsim tune session --driver simulation --robot two_link --from=0,0,-1 --to=0,1,1',
    ),
    'view': Command(
        'show an arm in a web browser, with its modes and motions', 'flexsim view two_link'
    ),
    'simulate': Command(
        'simulate an arm and write its states as CSV or as a recording',
        'flexsim simulate two_link --to 0.5,0.5,-0.8 --shaper auto',
    ),
    'sweep': Command(
        'repeat a move with varied parameters, on all processors',
        'flexsim sweep two_link --to 0.5,0.5,-0.8 --scale forearm.EIz=0.8,1,1.2',
    ),
    'record': Command(
        'record the messages of a running ROS 2 system',
        'flexsim record --output run.mcap --seconds 10',
    ),
    'replay': Command(
        'publish a recording in ROS 2 again', 'flexsim replay run.mcap --speed 0.2 --loop'
    ),
    'report': Command(
        'HTML report of a recording: plots, figures and an animation',
        'flexsim report run.mcap --output run.html',
    ),
    'compare': Command(
        'compare two recordings in the same plots',
        'flexsim compare plain.mcap shaped.mcap --output both.html',
    ),
    'export': Command(
        'export a recording as tables: CSV, NumPy or Parquet',
        'flexsim export run.mcap --format numpy',
    ),
    'excite': Command(
        'design an informative motion for identification, and play it',
        'flexsim excite rig --play emulator --log run.csv',
    ),
    'identify': Command(
        'identify parameters of an arm from logs of its motions',
        'flexsim identify run.mcap two_link --output fitted.urdf',
    ),
    'benchmark': Command(
        'measure speed against other engines in the same run', 'flexsim benchmark --quick'
    ),
    'reproduce': Command(
        'reproduce the experiments of the papers, with figures and verdicts',
        'flexsim reproduce spin_up --output figures',
    ),
    'demo': Command('run a simulated arm and its controller in ROS 2', 'flexsim demo --compare'),
    'rig': Command('the bench: ports, boards and their emulation', 'flexsim rig emulate', True),
}
"""Each command is a module of this package, imported when it is called: some load slowly."""

INTERRUPT_GRACE_S = 3.0  # after the first Ctrl-C, before another one ends the process
DISK_FULL_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # a disk, a quota, a limit


def main(words: Sequence[str] | None = None) -> int:
    """Run `flexsim` with `words` (default: the command line); return the exit code."""
    if completion.is_requested():
        completion.complete(_parser)
    words = sys.argv[1:] if words is None else list(words)
    _open_streams()
    name = 'flexsim'
    try:
        with _exit_on_interrupt():
            parser = _parser(words[0] if words else None)
        try:
            arguments = _parse(parser, words)
            name = f'flexsim {arguments.command}'
            if hasattr(arguments, 'outputs'):
                from flex_robot_sim.cli.common import refuse_existing

                refuse_existing(arguments)
            with _single_interrupt():
                return arguments.run(arguments)
        finally:
            sys.stdout.flush()  # an error can still be reported here
    except FlexRobotSimError as error:
        _print_error(f'{colourize(f"{name}:", "red", sys.stderr)} {error}')
        return 2
    except BrokenPipeError:  # flexsim check ... | head
        _drop_output()
        return 0
    except OSError as error:  # flexsim check ... > /dev/full
        if error.filename is not None or error.errno not in DISK_FULL_ERRORS:
            raise
        _drop_output()
        _print_error(f'{name}: the output cannot be written: {error.strerror}.')
        return 2
    except KeyboardInterrupt:
        return 130


def _open_streams():
    """Replace standard streams that the shell has closed, as by >&-, by the null device."""
    for name in ('stdout', 'stderr'):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, 'w', encoding='utf-8'))  # noqa: SIM115
        elif hasattr(stream, 'reconfigure'):
            stream.reconfigure(errors='replace')  # a terminal without box characters shows '?'


def _is_default_interrupt():
    """Whether this thread receives Ctrl-C and the default handler is installed."""
    return (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )


@contextlib.contextmanager
def _exit_on_interrupt():
    """End the process at once on Ctrl-C while modules are imported, which may swallow it."""
    if not _is_default_interrupt():
        yield
        return
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextlib.contextmanager
def _single_interrupt():
    """
    Run the clean-up of a command after the first Ctrl-C, and ignore further ones.

    After INTERRUPT_GRACE_S the next Ctrl-C ends the process at once.
    """
    if not _is_default_interrupt():
        yield
        return
    first: list[float] = []

    def interrupt(*_):
        if not first:
            first.append(time.monotonic())
            raise KeyboardInterrupt
        if time.monotonic() - first[0] > INTERRUPT_GRACE_S:
            os._exit(130)

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        if not first:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _print_error(line):
    """Print a line to standard error unless it is closed."""
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        _drop_output('stderr')


def _drop_output(name='stdout'):
    """Redirect a stream to the null device, so that Python does not fail on its last flush."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), getattr(sys, name).fileno())


def _parse(parser, words):
    """Return the arguments; NAME:=VALUE is allowed anywhere, also after options."""
    arguments, unrecognized = parser.parse_known_args(words)
    xacro_words = getattr(arguments, 'xacro', getattr(arguments, 'robots', None))
    if xacro_words is None or not all(SIGN in word and word[0] != '-' for word in unrecognized):
        return parser.parse_args(words)  # it reports the error
    xacro_words.extend(unrecognized)
    return arguments


def _parser(command):
    parser = Parser(prog='flexsim', description='Robot arms whose links bend and twist.')
    parser.add_argument('--version', action='version', version=f'flexsim {__version__}')
    add_commands(parser, f'{__name__}.', COMMANDS, command)
    return parser
