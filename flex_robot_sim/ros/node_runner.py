"""Start, spin and end nodes; a user error prints one line and returns exit code 2."""

import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.exceptions import ParameterException
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from flex_robot_sim.realtime.priority import raise_ordinary_threads
from flex_robot_sim.ros.network import asks_for_network
from flex_robot_sim.ros.network_exposure import open_addresses
from flex_robot_sim.ros.node_settings import NodeSettings
from flex_robot_sim.ros.security import is_security_enabled
from flex_robot_sim.util.exceptions import FlexRobotSimError, SettingError, shortened

SWITCH_INTERVAL_S = 1e-4  # between switches of threads; Python's default, 5 ms, is five periods
LOG_PERIOD_S = 5.0  # between two lines about callbacks that fail


class _Stop:
    """Whether a signal has requested the end of the process."""

    def __init__(self):
        self.is_requested, self.is_starting = False, True
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)

    def _on_signal(self, *_):
        if not self.is_requested:
            self.is_requested = True
            if self.is_starting:
                # loading and compiling may take a minute, and an exception inside the compiler
                # would crash it; nothing moves yet
                os._exit(0)

    def ignore(self):
        """Ignore signals from now on: a second Ctrl-C would interrupt the shutdown."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)


def run(name: str, make_nodes: Callable[[], Any], args: list[str] | None = None) -> int:
    """
    Run nodes until a signal; return the exit code.

    An exception of a callback is logged, and the nodes continue. An error at the start ends them:
    `make_nodes` raises it, or a node that starts later sets `failure`.

    :param name: of the program, for its error line.
    :param make_nodes: returns a node or a list of nodes, with `parameters` that hold NodeSettings;
        they may have a `close` method, a `failure` that ends the program with its line, and
        `has_ended`, which ends it with code 0.
    """
    stop = _Stop()
    nodes = []
    sys.setswitchinterval(SWITCH_INTERVAL_S)  # a simulation runs before its node is spun
    try:
        # rclpy prints it in addition to its error if the middleware refuses a node
        warnings.filterwarnings('ignore', 'Failed to fini rosout publisher', RuntimeWarning)
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
        made = make_nodes()
        nodes = made if isinstance(made, list) else [made]
        _warn_if_exposed(nodes[0])
        stop.is_starting = False
        _spin(nodes, stop)
    except (FlexRobotSimError, ParameterException) as error:
        print(f'{name}: {error}', file=sys.stderr)
        return 2
    except ExternalShutdownException:
        return 0
    except RuntimeError as error:  # of rclpy: wrong --ros-args, or keys that do not work
        if rclpy.ok() and (nodes or not is_security_enabled()):
            raise
        print(f'{name}: {" ".join(str(error).split())}', file=sys.stderr)
        return 2
    finally:
        stop.ignore()
        for node in nodes:
            if hasattr(node, 'close'):
                node.close()
        rclpy.try_shutdown()
    for failure in (getattr(node, 'failure', None) for node in nodes):  # of `close`
        if isinstance(failure, FlexRobotSimError):
            print(f'{name}: {failure}', file=sys.stderr)
            return 2
    return 0


def _warn_if_exposed(node):
    """Warn if other machines have access although you have not enabled it."""
    addresses = open_addresses()
    if addresses and not asks_for_network():
        node.get_logger().warning(
            f'other machines may subscribe and command, through {", ".join(addresses)}: this '
            'middleware or its profile is not bound to 127.0.0.1 (see docs/security.md)'
        )


def _spin(nodes, stop):
    settings = nodes[0].parameters[NodeSettings]
    executor = make_executor(settings.executor)
    raise_ordinary_threads(settings.thread_priority)
    for node in nodes:
        executor.add_node(node)
    nodes_with_failure = [node for node in nodes if hasattr(node, 'failure')]
    nodes_with_end = [node for node in nodes if hasattr(node, 'has_ended')]
    # in some versions `spin` of the events executor runs no callback, but `spin_once` does; it
    # returns after each callback, so this loop runs thousands of times a second
    while rclpy.ok() and not stop.is_requested:
        spin_once(executor, 0.1, nodes[0])
        for node in nodes_with_failure:
            if node.failure is not None:
                raise node.failure
        for node in nodes_with_end:
            if node.has_ended:
                return


def spin_once(executor: Executor, seconds: float, node: Node) -> None:
    """Wait [s] for one callback; if it raises an exception, `node` logs it and continues."""
    try:
        executor.spin_once(timeout_sec=seconds)
    except ExternalShutdownException:
        raise
    except Exception as error:  # a bug; the arm must not fall
        if rclpy.ok(context=node.context):
            _log_failed_callback(node.get_logger(), error)


def _log_failed_callback(logger, error):
    """Log an exception in one line, and its traceback at level debug; throttled."""
    frames = traceback.extract_tb(error.__traceback__)[-1:]
    location = ''.join(f' ({Path(frame.filename).name}:{frame.lineno})' for frame in frames)
    logger.error(
        f'a callback failed, and the node continues: {type(error).__name__}: '
        f'{shortened(error)}{location}',
        throttle_duration_sec=LOG_PERIOD_S,
    )
    logger.debug(''.join(traceback.format_exception(error)), throttle_duration_sec=LOG_PERIOD_S)


def make_executor(choice: str = 'auto', context: Context | None = None) -> Executor:
    """Return the executor of NodeSettings; the events executor takes a third of the CPU time."""
    if choice == 'single_threaded':
        return SingleThreadedExecutor(context=context)
    try:
        from rclpy.experimental import EventsExecutor
    except ImportError as error:
        if choice == 'events':
            raise SettingError(
                'executor = "events": this version of rclpy has none. Take "auto"'
            ) from error
        return SingleThreadedExecutor(context=context)
    return EventsExecutor(context=context)
