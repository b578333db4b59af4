"""A recording, sent again as it was sent."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from rclpy.exceptions import InvalidTopicNameException
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from flex_robot_sim.nodes.message_types import type_of
from flex_robot_sim.nodes.parameters import Parameters
from flex_robot_sim.nodes.run import run
from flex_robot_sim.nodes.settings import NodeSettings
from flex_robot_sim.recording.mcap_file import ENCODING, RecordingReader
from flex_robot_sim.recording.playing import Extent, due_times, is_command, is_command_name
from flex_robot_sim.util.exceptions import UsageError

# many send on these, beside each other
OF_ALL = '/diagnostics', '/parameter_events', '/rosout', '/tf', '/tf_static'
DEPTH = 1000                # messages that wait for a listener that is held up
DISCOVERY = 1.0             # in which listeners and other senders are found                  [s]
LOOK = 0.2                  # between two looks at other nodes, and at the line that is shown [s]
SETTLE = 0.5                # in which more is found about a listener that has just appeared   [s]
NAMES = 3.0                 # in which the name of a listener is found                       [s]
UNKNOWN = 'NODE_NAME_UNKNOWN'   # what ROS calls a node until it knows its name
STATE_TYPE = 'sensor_msgs/msg/JointState'


class Playing(NamedTuple):
    """How a recording is played."""

    speed: float = 1.0
    start: float = 0.0          # [s]
    until: float = float('inf')  # [s]
    is_looped: bool = False
    has_commands: bool = False  # whether topics that command an arm are sent
    is_forced: bool = False     # whether they are sent although other nodes listen to them
    viewer: str = ''            # full name of the node that shows the arm, '' for none


class PlayerNode(Node):
    """Publish the messages of a recording, in its own thread."""

    def __init__(self, reader: RecordingReader, extent: Extent, playing: Playing,
                 say: Callable[[str], None], show: Callable[[str], None]) -> None:
        """Make the publishers and begin; say and show take lines, the latter about the present."""
        super().__init__('player')
        self.parameters = Parameters(self, NodeSettings)
        self.failure: Exception | None = None
        self.has_ended, self.sent = False, 0
        self._reader, self._extent, self._playing = reader, extent, playing
        self._say, self._show, self._stopped = say, show, threading.Event()
        self._senders: dict[Any, Any] = {}
        self._listeners: dict[Any, int] = {}    # how many each topic had when they were checked
        for topic in extent.topics:
            sender = self._sender(topic)
            if sender is not None:
                self._senders[topic] = sender
        if not self._senders:
            raise UsageError(f'{reader.path}: none of its topics can be sent.')
        self._thread = threading.Thread(target=self._run, name='player', daemon=True)
        self._thread.start()

    def _sender(self, topic):
        """Return the publisher of a topic; None, with a note, if the topic is left out."""
        if is_command(topic) and not self._playing.has_commands:
            self._say(f'note: {topic.name} is left out: it commands an arm. --commands sends it')
            return None
        kind = type_of(topic.kind) if topic.encoding == ENCODING else None
        if kind is None:
            self._say(f'note: {topic.name} is left out: {topic.kind or "its type"} is not '
                      'installed here')
            return None
        try:
            return self.create_publisher(kind, topic.name, QoSProfile(
                depth=1 if topic.is_latched else DEPTH,
                durability=(DurabilityPolicy.TRANSIENT_LOCAL if topic.is_latched else
                            DurabilityPolicy.VOLATILE),
                reliability=(ReliabilityPolicy.RELIABLE if topic.is_reliable else
                             ReliabilityPolicy.BEST_EFFORT)))
        except InvalidTopicNameException:
            self._say(f'note: {topic.name} is left out: ROS does not allow this name of a topic')
        except (RuntimeError, ValueError) as error:     # a name that is too long, a second type
            self._say(f'note: {topic.name} is left out: ROS does not send it: {error}')
        return None

    def close(self) -> None:
        """Send no more."""
        self._stopped.set()
        self._thread.join()
        self._show('')

    def _run(self):
        try:
            self._stopped.wait(DISCOVERY)
            self._check_listeners()
            self._say(f'{self._reader.path}: {self._extent.seconds:.1f} s of '
                      f'{len(self._senders)} topics, in ROS_DOMAIN_ID='
                      f'{os.environ.get("ROS_DOMAIN_ID") or 0}. Ctrl-C ends it.')
            while not self._stopped.is_set():
                self._play()
                if not self._playing.is_looped:
                    break
            # the last ones are still on their way
            self._stopped.wait(0.2)
            self.has_ended = True
        except Exception as error:      # raised in the thread that spins the node
            self.failure = error

    def _play(self):
        playing = self._playing
        began, looked = time.monotonic(), 0.0
        for due, message in due_times(self._reader, self._extent.begin, playing.speed,
                                      playing.start, playing.until):
            while (now := time.monotonic()) < began + due or now > looked + LOOK:
                if now > looked + LOOK:
                    looked = now
                    self._refuse_live_arms()
                    self._show(f'{playing.start + (now - began) * playing.speed:7.1f} of '
                               f'{self._extent.seconds:.1f} s')
                if self._stopped.wait(max(min(began + due - now, LOOK), 0.0)):
                    return
            sender = self._senders.get(message.topic)
            if sender is not None:
                if sender.get_subscription_count() != self._listeners[message.topic]:
                    paused = time.monotonic()
                    self._check_listeners()
                    began += time.monotonic() - paused
                sender.publish(message.data)
                self.sent += 1

    def _check_listeners(self):
        """Raise UsageError where an arm listens; wait until new listeners are known."""
        while not self._stopped.is_set():
            found = {topic: sender.get_subscription_count()
                     for topic, sender in self._senders.items()}
            is_more = any(count > self._listeners.get(topic, 0) for topic, count in found.items())
            self._listeners = found
            if not is_more:
                break
            self._stopped.wait(SETTLE)
        self._refuse_live_arms()

    def _refuse_live_arms(self):
        """Raise UsageError if an arm may be live: it must not get recorded commands."""
        if self._stopped.is_set():
            return
        for topic in self._senders:
            if topic.name in OF_ALL:
                continue
            if self.count_publishers(topic.name) > sum(
                    other.name == topic.name for other in self._senders):
                raise UsageError(f'another node sends {topic.name} in this ROS_DOMAIN_ID: an arm '
                                 'may be live. Stop it, or choose another domain for the replay.')
            self._refuse_listeners(topic)

    def _refuse_listeners(self, topic):
        """
        Raise UsageError where a node that may move an arm listens to a topic.

        To a command that is any node; to other topics, such as remapped commands, a node that
        publishes joint states.
        """
        if self._playing.is_forced:
            return
        for other in self._listeners_of(topic):
            name = f'{other.node_namespace.rstrip("/")}/{other.node_name}'
            if name != self._playing.viewer and (is_command(topic) or self._is_arm(other)):
                raise UsageError(f'the node {name} listens to {topic.name} in this ROS_DOMAIN_ID: '
                                 'an arm may move. Stop it, choose another domain for the replay, '
                                 'or give --commands --force.')

    def _listeners_of(self, topic):
        """Subscriptions of a topic; the names of their nodes may come after them."""
        end = time.monotonic() + NAMES
        while True:
            found = self.get_subscriptions_info_by_topic(topic.name)
            if not any(UNKNOWN in other.node_name for other in found) or (
                    time.monotonic() > end or self._stopped.wait(0.05)):
                return found

    def _is_arm(self, other):
        try:
            found = self.get_publisher_names_and_types_by_node(other.node_name,
                                                               other.node_namespace)
        except RuntimeError:        # the node has ended in the meantime
            return False
        # the states of a live arm, whatever they are called; a command has this type, too
        return any(STATE_TYPE in kinds and not is_command_name(topic) for topic, kinds in found)


def play(reader: RecordingReader, extent: Extent, playing: Playing, name: str,
         say: Callable[[str], None], show: Callable[[str], None]) -> int:
    """Play a recording until its end or a signal; return the exit code."""
    made: list[PlayerNode] = []

    def make():
        made.append(PlayerNode(reader, extent, playing, say, show))
        return made
    code = run(name, make, ['--ros-args', '--log-level', 'warn'])
    if made and not code:
        say(f'{made[0].sent} messages sent')
    return code
