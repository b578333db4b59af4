"""`flexsim tune` with ROS: a controller, joint states and an IMU over DDS."""

import signal
import threading
import time

import numpy as np
import pytest
import rclpy
from sensor_msgs.msg import Imu, JointState
from trajectory_msgs.msg import JointTrajectory

from flex_robot_sim.nodes.tune_driver import RosDriver
from flex_robot_sim.shaping.tuning.driver import DriverError, follow
from flex_robot_sim.shaping.tuning.tune_plan import smooth_move
from flex_robot_sim.util.exceptions import UsageError

NAMES = ('shoulder', 'elbow')
PERIOD = 5e-3


class Controller:
    """A controller that follows trajectories exactly, in a thread of its own."""

    def __init__(self):
        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        self.node = rclpy.create_node('controller', context=self.context)
        self.node.create_subscription(JointTrajectory, 'tuned', self._take, 10)
        self._states = self.node.create_publisher(JointState, 'tuned_states', 10)
        self._imu = self.node.create_publisher(Imu, 'tuned_imu', 10)
        self._move, self.position = None, np.array([0.2, -0.3])
        self.received, self.is_mute, self._is_running = [], False, True
        self.is_blocked = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _take(self, message):
        self.received.append(message)
        times = [p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in message.points]
        places = np.array([p.positions for p in message.points])
        self._move = (
            time.monotonic(),
            np.array([0.0, *times]),
            np.vstack([self.position, places]),
        )

    def _run(self):
        executor = rclpy.executors.SingleThreadedExecutor(context=self.context)
        executor.add_node(self.node)
        while self._is_running:
            executor.spin_once(timeout_sec=PERIOD)
            if self._move is not None and not self.is_blocked:
                begin, times, places = self._move
                elapsed = time.monotonic() - begin
                self.position = np.array([np.interp(elapsed, times, x) for x in places.T])
            if not self.is_mute:
                stamp = self.node.get_clock().now().to_msg()
                state = JointState(name=['other', *NAMES[::-1]])
                state.header.stamp = stamp
                state.position = [9.0, *self.position[::-1].tolist()]
                self._states.publish(state)
                reading = Imu()
                reading.header.stamp = stamp
                reading.linear_acceleration.x = float(self.position[0])
                self._imu.publish(reading)
        executor.shutdown()

    def close(self):
        """End the thread."""
        self._is_running = False
        self._thread.join()
        self.node.destroy_node()
        rclpy.try_shutdown(context=self.context)


@pytest.fixture
def controller():
    controller = Controller()
    yield controller
    controller.close()


@pytest.fixture
def driver(controller):
    driver = RosDriver(NAMES, topic='tuned', imu='tuned_imu', states='tuned_states')
    yield driver
    driver.close()


def test_an_arm_in_ros_moves_is_logged_and_stops_without_states(controller, driver, tmp_path):
    while driver.state() is None:
        driver.wait(0.05)
    start = driver.state().position
    move = smooth_move(start, start + [0.3, -0.2], 1.0, 10.0)
    driver.begin_log()
    follow(driver, *move, rest=0.3)
    driver.write_log(tmp_path / 'log.csv')
    np.testing.assert_allclose(driver.state().position, move.positions[-1], atol=1e-6)
    header = (tmp_path / 'log.csv').read_text().partition('\n')[0]
    assert header.startswith('time,position/shoulder,position/elbow,acceleration/x')
    table = np.loadtxt(tmp_path / 'log.csv', delimiter=',', skiprows=1)
    assert np.diff(table[:, 0]).min() > 0.0
    assert np.abs(table[:, 3] - table[:, 1]).max() < 0.1  # by the nearest joint state

    def go_mute(share):
        controller.is_mute = share > 0.3

    before = len(controller.received)
    back = smooth_move(move.positions[-1], start, 0.3, 3.0)
    with pytest.raises(DriverError, match='joint states stopped arriving'):
        follow(driver, *back, watch=go_mute)
    end = time.monotonic() + 5.0
    while len(controller.received) < before + 2 and time.monotonic() < end:
        driver.wait(0.02)
    stop = controller.received[-1]
    assert len(stop.points) == 1 and list(stop.points[0].velocities) == [0.0, 0.0]
    reached = np.array(stop.points[0].positions)
    assert 0.2 < np.abs(reached - start).max() / 0.3 < 0.95  # in the middle of the move


def test_a_missing_controller_is_one_line():
    with pytest.raises(UsageError, match='no controller listens on nowhere within 5 s'):
        RosDriver(NAMES, topic='nowhere')


def test_the_stop_of_an_arm_that_is_held_up_ends_where_the_arm_is(controller, driver):
    while driver.state() is None:
        driver.wait(0.05)
    start = driver.state().position
    controller.is_blocked = True
    move = smooth_move(start, start + [0.6, 0.0], 0.5, 10.0)
    with pytest.raises(DriverError, match='"shoulder" is .* from its set points'):
        follow(driver, *move)
    end = time.monotonic() + 5.0
    while len(controller.received) < 2 and time.monotonic() < end:
        driver.wait(0.02)
    first, stop = controller.received
    # the first trajectory begins late: the target of the controller may be elsewhere
    assert first.points[0].time_from_start.nanosec >= 0.3e9
    np.testing.assert_allclose(stop.points[0].positions, start, atol=1e-9)
    assert list(stop.points[0].velocities) == [0.0, 0.0]


def test_ctrl_c_inside_rclpy_stops_the_arm(controller, driver):
    while driver.state() is None:
        driver.wait(0.05)
    start = driver.state().position
    move = smooth_move(start, start + [0.6, 0.0], 0.5, 10.0)
    timer = threading.Timer(0.4, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        follow(driver, *move)
    end = time.monotonic() + 5.0
    while len(controller.received) < 2 and time.monotonic() < end:
        driver.wait(0.02)
    reached = controller.received[-1].points[-1].positions[0]
    assert len(controller.received) == 2 and start[0] < reached < start[0] + 0.5
