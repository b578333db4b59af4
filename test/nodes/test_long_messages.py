"""Messages that are long, damaged or too long do not stop the control loop."""

import mmap
import time
from pathlib import Path

import numpy as np
import pytest
import rclpy
from geometry_msgs.msg import WrenchStamped
from node_processes import PATIENCE, NodeProcess
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header
from std_srvs.srv import Trigger
from trajectory_bytes import long_trajectory
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from flex_robot_sim.ros.conversions import trajectory_of
from flex_robot_sim.ros.node_settings import MessageSettings
from flex_robot_sim.ros.trajectory_messages import read_trajectory, read_trajectory_header
from flex_robot_sim.util.exceptions import FlexRobotSimError

NAMES = ['waist', 'shoulder', 'elbow']
LIMITS = MessageSettings()


LONGEST_GAP = 0.15  # of a machine that others use; unpacked by rclpy, it is a second       [s]


def read(data):
    return read_trajectory(data, read_trajectory_header(data, LIMITS))


@pytest.mark.parametrize('seed', range(10))
def test_a_trajectory_is_that_of_the_message_that_ros_reads(seed):
    random = np.random.default_rng(seed)
    message = JointTrajectory(joint_names=NAMES)
    for k in range(random.integers(1, 30)):
        given = random.random(2) < 0.6
        values = [random.normal(size=3).tolist() for _ in range(3)]
        point = JointTrajectoryPoint(positions=values[0])
        point.time_from_start.sec, point.time_from_start.nanosec = k, int(random.integers(10**9))
        if given[0]:
            point.velocities = values[1]
            point.accelerations = values[2] if given[1] else []
        message.points.append(point)
    message.points[-1].velocities = [0.0] * 3 * bool(message.points[-1].velocities)
    data = bytes(serialize_message(message))
    ours, judge = read(data), trajectory_of(deserialize_message(data, JointTrajectory))
    assert (ours.names, ours.times) == (judge.names, judge.times)
    for field in ('positions', 'velocities', 'accelerations', 'has_velocity', 'has_acceleration'):
        np.testing.assert_array_equal(getattr(ours, field), getattr(judge, field))


def test_damaged_trajectories_are_refused_in_one_line_or_are_those_that_ros_reads(mutants):
    count = mutants // 20
    random, refused = np.random.default_rng(20261125), 0
    whole = long_trajectory(5, NAMES)
    for _ in range(count):
        data = bytearray(whole)
        for _ in range(random.integers(1, 3)):
            place = 4 * int(random.integers(1, len(data) // 4))
            data[place : place + 4] = random.choice(
                [b'\0' * 4, b'\xff' * 4, b'\3\0\0\0', random.bytes(4)]
            )
        data = bytes(data[: random.integers(4, len(data) + 1)] if random.random() < 0.2 else data)
        try:
            ours = read(data)
        except FlexRobotSimError as error:
            refused += 1
            assert '\n' not in str(error)
            continue
        judge = trajectory_of(deserialize_message(data, JointTrajectory))
        assert ours.times == judge.times
        np.testing.assert_array_equal(ours.positions, judge.positions)
    assert refused > count / 5


@pytest.fixture(scope='module', params=['beside', 'inside'])
def system(request):
    """Dynamics and controller, in two processes or in one; in a namespace each."""
    namespace = ['-r', f'__ns:=/{request.param}']
    options = {'robot': 'two_link', 'gravity': '[0.0, 0.0, 0.0]'}
    names = ['simulation'] if request.param == 'inside' else ['dynamics', 'controller']
    processes = [NodeProcess(name, *namespace, **options) for name in names]
    yield f'/{request.param}', processes
    for process in processes:
        process.close()


class Listener:
    """Times at which messages of a topic are sent; nothing is called when one arrives."""

    def __init__(self, observer, topic):
        self.times = []
        self._node = rclpy.create_node('listener', context=observer.node.context)
        self._subscription = self._node.create_subscription(
            JointState, topic, print, 5000, raw=True
        )

    def count(self):
        """Take what has arrived; return how many messages there are by now."""
        handle = self._subscription.handle
        with handle:
            while (taken := handle.take_message(JointState, True)) is not None:
                self.times.append(1e-9 * taken[1]['source_timestamp'])
        return len(self.times)

    def close(self):
        """Destroy the node."""
        self._node.destroy_node()


def page_faults(process):
    """Count the faults of the main thread, which runs the callbacks of a node."""
    pid = process.process.pid
    return int(Path(f'/proc/{pid}/task/{pid}/stat').read_text().rpartition(')')[2].split()[7])


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    'points, line',
    [
        (20_000, ''),
        (
            100_000,
            'the trajectory has 100000 points, more than max_trajectory_points = 20000. Send '
            'it in parts',
        ),
    ],
)
def test_the_loop_goes_on_while_a_long_trajectory_arrives(system, observer, points, line):
    namespace, processes = system
    observer.hear(JointState, f'{namespace}/controller/target')
    data = long_trajectory(points, NAMES)
    publisher = observer.publisher(JointTrajectory, f'{namespace}/joint_trajectory')
    for process in processes:
        process.forget_lines()
    faults = page_faults(processes[-1])
    answers = Listener(
        observer, f'{namespace}/' + ('joint_commands' if len(processes) == 2 else 'joint_states')
    )
    targets = observer.listen(JointState, f'{namespace}/controller/target')
    observer.spin_until(lambda: answers.count() > 500)
    publisher.publish(data)
    if line:
        observer.spin_until(lambda: processes[-1].count(line))
    else:
        observer.spin_until(lambda: targets and abs(targets[-1].position[0]) > 1e-3)
    count = answers.count()
    observer.spin_until(lambda: answers.count() > count + 500)
    answers.close()
    assert np.diff(answers.times).max() < LONGEST_GAP
    # the memory for three copies is at hand: the loop does not wait for the operating system
    copies = 3 * len(data) / mmap.PAGESIZE
    assert page_faults(processes[-1]) - faults < 0.3 * copies
    silences = ('no command for', 'no joint state for')
    assert not any(process.count(words) for process in processes for words in silences)
    steps = np.abs(np.diff([target.position for target in targets], axis=0))
    assert steps.max(initial=0.0) < 0.01  # the target did not jump
    observer.call(Trigger, f'{namespace}/controller/hold')


TOO_LONG = (
    ('controller/reference', JointState(name=['a'] * 300_000)),
    ('joint_commands', JointState(name=['a'] * 300_000)),
    ('joint_commands', JointState(effort=[0.0] * 300_000)),
    ('effort_controller/commands', Float64MultiArray(data=[0.0] * 300_000)),
    ('push', WrenchStamped(header=Header(frame_id='a' * 300_000))),
)


@pytest.mark.long(after=1)
def test_messages_that_are_too_long_are_refused_in_one_line(system, observer):
    namespace, processes = system
    for topic, message in TOO_LONG:
        if len(processes) == 1 and 'commands' in topic:
            continue  # inside, the controller takes the place of commands
        publisher = observer.publisher(type(message), f'{namespace}/{topic}')
        node = processes[-1 if topic == 'controller/reference' else 0]
        node.forget_lines()
        end = time.monotonic() + PATIENCE
        while not node.count('refused: a message '):  # a line a second at most
            publisher.publish(message)
            observer.spin_until(lambda: True)
            time.sleep(0.2)
            assert time.monotonic() < end
        line = next(line for line in node.lines if 'refused: a message ' in line)
        assert line.endswith('names 300000 joints, more than max_names = 1000') or (
            ' bytes is longer than ' in line
        )
        assert node.count('Traceback') == 0 and node.process.poll() is None
