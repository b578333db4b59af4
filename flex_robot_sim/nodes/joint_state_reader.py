"""
Joint states as they arrive five hundred times a second.

To make a message of bytes takes longer than most of what is done with it. But one state after the
other has the same names, so its bytes lie as those of the one before: only stamp and values are
read then, into the same message.
"""

import sys
from collections.abc import Callable

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState

from flex_robot_sim.nodes.conversions import STAMP
from flex_robot_sim.nodes.message_limits import refuse_long_joint_state
from flex_robot_sim.nodes.reporting import refuse
from flex_robot_sim.nodes.settings import MessageSettings
from flex_robot_sim.util.exceptions import CommandError

PLAIN = b'\0\1'         # data begin so where numbers lie as in the memory of most machines
ORIGIN = 4              # from where on places count
COUNT, VALUE = 4, 8     # size of the length of a list, and of a number: they begin at multiples
MOST_NAMES = MessageSettings().max_names
FIELDS = 'position', 'velocity', 'effort'


class JointStateReader:
    """Makes messages of bytes; each is overwritten by the next one that is laid out like it."""

    def __init__(self, most_names: int = MOST_NAMES) -> None:
        """
        Know no layout yet.

        :param most_names: of a message; longer ones are refused before they are unpacked.
        """
        self._most_names = most_names
        self._message, self._size = JointState(), -1
        self._mask = self._fixed = 0        # bits that tell the layout, and what they are
        self._values: list[tuple[memoryview, slice]] = []   # of the message, and where they lie

    def read(self, data: bytes) -> JointState | None:
        """
        Return the message; None where ROS finds none in `data`, and passes over them.

        CommandError where it names too many joints.
        """
        if len(data) == self._size and int.from_bytes(data, 'little') & self._mask == self._fixed:
            message = self._message
            stamp = message.header.stamp
            stamp.sec, stamp.nanosec = STAMP.unpack_from(data, ORIGIN)
            for values, place in self._values:
                values[:] = data[place]
            return message
        refuse_long_joint_state(data, self._most_names)
        try:
            self._message = deserialize_message(data, JointState)
        except RuntimeError:
            return None
        self._learn(data)
        return self._message

    def _learn(self, data):
        """Note how `data` lie, which the message was made of."""
        message, self._size = self._message, -1
        fixed, places, end = _layout(message)
        self._values = [(memoryview(getattr(message, field)).cast('B'), place)
                        for field, place in zip(FIELDS, places)]
        # others may lay messages out in ways of their own, and ROS reads each of these
        if sys.byteorder == 'little' and len(data) >= end and data[:len(PLAIN)] == PLAIN and all(
                data[place] == values for values, place in self._values):
            mask = bytearray(len(data))
            for place in fixed:
                mask[place] = b'\xff' * (place.stop - place.start)
            self._size, self._mask = len(data), int.from_bytes(mask, 'little')
            self._fixed = int.from_bytes(data, 'little') & self._mask


def _layout(message):
    """
    Return where the bytes lie that tell the layout, and the values of FIELDS, and where they end.

    What is between them, and after the end, may be anything.
    """
    fixed, places, end = [slice(0, len(PLAIN))], [], ORIGIN + STAMP.size

    def place(size, multiple=1):
        nonlocal end
        start = ORIGIN + -(-(end - ORIGIN) // multiple) * multiple
        end = start + size
        return slice(start, end)

    for text in (message.header.frame_id, None, *message.name):
        fixed.append(place(COUNT, COUNT))       # of a text with its end, or of names
        if text is not None:
            fixed.append(place(len(text.encode()) + 1))
    for field in FIELDS:
        fixed.append(place(COUNT, COUNT))
        size = VALUE * len(getattr(message, field))
        places.append(place(size, VALUE if size else 1))
    return fixed, places, end


def listen_to_joint_states(node: Node, topic: str, callback: Callable[[JointState], object],
                           qos: QoSProfile, most_names: int = MOST_NAMES) -> Subscription:
    """
    Subscribe `node` to joint states that come often.

    :param callback: called with each JointState, which the next one overwrites.
    :param most_names: of a message; longer ones are refused before they are unpacked.
    """
    reader = JointStateReader(most_names)

    def on_bytes(data):
        try:
            message = reader.read(data)
        except CommandError as error:
            refuse(node, error)
            return
        if message is not None:
            callback(message)
    return node.create_subscription(JointState, topic, on_bytes, qos, raw=True)
