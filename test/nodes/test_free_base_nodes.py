"""Dynamics of an arm on a free or a moved base, over DDS."""

import numpy as np
import pytest

pytest.importorskip('nav_msgs')

from free_arms import SPACE_ARM
from moved_bases import ship, write_ship
from nav_msgs.msg import Odometry
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from walked_urdf import poses

import flex_robot_sim as frs
from flex_robot_sim.display.description import display_description
from flex_robot_sim.ros.conversions import pose_of, vector_of
from flex_robot_sim.util.share import shipped_robots


def test_base_and_display_of_a_satellite_agree(start, observer, tmp_path):
    path = tmp_path / 'space_arm.urdf'
    path.write_text(SPACE_ARM)
    start(
        'dynamics',
        robot=str(path),
        publish_clock='true',
        display_rate='25.0',
        gravity='[0.0, 0.0, 0.0]',
    )
    odometry = observer.listen(Odometry, 'base_odometry')
    shown = observer.listen(JointState, 'display_joint_states')
    send = observer.publisher(JointState, 'joint_commands')

    def moves():
        send.publish(JointState(name=['shoulder', 'elbow'], effort=[2.0, -1.0]))
        return odometry and abs(odometry[-1].twist.twist.angular.z) > 0.05

    observer.spin_until(moves)
    count = len(odometry), len(shown)
    observer.spin_until(lambda: len(odometry) > count[0] + 20 and len(shown) > count[1] + 20)
    assert odometry[0].header.frame_id == 'world' and odometry[0].child_frame_id == 'bus'
    # the display has the pose of the same instant
    text = display_description(frs.load(str(path), gravity=(0.0, 0.0, 0.0)))
    by_stamp = {(m.header.stamp.sec, m.header.stamp.nanosec): m for m in odometry}
    pairs = [
        (by_stamp[key], state)
        for state in shown
        if (key := (state.header.stamp.sec, state.header.stamp.nanosec)) in by_stamp
    ]
    assert len(pairs) > 5
    for message, state in pairs[-5:]:
        T = poses(text, dict(zip(state.name, state.position)))['bus']
        pose = pose_of(message.pose.pose)
        np.testing.assert_allclose(T[:3, 3], pose[:3], rtol=0, atol=1e-9)
        x, y, z, w = pose[3:]
        np.testing.assert_allclose(T[0, 0], 1 - 2 * (y * y + z * z), rtol=0, atol=1e-9)
    # the position changes by the velocity, which is in the axes of the base
    first, last = odometry[-2:]
    seconds = (last.header.stamp.nanosec - first.header.stamp.nanosec) % 10**9 / 1e9
    p0, p1 = (pose_of(m.pose.pose)[:3] for m in (first, last))
    velocity = np.mean([vector_of(m.twist.twist.linear) for m in (first, last)], axis=0)
    speed = np.linalg.norm(velocity)
    assert np.linalg.norm(p1 - p0) == pytest.approx(speed * seconds, rel=0.05, abs=1e-7)


def test_base_and_display_of_a_ship_agree(start, observer, tmp_path):
    write_ship(tmp_path / 'ship.csv', np.linspace(0.0, 30.0, 301))
    path, robot = tmp_path / 'arm.urdf', shipped_robots()['single_link'].read_text()
    base = '<flexibility><base motion="ship.csv"/>'
    path.write_text(robot.replace('<flexibility>', base, 1))
    start('dynamics', robot=str(path), publish_clock='true', display_rate='25.0')
    odometry = observer.listen(Odometry, 'base_odometry')
    shown = observer.listen(JointState, 'display_joint_states')
    observer.spin_until(lambda: len(odometry) > 50 and len(shown) > 10)
    text = display_description(frs.load(str(path)))
    by_stamp = {(m.header.stamp.sec, m.header.stamp.nanosec): m for m in odometry}
    pairs = [
        (by_stamp[key], state)
        for state in shown
        if (key := (state.header.stamp.sec, state.header.stamp.nanosec)) in by_stamp
    ]
    assert len(pairs) > 3
    for message, state in pairs:
        time = message.header.stamp.sec + message.header.stamp.nanosec / 1e9
        pose = pose_of(message.pose.pose)
        # the spline through the table, at ten samples a second, is this near to the motion
        np.testing.assert_allclose(pose[:3], ship(time)[:3], rtol=0, atol=1e-4)
        T = poses(text, dict(zip(state.name, state.position)))[message.child_frame_id]
        np.testing.assert_allclose(T[:3, 3], pose[:3], rtol=0, atol=1e-9)
        np.testing.assert_allclose(
            T[:3, :3], Rotation.from_quat(pose[3:]).as_matrix(), rtol=0, atol=1e-9
        )
    assert odometry[0].header.frame_id == 'world'


def test_messages_move_the_base_and_one_that_jumps_stops_it(start, observer, tmp_path):
    table = 'time,x,y,z,roll,pitch,yaw\n0,0,0,0,0,0,0\n1,0,0,0,0,0,0\n'
    (tmp_path / 'rest.csv').write_text(table)
    path, robot = tmp_path / 'arm.urdf', shipped_robots()['single_link'].read_text()
    base = '<flexibility><base motion="rest.csv"/>'
    path.write_text(robot.replace('<flexibility>', base, 1))
    node = start('dynamics', robot=str(path), publish_clock='true')
    odometry = observer.listen(Odometry, 'base_odometry')
    send = observer.publisher(Odometry, 'base_motion')
    sent: list = []

    def place():
        time = len(sent) * 0.02
        message = Odometry()
        message.header.stamp.nanosec = int(len(sent) % 50 * 20_000_000)
        message.header.stamp.sec = 1 + len(sent) // 50
        message.pose.pose.position.x = 0.2 * (1.0 - np.cos(time))
        message.twist.twist.linear.x = 0.2 * np.sin(time)
        message.pose.pose.orientation.w = 1.0
        sent.append(message)
        return message

    def moves():
        send.publish(place())
        return odometry and odometry[-1].pose.pose.position.x > 0.02

    observer.spin_until(moves)
    jump = place()
    jump.pose.pose.position.x += 5.0
    send.publish(jump)
    node.wait_for_line('base_motion: a pose jumps by')
    count = len(odometry)
    observer.spin_until(lambda: len(odometry) > count + 150)
    places = [m.pose.pose.position.x for m in odometry]
    assert places[-1] == places[-20] < 0.4
    assert abs(np.diff(places)).max() < 0.02


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
