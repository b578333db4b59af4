"""The player node: publishes the messages of a recording at their original times."""

import os
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from rclpy.exceptions import InvalidTopicNameException
from rclpy.node import Node

from flex_robot_sim.recording.mcap_file import ENCODING, RecordingReader
from flex_robot_sim.recording.playing import Extent, due_times, is_command, is_command_name
from flex_robot_sim.ros.endpoints import qos_of
from flex_robot_sim.ros.message_types import type_of
from flex_robot_sim.ros.node_parameters import Parameters
from flex_robot_sim.ros.node_runner import run
from flex_robot_sim.ros.node_settings import NodeSettings
from flex_robot_sim.ros.topics import DIAGNOSTICS, JOINT_STATE, Quality
from flex_robot_sim.util.exceptions import UsageError

# topics with several publishers
SHARED_TOPICS = DIAGNOSTICS.name, '/parameter_events', '/rosout', '/tf', '/tf_static'
QUEUE_DEPTH = 1000  # messages queued for a slow subscriber
DISCOVERY_TIME_S = 1.0  # for the discovery of subscribers and other publishers
POLL_PERIOD_S = 0.2  # period of checks for other nodes, and of the progress line
SETTLE_TIME_S = 0.5  # for the discovery of all endpoints of a new subscriber
NODE_NAME_TIMEOUT_S = 3.0  # for the discovery of the node name of a subscriber
UNKNOWN_NODE_NAME = 'NODE_NAME_UNKNOWN'  # reported by ROS until the name is discovered


class PlaybackOptions(NamedTuple):
    """Options of playback."""

    speed: float = 1.0
    start: float = 0.0  # [s]
    until: float = float('inf')  # [s]
    is_looped: bool = False
    has_commands: bool = False  # whether topics that command an arm are sent
    is_forced: bool = False  # whether they are sent even if other nodes subscribe to them
    viewer: str = ''  # full name of the node that shows the arm; '': none


