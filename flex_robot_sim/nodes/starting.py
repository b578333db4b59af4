"""
What `ros2 run` and `ros2 launch` start, and how it is stopped before it runs.

Until nodes/run.py takes over, rclpy and the compiled core are imported, which takes a second or
two. A signal in this time finds nothing to end yet, and would be a traceback out of an import.
"""

import os
import signal
from importlib import import_module


def end_quietly():
    """Let a signal end the process at once; nodes/run.py will have it end in good order."""
    for number in (signal.SIGINT, signal.SIGTERM):
        # an exception might be swallowed by the module that is being imported
        signal.signal(number, lambda *_: os._exit(0))


def keep_to_one_thread():
    """
    Let NumPy and SciPy, which are not imported yet, do linear algebra in the thread that asks.

    The matrices of an arm are small. Threads of OpenBLAS spin for a second after each use, on the
    processors that the loop needs.
    """
    os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')


def start(name):
    """Run a module of this folder."""
    end_quietly()
    keep_to_one_thread()
    import_module(f'flex_robot_sim.nodes.{name}').main()


def dynamics():
    """Simulate an arm."""
    start('dynamics')


def controller():
    """Control an arm, simulated or real."""
    start('controller')


def simulation():
    """Simulate and control an arm in one process."""
    start('simulation')


def bridge():
    """Drive the bench."""
    start('bridge')
