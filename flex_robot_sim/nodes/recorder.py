"""
The recorder node: writes the messages of a running system to a file, as received.

A second node without an executor polls serialized messages a hundred times a second. The events
executor does not provide the sequence numbers that reveal lost messages. The other executors take
three times as long per message.
"""

import time
from collections.abc import Callable
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy

from flex_robot_sim.nodes.parameter_notes import ParameterNotes
from flex_robot_sim.nodes.settings import KNOWN_PARAMETERS, RECORDER_SETTINGS, RecorderSettings
from flex_robot_sim.recording.mcap_file import RecordingWriter
from flex_robot_sim.recording.tally import Tally, as_text, status_line, summary
from flex_robot_sim.ros.cdr import may_be_padded, trim
from flex_robot_sim.ros.definitions import DefinitionError, message_type
from flex_robot_sim.ros.endpoints import make_timer, qos_of
from flex_robot_sim.ros.message_types import definition_of, type_of
from flex_robot_sim.ros.node_parameters import Parameters
from flex_robot_sim.ros.topics import CLOCK, DIAGNOSTICS, Quality
from flex_robot_sim.util.exceptions import UsageError

POLL_PERIOD_S = 0.2  # period of topic discovery and flushing
SHARED_TOPICS = CLOCK.name, DIAGNOSTICS.name, '/tf', '/tf_static'  # recorded in any namespace
ROS_INTERNAL_TOPICS = '/parameter_events', '/rosout'  # recorded only if named
QUEUE_DEPTH = 1000  # messages queued while the disk is busy
TAKE_PERIOD_S = 0.01  # between two polls of the subscriptions
LISTENER_NAME = '_recorder'  # of the polled node; tools hide names that start with _