class PlayerNode(Node):
    """Publishes the messages of a recording, in a separate thread."""

    def __init__(
        self,
        reader: RecordingReader,
        extent: Extent,
        options: PlaybackOptions,
        say: Callable[[str], None],
        show: Callable[[str], None],
    ) -> None:
        """Make the publishers and begin; `say` takes lines, `show` the progress line."""
        super().__init__('player')
        self.parameters = Parameters(self, NodeSettings)
        self.failure: Exception | None = None
        self.has_ended, self.sent = False, 0
        self._reader, self._extent, self._options = reader, extent, options
        self._say, self._show, self._stop_event = say, show, threading.Event()
        self._topic_publishers: dict[Any, Any] = {}
        self._listeners: dict[Any, int] = {}  # subscribers per topic at the last check
        for topic in extent.topics:
            publisher = self._make_publisher(topic)
            if publisher is not None:
                self._topic_publishers[topic] = publisher
        if not self._topic_publishers:
            raise UsageError(f'{reader.path}: none of its topics can be sent.')
        self._thread = threading.Thread(target=self._run, name='player', daemon=True)
        self._thread.start()

    def _make_publisher(self, topic):
        """Return the publisher of a topic; None, with a note, if the topic is left out."""
        kind = type_of(topic.kind) if topic.encoding == ENCODING else None
        if is_command(topic) and not self._options.has_commands:
            reason = 'it commands an arm. --commands sends it'
        elif kind is None:
            reason = f'{topic.kind or "its type"} is not installed here'
        else:
            try:
                return self.create_publisher(
                    kind,
                    topic.name,
                    qos_of(
                        Quality(
                            1 if topic.is_latched else QUEUE_DEPTH,
                            topic.is_reliable,
                            topic.is_latched,
                        )
                    ),
                )
            except InvalidTopicNameException:
                reason = 'ROS does not allow this name of a topic'
            except (RuntimeError, ValueError) as error:  # a long name, a second type
                reason = f'ROS does not send it: {error}'
        self._say(f'note: {topic.name} is left out: {reason}')
        return None

    def close(self) -> None:
        """Stop the playback."""
        self._stop_event.set()
        self._thread.join()
        self._show('')

    def _run(self):
        try:
            self._stop_event.wait(DISCOVERY_TIME_S)
            self._check_listeners()
            self._say(
                f'{self._reader.path}: {self._extent.seconds:.1f} s of '
                f'{len(self._topic_publishers)} topics, in ROS_DOMAIN_ID='
                f'{os.environ.get("ROS_DOMAIN_ID") or 0}. Ctrl-C ends it.'
            )
            while not self._stop_event.is_set():
                self._play()
                if not self._options.is_looped:
                    break
            # give the last messages time to arrive
            self._stop_event.wait(0.2)
            self.has_ended = True
        except Exception as error:  # raised in the thread that spins the node
            self.failure = error

    def _play(self):
        options = self._options
        start_time, last_poll = time.monotonic(), 0.0
        for due, message in due_times(
            self._reader, self._extent.begin, options.speed, options.start, options.until
        ):
            while (now := time.monotonic()) < start_time + due or now > last_poll + POLL_PERIOD_S:
                if now > last_poll + POLL_PERIOD_S:
                    last_poll = now
                    self._refuse_live_arms()
                    self._show(
                        f'{options.start + (now - start_time) * options.speed:7.1f} of '
                        f'{self._extent.seconds:.1f} s'
                    )
                if self._stop_event.wait(max(min(start_time + due - now, POLL_PERIOD_S), 0.0)):
                    return
            publisher = self._topic_publishers.get(message.topic)
            if publisher is not None:
                if publisher.get_subscription_count() != self._listeners[message.topic]:
                    paused = time.monotonic()
                    self._check_listeners()
                    start_time += time.monotonic() - paused
                publisher.publish(message.data)
                self.sent += 1

    def _check_listeners(self):
        """Wait until new subscribers are discovered; raise UsageError if one may be an arm."""
        while not self._stop_event.is_set():
            counts = {
                topic: publisher.get_subscription_count()
                for topic, publisher in self._topic_publishers.items()
            }
            has_new_listener = any(
                count > self._listeners.get(topic, 0) for topic, count in counts.items()
            )
            self._listeners = counts
            if not has_new_listener:
                break
            self._stop_event.wait(SETTLE_TIME_S)
        self._refuse_live_arms()

    def _refuse_live_arms(self):
        """Raise UsageError if a live arm may receive recorded commands."""
        if self._stop_event.is_set():
            return
        for topic in self._topic_publishers:
            if topic.name in SHARED_TOPICS:
                continue
            if self.count_publishers(topic.name) > sum(
                endpoint.name == topic.name for endpoint in self._topic_publishers
            ):
                raise UsageError(
                    f'another node sends {topic.name} in this ROS_DOMAIN_ID: an arm '
                    'may be live. Stop it, or choose another domain for the replay.'
                )
            self._refuse_listeners(topic)

    def _refuse_listeners(self, topic):
        """
        Raise UsageError if a node that may move an arm subscribes to a topic.

        For a command topic that is any node. For other topics, such as remapped commands, it is a
        node that publishes joint states.
        """
        if self._options.is_forced:
            return
        for endpoint in self._listeners_of(topic):
            name = f'{endpoint.node_namespace.rstrip("/")}/{endpoint.node_name}'
            if name != self._options.viewer and (is_command(topic) or self._is_arm(endpoint)):
                raise UsageError(
                    f'the node {name} listens to {topic.name} in this ROS_DOMAIN_ID: '
                    'an arm may move. Stop it, choose another domain for the replay, '
                    'or give --commands --force.'
                )

    def _listeners_of(self, topic):
        """Return the subscriptions of a topic, once their node names are discovered."""
        end = time.monotonic() + NODE_NAME_TIMEOUT_S
        while True:
            endpoints = self.get_subscriptions_info_by_topic(topic.name)
            if not any(UNKNOWN_NODE_NAME in endpoint.node_name for endpoint in endpoints) or (
                time.monotonic() > end or self._stop_event.wait(0.05)
            ):
                return endpoints

    def _is_arm(self, endpoint):
        try:
            topics = self.get_publisher_names_and_types_by_node(
                endpoint.node_name, endpoint.node_namespace
            )
        except RuntimeError:  # the node has ended in the meantime
            return False
        # joint states of a live arm under any name; commands have the same type
        return any(JOINT_STATE in kinds and not is_command_name(topic) for topic, kinds in topics)


def play(
    reader: RecordingReader,
    extent: Extent,
    options: PlaybackOptions,
    name: str,
    say: Callable[[str], None],
    show: Callable[[str], None],
) -> int:
    """Play a recording until its end or a signal; return the exit code."""
    nodes: list[PlayerNode] = []

    def make_nodes():
        nodes.append(PlayerNode(reader, extent, options, say, show))
        return nodes

    code = run(name, make_nodes, ['--ros-args', '--log-level', 'warn'])
    if nodes and not code:
        say(f'{nodes[0].sent} messages sent')
    return code
