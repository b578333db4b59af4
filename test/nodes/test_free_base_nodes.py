"""Dynamics of an arm on a free or a moved base, over DDS."""

import numpy as np
import pytest

pytest.importorskip('nav_msgs')

from free_arms import SPACE_ARM
from message_packages import INSTALLED
from moved_bases import write_ship
from nav_msgs.msg import Odometry
from scipy.spatial.transform import Rotation, Slerp
from sensor_msgs.msg import JointState

import flex_robot_sim as frs
from flex_robot_sim.ros.conversions import pose_of, vector_of
from flex_robot_sim.util.share import shipped_robots


def stamp(header):
    """Stamp [s]."""
    return header.stamp.sec + header.stamp.nanosec / 1e9


def pose_of_transform(transform):
    """Position and quaternion of a TransformStamped, (7,)."""
    turn = transform.transform.rotation
    place = vector_of(transform.transform.translation)
    return np.array([*place, turn.x, turn.y, turn.z, turn.w])


def listen_to_tf(observer):
    """Return the list that transforms are added to."""
    from tf2_msgs.msg import TFMessage

    transforms: list = []
    messages = observer.listen(TFMessage, '/tf')

    def newest():
        transforms.extend(one for message in messages for one in message.transforms)
        messages.clear()
        return transforms

    return newest


def test_tf_has_the_pose_of_a_satellite(start, observer, tf2_msgs, tmp_path):
    path = tmp_path / 'space_arm.urdf'
    path.write_text(SPACE_ARM)
    start(
        'dynamics',
        environment=tf2_msgs,
        robot=str(path),
        publish_clock='true',
        display_rate='25.0',
        gravity='[0.0, 0.0, 0.0]',
    )
    odometry = observer.listen(Odometry, 'base_odometry')
    transforms = listen_to_tf(observer)
    send = observer.publisher(JointState, 'joint_commands')

    def moves():
        send.publish(JointState(name=['shoulder', 'elbow'], effort=[2.0, -1.0]))
        return odometry and abs(odometry[-1].twist.twist.angular.z) > 0.05

    observer.spin_until(moves)
    count = len(odometry), len(transforms())
    observer.spin_until(
        lambda: len(odometry) > count[0] + 20 and len(transforms()) > count[1] + 20
    )
    assert odometry[0].header.frame_id == 'world' and odometry[0].child_frame_id == 'bus'
    by_stamp = {stamp(message.header): message for message in odometry}
    pairs = [
        (by_stamp[stamp(one.header)], one) for one in transforms() if stamp(one.header) in by_stamp
    ]
    assert len(pairs) > 5
    for message, one in pairs:
        assert (one.header.frame_id, one.child_frame_id) == ('world', 'bus')
        np.testing.assert_array_equal(pose_of_transform(one), pose_of(message.pose.pose))
    # the position changes by the velocity, which is in the axes of the base
    first, last = odometry[-2:]
    seconds = stamp(last.header) - stamp(first.header)
    p0, p1 = (pose_of(m.pose.pose)[:3] for m in (first, last))
    velocity = np.mean([vector_of(m.twist.twist.linear) for m in (first, last)], axis=0)
    speed = np.linalg.norm(velocity)
    assert np.linalg.norm(p1 - p0) == pytest.approx(speed * seconds, rel=0.05, abs=1e-7)


def test_nodes_have_the_gravity_of_the_robot(start, observer):
    start('dynamics', robot='space_station', publish_clock='true')
    message = observer.hear(Odometry, 'base_odometry', lambda message: stamp(message.header) > 0.5)
    assert (message.header.frame_id, message.child_frame_id) == ('orbit', 'station')
    assert not pose_of(message.pose.pose)[:6].any()  # it does not fall


def capsize(time):
    """Motion whose pitch passes 90 degrees, so that yaw and roll of its pose jump."""
    return 0.1 * np.sin(time), 0.0, 0.2, 0.1 * np.sin(0.8 * time), 1.2 * time, 0.3


