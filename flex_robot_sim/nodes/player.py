"""A recording, sent again as it was sent."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from flex_robot_sim.exceptions import UsageError
from flex_robot_sim.nodes.message_types import type_of
from flex_robot_sim.nodes.parameters import Parameters
from flex_robot_sim.nodes.run import run
from flex_robot_sim.nodes.settings import NodeSettings
from flex_robot_sim.recording.mcap_file import ENCODING, RecordingReader
from flex_robot_sim.recording.playing import Extent, due_times

# many send on these, beside each other
OF_ALL = '/diagnostics', '/parameter_events', '/rosout', '/tf', '/tf_static'
DEPTH = 1000                # messages that wait for a listener that is held up
DISCOVERY = 1.0             # in which listeners and other senders are found                  [s]
LOOK = 0.2                  # between two looks at other senders, and at the line that is shown [s]


class Playing(NamedTuple):
    """How a recording is played."""

    speed: float = 1.0
    start: float = 0.0          # [s]
    until: float = float('inf')  # [s]
    is_looped: bool = False


class PlayerNode(Node):
    """Send the messages of a recording, in a thread of its own."""

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
        for topic in extent.topics:
            kind = type_of(topic.kind) if topic.encoding == ENCODING else None
            if kind is None:
                say(f'note: {topic.name} is left out: {topic.kind or "its type"} is not installed '
                    'here')
                continue
            self._senders[topic] = self.create_publisher(kind, topic.name, QoSProfile(
                depth=1 if topic.is_latched else DEPTH,
                durability=(DurabilityPolicy.TRANSIENT_LOCAL if topic.is_latched else
                            DurabilityPolicy.VOLATILE),
                reliability=(ReliabilityPolicy.RELIABLE if topic.is_reliable else
                             ReliabilityPolicy.BEST_EFFORT)))
        self._thread = threading.Thread(target=self._run, name='player', daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Send no more."""
        self._stopped.set()
        self._thread.join()
        self._show('')

    def _run(self):
        try:
            self._stopped.wait(DISCOVERY)
            self._refuse_others()
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
        except Exception as error:      # whoever spins the node raises it
            self.failure = error

    def _play(self):
        playing = self._playing
        began, looked = time.monotonic(), 0.0
        for due, message in due_times(self._reader, self._extent.begin, playing.speed,
                                      playing.start, playing.until):
            while (now := time.monotonic()) < began + due or now > looked + LOOK:
                if now > looked + LOOK:
                    looked = now
                    self._refuse_others()
                    self._show(f'{playing.start + (now - began) * playing.speed:7.1f} of '
                               f'{self._extent.seconds:.1f} s')
                if self._stopped.wait(max(min(began + due - now, LOOK), 0.0)):
                    return
            sender = self._senders.get(message.topic)
            if sender is not None:
                sender.publish(message.data)
                self.sent += 1

    def _refuse_others(self):
        """End where somebody else sends: an arm that is live must not get what is recorded."""
        if self._stopped.is_set():
            return
        for topic in self._senders:
            if topic.name not in OF_ALL and self.count_publishers(topic.name) > sum(
                    other.name == topic.name for other in self._senders):
                raise UsageError(f'somebody else sends {topic.name} in this ROS_DOMAIN_ID: an arm '
                                 'may be live. Stop it, or choose another domain for the replay.')


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
