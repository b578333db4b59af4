"""Broadcaster of the pose of a free or moved base on TF, as robots with odometry have it."""

import numpy as np
from geometry_msgs.msg import TransformStamped
from rclpy.node import Node

from flex_robot_sim.display.base_frames import base_frames
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.ros import topics
from flex_robot_sim.ros.conversions import set_quaternion, set_stamp, set_vector
from flex_robot_sim.ros.endpoints import advertise, class_of


class BaseTransform:
    """Publisher of the transform from the root link, or the world, to the base link."""

    def __init__(self, node: Node, arm: ArmModel) -> None:
        self._transform = TransformStamped()
        frames = base_frames(arm.description)
        self._transform.header.frame_id, self._transform.child_frame_id = frames
        self._publisher = None
        try:
            self._message = class_of(topics.TF.kind)(transforms=[self._transform])
        except ImportError:
            node.get_logger().info(
                f'TF lacks the frame "{frames[1]}": tf2_msgs cannot be imported. Install the '
                'package ros-DISTRO-tf2-msgs, or use base_odometry'
            )
        else:
            self._publisher = advertise(node, topics.TF)

    def send(self, stamp: int, pose: np.ndarray) -> None:
        """Send a pose (7,), with a stamp [ns], if TF has a listener."""
        if self._publisher is None or not self._publisher.get_subscription_count():
            return
        set_stamp(self._transform.header.stamp, stamp)
        set_vector(self._transform.transform.translation, pose[:3])
        set_quaternion(self._transform.transform.rotation, pose[3:])
        self._publisher.publish(self._message)
