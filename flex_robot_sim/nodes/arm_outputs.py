"""What every arm sends, simulated or real: joints, motors, elastic states, strain."""

import numpy as np
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState

from flex_robot_sim.analysis.deflection import tip_deflection
from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.display.description import undeformed_tip
from flex_robot_sim.display.turns import quaternion_about
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.nodes.conversions import UNCOMMANDED, JointStateBuffer, PoseBuffer
from flex_robot_sim.nodes.topics import STATES
from flex_robot_sim.recording.topic_words import topic_words


class ArmOutputs:
    """Publishers of an arm; each call sends the state it is given."""

    def __init__(self, node: Node, arm: ArmModel) -> None:
        """Make the publishers of `node` for an ArmModel."""
        self._arm = arm
        self._size = joints = len(arm.joint_names)
        motors = len(arm.motor_names)
        self._elastic = slice(joints + motors, arm.size)
        self._joints = _States(node, 'joint_states', arm.joint_names)
        self._motors = _States(node, 'motor_states', arm.motor_names)
        self._driving = np.array([arm.joint_names.index(name) for name in arm.motor_names], int)
        self._motor_rows = slice(joints, joints + motors)
        self._flex = _States(node, 'flex_states', arm.coordinate_names[joints + motors:],
                             ('position', 'velocity'))
        self._sensors = flex_sensors(arm)
        self._strain = _States(node, 'strain', self._sensors.names, ('position', 'velocity'))
        words = topic_words(arm.tips)
        self._tips = {link: PosePublisher(node, f'{words[link]}/tip_deflection',
                                          undeformed_tip(link))
                      for link in arm.tips}

    def send_joints(self, stamp: int, q: np.ndarray, qd: np.ndarray, effort: np.ndarray,
                    is_prescribed: bool = True) -> None:
        """
        Send joint_states and motor_states.

        :param stamp: [ns]; q, qd: coordinates and rates (n,), where there are no motor
            coordinates those of the joints do; effort: of the motors (joints,).
        :param is_prescribed: whether commands move the arm.
        """
        size = self._size
        self._joints.send(stamp, q[:size], qd[:size], effort, is_prescribed=is_prescribed)
        if self._driving.size:
            rows = self._motor_rows
            self._motors.send(stamp, q[rows], qd[rows], effort[self._driving])

    def send_flex(self, stamp: int, q: np.ndarray, qd: np.ndarray,
                  strain: np.ndarray | None = None) -> None:
        """
        Send flex_states, strain and the tip deflections, each if it has a subscriber.

        :param strain: curvatures and their rates (2, k) as flex sensors have measured them
            [1/m, 1/(m s)]; None: those of the coordinates.
        """
        if self._arm.tips:
            self._flex.send(stamp, q[self._elastic], qd[self._elastic])
        if self._sensors.names:
            matrix = self._sensors.matrix
            self._strain.send(stamp, *((matrix @ q, matrix @ qd) if strain is None else strain))
        for link, pose in self._tips.items():
            if pose.is_heard():
                deflection = tip_deflection(self._arm, link, q)
                pose.send(stamp, deflection[:3], quaternion_about(deflection[3:]))


class _States:
    """Publisher of a JointState."""

    def __init__(self, node, topic, names, fields=('position', 'velocity', 'effort')):
        self._buffer = JointStateBuffer(names, fields)
        self._uncommanded = JointStateBuffer(names, fields, UNCOMMANDED)
        self._publisher = node.create_publisher(JointState, topic, STATES)

    def send(self, stamp, *values, is_prescribed=True):
        buffer = self._buffer if is_prescribed else self._uncommanded
        self._publisher.publish(buffer.fill(stamp, *values))


class PosePublisher:
    """Publisher of a PoseStamped."""

    def __init__(self, node: Node, topic: str, frame: str) -> None:
        """Make the publisher of `node`; the pose is given in `frame`."""
        self._buffer = PoseBuffer(frame)
        self._publisher = node.create_publisher(PoseStamped, topic, STATES)

    def is_heard(self) -> bool:
        """Whether the topic has a subscriber."""
        return self._publisher.get_subscription_count() > 0

    def send(self, stamp: int, position: np.ndarray, turn: np.ndarray) -> None:
        """Send a position (3,) [m] and a quaternion (4,), with a stamp [ns]."""
        self._publisher.publish(self._buffer.fill(stamp, position, turn))
