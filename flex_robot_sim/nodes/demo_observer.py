"""The one who commands and watches the arm of `flexsim demo`, by topics that anybody may use."""

import time
from contextlib import contextmanager

import numpy as np
import rclpy
from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from flex_robot_sim.demo.record import RunRecord
from flex_robot_sim.demo.swing import SwingTarget
from flex_robot_sim.nodes.conversions import set_stamp, stamp_of
from flex_robot_sim.nodes.run import make_executor
from flex_robot_sim.nodes.topics import COMMANDS, STATES, topic_words

SECOND = 1e-9           # of a nanosecond


@contextmanager
def demo_observer(arm, swing):
    """Give a DemoObserver that ends with the block; signals stay with the caller."""
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    observer = None
    try:
        observer = DemoObserver(arm, swing)
        yield observer
    finally:
        if observer is not None:
            observer.destroy_node()
        rclpy.try_shutdown()


class DemoObserver(Node):
    """Sends a trajectory for each swing, and notes what the arm does."""

    def __init__(self, arm, swing):
        """
        Make the node; `spin` lets it work.

        :param swing: Swing between two poses.
        """
        super().__init__('demo')
        self.record = RunRecord(arm.joint_names, arm.tips)
        self.figures, self.figures_at = {}, None    # of the newest diagnostics; when they came
        self._swing, self._target = swing, None
        self._first_stamp = None
        self._trajectories = self.create_publisher(JointTrajectory, 'joint_trajectory', COMMANDS)
        self._pause = self.create_client(SetBool, 'dynamics/pause')
        self.create_subscription(JointState, 'joint_states', self._on_joints, STATES)
        self.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 10)
        for link, word in topic_words(arm.tips).items():
            self.create_subscription(
                PoseStamped, f'{word}/tip_deflection',
                lambda message, link=link: self._on_tip(link, message), STATES)
        self._executor = make_executor()
        self._executor.add_node(self)

    def spin(self, seconds):
        """Deal with messages for a while [s]."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            self._executor.spin_once(timeout_sec=left)

    def run_time(self):
        """Simulated time of now [s], as far as diagnostics tell; None before there are any."""
        if self.figures_at is None:
            return None
        return float(self.figures['simulated time [s]']) + time.monotonic() - self.figures_at

    def is_heard_from(self):
        """Whether joint states arrive."""
        return self._target is not None

    def ask_to_pause(self):
        """Let the arm stand still; its last diagnostics come at once then."""
        self._pause.call_async(SetBool.Request(data=True))

    def swing(self):
        """Send the next trajectory, if it is time and somebody follows it."""
        if self._target is None or not self._trajectories.get_subscription_count():
            return
        pose = self._target.next_pose(time.monotonic())
        if pose is not None:
            self._trajectories.publish(_trajectory(self.record.joint_names, pose,
                                                   self._swing.duration))

    def _on_joints(self, message):
        position = np.array(message.position)
        if self._target is None:
            self._target = SwingTarget(self._swing, position)
        self.record.add_joints(self._time_of(message.header), position,
                               self._target.at(time.monotonic()), np.array(message.effort))

    def _on_tip(self, link, message):
        place = message.pose.position
        self.record.add_tip(self._time_of(message.header), link,
                            np.array([place.x, place.y, place.z]))

    def _on_diagnostics(self, message):
        for status in message.status:
            if status.name.endswith('/dynamics: simulation'):
                self.figures = {item.key: item.value for item in status.values}
                self.figures_at = time.monotonic()
                delays = [1e-3 * float(self.figures[f'state to command, {which} [ms]'])
                          for which in ('median', '99 %')]
                if delays[0] == delays[0]:
                    self.record.add_delays(self._time_of(message.header), *delays)

    def _time_of(self, header):
        """Time since the first stamp [s]."""
        stamp = stamp_of(header) or 0
        if self._first_stamp is None:
            self._first_stamp = stamp
        return SECOND * (stamp - self._first_stamp)


def _trajectory(names, pose, duration):
    """Return the message that leads from where the reference is to a pose, by minimum jerk."""
    rest = [0.0] * len(names)
    whole = round(duration / SECOND)
    point = JointTrajectoryPoint(positions=pose.tolist(), velocities=rest, accelerations=rest,
                                 time_from_start=Duration())
    set_stamp(point.time_from_start, whole)
    return JointTrajectory(joint_names=list(names), points=[point])
