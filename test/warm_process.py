"""
The process that imports what programs of this package need, and forks off one after the other.

    python warm_process.py NUMBER_OF_A_SOCKET

warm_programs.py starts it and tells it what to fork. It runs no machine code, and ends when the
other end of its socket is closed, as the kernel does for who is killed.

rclpy is not imported: its libraries start threads to be traced, and a process that is forked off
such a one crashes at its end, when it looks for them.

What it has imported is not taken apart when a program ends: to do so is to copy most of the memory
that the two share, and takes longer than most programs do. All else ends as it does in Python:
threads, what was registered for the exit, modules that the program imported, libraries.

A program that starts others gets a warm process of its own, since children are forked off below
their parent.
"""

import ast
import atexit
import contextlib
import ctypes
import functools
import gc
import inspect
import io
import json
import os
import runpy
import signal
import socket
import sys
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import warm_programs
from warm_programs import LONGEST_REQUEST, NAME, NODES, PACKAGE, WORKER

PR_SET_PDEATHSIG, PR_SET_NAME, CLONE_NEWNET = 1, 15, 0x40000000
COMMON = (
    'scipy.linalg',
    'scipy.optimize',
    'flex_robot_sim.system.processes',
    'flex_robot_sim.simulation.simulation',
    'flex_robot_sim.realtime.loop',
    'flex_robot_sim.control.joint_controller',
    # of rclpy itself
    'action_msgs.msg',
    'rcl_interfaces.msg',
    'rcl_interfaces.srv',
    'rosgraph_msgs.msg',
    'type_description_interfaces.srv',
)
# what pytest has to see before it is imported; what starts threads
ONLY_THERE = 'hypothesis', 'rclpy'
INTERFACES = '.msg', '.srv', '.action'  # ends of the names of modules
OUTLIVED = {}  # sys.modules of a program at its end, as far as it was imported here


def _serve(server):
    """Fork off one program after the other; return, in each of them, what it is."""
    _import(*COMMON)
    # for extensions, which Numba looks for in all packages before it loads machine code
    import_module('numba.core.entrypoints').init_all()
    server.send(os.fsencode(_root()))
    while True:
        message, streams, _, _ = socket.recv_fds(server, LONGEST_REQUEST, 3)
        if not message:
            os._exit(0)
        program = json.loads(message)
        for words in (program['arguments'], *program['starts']):
            _import(*_modules_of(words))
        reading, writing = os.pipe()
        forker = os.fork()
        if not forker:
            forker = os.getpid()
            own = os.fork()
            if not own:
                break
            os.write(writing, b'%d' % own)
            os._exit(0)
        os.waitpid(forker, 0)
        server.send(os.read(reading, 100))
        for number in (reading, writing, *streams):
            os.close(number)
    for number in (reading, writing, server.detach()):
        os.close(number)
    while os.getppid() == forker:  # it ends, and who asked becomes the parent
        time.sleep(1e-4)
    if program['network'] is not None:
        _enter(program['network'])
    return _with_its_own(program, streams) if program['starts'] else (program, streams)


def _enter(network):
    """Go to a network namespace, as `ip netns exec` does, and as what is forked here will."""
    library = ctypes.CDLL(None, use_errno=True)
    with open(f'/run/netns/{network}', 'rb') as file:
        if library.setns(file.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), 'setns')


