"""
The recorder as a node: what a running system sends, as it came, into a file.

Messages are taken as bytes, a hundred times a second, by a node that no executor knows: the one of
events cannot tell the number of a message, by which one sees what got lost, and the others take
three times as long for each of them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from flex_robot_sim.nodes.message_types import definition_of, type_of
from flex_robot_sim.nodes.parameter_notes import ParameterNotes
from flex_robot_sim.nodes.parameters import Parameters
from flex_robot_sim.nodes.run import run
from flex_robot_sim.nodes.settings import RECORDER_SETTINGS, RecorderSettings
from flex_robot_sim.recording.cdr import may_be_padded, trim
from flex_robot_sim.recording.definitions import DefinitionError, message_type
from flex_robot_sim.recording.mcap_file import RecordingWriter
from flex_robot_sim.recording.tally import Tally, as_text, status_line, summary
from flex_robot_sim.util.exceptions import UsageError

LOOK = 0.2                  # between two looks at what is there                              [s]
SHARED = '/clock', '/diagnostics', '/tf', '/tf_static'     # of all namespaces
OF_ROS = '/parameter_events', '/rosout'     # recorded where somebody names them
DEPTH = 1000                # messages that wait while the disk does not follow
TAKE = 0.01                 # between two times at which messages are taken                   [s]
EARS = '_recorder'          # its name; tools do not list those that begin so


class RecorderNode(Node):
    """Write all topics into a file, until the node ends."""

    def __init__(self, say: Callable[[dict[str, Any]], None] | None = None,
                 show: Callable[[str], None] = lambda line: None) -> None:
        """
        Begin the file and listen.

        :param say: gets the summary at the end, otherwise the log does; show: lines about the
            present, and '' at the end.
        """
        super().__init__('recorder')
        self.failure: UsageError | None = None
        self.has_ended = False
        self._say, self._show = say, show
        self.parameters = Parameters(self, *RECORDER_SETTINGS)
        settings = self.parameters[RecorderSettings]
        self._space = self.get_namespace().rstrip('/')
        self._patterns = settings.topics
        self._channels: dict[str, _Channel] = {}
        self._notes: dict[str, str] = {}            # about a topic that cannot be recorded
        path = settings.output or f'record_{datetime.now():%Y%m%d_%H%M%S}.mcap'
        self._writer = RecordingWriter(path, {
            'recorded': datetime.now().astimezone().isoformat(timespec='seconds'),
            'namespace': self._space or '/'}, is_new=True)
        self._end = time.monotonic() + settings.seconds if settings.seconds else None
        self._began, self._looked = time.monotonic(), 0.0
        self._parameter_notes = ParameterNotes(self, self._writer.note)
        self._ears = Node(EARS, enable_rosout=False, start_parameter_services=False)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(LOOK, self._look, clock=steady)
        self.create_timer(TAKE, self._take, clock=steady)
        self.get_logger().info(f'records into {self._writer.path}')

    def close(self) -> None:
        """Close the file and log its content."""
        self._show('')
        self._take()
        self._ears.destroy_node()
        try:
            self._writer.close()
        except UsageError as error:
            self.failure = self.failure or error
        facts = self._summary()
        if self._say:
            self._say(facts)
        else:
            for line in as_text(facts):
                self.get_logger().info(line)

    def _summary(self):
        missing = [pattern for pattern in self._patterns if not any(
            self._fits(name, pattern) for name in self._channels)]
        notes = [*self._notes.values(), *(f'there was no topic {name}' for name in missing)]
        return summary(self._writer.path, self._size(), time.monotonic() - self._began,
                       [channel.tally for channel in self._channels.values()], notes)

    def _size(self):
        try:
            return Path(self._writer.path).stat().st_size
        except OSError:
            return 0

    def _look(self):
        """Subscribe to new topics, and write waiting messages to the disk."""
        now = time.monotonic()
        for name, kinds in self.get_topic_names_and_types():
            if name not in self._channels and name not in self._notes and self._is_wanted(name):
                self._add(name, sorted(kinds))
        if now > self._looked + 1.0:
            self._looked = now
            for channel in self._channels.values():
                self._follow(channel)
            self._parameter_notes.look()
            lost = sum(channel.tally.lost or 0 for channel in self._channels.values())
            heard = sum(channel.tally.count > 0 for channel in self._channels.values())
            self._show(status_line(now - self._began, self._writer.messages, heard, lost,
                                   self._size()))
        self._writer.flush_when_due()
        if self._writer.failure:
            self.failure = UsageError(self._writer.failure)
        self.has_ended = self._end is not None and now >= self._end

    def _is_wanted(self, name):
        if self._patterns:
            return any(self._fits(name, pattern) for pattern in self._patterns)
        return name not in OF_ROS and (name in SHARED or name.startswith(f'{self._space}/'))

    def _fits(self, name, pattern):
        return fnmatchcase(name, pattern if pattern[:1] == '/' else f'{self._space}/{pattern}')

    def _add(self, name, kinds):
        kind = type_of(kinds[0])
        if len(kinds) > 1 or kind is None:
            self._notes[name] = (f'{name} is left out: it has several types' if len(kinds) > 1 else
                                 f'{name} is left out: {kinds[0]} is not installed here')
            self.get_logger().warning(self._notes[name])
            return
        text = definition_of(kind)
        try:
            parsed = message_type(kinds[0], text)
            parsed = parsed if may_be_padded(parsed) else None
        except DefinitionError:
            parsed = None
        channel = self._channels[name] = _Channel(Tally(name, kinds[0]), kind, text, parsed)
        self._follow(channel)

    def _follow(self, channel):
        """Listen to a topic as its senders send; they may come, go, and be of another mind."""
        tally = channel.tally
        senders = self.get_publishers_info_by_topic(tally.name)
        profiles = [sender.qos_profile for sender in senders] or [
            other.qos_profile for other in self.get_subscriptions_info_by_topic(tally.name)
            if other.node_name != EARS]
        tally.senders = max(tally.senders, len(senders))
        quality = _quality(profiles)
        if quality == channel.quality or channel.quality and not profiles:
            return
        if channel.subscription is not None:
            self._take_all(channel)
            self._ears.destroy_subscription(channel.subscription)
            tally.reset_sequence()
        is_latched, is_reliable = channel.quality = quality
        channel.number = self._writer.topic(tally.name, tally.kind, channel.text, *quality)
        channel.subscription = self._ears.create_subscription(
            channel.kind, tally.name, _never, raw=True, qos_profile=QoSProfile(
                depth=DEPTH,
                durability=(DurabilityPolicy.TRANSIENT_LOCAL if is_latched else
                            DurabilityPolicy.VOLATILE),
                reliability=(ReliabilityPolicy.RELIABLE if is_reliable else
                             ReliabilityPolicy.BEST_EFFORT)))

    def _take(self):
        """Write all that has come."""
        for channel in self._channels.values():
            self._take_all(channel)

    def _take_all(self, channel):
        writer, tally, subscription = self._writer, channel.tally, channel.subscription
        with subscription.handle:
            while not writer.failure:
                found = subscription.handle.take_message(channel.kind, True)
                if found is None:
                    return
                data, info = bytes(found[0]), found[1]
                now = info.get('received_timestamp') or time.time_ns()
                if channel.parsed is not None:
                    data = trim(channel.parsed, data)
                writer.write(channel.number, now, data, info.get('source_timestamp') or 0)
                tally.take(now, info.get('publication_sequence_number'))


class _Channel:
    """A topic that is recorded."""

    def __init__(self, tally, kind, text, parsed):
        """Take the class of its messages, and their type where they have to be trimmed."""
        self.tally, self.kind, self.text, self.parsed = tally, kind, text, parsed
        self.quality, self.subscription, self.number = None, None, 0


def _never(data):
    """Discard messages; the node is not spinning."""


def _quality(profiles):
    """Whether a topic is latched and reliable for all of its publishers."""
    return (bool(profiles) and all(profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
                                   for profile in profiles),
            all(profile.reliability != ReliabilityPolicy.BEST_EFFORT for profile in profiles))


def main(args: list[str] | None = None, name: str = 'recorder', **reporting: Any) -> None:
    """Run the node until a signal."""
    sys.exit(record(args, name, **reporting))


def record(args: list[str] | None = None, name: str = 'recorder', **reporting: Any) -> int:
    """Record until a signal; return the exit code."""
    made: list[RecorderNode] = []

    def make():
        made.append(RecorderNode(**reporting))
        return made
    code = run(name, make, args)
    if code == 0 and made and made[0].failure is not None:
        print(f'{name}: {made[0].failure}', file=sys.stderr)
        return 2
    return code
