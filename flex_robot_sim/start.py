"""
Process start: entry points of `flexsim` and of the nodes, command lines of Python subprocesses.

Importing rclpy and the compiled core takes a second or two. Until then, a signal ends the process
without a traceback. This module imports nothing that Python has not loaded before. A traceback is
possible only until `main` begins: in Python's own start, which runs before any line of this
package.

`python -m` and `python -c` search the current folder for modules first, so that a downloaded
`numpy.py` would be run. `run_module` and `run_text` return command lines that ignore modules in
the current folder. Python 3.11 has the option -P; this module also supports 3.10.
"""

import _signal  # without the enumerations of `signal`, which take longer than all else here
import os
import sys

_PACKAGES = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))

# runs before any import, because the standard library is searched in the current folder, too; the
# folder of the package is appended, because it may be the current folder
_SAFE_PATH = (
    f'import sys; sys.path[:] = [folder for folder in sys.path if folder] + [{_PACKAGES!r}]; '
)


def main(leaves_folder: bool = False) -> int:
    """
    Run `flexsim` with the command line; return the exit code.

    :param leaves_folder: whether `python -m` has put the current folder on the path.
    """
    handler = _signal.getsignal(_signal.SIGINT)
    if handler is _signal.default_int_handler:  # unless the shell has set it to ignored
        _end_quietly(130, _signal.SIGINT)
    if leaves_folder and not getattr(sys.flags, 'safe_path', False):
        del sys.path[0]
    _use_one_blas_thread()
    from importlib import import_module

    run = import_module('flex_robot_sim.cli').main
    try:
        _signal.signal(_signal.SIGINT, handler)
        code = run()
    except KeyboardInterrupt:  # before the command has installed its handler
        code = 130
    if _signal.getsignal(_signal.SIGINT) is not handler:
        # after an orderly end by Ctrl-C, another one must not change the exit code
        _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
    return code


def start_node(name: str) -> None:
    """Run a node of this package until a signal; the files in programs/ call this."""
    _end_quietly(0, _signal.SIGINT, _signal.SIGTERM)  # until ros/node_runner.py handles signals
    _use_one_blas_thread()
    from importlib import import_module

    executables = import_module('flex_robot_sim.system.processes').EXECUTABLES
    if name not in executables:
        problem = f'no node "{name}". Known' if name else 'name a node'
        print(f'flex_robot_sim.nodes: {problem}: {", ".join(executables)}', file=sys.stderr)
        sys.exit(2)
    import_module('flex_robot_sim.ros.network').prepare_network()
    try:
        module = import_module(f'flex_robot_sim.nodes.{name}')
        run = import_module('flex_robot_sim.ros.node_runner').run
    except ImportError as error:
        sys.exit(f'{name}: {no_ros_line(error)}')
    sys.exit(run(name, getattr(module, executables[name])))


def _use_one_blas_thread():
    """
    Let OpenBLAS work in the calling thread, unless the user has chosen a number of threads.

    The matrices of an arm are small. Threads of OpenBLAS spin for a second after each use, on the
    processors that a loop needs. They make the reduction of a mesh slower, too.
    """
    os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')


def no_ros_line(error: ImportError) -> str:
    """Return the error line for a Python that cannot import rclpy, with the remedy."""
    return (
        f'there is no ROS 2 here ({error}). Source a ROS installation, or install its wheels '
        'by pip install "PATH_TO_THE_CLONE[ros]".'
    )


def run_module(name: str, *words: str) -> list[str]:
    """Return the command line that runs a module of this package as a program."""
    return [
        sys.executable,
        '-c',
        f'{_SAFE_PATH}import runpy; runpy.run_module({name!r}, '
        "run_name='__main__', alter_sys=True)",
        *words,
    ]


def run_text(program: str, *words: str) -> list[str]:
    """Return the command line that runs the text of a program."""
    return [sys.executable, '-c', f'{_SAFE_PATH}exec({program!r})', *words]


def _end_quietly(code, *signal_numbers):
    """Restore the default action of signals: an import might swallow an exception."""
    for signal_number in signal_numbers:
        _signal.signal(signal_number, lambda *_: os._exit(code))
