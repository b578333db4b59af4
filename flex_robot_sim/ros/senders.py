"""Detection of several publishers on topics that only one node should publish."""

from __future__ import annotations

from collections.abc import Sequence

from rclpy.node import Node

from flex_robot_sim.ros.reporting import log
from flex_robot_sim.ros.topics import Topic

PARTICIPANT = slice(0, 12)      # of a DDS GID; common to all endpoints of a process


class SenderWatch:
    """Warns if several nodes publish the command topics of a node."""

    def __init__(self, node: Node, topics: Sequence[Topic]) -> None:
        self._node, self._topics, self._warned = node, topics, ''

    def check(self) -> str:
        """Return the problem, or ''; a change is logged."""
        names = senders_of(self._node, self._topics)
        topics = ' or '.join(topic.name for topic in self._topics)
        line = '' if len(names) < 2 else (
            f'{len(names)} nodes send {topics}: {", ".join(names)}. Stop all but one')
        if line and line != self._warned:
            log(self._node, 'warning', line)
        self._warned = line
        return line


def senders_of(node: Node, topics: Sequence[Topic]) -> list[str]:
    """Return sorted full names of the publishing nodes; nodes of equal name are listed each."""
    senders = {(f'{sender.node_namespace.rstrip("/")}/{sender.node_name}',
                bytes(sender.endpoint_gid[PARTICIPANT]))
               for topic in topics for sender in node.get_publishers_info_by_topic(
                   node.resolve_topic_name(topic.name))}
    return sorted(name for name, _ in senders)
