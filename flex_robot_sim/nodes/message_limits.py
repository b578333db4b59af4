"""
Messages that are too long, refused by their size before rclpy unpacks them.

To make a message of bytes, rclpy holds the lock of the interpreter: a million names keep every
other thread of the process waiting for half a second, control loops included.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription

from flex_robot_sim.nodes.reporting import refuse
from flex_robot_sim.realtime.memory import reserve_memory
from flex_robot_sim.util.exceptions import CommandError

BYTES_PER_NAME = 512        # of a JointState: a long name, and three numbers
BYTES_PER_NUMBER = 8
SHORTEST_NAME = 5           # bytes: its length, and the 0 at its end
FRAME_AND_MORE = 4096       # bytes of a message in addition to its names and numbers
LONG_MESSAGE = 21_000_000   # bytes: a trajectory with 100,000 points of 7 joints
COPIES = 3                  # that rclpy makes of a message before its length is known
PLACE_OF_FRAME = 12         # in a message with a header: behind encapsulation and stamp


def reserve_message_memory() -> None:
    """Keep memory at hand, so that a long message does not hold up a control loop."""
    reserve_memory(LONG_MESSAGE, COPIES)


def refuse_long_joint_state(data: bytes, most_names: int) -> None:
    """Raise CommandError if the bytes of a JointState are too long, or name too many joints."""
    order = '>' if data[1:2] == b'\0' else '<'
    count = 0
    try:
        length, = struct.unpack_from(f'{order}I', data, PLACE_OF_FRAME)
        end = PLACE_OF_FRAME + 4 + length
        count, = struct.unpack_from(f'{order}I', data, end + -end % 4)
    except struct.error:
        pass            # cut off: rclpy refuses it
    if count > most_names and SHORTEST_NAME * count <= len(data):
        raise CommandError(f'a message names {count} joints, more than max_names = {most_names}')
    refuse_long(data, FRAME_AND_MORE + BYTES_PER_NAME * most_names)


def refuse_long(data: bytes, most_bytes: int) -> None:
    """Raise CommandError if a message is too long."""
    if len(data) > most_bytes:
        raise CommandError(f'a message of {len(data)} bytes is longer than {most_bytes} bytes')


def subscribe_short(node: Node, kind: type, topic: str, callback: Callable[[Any], object],
                    qos: QoSProfile, numbers: int = 0) -> Subscription:
    """
    Subscribe `node` to short messages of a kind; longer ones are refused with a line.

    :param numbers: that a message may hold in addition to a frame and a few more.
    """
    most_bytes = FRAME_AND_MORE + BYTES_PER_NUMBER * numbers

    def on_bytes(data):
        try:
            refuse_long(data, most_bytes)
            message = deserialize_message(data, kind)
        except CommandError as error:
            refuse(node, error)
        except RuntimeError:        # no message of this kind, which rclpy would pass over, too
            return
        else:
            callback(message)
    return node.create_subscription(kind, topic, on_bytes, qos, raw=True)