class RecorderNode(Node):
    """Writes topics to a file until the node ends."""

    def __init__(
        self,
        on_summary: Callable[[dict[str, Any]], None] | None = None,
        show: Callable[[str], None] = lambda line: None,
    ) -> None:
        """Begin the file; without `on_summary` the summary is logged. `show` takes progress."""
        super().__init__('recorder')
        self.failure: UsageError | None = None
        self.has_ended = False
        self._on_summary, self._show = on_summary, show
        self.parameters = Parameters(self, *RECORDER_SETTINGS, known=KNOWN_PARAMETERS)
        settings = self.parameters[RecorderSettings]
        self._space = self.get_namespace().rstrip('/')
        self._patterns = settings.topics
        self._channels: dict[str, _Channel] = {}
        self._notes: dict[str, str] = {}  # about topics that cannot be recorded
        path = settings.output or f'record_{datetime.now():%Y%m%d_%H%M%S}.mcap'
        self._writer = RecordingWriter(
            path,
            {
                'recorded': datetime.now().astimezone().isoformat(timespec='seconds'),
                'namespace': self._space or '/',
            },
            is_new=True,
        )
        self._end = time.monotonic() + settings.seconds if settings.seconds else None
        self._start_time, self._last_poll = time.monotonic(), 0.0
        self._parameter_notes = ParameterNotes(self, self._writer.note)
        self._listener = Node(LISTENER_NAME, enable_rosout=False, start_parameter_services=False)
        make_timer(self, POLL_PERIOD_S, self._poll)
        make_timer(self, TAKE_PERIOD_S, self._take)
        self.get_logger().info(f'records into {self._writer.path}')

    def close(self) -> None:
        """Close the file and log its content."""
        self._show('')
        self._take()
        self._listener.destroy_node()
        try:
            self._writer.close()
        except UsageError as error:
            self.failure = self.failure or error
        facts = self._summary()
        if self._on_summary:
            self._on_summary(facts)
        else:
            for line in as_text(facts):
                self.get_logger().info(line)

    def _summary(self):
        missing = [
            pattern
            for pattern in self._patterns
            if not any(self._matches(name, pattern) for name in self._channels)
        ]
        notes = [*self._notes.values(), *(f'there was no topic {name}' for name in missing)]
        return summary(
            self._writer.path,
            self._size(),
            time.monotonic() - self._start_time,
            [channel.tally for channel in self._channels.values()],
            notes,
        )

    def _size(self):
        try:
            return Path(self._writer.path).stat().st_size
        except OSError:
            return 0

    def _poll(self):
        """Subscribe to new topics, and flush buffered messages to the disk."""
        now = time.monotonic()
        for name, kinds in self.get_topic_names_and_types():
            if name not in self._channels and name not in self._notes and self._is_wanted(name):
                self._add(name, sorted(kinds))
        if now > self._last_poll + 1.0:
            self._last_poll = now
            for channel in self._channels.values():
                self._match_qos(channel)
            self._parameter_notes.poll()
            lost = sum(channel.tally.lost or 0 for channel in self._channels.values())
            active_topics = sum(channel.tally.count > 0 for channel in self._channels.values())
            self._show(
                status_line(
                    now - self._start_time,
                    self._writer.messages,
                    active_topics,
                    lost,
                    self._size(),
                )
            )
        self._writer.flush_when_due()
        if self._writer.failure:
            self.failure = UsageError(self._writer.failure)
        self.has_ended = self._end is not None and now >= self._end

    def _is_wanted(self, name):
        if self._patterns:
            return any(self._matches(name, pattern) for pattern in self._patterns)
        return name not in ROS_INTERNAL_TOPICS and (
            name in SHARED_TOPICS or name.startswith(f'{self._space}/')
        )

    def _matches(self, name, pattern):
        return fnmatchcase(name, pattern if pattern[:1] == '/' else f'{self._space}/{pattern}')

    def _add(self, name, kinds):
        kind = type_of(kinds[0])
        if len(kinds) > 1 or kind is None:
            self._notes[name] = (
                f'{name} is left out: it has several types'
                if len(kinds) > 1
                else f'{name} is left out: {kinds[0]} is not installed here'
            )
            self.get_logger().warning(self._notes[name])
            return
        text = definition_of(kind)
        try:
            trimmed_type = message_type(kinds[0], text)
            trimmed_type = trimmed_type if may_be_padded(trimmed_type) else None
        except DefinitionError:
            trimmed_type = None
        channel = self._channels[name] = _Channel(Tally(name, kinds[0]), kind, text, trimmed_type)
        self._match_qos(channel)

    def _match_qos(self, channel):
        """Subscribe with the QoS of the publishers of a topic, which may change."""
        tally = channel.tally
        senders = self.get_publishers_info_by_topic(tally.name)
        profiles = [sender.qos_profile for sender in senders] or [
            subscriber.qos_profile
            for subscriber in self.get_subscriptions_info_by_topic(tally.name)
            if subscriber.node_name != LISTENER_NAME
        ]
        tally.senders = max(tally.senders, len(senders))
        qos = _common_qos(profiles)
        if qos == channel.qos or channel.qos and not profiles:
            return
        if channel.subscription is not None:
            self._take_from(channel)
            self._listener.destroy_subscription(channel.subscription)
            tally.reset_sequence()
        is_latched, is_reliable = channel.qos = qos
        channel.number = self._writer.topic(tally.name, tally.kind, channel.text, *qos)
        channel.subscription = self._listener.create_subscription(
            channel.kind,
            tally.name,
            _discard,
            raw=True,
            qos_profile=qos_of(Quality(QUEUE_DEPTH, is_reliable, is_latched)),
        )

    def _take(self):
        """Write all received messages."""
        for channel in self._channels.values():
            self._take_from(channel)

    def _take_from(self, channel):
        writer, tally, subscription = self._writer, channel.tally, channel.subscription
        with subscription.handle:
            while not writer.failure:
                received = subscription.handle.take_message(channel.kind, True)
                if received is None:
                    return
                data, info = bytes(received[0]), received[1]
                now = info.get('received_timestamp') or time.time_ns()
                if channel.trimmed_type is not None:
                    data = trim(channel.trimmed_type, data)
                writer.write(channel.number, now, data, info.get('source_timestamp') or 0)
                tally.take(now, info.get('publication_sequence_number'))


class _Channel:
    """A recorded topic."""

    def __init__(self, tally, kind, text, trimmed_type):
        """Store the message class, and the MessageType if messages have to be trimmed."""
        self.tally, self.kind, self.text, self.trimmed_type = tally, kind, text, trimmed_type
        self.qos, self.subscription, self.number = None, None, 0


def _discard(data):
    """Discard messages; the node is not spinning."""


def _common_qos(profiles):
    """Return whether a topic is latched, and whether it is reliable, for all its publishers."""
    return (
        bool(profiles)
        and all(profile.durability == DurabilityPolicy.TRANSIENT_LOCAL for profile in profiles),
        all(profile.reliability != ReliabilityPolicy.BEST_EFFORT for profile in profiles),
    )
