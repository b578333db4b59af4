"""
What the view hears of an arm.

Nobody is called when a message comes: five hundred calls a second would take longer than the
pictures. Whoever draws asks for the newest before each picture.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.nodes.conversions import LEVELS, vector_of
from flex_robot_sim.nodes.joint_motor_pairing import JointMotorPairing, NamedValues
from flex_robot_sim.nodes.polling_node import Stamps
from flex_robot_sim.nodes.topics import COMMANDS, NEWEST, SAMPLES, STATES
from flex_robot_sim.util.exceptions import CommandError, FlexRobotSimError
from flex_robot_sim.viewer.observed import ObservedArm, Status

FORGOTTEN = 3.5         # after which what a program said of itself once a second is over    [s]
LEVEL_OF = {level: name for name, level in LEVELS.items()}


class ViewInputs:
    """Subscriptions that fill an ObservedArm."""

    def __init__(self, node: Node, arm: ArmModel, seen: ObservedArm) -> None:
        """Make the subscriptions of `node`, which no executor may wait for: see `polled`."""
        self._node, self._arm, self._seen = node, arm, seen
        self._pairs = JointMotorPairing(arm, False)
        self._time = Stamps(node)
        joints, motors = len(arm.joint_names), len(arm.motor_names)
        self._motors = slice(joints, joints + motors)
        self._motor_rows = np.array([arm.joint_names.index(name) for name in arm.motor_names], int)
        self._elastic = slice(joints + motors, arm.size)
        self._effort = NamedValues(arm.joint_names, 'joint_states', 'joint')
        self._flex = NamedValues(arm.coordinate_names[self._elastic], 'flex_states', 'coordinate')
        self._target = NamedValues(arm.joint_names, 'controller/target', 'joint')
        self._twin = NamedValues(arm.joint_names, 'twin/joint_states', 'joint')
        self._readers: list[tuple[Any, Callable[[float, Any], None]]] = []
        self._problems: dict[str, str] = {}
        self._listen(JointState, 'motor_states', NEWEST, self._on_motors)
        self._listen(JointState, 'flex_states', SAMPLES, self._on_flex)
        self._listen(JointState, 'joint_states', NEWEST, self._on_joints)
        self._listen(JointState, 'controller/target', NEWEST, self._on_target)
        self._listen(JointState, 'twin/joint_states', NEWEST, self._on_twin)
        self._listen(WrenchStamped, 'push', COMMANDS, self._on_push)
        self._listen(DiagnosticArray, '/diagnostics', STATES, self._on_diagnostics)

    @property
    def polled(self) -> tuple:
        """Return the subscriptions."""
        return tuple(subscription for subscription, _ in self._readers)

    def look(self, now: float) -> None:
        """Take what has come until now [s]."""
        for subscription, read in self._readers:
            for message in self._time.waiting(subscription):
                read(now, message)
        seen = self._seen
        for name in [name for name, status in seen.status.items()
                     if now - status.received_at > FORGOTTEN]:
            del seen.status[name]
        seen.problem = next(iter(self._problems.values()), '')

    def _listen(self, kind: type, topic: str, qos: QoSProfile,
                read: Callable[[float, Any], None]) -> None:
        subscription = self._node.create_subscription(kind, topic, lambda _: None, qos)
        self._readers.append((subscription, partial(self._attempt, topic, read)))

    def _attempt(self, topic, read, now, message):
        try:
            read(now, message)
        except FlexRobotSimError as error:
            self._problems[topic] = f'{error}: is it another robot'
        else:
            self._problems.pop(topic, None)

    def _on_joints(self, now, message):
        seen, pairs = self._seen, self._pairs
        pairs.take_joints(message)
        if not (np.isfinite(pairs.position).all() and np.isfinite(pairs.velocity).all()):
            raise CommandError('joint_states are no numbers')
        seen.coordinates[:len(pairs.position)] = pairs.position
        if len(message.effort):
            seen.effort[:] = self._effort.read(message, 'effort')
        seen.stamp, seen.received_at, seen.is_prescribed = (
            self._time(message), now, pairs.is_prescribed)

    def _on_motors(self, _, message):
        self._pairs.take_motors(message)
        self._seen.coordinates[self._motors] = self._pairs.motor_position[self._motor_rows]

    def _on_flex(self, now, message):
        elastic = self._flex.read(message)
        if not np.isfinite(elastic).all():
            raise CommandError('flex_states are no numbers')
        self._seen.coordinates[self._elastic] = elastic
        self._seen.flex_received_at = now
        self._seen.flex_samples.append((self._time(message), self._seen.coordinates.copy()))

    def _on_target(self, now, message):
        self._seen.target[:], self._seen.target_received_at = self._target.read(message), now

    def _on_twin(self, now, message):
        self._seen.twin, self._seen.twin_received_at = self._twin.read(message), now

    def _on_push(self, _, message):
        force = np.array(vector_of(message.wrench.force))
        if np.isfinite(force).all():
            self._seen.pushes[message.header.frame_id] = force

    def _on_diagnostics(self, now, message):
        own = f'{self._node.get_namespace().rstrip("/")}/'
        for status in message.status:
            node, _, _ = status.name.partition(': ')
            if node.startswith(own) and '/' not in node[len(own):]:
                self._seen.status[node[len(own):]] = Status(
                    LEVEL_OF.get(status.level, 'stale'), status.message,
                    {item.key: item.value for item in status.values}, now)
