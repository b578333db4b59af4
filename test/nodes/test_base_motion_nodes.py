"""A base that the topic `base_motion` moves, over DDS."""

import numpy as np
import pytest

pytest.importorskip('nav_msgs')

from geometry_msgs.msg import WrenchStamped
from moved_bases import Roll
from nav_msgs.msg import Odometry
from scipy.optimize import minimize_scalar
from sensor_msgs.msg import JointState

import flex_robot_sim as frs
from flex_robot_sim.realtime.base_stream import DELAY_S
from flex_robot_sim.ros.conversions import pose_of, set_quaternion, set_vector, vector_of
from flex_robot_sim.util.share import shipped_robots

ROLL = Roll((1.0, 0.0, 0.0), 0.1)


@pytest.fixture
def robot(tmp_path):
    """File of an arm whose base messages move."""
    path, text = tmp_path / 'arm.urdf', shipped_robots()['single_link'].read_text()
    path.write_text(text.replace('<flexibility>', '<flexibility><base motion="topic"/>', 1))
    return str(path)


def stamp(message):
    return message.header.stamp.sec + message.header.stamp.nanosec / 1e9


def odometry_at(time, pose, twist):
    message = Odometry(child_frame_id='base')
    message.header.frame_id = 'world'
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(round(time * 1e9), 10**9)
    pose, twist = np.array(pose, float), np.array(twist, float)
    set_vector(message.pose.pose.position, pose[:3])
    set_quaternion(message.pose.pose.orientation, pose[3:])
    set_vector(message.twist.twist.angular, twist[:3])
    set_vector(message.twist.twist.linear, twist[3:])
    return message


def roll(time):
    """Pose, twist and its rate of a ship that begins to roll without a jump of acceleration."""
    time = max(time, 0.0)
    u, du, ddu = time - np.sin(time), 1.0 - np.cos(time), np.sin(time)
    pose, twist, rate = (np.array(part, float) for part in ROLL.base(u))
    return pose, du * twist, du**2 * rate + ddu * twist


def test_the_arm_moves_as_by_move_base(start, observer, robot):
    start(
        'dynamics',
        robot=robot,
        publish_clock='true',
        wrench_joints='["motor"]',
        real_time_factor='0.4',  # messages arrive in time on a busy machine, too
    )
    odometry = observer.listen(Odometry, 'base_odometry')
    states = observer.listen(JointState, 'joint_states', 1000)
    wrenches = observer.listen(WrenchStamped, 'joint_wrenches/motor')
    send = observer.publisher(Odometry, 'base_motion')
    observer.spin_until(lambda: odometry)
    begin, sent = stamp(odometry[-1]), 0

    def passes():  # 100 messages per second of the simulation
        nonlocal sent
        while begin + sent * 0.01 < stamp(odometry[-1]):
            send.publish(odometry_at(begin + sent * 0.01, *roll(sent * 0.01)[:2]))
            sent += 1
        return stamp(odometry[-1]) > begin + 3.5

    observer.spin_until(passes)
    found = {stamp(message): pose_of(message.pose.pose) for message in odometry}

    def deviation(delay):
        return max(abs(pose - roll(time - delay)[0]).max() for time, pose in found.items())

    # the first message arrives at an unknown time; cubic polynomials join the others
    delay = minimize_scalar(
        deviation, bounds=(begin + DELAY_S, begin + DELAY_S + 0.3), method='bounded'
    ).x
    assert deviation(delay) < 1e-5
    sim = frs.Simulation(frs.load(robot))
    sim.move_base(lambda time: roll(time - delay))
    expected = {}
    while sim.time < max(found):
        sim.step()
        expected[round(sim.time / 1e-3)] = sim.position[0], sim.wrench('motor')
    for message in states:
        if (key := round(stamp(message) / 1e-3)) in expected:
            assert message.position[0] == pytest.approx(expected[key][0], abs=1e-4)
    largest, compared = max(abs(wrench).max() for _, wrench in expected.values()), 0
    for message in wrenches:
        if (key := round(stamp(message) / 1e-3)) in expected:
            wrench = [*vector_of(message.wrench.torque), *vector_of(message.wrench.force)]
            np.testing.assert_allclose(
                wrench, expected[key][1], rtol=0, atol=2e-3 * largest
            )  # acceleration of a cubic polynomial
            compared += 1
    assert compared > 100


def spoil_stamp(message):
    message.header.stamp.sec -= 2


def spoil_lead(message):
    message.header.stamp.sec += 20


def spoil_frame(message):
    message.header.frame_id = 'odom'


def spoil_value(message):
    message.pose.pose.position.y = np.nan


def spoil_place(message):
    message.pose.pose.position.x += 5.0


MISTAKES = {
    spoil_stamp: 'base_motion: a stamp is not later than the one before',
    spoil_lead: 's before the simulation. Send stamps and poses at the rate of its clock',
    spoil_frame: 'base_motion: a pose of the frame "base" in "world" is needed, not with "odom"',
    spoil_value: 'base_motion: pose and twist must be finite',
    spoil_place: 'base_motion: a pose jumps by 5 m',
    None: 'no message on base_motion any more: the base stops at its last pose',
}


class Surge:
    """Messages that move the base along x from where it stands."""

    def __init__(self, odometry):
        self.odometry, self.sent = odometry, 0
        self.begin, self.origin = stamp(odometry[-1]), odometry[-1].pose.pose.position.x

    def message(self):
        """Return the next message."""
        time, self.sent = self.sent * 0.02, self.sent + 1
        pose = [self.origin + 0.05 * (1.0 - np.cos(2.0 * time)), 0, 0, 0, 0, 0, 1]
        return odometry_at(self.begin + time, pose, [0, 0, 0, 0.1 * np.sin(2.0 * time), 0, 0])

    def has_moved_by(self, send):
        """Send a message if it is time; return whether the base has moved."""
        if self.begin + self.sent * 0.02 < stamp(self.odometry[-1]):
            send.publish(self.message())
        return self.odometry[-1].pose.pose.position.x > self.origin + 0.01


def test_each_mistake_is_one_line_and_stops_the_base(start, observer, robot):
    node = start('dynamics', robot=robot, publish_clock='true')
    odometry = observer.listen(Odometry, 'base_odometry')
    send = observer.publisher(Odometry, 'base_motion')
    observer.spin_until(lambda: odometry)
    for spoil, line in MISTAKES.items():
        surge = Surge(odometry)
        observer.spin_until(lambda surge=surge: surge.has_moved_by(send))
        assert odometry[-1].twist.twist.linear.x > 0.0
        if spoil:
            for _ in range(3):  # repeated mistakes are one line
                bad = surge.message()
                spoil(bad)
                send.publish(bad)
        node.wait_for_line(line)
        observer.spin_until(lambda: odometry[-1].twist.twist.linear.x == 0.0)
        count = len(odometry)
        observer.spin_until(lambda count=count: len(odometry) > count + 10)
        assert odometry[-1].pose.pose.position.x == odometry[count].pose.pose.position.x
        assert node.count(line) == 1
    places = [message.pose.pose.position.x for message in odometry]
    assert abs(np.diff(places)).max() < 0.02 and node.count('jumps') == 1