def test_tf_interpolates_a_pose_past_a_pitch_of_90_degrees(start, observer, tf2_msgs, tmp_path):
    write_ship(tmp_path / 'ship.csv', np.linspace(0.0, 6.0, 121), capsize)
    path, robot = tmp_path / 'arm.urdf', shipped_robots()['single_link'].read_text()
    base = '<flexibility><base motion="ship.csv"/>'
    path.write_text(robot.replace('<flexibility>', base, 1))
    start(
        'dynamics',
        environment=tf2_msgs,
        robot=str(path),
        publish_clock='true',
        display_rate='25.0',
        wait_for_command='true',
    )
    transforms = listen_to_tf(observer)
    send = observer.publisher(JointState, 'joint_commands')

    def passes():
        send.publish(JointState(name=['motor'], effort=[0.0]))
        return transforms() and stamp(transforms()[-1].header) > 1.7

    observer.spin_until(passes, timeout=60.0)
    gaps = 0
    for first, last in zip(transforms(), transforms()[1:]):
        times = stamp(first.header), stamp(last.header)
        if not 0.0 < times[1] - times[0] < 0.06 or times[0] < 0.1:
            continue
        assert (first.header.frame_id, first.child_frame_id) == ('world', 'base')
        p0, p1 = (pose_of_transform(one) for one in (first, last))
        middle, expected = sum(times) / 2, capsize(sum(times) / 2)
        # as tf2: linear in position, along the shortest turn; errors: interval^2 / 8, the spline
        np.testing.assert_allclose((p0 + p1)[:3] / 2, expected[:3], rtol=0, atol=2e-4)
        turn = Slerp(times, Rotation.from_quat([p0[3:], p1[3:]]))(middle)
        exact = Rotation.from_euler('xyz', expected[3:])
        assert (turn * exact.inv()).magnitude() < 1e-3
        gaps += abs(expected[4] - np.pi / 2) < 0.1
    assert gaps > 1


@pytest.mark.skipif('tf2_msgs' in INSTALLED, reason='tf2_msgs is installed')
def test_without_tf2_msgs_the_node_runs_and_says_so(start, observer, tmp_path):
    path = tmp_path / 'space_arm.urdf'
    path.write_text(SPACE_ARM)
    process = start('dynamics', robot=str(path), gravity='[0.0, 0.0, 0.0]')
    process.wait_for_line('TF lacks the frame "bus": tf2_msgs cannot be imported. Install')
    assert observer.hear(Odometry, 'base_odometry').child_frame_id == 'bus'


def test_the_view_shows_the_pose_of_the_base(monkeypatch):
    """Its inputs get an odometry message; the drawn base is where the message has it."""
    pytest.importorskip('viser')
    from flex_robot_sim.nodes import view_inputs
    from flex_robot_sim.viewer.observed import ObservedArm

    arm = frs.load(SPACE_ARM)
    readers: dict[str, object] = {}

    def subscribe(_node, topic, *_):
        return readers.setdefault(topic.name, topic)

    monkeypatch.setattr(view_inputs, 'subscribe', subscribe)
    monkeypatch.setattr(view_inputs, 'Stamps', lambda node: None)
    observed = ObservedArm(arm)
    inputs = view_inputs.ViewInputs(None, arm, observed)
    assert 'base_odometry' in readers
    message = Odometry()
    message.pose.pose.position.x, message.pose.pose.orientation.z = 3.0, 0.6
    message.pose.pose.orientation.w = 0.8
    inputs._on_base(0.0, message)
    T = frs.pose(arm, observed.coordinates, link='bus')
    np.testing.assert_allclose(T[:3, 3], [3.0, 0.0, 0.0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(T[:2, 0], [1 - 2 * 0.36, 2 * 0.48], rtol=0, atol=1e-12)
