"""
Size limits of messages, checked before deserialization.

rclpy holds the interpreter lock while it deserializes a message: a million names block all other
threads of the process, including control loops, for half a second.
"""

import struct
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription

from flex_robot_sim.realtime.memory import reserve_memory
from flex_robot_sim.ros.endpoints import class_of, subscribe
from flex_robot_sim.ros.reporting import refuse
from flex_robot_sim.ros.topics import Topic
from flex_robot_sim.util.exceptions import CommandError

MAX_BYTES_PER_NAME = 512  # of a JointState: a long name, and three numbers
BYTES_PER_NUMBER = 8
MIN_BYTES_PER_NAME = 5  # its length, and the 0 at its end
MAX_EXTRA_BYTES = 4096  # frame and other fields, in addition to names and numbers
RESERVED_BYTES = 21_000_000  # a trajectory with 100,000 points of 7 joints
COPIES_PER_MESSAGE = 4  # made by DDS and rclpy before the size of a message is known
FRAME_OFFSET = 12  # in a message with a header, after encapsulation and stamp [bytes]


def reserve_message_memory() -> None:
    """Reserve memory, so that a long message does not delay a control loop."""
    reserve_memory(RESERVED_BYTES, COPIES_PER_MESSAGE)


def refuse_long_joint_state(data: bytes, max_names: int) -> None:
    """Raise CommandError if the bytes of a JointState are too long, or name too many joints."""
    order = '>' if data[1:2] == b'\0' else '<'
    count = 0
    try:
        (length,) = struct.unpack_from(f'{order}I', data, FRAME_OFFSET)
        end = FRAME_OFFSET + 4 + length
        (count,) = struct.unpack_from(f'{order}I', data, end + -end % 4)
    except struct.error:
        pass  # cut off: rclpy refuses it
    if count > max_names and MIN_BYTES_PER_NAME * count <= len(data):
        raise CommandError(f'a message names {count} joints, more than max_names = {max_names}')
    refuse_long(data, MAX_EXTRA_BYTES + MAX_BYTES_PER_NAME * max_names)


def refuse_long(data: bytes, max_bytes: int) -> None:
    """Raise CommandError if a message is too long."""
    if len(data) > max_bytes:
        raise CommandError(f'a message of {len(data)} bytes is longer than {max_bytes} bytes')


def subscribe_short(
    node: Node, topic: Topic, callback: Callable[[Any], object], max_numbers: int = 0
) -> Subscription:
    """Subscribe to messages of few fields and `max_numbers`; longer ones are refused."""
    kind, max_bytes = class_of(topic.kind), MAX_EXTRA_BYTES + BYTES_PER_NUMBER * max_numbers

    def on_bytes(data):
        try:
            refuse_long(data, max_bytes)
            message = deserialize_message(data, kind)
        except CommandError as error:
            refuse(node, error)
        except RuntimeError:  # not a message of this type; rclpy would ignore it as well
            return
        else:
            callback(message)

    return subscribe(node, topic, on_bytes, raw=True)
