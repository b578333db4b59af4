"""Reports of nodes: refused requests, log lines, /diagnostics, topics of several senders."""

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node

from flex_robot_sim.ros import topics
from flex_robot_sim.ros.conversions import diagnostic_status
from flex_robot_sim.ros.endpoints import advertise, make_timer
from flex_robot_sim.ros.topics import Topic
from flex_robot_sim.util.exceptions import FlexRobotSimError, plain

POLL_PERIOD_S = 0.1  # period of polls for events
REPEAT_PERIOD_S = 10.0  # minimum between two equal lines in the log
DIAGNOSTICS_PERIOD_S = 1.0
PARTICIPANT = slice(0, 12)  # of a DDS GID; common to all endpoints of a process


def refuse(node: Node, error: Exception) -> None:
    """Log why a message is refused, at most once a second."""
    node.get_logger().warning(f'refused: {error}', throttle_duration_sec=1.0)


def carry_out(node: Node, action: Callable[[], object]) -> None:
    """Execute the request of a message, or log why it is refused."""
    try:
        action()
    except FlexRobotSimError as error:
        refuse(node, error)


def log(node: Node, level: str, line: str) -> None:
    """Log a line of level 'info', 'warning' or 'error'."""
    logger, line = node.get_logger(), plain(line)
    # separate calls, because rclpy refuses to change the level of a code line
    if level == 'error':
        logger.error(line)
    elif level == 'warning':
        logger.warning(line)
    else:
        logger.info(line)


class RepeatFilter:
    """Limits the rate of repeated log lines."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._logged: dict[str, float] = {}  # time of the last log                  [s]
        self._counts: Counter[str] = Counter()  # suppressed lines since then

    def passed(self, line: str) -> str:
        """Return the line with the count of suppressed repetitions, or '' to suppress it."""
        now = self._clock()
        if now < self._logged.get(line, -math.inf) + REPEAT_PERIOD_S:
            self._counts[line] += 1
            return ''
        self._logged = {
            old_line: logged_at
            for old_line, logged_at in self._logged.items()
            if now < logged_at + REPEAT_PERIOD_S or self._counts[old_line]
        }
        self._logged[line] = now
        count = self._counts.pop(line, 0)
        return f'{line} ({count} times more since the last line)' if count else line


class Reporter:
    """Publishes one status in /diagnostics and polls for events, by the steady clock."""

    def __init__(
        self,
        node: Node,
        subject: str,
        poll: Callable[[], object],
        figures: Callable[[], tuple[str, str, str, Mapping[str, object]]],
    ) -> None:
        """
        Start the timers of `node`.

        :param subject: of the status; poll: called every POLL_PERIOD_S to log events.
        :param figures: returns the name of the hardware, a level of conversions.LEVELS, a
            message and {figure: value}.
        """
        self._node, self._figures = node, figures
        self.name = f'{node.get_fully_qualified_name()}: {subject}'
        self._publisher = advertise(node, topics.DIAGNOSTICS)
        make_timer(node, POLL_PERIOD_S, poll)
        make_timer(node, DIAGNOSTICS_PERIOD_S, self.publish)

    def publish(self) -> None:
        """Publish the figures now."""
        array = DiagnosticArray(status=[diagnostic_status(self.name, *self._figures())])
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(array)


class SenderWatch:
    """Warns if several nodes publish the command topics of a node."""

    def __init__(self, node: Node, topics: Sequence[Topic]) -> None:
        self._node, self._topics, self._warned = node, topics, ''

    def check(self) -> str:
        """Return the problem, or ''; a change is logged."""
        names = senders_of(self._node, self._topics)
        topics = ' or '.join(topic.name for topic in self._topics)
        line = (
            ''
            if len(names) < 2
            else (f'{len(names)} nodes send {topics}: {", ".join(names)}. Stop all but one')
        )
        if line and line != self._warned:
            log(self._node, 'warning', line)
        self._warned = line
        return line


def senders_of(node: Node, topics: Sequence[Topic]) -> list[str]:
    """Return sorted full names of the publishing nodes; nodes of equal name are listed each."""
    senders = {
        (
            f'{sender.node_namespace.rstrip("/")}/{sender.node_name}',
            bytes(sender.endpoint_gid[PARTICIPANT]),
        )
        for topic in topics
        for sender in node.get_publishers_info_by_topic(node.resolve_topic_name(topic.name))
    }
    return sorted(name for name, _ in senders)
