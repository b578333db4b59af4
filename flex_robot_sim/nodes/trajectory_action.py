"""
The action FollowJointTrajectory of the joint controller, as a separate node.

It handles goals, results and feedback, so that no client slows down the control loop. The
controller receives the trajectories on its topic, like those of other senders.
"""

import math

from rclpy.node import Node

from flex_robot_sim.nodes.follow_trajectory import (
    follow_joint_trajectory_type,
    offer_follow_joint_trajectory,
)
from flex_robot_sim.nodes.settings import (
    KNOWN_PARAMETERS,
    TRAJECTORY_ACTION_SETTINGS,
    TrajectoryActionSettings,
)
from flex_robot_sim.nodes.trajectory_relay import TrajectoryRelay
from flex_robot_sim.ros.node_parameters import Parameters
from flex_robot_sim.ros.node_settings import MessageSettings, RobotSettings
from flex_robot_sim.ros.robot_source import when_arm_is_known
from flex_robot_sim.shaping.impulses import NONE
from flex_robot_sim.shaping.trajectory_shaper import TrajectoryShaper
from flex_robot_sim.util.exceptions import SettingError, plain

ACTION = 'controller/follow_joint_trajectory'


class TrajectoryActionNode(Node):
    """Trajectories as goals in, unshaped trajectories for the joint controller out."""

    def __init__(self) -> None:
        """Offer the action, once the arm is known; SettingError without its type."""
        super().__init__('trajectory_action')
        self.failure = None
        self.parameters = Parameters(self, *TRAJECTORY_ACTION_SETTINGS, known=KNOWN_PARAMETERS)
        if follow_joint_trajectory_type() is None:
            raise SettingError(
                'control_msgs cannot be imported: install the package ros-DISTRO-control-msgs, or '
                'send trajectories to the topic joint_trajectory'
            )
        when_arm_is_known(self, self.parameters[RobotSettings], self._offer)

    def _offer(self, arm):
        settings = self.parameters[TrajectoryActionSettings]
        limits = self.parameters[MessageSettings]
        # all points of a goal are sent unchanged: no shaper, no intermediate points
        relay = TrajectoryRelay(
            self,
            TrajectoryShaper(
                lambda end: NONE,
                math.inf,
                arm,
                settings.start_tolerance,
                limits.max_trajectory_points,
            ),
            arm,
            limits,
        )
        offer_follow_joint_trajectory(self, ACTION, relay, tolerance=settings.goal_tolerance)
        self.get_logger().info(
            f'{plain(arm.description.name)}: offers {self.resolve_service_name(ACTION)}'
        )
