"""
What `ros2 run` and `ros2 launch` start, and how it is stopped before it runs.

Until nodes/run.py takes over, rclpy and the compiled core are imported, which takes a second or
two. A signal in this time finds nothing to end yet, and would be a traceback out of an import.
"""

import os
import signal
import sys
from importlib import import_module

from flex_robot_sim.util.garbage import collected_seldom


def end_quietly() -> None:
    """Let a signal end the process at once, until nodes/run.py handles signals."""
    for number in (signal.SIGINT, signal.SIGTERM):
        # an exception might be swallowed by the module that is being imported
        signal.signal(number, lambda *_: os._exit(0))


def keep_to_one_thread() -> None:
    """
    Let NumPy and SciPy, which are not imported yet, do linear algebra in the thread that asks.

    The matrices of an arm are small. Threads of OpenBLAS spin for a second after each use, on the
    processors that the loop needs.
    """
    os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')


def no_ros_line(error: ImportError) -> str:
    """Return the line about a Python that cannot import rclpy, and what to do about it."""
    return (f'there is no ROS 2 here ({error}). Source a ROS installation, or install its wheels '
            'by pip install "PATH_OF_THE_CHECKOUT[ros]".')


def start(name: str) -> None:
    """Run a module of this folder: what the files in programs/ call."""
    end_quietly()
    keep_to_one_thread()
    with collected_seldom():
        import_module('flex_robot_sim.nodes.network').prepare_network()
        try:
            module = import_module(f'flex_robot_sim.nodes.{name}')
        except ImportError as error:
            sys.exit(f'{name}: {no_ros_line(error)}')
    module.main()
