"""When the messages of a recording are due again."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from flex_robot_sim.recording.definitions import short_name
from flex_robot_sim.recording.mcap_file import Recorded, Topic
from flex_robot_sim.recording.messages import SECOND

# topics that an arm listens to, by the last part of their names, and types that only go to an arm
COMMAND_NAMES = ('joint_commands', 'commands', 'reference', 'joint_trajectory', 'profile',
                 'set_points', 'push')
COMMAND_TYPES = ('trajectory_msgs/JointTrajectory', 'std_msgs/Float64MultiArray',
                 'control_msgs/JointJog')
MEASURED = 'joint_wrenches'     # joint_wrenches/JOINT is measured, however the joint is named
WINDOW = SECOND             # within which messages of a file may have changed places         [ns]


class Extent(NamedTuple):
    """What a recording spans."""

    begin: int              # [ns]
    end: int                # [ns]
    topics: tuple[Topic, ...]

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return (self.end - self.begin) / SECOND


def extent_of(messages: Iterable[Recorded]) -> Extent | None:
    """Return the Extent of messages; None where there are none."""
    begin, end = None, 0
    topics: dict[Topic, None] = {}
    for topic, time, _ in messages:
        begin, end = time if begin is None else min(begin, time), max(end, time)
        topics[topic] = None
    return None if begin is None else Extent(begin, end, tuple(topics))


def is_command(topic: Topic) -> bool:
    """Whether the messages of a topic command an arm, in any namespace."""
    return is_command_name(topic.name) or (
        not _is_measured(topic.name) and short_name(topic.kind) in COMMAND_TYPES)


def is_command_name(topic: str) -> bool:
    """Whether topics of this name command an arm, in any namespace."""
    return topic.split('/')[-1] in COMMAND_NAMES and not _is_measured(topic)


def _is_measured(topic):
    return topic.split('/')[-2:-1] == [MEASURED]


def in_order(messages: Iterable[Recorded], window: int = WINDOW) -> Iterator[Recorded]:
    """Yield messages by their times; those of a file may be out of order by a `window` [ns]."""
    waiting: list[tuple[int, int, Recorded]] = []
    newest = 0
    for number, message in enumerate(messages):
        heapq.heappush(waiting, (message.time, number, message))
        newest = max(newest, message.time)
        while waiting[0][0] < newest - window:
            yield heapq.heappop(waiting)[2]
    while waiting:
        yield heapq.heappop(waiting)[2]


def due_times(messages: Iterable[Recorded], begin: int, speed: float = 1.0, start: float = 0.0,
              until: float = math.inf) -> Iterator[tuple[float, Recorded]]:
    """
    Yield (time since the start of playing [s], message).

    What is latched and was sent before `start` is due at once: it still holds.

    :param begin: of the recording [ns]; start, until: since then [s].
    """
    for message in in_order(messages):
        at = (message.time - begin) / SECOND
        if at > until:
            return
        if at >= start:
            yield (at - start) / speed, message
        elif message.topic.is_latched:
            yield 0.0, message
