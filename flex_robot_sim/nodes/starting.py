"""
Entry point of `ros2 run` and `ros2 launch`, with signal handling during the imports.

Importing rclpy and the compiled core takes a second or two before ros/node_runner.py takes over.
Without a handler, a signal in this time would print a traceback from an import.
"""

import os
import signal
import sys
from importlib import import_module

from flex_robot_sim.util.garbage import collected_seldom


def end_quietly() -> None:
    """Let a signal end the process at once, until ros/node_runner.py handles signals."""
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        # an exception might be swallowed by the module that is being imported
        signal.signal(signal_number, lambda *_: os._exit(0))


def keep_to_one_thread() -> None:
    """
    Restrict linear algebra of NumPy and SciPy to one thread; call it before their import.

    The matrices of an arm are small, and threads of OpenBLAS spin for a second after each use, on
    the processors that the loop needs.
    """
    os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')


def no_ros_line(error: ImportError) -> str:
    """Return the error line for a Python that cannot import rclpy, with the remedy."""
    return (
        f'there is no ROS 2 here ({error}). Source a ROS installation, or install its wheels '
        'by pip install "PATH_OF_THE_CHECKOUT[ros]".'
    )


def start(name: str) -> None:
    """Run a program of this package until a signal; the files in programs/ call this."""
    end_quietly()
    keep_to_one_thread()
    with collected_seldom():
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
