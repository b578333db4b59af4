"""Bags of ROS 1 that rosbags has written."""

import numpy as np
import pytest

from flex_robot_sim.recording.read.reader import read_recording
from flex_robot_sim.util.exceptions import UsageError

RATE, BEGIN = 200.0, 1_700_000_000.0
TIMES = np.arange(600) / RATE
VALUES = np.exp(-TIMES)[:, None] * np.sin(20 * TIMES)[:, None] * [1.0, 0.5, -0.2]


@pytest.fixture
def bag(tmp_path):
    """Write a bag with an IMU, joint states and a text, and return its path."""
    rosbag1 = pytest.importorskip('rosbags.rosbag1')
    typesys = pytest.importorskip('rosbags.typesys')
    store = typesys.get_typestore(typesys.Stores.ROS1_NOETIC)
    types, path = store.types, tmp_path / 'a.bag'
    Vector = types['geometry_msgs/msg/Vector3']
    Time, Header = types['builtin_interfaces/msg/Time'], types['std_msgs/msg/Header']
    turned = types['geometry_msgs/msg/Quaternion'](0.0, 0.0, 0.0, 1.0)
    none = np.zeros(9)
    with rosbag1.Writer(path) as writer:
        kinds = 'sensor_msgs/msg/Imu', 'sensor_msgs/msg/JointState', 'std_msgs/msg/String'
        imu, joints, text = (
            writer.add_connection(topic, kind, typestore=store)
            for topic, kind in zip(('/imu', '/joint_states', '/chatter'), kinds)
        )
        for k, (time, value) in enumerate(zip(TIMES, VALUES)):
            stamp = BEGIN + time
            header = Header(k, Time(int(stamp), int(round(1e9 * (stamp % 1.0)))), 'tool')
            log_time = round(1e9 * (stamp + 0.002))
            message = types[kinds[0]](
                header, turned, none, Vector(*(0 * value)), none, Vector(*value), none
            )
            writer.write(imu, log_time, store.serialize_ros1(message, kinds[0]))
            message = types[kinds[1]](
                header, ['a', 'b'], np.array([time, -time]), np.ones(2), np.array([])
            )
            writer.write(joints, log_time, store.serialize_ros1(message, kinds[1]))
        message = types[kinds[2]]('hello')
        writer.write(text, log_time, store.serialize_ros1(message, kinds[2]))
    return path


def test_sensors_of_a_bag_are_read_and_other_topics_named(bag):
    recording = read_recording(bag)
    for axis, values in zip('xyz', VALUES.T):
        column = recording.columns[f'imu:linear_acceleration/{axis}']
        np.testing.assert_array_equal(column.values, values)
        np.testing.assert_allclose(column.time - column.time[0], TIMES, atol=1e-6)
    np.testing.assert_array_equal(recording.columns['position/b'].values, -TIMES)
    assert recording.default_columns == tuple(f'imu:linear_acceleration/{x}' for x in 'xyz')
    (note,) = [one for one in recording.notes if 'chatter' in one]
    assert note == (
        f'{bag}: /chatter is left out, as std_msgs/msg/String is no type of a sensor. Convert '
        'the bag to MCAP: mcap convert FILE'
    )


def test_a_damaged_bag_is_one_line(bag):
    bag.write_bytes(bag.read_bytes()[:5000])
    with pytest.raises(UsageError) as caught:
        read_recording(bag)
    assert str(caught.value).startswith(f'{bag}: is a damaged bag of ROS 1: ')
    assert '\n' not in str(caught.value)


def test_without_rosbags_the_line_names_it(bag, monkeypatch):
    monkeypatch.setattr('flex_robot_sim.recording.read.ros1_bag.find_spec', lambda name: None)
    with pytest.raises(UsageError) as caught:
        read_recording(bag)
    assert str(caught.value) == (
        f'{bag}: a bag of ROS 1 needs the package rosbags. Install it by `pip install rosbags`, '
        'or convert the bag to MCAP: mcap convert FILE.'
    )
