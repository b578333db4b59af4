"""
Programs of this package that start warm: forked off a process that has imported what they need.

To import Numba, SciPy and messages takes most of what a program costs in a test. So one process
for each process of tests imports them once (warm_process.py), and forks off
`python -m flex_robot_sim ...` and `python -m flex_robot_sim.nodes ...`: processes as others are,
children of who asked for them. Where that cannot be the same as a start of its own, and where the
start is what a test looks at, a program starts by itself.

What is known to stand before such a command line is done by the fork: another network, an end with
the parent. STARTERS, when they are warm, start their own programs warm, too.

The processes of tests themselves (parallel.py) are such starters, forked off one that has imported
what any test imports.
"""

import atexit
import ctypes
import inspect
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

from flex_robot_sim.demo import dies_with_parent
from flex_robot_sim.util.interpreter import run_module

PATIENCE = 150.0  # for modules, which are imported in two seconds on a quiet machine    [s]
LONGEST_REQUEST = 1 << 17  # bytes; the kernel takes more at once
ROOM = 1 << 12  # bytes for the command line that others see of a program
PR_SET_CHILD_SUBREAPER = 36
NAME = b'warm'  # of the process that forks, and of all it forks, beside their command line
PACKAGE, NODES = 'flex_robot_sim', 'flex_robot_sim.nodes'
EMULATOR = 'flex_robot_sim.rig.board.emulator_process'
LISTENERS, BRIDGE_LOAD, VIEW_LOAD = BENCHMARKS = tuple(
    f'benchmarks.{name}' for name in ('joining_listeners', 'bridge_load', 'view_load')
)
DASK = 'distributed.cli.dask_scheduler', 'distributed.cli.dask_worker'
MODULES = PACKAGE, NODES, EMULATOR, *BENCHMARKS, *DASK  # what Python runs
# what Python runs after -u -c: it becomes a process of tests, as pytest-xdist starts them
WORKER = '-c', 'import sys;exec(eval(sys.stdin.readline()))'
ARM, BRIDGE, BENCH = ((NODES, 'dynamics'), (NODES, 'controller')), (NODES, 'bridge'), (EMULATOR,)
STARTERS = {
    (PACKAGE, 'demo'): (*ARM, (NODES, 'simulation')),
    (PACKAGE, 'excite'): (BENCH,),
    BRIDGE: (BENCH,),
    (LISTENERS,): (*ARM, BRIDGE, BENCH),
    (BRIDGE_LOAD,): (BRIDGE, BENCH),
    (VIEW_LOAD,): (*ARM, (NODES, 'view')),
    WORKER: (*ARM, BRIDGE, BENCH, (NODES, 'view'), (PACKAGE, 'demo')),
}
# what may stand before Python; a name or a number follows
NETWORK = ['ip', 'netns', 'exec']
GUARD = [sys.executable, '-I', '-S', str(Path(dies_with_parent.__file__).resolve())]
# what nobody reads while modules are imported; if another variable differs, a program starts cold
READ_LATER = (
    'ROS_DOMAIN_ID',
    'ROS_AUTOMATIC_DISCOVERY_RANGE',
    'ROS_LOCALHOST_ONLY',
    'ROS_STATIC_PEERS',
    'FASTRTPS_DEFAULT_PROFILES_FILE',
    'SKIP_DEFAULT_XML_FILE',
    'FASTDDS_DEFAULT_PROFILES_FILE',
    'FASTDDS_BUILTIN_TRANSPORTS',
    'RCUTILS_COLORIZED_OUTPUT',
    'RCUTILS_CONSOLE_OUTPUT_FORMAT',
    'PYTHONUNBUFFERED',
    'PYTEST_CURRENT_TEST',
    'PYTEST_VERSION',
    'PYTEST_XDIST_TESTRUNUID',
    'PYTEST_XDIST_WORKER',
    'PYTEST_XDIST_WORKER_COUNT',
    'FLEX_ROBOT_SIM_SHARED',
    'DISPLAY',
    'WAYLAND_DISPLAY',
    'NO_COLOR',
    'TERM',
    'PATH',
    'NOTES_FILE',
    'PYGAME_HIDE_SUPPORT_PROMPT',
)  # which Gymnasium sets where it is imported
# what Popen hands to the part of it that makes the process, and what a fork makes differently
ARGUMENTS = [*inspect.signature(subprocess.Popen._execute_child).parameters][1:]
ORDINARY = {
    'executable': (None,),
    'preexec_fn': (None,),
    'close_fds': (True,),
    'shell': (False,),
    'pass_fds': ((),),
    'restore_signals': (True,),
    'umask': (-1,),
    'gid': (None,),
    'gids': (None,),
    'uid': (None,),
    'process_group': (-1, None),
}
ENVIRONMENT = dict(os.environ)
WARM_PROCESS = str(Path(__file__).with_name('warm_process.py'))


class Program(subprocess.Popen):
    """A process as of `subprocess.Popen`, forked off the warm one where that is the same."""

    def _execute_child(self, *given):
        told = dict(zip(ARGUMENTS, given))
        pid = _warm_process().start(told)
        if pid is None:
            super()._execute_child(*given)
            return
        self.pid, self._child_created = pid, True
        self._close_pipe_fds(
            *(
                told[name]
                for name in ('p2cread', 'p2cwrite', 'c2pread', 'c2pwrite', 'errread', 'errwrite')
            )
        )


