"""Messages as bytes against what rclpy makes of them."""

import numpy as np
import pytest
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from flex_robot_sim.ros.conversions import JointStateBuffer

FIELDS = 'position', 'velocity', 'effort'


@pytest.mark.parametrize(
    'names',
    [[], ['a'], ['ab', 'cde'], ['slide', 'turn', 'elbow_1'], [f'joint {k} é' for k in range(40)]],
)
@pytest.mark.parametrize('fields', [FIELDS, FIELDS[:2], FIELDS[:1], FIELDS[2:]])
def test_bytes_of_joint_states_are_what_was_filled_in_last(names, fields):
    buffer, random = JointStateBuffer(names, fields), np.random.default_rng(1)
    for stamp in (1, 999_999_999, 1_795_277_257_072_204_939):
        values = random.normal(size=(len(fields), len(names)))
        message = deserialize_message(buffer.fill(stamp, *map(tuple, values)), JointState)
        assert message.name == names
        assert message.header.stamp.sec * 10**9 + message.header.stamp.nanosec == stamp
        for field in FIELDS:
            known = values[fields.index(field)] if field in fields else []
            assert getattr(message, field).tolist() == list(known)


def test_a_message_that_was_handed_out_does_not_change():
    buffer = JointStateBuffer(['slide'], ('position',))
    first = buffer.fill(1, [2.0])
    buffer.fill(3, [4.0])
    assert deserialize_message(first, JointState).position.tolist() == [2.0]
