"""Playback of a recording: order and due times of its messages."""

import heapq
import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from flex_robot_sim.recording.mcap_file import RecordedMessage, RecordedTopic
from flex_robot_sim.recording.messages import SECOND
from flex_robot_sim.ros import topics
from flex_robot_sim.ros.definitions import short_name

# command topics of an arm by the last part of their names, and types used for commands only
COMMAND_NAMES = {topic.last_word for topic in topics.TOPICS if topic.is_command}
COMMAND_TYPES = (
    short_name(topics.JOINT_TRAJECTORY),
    short_name(topics.FLOATS),
    'control_msgs/JointJog',
)
# joint_wrenches/JOINT is measured for any name JOINT, and so on
MEASURED_NAMESPACES = [
    topic.name.partition('/')[0]
    for topic in (topics.JOINT_WRENCH, topics.CONSTRAINT_FORCE, topics.CONTACT)
]
REORDER_WINDOW_NS = SECOND  # largest time by which messages of a file may be out of order


class Extent(NamedTuple):
    """Time span and topics of a recording."""

    begin: int  # [ns]
    end: int  # [ns]
    topics: tuple[RecordedTopic, ...]

    @property
    def seconds(self) -> float:
        """Duration [s]."""
        return (self.end - self.begin) / SECOND


def extent_of(messages: Iterable[RecordedMessage]) -> Extent | None:
    """Return the Extent of messages; None if there are none."""
    begin, end = None, 0
    topics: dict[RecordedTopic, None] = {}
    for topic, time, _ in messages:
        begin, end = time if begin is None else min(begin, time), max(end, time)
        topics[topic] = None
    return None if begin is None else Extent(begin, end, tuple(topics))


def is_command(topic: RecordedTopic) -> bool:
    """Whether the messages of a topic command an arm, in any namespace."""
    return is_command_name(topic.name) or (
        not _is_measured(topic.name) and short_name(topic.kind) in COMMAND_TYPES
    )


def is_command_name(topic: str) -> bool:
    """Whether topics of this name command an arm, in any namespace."""
    return topic.split('/')[-1] in COMMAND_NAMES and not _is_measured(topic)


def _is_measured(topic):
    return topic.split('/')[-2:-1] in [[name] for name in MEASURED_NAMESPACES]


def in_order(messages: Iterable[RecordedMessage]) -> Iterator[RecordedMessage]:
    """Yield messages sorted by time; they may be out of order by REORDER_WINDOW_NS."""
    queue: list[tuple[int, int, RecordedMessage]] = []
    newest = 0
    for number, message in enumerate(messages):
        heapq.heappush(queue, (message.time, number, message))
        newest = max(newest, message.time)
        while queue[0][0] < newest - REORDER_WINDOW_NS:
            yield heapq.heappop(queue)[2]
    while queue:
        yield heapq.heappop(queue)[2]


def due_times(
    messages: Iterable[RecordedMessage],
    begin: int,
    speed: float = 1.0,
    start: float = 0.0,
    until: float = math.inf,
) -> Iterator[tuple[float, RecordedMessage]]:
    """
    Yield (time since the start of playing [s], message).

    Latched messages from before `start` are due at once, because they are still valid.

    :param begin: first time of the recording [ns]; start, until: relative to it [s].
    """
    for message in in_order(messages):
        elapsed = (message.time - begin) / SECOND
        if elapsed > until:
            return
        if elapsed >= start:
            yield (elapsed - start) / speed, message
        elif message.topic.is_latched:
            yield 0.0, message
