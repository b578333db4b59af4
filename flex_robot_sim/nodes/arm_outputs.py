"""Publishers common to simulated and real arms: joints, motors, elastic states, strain."""

import numpy as np
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node

from flex_robot_sim.analysis.deflection import tip_deflection
from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.display.description import undeformed_tip
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.ros import topics
from flex_robot_sim.ros.conversions import (
    UNCOMMANDED,
    JointStateBuffer,
    set_quaternion,
    set_stamp,
    set_vector,
)
from flex_robot_sim.ros.endpoints import advertise
from flex_robot_sim.ros.state_rows import flex_rows, joint_rows
from flex_robot_sim.ros.topics import Topic, topic_words
from flex_robot_sim.spatial.turns import quaternion_about


class ArmOutputs:
    """Publishers of an arm; each call publishes the state in its arguments."""

    def __init__(self, node: Node, arm: ArmModel) -> None:
        self._arm = arm
        self._rows, self._flex_rows = joint_rows(arm), flex_rows(arm)
        self._joints = _States(node, topics.JOINT_STATES, [arm.joint_names[k] for k in self._rows])
        self._motors = _States(node, topics.MOTOR_STATES, arm.motor_names)
        self._motor_joints = np.array([arm.idx_q[name] for name in arm.motor_names], int)
        self._motor_rows = arm.motor_q[self._motor_joints]
        self._flex = _States(
            node,
            topics.FLEX_STATES,
            [arm.coordinate_names[k] for k in self._flex_rows],
            ('position', 'velocity'),
        )
        self._sensors = flex_sensors(arm)
        self._strain = _States(node, topics.STRAIN, self._sensors.names, ('position', 'velocity'))
        self._tips = {
            link: PosePublisher(node, topics.TIP_DEFLECTION.with_word(word), undeformed_tip(link))
            for link, word in topic_words(arm.tips).items()
        }

    def send_joints(
        self,
        stamp: int,
        q: np.ndarray,
        qd: np.ndarray,
        effort: np.ndarray,
        is_prescribed: bool = True,
    ) -> None:
        """
        Send joint_states and motor_states.

        :param stamp: [ns]; q, qd: coordinates and rates (n,), without motor coordinates those of
            the joints suffice; effort: of the motors (joints,).
        :param is_prescribed: whether commands move the arm.
        """
        rows = self._rows
        self._joints.send(stamp, q[rows], qd[rows], effort[rows], is_prescribed=is_prescribed)
        if self._motor_joints.size:
            motor_rows = self._motor_rows
            self._motors.send(stamp, q[motor_rows], qd[motor_rows], effort[self._motor_joints])

    def send_flex(
        self,
        stamp: int,
        q: np.ndarray,
        qd: np.ndarray,
        strain: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        """
        Send flex_states, strain and the tip deflections, each if it has a subscriber.

        :param strain: curvatures and their rates (k,) measured by flex sensors
            [1/m, 1/(m s)]; None: computed from the coordinates.
        """
        if self._flex_rows.size:
            self._flex.send(stamp, q[self._flex_rows], qd[self._flex_rows])
        if self._sensors.names:
            matrix = self._sensors.matrix
            self._strain.send(stamp, *((matrix @ q, matrix @ qd) if strain is None else strain))
        for link, pose in self._tips.items():
            if pose.has_subscribers():
                deflection = tip_deflection(self._arm, link, q)
                pose.send(stamp, deflection[:3], quaternion_about(deflection[3:]))


class _States:
    """Publisher of a JointState."""

    def __init__(self, node, topic, names, fields=('position', 'velocity', 'effort')):
        self._buffer = JointStateBuffer(names, fields)
        self._uncommanded = JointStateBuffer(names, fields, UNCOMMANDED)
        self._publisher = advertise(node, topic)

    def send(self, stamp, *values, is_prescribed=True):
        buffer = self._buffer if is_prescribed else self._uncommanded
        self._publisher.publish(buffer.fill(stamp, *values))


class PosePublisher:
    """Publisher of a PoseStamped."""

    def __init__(self, node: Node, topic: Topic, frame: str) -> None:
        self._message = PoseStamped()
        self._message.header.frame_id = frame
        self._publisher = advertise(node, topic)

    def has_subscribers(self) -> bool:
        """Whether the topic has a subscriber."""
        return self._publisher.get_subscription_count() > 0

    def send(self, stamp: int, position: np.ndarray, quaternion: np.ndarray) -> None:
        """Send a position (3,) [m] and a quaternion (4,), with a stamp [ns]."""
        set_stamp(self._message.header.stamp, stamp)
        set_vector(self._message.pose.position, position)
        set_quaternion(self._message.pose.orientation, quaternion)
        self._publisher.publish(self._message)
