"""Joint states read from bytes are those that ROS makes of the same bytes."""

import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from flex_robot_sim.ros.conversions import JointStateBuffer
from flex_robot_sim.ros.joint_state_reader import ENCAPSULATION_SIZE, JointStateReader

FIELDS = 'position', 'velocity', 'effort'


def random_message(random, names=None):
    """Return a message with names of any length and with some of its fields, or none."""
    if names is None:
        names = [
            random.choice(['', 'q', 'höfte', 'wrist_3', 'a' * 9]) + str(k)
            for k in range(random.integers(5))
        ]
    message = JointState(name=names)
    message.header.frame_id = str(random.choice(['', 'uncommanded', 'x' * 6]))
    fields = [field for field in FIELDS if random.random() < 0.7]
    return filled(random, message, fields, len(names))


def filled(random, message, fields, size):
    stamp = message.header.stamp
    stamp.sec, stamp.nanosec = (int(random.integers(2**31)), int(random.integers(10**9)))
    for field in fields:
        setattr(message, field, random.normal(size=size).tolist())
    return message


def read_by_ros(data):
    try:
        return deserialize_message(data, JointState)
    except RuntimeError:
        return None


@pytest.mark.parametrize('seed', range(20))
def test_what_is_read_is_what_ros_reads(seed):
    random = np.random.default_rng(seed)
    reader = JointStateReader()
    for _ in range(10):
        message = random_message(random)
        fields = [field for field in FIELDS if getattr(message, field)]
        for _ in range(3):
            data = serialize_message(message)
            assert reader.read(data) == read_by_ros(data) == message
            filled(random, message, fields, len(message.name))


@pytest.mark.parametrize('fields', [FIELDS[:k] for k in range(4)] + [FIELDS[1:], FIELDS[2:]])
def test_whatever_fields_it_has_the_next_one_is_read_into_the_same_message(fields):
    buffer, reader = JointStateBuffer(['hip', 'knee', 'toe'], fields), JointStateReader()
    first, second = (
        reader.read(buffer.fill(stamp, *([stamp + 1.0] * 3 for _ in fields))) for stamp in range(2)
    )
    assert second is first
    assert all(value == 2.0 for field in fields for value in getattr(second, field))


def test_padding_bytes_may_be_anything():
    random, reader = np.random.default_rng(1), JointStateReader()
    message = random_message(random, ['a', 'bc', 'def', 'ghij', 'klmno'])
    data = serialize_message(message)
    first = reader.read(data)
    # ROS does not look at them either
    idle = [
        k
        for k in range(ENCAPSULATION_SIZE, len(data))
        if read_by_ros(data[:k] + bytes([data[k] ^ 255]) + data[k + 1 :]) == message
    ]
    assert idle
    noisy = bytearray(data)
    for k in idle:
        noisy[k] ^= 255
    assert reader.read(bytes(noisy)) is first and first == message


def test_a_state_after_another_is_read_into_the_same_message():
    buffer, reader = JointStateBuffer(['hip', 'knee']), JointStateReader()
    first = reader.read(buffer.fill(7, [1.0, 2.0], [3.0, 4.0], [5.0, 6.0]))
    second = reader.read(buffer.fill(8_000_000_009, [-1.0, np.nan], [0.0, 1e300], [7.0, 8.0]))
    assert second is first
    assert (second.header.stamp.sec, second.header.stamp.nanosec) == (8, 9)
    np.testing.assert_array_equal(second.position, [-1.0, np.nan])
    assert second.velocity.tolist() == [0.0, 1e300] and second.effort.tolist() == [7.0, 8.0]


def test_other_names_and_frames_of_the_same_length_are_distinguished():
    reader = JointStateReader()
    values = [1.0, 2.0], [3.0, 4.0], [5.0, 6.0]
    for names, frame in (
        (['hip', 'toe'], 'led'),
        (['toe', 'hip'], 'led'),
        (['hip', 'toe'], 'let'),
        (['hi', 'toes'], 'led'),
    ):
        message = reader.read(JointStateBuffer(names, frame=frame).fill(1, *values))
        assert message.name == names and message.header.frame_id == frame


@pytest.mark.parametrize('seed', range(5))
def test_bytes_that_are_no_message_are_none_and_the_next_ones_are_read(seed):
    random = np.random.default_rng(seed)
    reader = JointStateReader()
    whole = random_message(random, ['hip', 'knee'])
    good = serialize_message(whole)
    for _ in range(200):
        broken = bytearray(good)
        for _ in range(random.integers(1, 4)):
            broken[random.integers(len(broken))] = random.integers(256)
        broken = (
            bytes(broken[: random.integers(len(broken) + 1)])
            if random.random() < 0.5
            else (bytes(broken))
        )
        # as text: what is not a number differs from itself
        assert str(reader.read(broken)) == str(read_by_ros(broken))
        assert reader.read(good) == whole
    assert reader.read(b'') is None