def _with_its_own(program, streams):
    """Return what this process is, which has a warm process from now on."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if not os.fork():
        for number in (ours.detach(), *streams):
            os.close(number)
        return _serve(theirs)
    theirs.close()
    warm_programs.take(ours)
    if program['arguments'] != list(WORKER):  # tests tell what starts warm
        warm_programs.start_warm()
    return program, streams


def _root():
    """Return the folder that the package is in."""
    return Path(import_module(PACKAGE).__file__).resolve().parents[1]


def _modules_of(words):
    """Return the names of the modules that a program needs, as far as they are known."""
    if words == list(WORKER):
        return _imported_by_tests()
    package, *names = words[:3]
    if package == PACKAGE:
        package, names = f'{package}.cli', [*names[:1], '_'.join(names)]
    found, ahead = [], [f'{package}.{name}' for name in names if name.isidentifier()]
    if package not in (f'{PACKAGE}.cli', NODES):
        ahead = _imported_by(package)
    while ahead:
        name = ahead.pop()
        if name not in found:
            found.append(name)
            if name.startswith((f'{PACKAGE}.cli.', f'{NODES}.', f'{PACKAGE}.plots')):
                ahead += _imported_by(name)
    return found


@functools.cache
def _imported_by(name):
    """Return the names of what a module imports, when it is imported or when it runs."""
    try:
        tree = ast.parse(Path(find_spec(name).origin).read_bytes())
    except (AttributeError, ImportError):  # there is no such module
        return []
    return [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]


def _imported_by_tests():
    """Return the names of what tests import, and of what may be parts of it."""
    found = set()
    for path in Path(__file__).parent.glob('**/test_*.py'):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                parts = {f'{node.module}.{alias.name}' for alias in node.names}
                found |= {node.module, *parts}
    return sorted(name for name in found if name.partition('.')[0] not in ONLY_THERE)


def _load_conversions(module):
    """Load what makes messages of a module to those of C, as nodes do when they first use one."""
    for kind in vars(module).values():
        load = getattr(type(kind), '__import_type_support__', None)
        if load is not None:
            load()


@functools.cache
def _import(*names):
    sys.modules['rclpy'] = None  # who needs it is not imported
    for name in names:
        with contextlib.suppress(Exception):  # who needs it says what is wrong
            module = import_module(name)
            if name.endswith(INTERFACES):
                _load_conversions(module)
    del sys.modules['rclpy']
    if len(os.listdir('/proc/self/task')) > 1:
        sys.exit(f'warm_process: there are threads after imports for {names[0]}')
    # to find the caller of a function, as loggers of ROS do, is to look through all modules
    inspect.getmodule(compile('', 'nowhere', 'exec'))
    gc.collect()
    gc.freeze()


def _become(program, streams):
    """Be like a process that was started by itself."""
    _show(program['words'])
    if program['parent'] is not None:
        _end_with(program['parent'])
    for standard, number in enumerate(streams):
        os.dup2(number, standard)
        os.close(number)
    if program['session']:
        os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(program['folder'])
    os.environ.clear()
    os.environ.update(program['environment'])
    if 'numpy.random' in sys.modules:
        sys.modules['numpy.random'].seed()
    unbuffered = bool(os.environ.get('PYTHONUNBUFFERED')) or program['words'][1] == '-u'
    for number, name in enumerate(('stdin', 'stdout', 'stderr')):
        setattr(sys, name, _stream(number, getattr(sys, name), unbuffered))
        setattr(sys, f'__{name}__', getattr(sys, name))
    if program['is_safe']:
        sys.path.append(str(_root()))
    elif not getattr(sys.flags, 'safe_path', False):
        sys.path.insert(0, '' if program['arguments'][0] == '-c' else program['folder'])
    _keep_modules()
    sys.orig_argv[:] = program['words']
    sys.argv[:] = program['arguments']


def _keep_modules():
    """Let what is imported by now outlive Python, which takes apart the modules that it finds."""
    kept = {
        name: module
        for name, module in sys.modules.items()
        if name not in ('__main__', 'builtins', 'sys')
    }
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    OUTLIVED.update(dict.fromkeys(kept))  # as Python tells who imports from now on


def _run():
    """Run what Python runs: code, or a module, whose path takes the place of its name."""
    if sys.argv[0] == '-c':
        ctypes.CDLL(None).prctl(PR_SET_NAME, b'python')  # what tests start, is warm by its name
        main = sys.modules['__main__'] = ModuleType('__main__')
        exec(sys.argv.pop(1), vars(main))
    else:
        if not hasattr(sys.modules.get(sys.argv[0]), '__path__'):
            sys.modules.pop(sys.argv[0], None)
        runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)


def _show(words):
    """Let the command line of this process, as others see it, be that of the program."""
    begin, end = map(int, Path('/proc/self/stat').read_text().rpartition(')')[2].split()[45:47])
    line = b'\0'.join(map(os.fsencode, words))[: end - begin - 1]
    ctypes.memmove(begin, line.ljust(end - begin, b'\0'), end - begin)


def _end_with(parent):
    """Let the kernel end this process when its parent has ended."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it went before the kernel knew
        os._exit(0)


def _stream(number, before, unbuffered):
    """Return a standard stream as Python makes it when it starts."""
    binary = io.FileIO(number, 'w' if number else 'r', closefd=False)
    binary.name = before.name
    if not (unbuffered and number):
        binary = (io.BufferedWriter if number else io.BufferedReader)(binary)
    stream = io.TextIOWrapper(
        binary,
        before.encoding,
        before.errors,
        '\n',
        write_through=unbuffered,
        line_buffering=not unbuffered and (number == 2 or os.isatty(number)),
    )
    stream.mode = 'w' if number else 'r'
    return stream


if __name__ == '__main__':
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests
    ctypes.CDLL(None).prctl(PR_SET_NAME, NAME)
    os.environ['OPENBLAS_NUM_THREADS'] = '1'
    atexit.register(sys.modules.update, OUTLIVED)  # the first, and so the last to be called
    del sys.path[0]
    _become(*_serve(socket.socket(fileno=int(sys.argv[1]))))
    _run()
