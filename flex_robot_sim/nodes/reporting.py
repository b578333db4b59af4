"""How every node speaks: what it refuses, lines in the log, and its part of /diagnostics."""

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from flex_robot_sim.nodes.conversions import diagnostic_status
from flex_robot_sim.util.exceptions import FlexRobotSimError, plain

LOOK = 0.1                  # period of the look for news                                     [s]
REPEAT = 10.0               # between two equal lines in the log                              [s]
REPORT = 1.0                # period of /diagnostics                                          [s]


def refuse(node: Node, error: Exception) -> None:
    """Log why a message is not taken, once a second."""
    node.get_logger().warning(f'refused: {error}', throttle_duration_sec=1.0)


def carry_out(node: Node, action: Callable[[], object]) -> None:
    """Execute the request of a message, or log why it is refused."""
    try:
        action()
    except FlexRobotSimError as error:
        refuse(node, error)


def answer(response: Any, action: Callable[[], str]) -> Any:
    """Return a response of std_srvs filled with what was done, as `action` says, or why not."""
    try:
        response.success, response.message = True, action()
    except FlexRobotSimError as error:
        response.success, response.message = False, str(error)
    return response


def log(node: Node, level: str, line: str) -> None:
    """Log a line of level 'info', 'warning' or 'error'."""
    logger, line = node.get_logger(), plain(line)
    # each level in a line of its own: rclpy refuses to change the level of a line of code
    if level == 'error':
        logger.error(line)
    elif level == 'warning':
        logger.warning(line)
    else:
        logger.info(line)


class RepeatFilter:
    """Lets a line of the log pass once in a while, however often it is repeated."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin without any line."""
        self._clock = clock
        self._logged: dict[str, float] = {}         # when it was logged last               [s]
        self._counts: Counter[str] = Counter()      # how often it was left out since then

    def passed(self, line: str) -> str:
        """Return the line with how often it was left out before, or '' if it is left out now."""
        now = self._clock()
        if now < self._logged.get(line, -math.inf) + REPEAT:
            self._counts[line] += 1
            return ''
        self._logged = {other: then for other, then in self._logged.items()
                        if now < then + REPEAT or self._counts[other]}
        self._logged[line] = now
        count = self._counts.pop(line, 0)
        return f'{line} ({count} times more since the last line)' if count else line


class Reporter:
    """One status of a node in /diagnostics, by the steady clock, and a look for news."""

    def __init__(self, node: Node, part: str, look: Callable[[], object],
                 figures: Callable[[], tuple[str, str, str, Mapping[str, object]]]) -> None:
        """
        Start the timers of `node`.

        :param part: what the status is about; look: called every LOOK, to log what is new.
        :param figures: returns the name of the hardware, the level as in conversions.LEVELS, a
            message and {figure: value}.
        """
        self._node, self._figures = node, figures
        self.name = f'{node.get_fully_qualified_name()}: {part}'
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 10)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(LOOK, look, clock=steady)
        node.create_timer(REPORT, self.publish, clock=steady)

    def publish(self) -> None:
        """Publish the figures now."""
        array = DiagnosticArray(status=[diagnostic_status(self.name, *self._figures())])
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(array)