def run(words, timeout=PATIENCE, **options):
    """Run a program to its end, as `subprocess.run` does with captured text."""
    with Program(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    ) as process:
        try:
            said = process.communicate(timeout=timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(words, process.returncode, *said)


class _WarmProcess:
    """The process that forks, as seen by who asks it; it ends with this one, however that ends."""

    def __init__(self):
        self.owner, self._lock = os.getpid(), threading.Lock()
        self._is_there, self.process = sys.platform == 'linux', None
        self._socket = None

    def start(self, asked):
        """Start a program; return its process id, or None if it has to start by itself."""
        program = _program_of(asked['args'])
        if not (self._is_there and program and _is_the_same(asked)):
            return None
        with self._lock:
            try:
                return self._ask(asked, program)
            except (OSError, ValueError) as error:
                self.close()
                print(
                    f'warm_programs: the warm process is gone ({error!r}): programs start by '
                    'themselves',
                    file=sys.stderr,
                )
                return None

    def _ask(self, asked, program):
        if self._socket is None:
            self._begin()
        folder = Path(asked['cwd'] or '.').resolve()
        environment = dict(os.environ if asked['env'] is None else asked['env'])
        if not folder.is_dir() or any(
            self._brings_modules(path)
            for path in {folder, *_python_path(environment)} - {*_python_path(ENVIRONMENT)}
        ):
            return None
        streams = [
            number if number >= 0 else standard
            for standard, number in enumerate(
                (asked['p2cread'], asked['c2pwrite'], asked['errwrite'])
            )
        ]
        request = json.dumps(
            {
                **program,
                'folder': str(folder),
                'environment': environment,
                'session': bool(asked['start_new_session']),
            }
        ).encode()
        if len(request) > LONGEST_REQUEST:
            return None
        # who forks it ends at once, and the program becomes a child of the next one who takes it
        prctl = ctypes.CDLL(None).prctl
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        try:
            socket.send_fds(self._socket, [request], streams)
            return int(self._socket.recv(100))
        finally:
            prctl(PR_SET_CHILD_SUBREAPER, 0)

    def _begin(self):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, WARM_PROCESS, str(theirs.fileno()), ROOM * '-'],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                cwd='/',
                env=ENVIRONMENT,
            )
        self.meet(ours)

    def meet(self, connection):
        """Take a connection to the process that forks."""
        self._socket = connection
        connection.settimeout(PATIENCE)
        self._root = Path(os.fsdecode(connection.recv(LONGEST_REQUEST)))

    def _brings_modules(self, folder):
        """Whether a folder that Python looks for modules in has others than the warm process."""
        return folder != self._root and (any(folder.glob('*.py')) or any(folder.glob('*/*.py')))

    def close(self):
        """End it."""
        self._is_there = False
        if self._socket is not None and self.owner == os.getpid():
            self._socket.close()
            if self.process is not None:
                self.process.kill()
                self.process.wait()


_processes = []


def _warm_process():
    """Return the warm process of this process: one that was forked off it has its own."""
    if not _processes or _processes[-1].owner != os.getpid():
        _processes.append(_WarmProcess())
        atexit.register(_processes[-1].close)
    return _processes[-1]


def take(connection):
    """Use a process that forks programs, by the connection to it."""
    _warm_process().meet(connection)


def start_warm():
    """Start all programs of this process warm that can be, also those that libraries start."""
    subprocess.Popen = Program


def _program_of(words):
    """Return what a command line asks for, as the warm process is told; None if it is no such."""
    if isinstance(words, (str, bytes)):
        return None
    words, network, parent = [os.fspath(word) for word in words], None, None
    if words[:3] == NETWORK:
        network, words = words[3], words[4:]
    if words[:4] == GUARD:
        parent, words = int(words[4]), words[5:]
    if words == [sys.executable, '-u', *WORKER]:
        return {
            'words': words,
            'arguments': WORKER,
            'is_safe': False,
            'network': network,
            'parent': parent,
            'starts': STARTERS[WORKER],
        }
    for module in MODULES:
        for is_safe, ahead in enumerate(([sys.executable, '-m', module], run_module(module))):
            if words[: len(ahead)] == ahead:
                arguments = [module, *words[len(ahead) :]]
                return {
                    'words': words,
                    'arguments': arguments,
                    'is_safe': bool(is_safe),
                    'network': network,
                    'parent': parent,
                    'starts': _started_by(arguments),
                }
    return None


def _started_by(arguments):
    return next(
        (others for words, others in STARTERS.items() if (*arguments[: len(words)],) == words), ()
    )


def _is_the_same(asked):
    """Whether a program that is asked for is the same if it is forked."""
    environment = os.environ if asked['env'] is None else asked['env']
    ordinary = all(asked[name] in known for name, known in ORDINARY.items() if name in asked)
    names = {
        name
        for name in {*environment, *ENVIRONMENT}
        if environment.get(name) != ENVIRONMENT.get(name)
    }
    return ordinary and names <= {*READ_LATER, 'PYTHONPATH'}


def _python_path(environment):
    return [
        Path(path).resolve()
        for path in environment.get('PYTHONPATH', '').split(os.pathsep)
        if path
    ]
