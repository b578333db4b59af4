"""
Fast reading of joint states at rates such as 1 kHz.

Consecutive joint states have the same names, and therefore the same layout. The reader then copies
only the stamp and the values into the previous message. The table has medians of three runs of
20 s in turns, at 1 kHz, with the dynamics and the controller in two processes:

| reading | dynamics | controller | state to command |
|---|---|---|---|
| this reader | 34.7 % of a core | 30.6 % | 0.36 ms |
| `deserialize_message` of the same bytes | 40.1 % | 38.8 % | 0.47 ms |
| ordinary callbacks with messages | 38.5 % | 36.0 % | 0.43 ms |
"""

import sys
from collections.abc import Callable

from rclpy.node import Node
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState

from flex_robot_sim.ros.conversions import STAMP
from flex_robot_sim.ros.endpoints import subscribe
from flex_robot_sim.ros.message_limits import refuse_long_joint_state
from flex_robot_sim.ros.node_settings import MessageSettings
from flex_robot_sim.ros.reporting import refuse
from flex_robot_sim.ros.topics import Topic
from flex_robot_sim.util.exceptions import CommandError

LITTLE_ENDIAN = b'\0\1'  # first two bytes of little-endian CDR
ENCAPSULATION_SIZE = 4  # offsets for alignment count from here [bytes]
COUNT_SIZE, VALUE_SIZE = 4, 8  # size and alignment of a length and of a number [bytes]
DEFAULT_MAX_NAMES = MessageSettings().max_names
FIELDS = 'position', 'velocity', 'effort'


class JointStateReader:
    """Deserializes joint states; messages with the same layout reuse one message object."""

    def __init__(self, max_names: int = DEFAULT_MAX_NAMES) -> None:
        """Begin without a known layout; refuse messages of more than `max_names`."""
        self._max_names = max_names
        self._message, self._size = JointState(), -1
        # bits that determine the layout, and their values
        self._mask = self._masked_value = 0
        self._values: list[tuple[memoryview, slice]] = []  # arrays and their spans

    def read(self, data: bytes) -> JointState | None:
        """Return the message; None if invalid, which ROS ignores; CommandError if too long."""
        if len(data) == self._size and (
            int.from_bytes(data, 'little') & self._mask == self._masked_value
        ):
            message = self._message
            stamp = message.header.stamp
            stamp.sec, stamp.nanosec = STAMP.unpack_from(data, ENCAPSULATION_SIZE)
            for values, span in self._values:
                values[:] = data[span]
            return message
        refuse_long_joint_state(data, self._max_names)
        try:
            self._message = deserialize_message(data, JointState)
        except RuntimeError:
            return None
        self._store_layout(data)
        return self._message

    def _store_layout(self, data):
        """Store the layout of `data`, from which the message was deserialized."""
        message, self._size = self._message, -1
        layout_spans, value_spans, end = _layout(message)
        self._values = [
            (memoryview(getattr(message, field)).cast('B'), span)
            for field, span in zip(FIELDS, value_spans)
        ]
        # other layouts are valid, too: they are deserialized by ROS each time
        if (
            sys.byteorder == 'little'
            and len(data) >= end
            and (data[: len(LITTLE_ENDIAN)] == LITTLE_ENDIAN)
            and all(data[span] == values for values, span in self._values)
        ):
            mask = bytearray(len(data))
            for span in layout_spans:
                mask[span] = b'\xff' * (span.stop - span.start)
            self._size, self._mask = len(data), int.from_bytes(mask, 'little')
            self._masked_value = int.from_bytes(data, 'little') & self._mask


def _layout(message):
    """
    Return the spans that determine the layout, the spans of the values of FIELDS, and the end.

    Padding between the spans and bytes after the end are arbitrary.
    """
    layout_spans = [slice(0, len(LITTLE_ENDIAN))]
    value_spans = []
    end = ENCAPSULATION_SIZE + STAMP.size

    def span(size, multiple=1):
        nonlocal end
        start = ENCAPSULATION_SIZE + -(-(end - ENCAPSULATION_SIZE) // multiple) * multiple
        end = start + size
        return slice(start, end)

    for text in (message.header.frame_id, None, *message.name):
        # length of a text with its end, or number of names
        layout_spans.append(span(COUNT_SIZE, COUNT_SIZE))
        if text is not None:
            layout_spans.append(span(len(text.encode()) + 1))
    for field in FIELDS:
        layout_spans.append(span(COUNT_SIZE, COUNT_SIZE))
        size = VALUE_SIZE * len(getattr(message, field))
        value_spans.append(span(size, VALUE_SIZE if size else 1))
    return layout_spans, value_spans, end


def listen_to_joint_states(
    node: Node,
    topic: Topic,
    callback: Callable[[JointState], object],
    max_names: int = DEFAULT_MAX_NAMES,
) -> Subscription:
    """Subscribe to frequent joint states; each overwrites the last that `callback` got."""
    reader = JointStateReader(max_names)

    def on_bytes(data):
        try:
            message = reader.read(data)
        except CommandError as error:
            refuse(node, error)
            return
        if message is not None:
            callback(message)

    return subscribe(node, topic, on_bytes, raw=True)
