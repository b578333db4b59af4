"""Topics that only one node should publish: which other nodes do it as well."""

from __future__ import annotations

from collections.abc import Sequence

from rclpy.node import Node

from flex_robot_sim.nodes.reporting import log

PARTICIPANT = slice(0, 12)      # of a DDS identity: all endpoints of a process share it


class SenderWatch:
    """Warns where several nodes publish what the node subscribes to."""

    def __init__(self, node: Node, topics: Sequence[str]) -> None:
        """Watch topics that are meant to have one publisher, all of them together."""
        self._node, self._topics, self._warned = node, topics, ''

    def look(self) -> str:
        """Return the problem, or ''; a change is logged."""
        names = senders_of(self._node, self._topics)
        line = '' if len(names) < 2 else (
            f'{len(names)} nodes send {" or ".join(self._topics)}: {", ".join(names)}. Stop all '
            'but one')
        if line and line != self._warned:
            log(self._node, 'warning', line)
        self._warned = line
        return line


def senders_of(node: Node, topics: Sequence[str]) -> list[str]:
    """Full names of the nodes that publish some of the topics, in order; twins are there twice."""
    senders = {(f'{sender.node_namespace.rstrip("/")}/{sender.node_name}',
                bytes(sender.endpoint_gid[PARTICIPANT]))
               for topic in topics for sender in node.get_publishers_info_by_topic(
                   node.resolve_topic_name(topic))}
    return sorted(name for name, _ in senders)
