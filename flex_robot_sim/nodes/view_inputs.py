"""
Subscriptions of the view node.

They are polled before each frame: five hundred callbacks a second would take longer than the
drawing.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from rclpy.node import Node

from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.free_base import base_coordinates, body_pose
from flex_robot_sim.ros import topics
from flex_robot_sim.ros.conversions import LEVELS, pose_of, vector_of
from flex_robot_sim.ros.endpoints import subscribe
from flex_robot_sim.ros.joint_motor_pairing import JointMotorPairing, NamedValues
from flex_robot_sim.ros.polling_node import Stamps
from flex_robot_sim.ros.state_rows import flex_rows, joint_rows
from flex_robot_sim.ros.topics import Topic, topic_words
from flex_robot_sim.spatial.turns import are_unit
from flex_robot_sim.util.exceptions import CommandError, FlexRobotSimError
from flex_robot_sim.viewer.observed import ObservedArm, Status

STATUS_TIMEOUT_S = 3.5  # age at which a status, published once a second, is discarded
LEVEL_NAMES = {level: name for name, level in LEVELS.items()}


class ViewInputs:
    """Subscriptions that fill an ObservedArm."""

    def __init__(self, node: Node, arm: ArmModel, observed: ObservedArm) -> None:
        """Make the subscriptions of `node`; no executor may wait for those in `polled`."""
        self._node, self._arm, self._observed = node, arm, observed
        self._pairing = JointMotorPairing(arm, False)
        self._time = Stamps(node)
        self._motor_joints = np.array([arm.idx_q[name] for name in arm.motor_names], int)
        self._motors = arm.motor_q[self._motor_joints]
        self._rows, self._flex_rows = joint_rows(arm), flex_rows(arm)
        self._rigid_links: set[str] = set()
        self._effort = NamedValues(arm.description.urdf_joint_names, topics.JOINT_STATES)
        self._flex = self._flex_reader()
        self._target = NamedValues(arm.joint_names, topics.TARGET)
        self._twin = NamedValues(arm.joint_names, topics.TWIN_JOINT_STATES)
        self._readers: list[tuple[Any, Callable[[float, Any], None]]] = []
        self._problems: dict[str, str] = {}
        self._listen(topics.MOTOR_STATES, self._on_motors)
        self._listen(topics.FLEX_STATES, self._on_flex)
        self._listen(topics.JOINT_STATES, self._on_joints)
        self._listen(topics.BASE_ODOMETRY, self._on_base)
        self._listen(topics.TARGET, self._on_target)
        self._listen(topics.TWIN_JOINT_STATES, self._on_twin)
        self._listen(topics.PUSH, self._on_push)
        for name, word in topic_words(arm.contacts).items():
            self._listen(topics.CONTACT.with_word(word), partial(self._on_contact, name))
        self._listen(topics.DIAGNOSTICS, self._on_diagnostics)

    @property
    def polled(self) -> tuple:
        """Return the subscriptions."""
        return tuple(subscription for subscription, _ in self._readers)

    def draw_rigid(self, link: str, is_rigid: bool) -> str:
        """
        Keep the elastic coordinates of a link at zero, or let them move again.

        Return the line that is now among the notes of the page, '' if there is no new one.
        """
        if is_rigid == (link in self._rigid_links):
            return ''
        line = (
            f'link "{link}" is shown as a rigid one: its reduced file is not the one of the node '
            'dynamics'
        )
        if is_rigid:
            self._rigid_links.add(link)
            self._observed.notes.append(line)
        else:
            self._rigid_links.remove(link)
            self._observed.notes.remove(line)
        rigid = [
            np.arange(self._arm.size)[rows]
            for one in self._rigid_links
            for _, rows in self._arm.beams_of(one)
        ]
        self._flex_rows = np.setdiff1d(flex_rows(self._arm), np.concatenate([[], *rigid]))
        self._flex = self._flex_reader()
        self._observed.coordinates[self._arm.elastic_q] = 0.0
        return line if is_rigid else ''

    def poll(self, now: float) -> None:
        """Process the messages received until now [s]."""
        for subscription, read in self._readers:
            for message in self._time.new_messages(subscription):
                read(now, message)
        observed = self._observed
        for name in [
            name
            for name, status in observed.status.items()
            if now - status.received_at > STATUS_TIMEOUT_S
        ]:
            del observed.status[name]
        observed.problem = next(iter(self._problems.values()), '')

    def _flex_reader(self):
        names = [self._arm.coordinate_names[k] for k in self._flex_rows]
        return NamedValues(names, topics.FLEX_STATES, 'coordinate')

    def _listen(self, topic: Topic, read: Callable[[float, Any], None]) -> None:
        subscription = subscribe(self._node, topic, lambda _: None, topic.quality_for('view'))
        self._readers.append((subscription, partial(self._attempt, topic.name, read)))

    def _attempt(self, topic, read, now, message):
        try:
            read(now, message)
        except FlexRobotSimError as error:
            self._problems[topic] = f'{error}: is it another robot'
        else:
            self._problems.pop(topic, None)

    def _on_joints(self, now, message):
        observed, pairing = self._observed, self._pairing
        pairing.take_joints(message)
        if not (np.isfinite(pairing.position).all() and np.isfinite(pairing.velocity).all()):
            raise CommandError('joint_states are not finite')
        observed.coordinates[self._rows] = pairing.position[self._rows]
        if len(message.effort):
            observed.effort[self._rows] = self._effort.read(message, 'effort')
        observed.stamp = self._time(message)
        observed.received_at = now
        observed.is_prescribed = pairing.is_prescribed

    def _on_motors(self, _, message):
        self._pairing.take_motors(message)
        self._observed.coordinates[self._motors] = self._pairing.motor_position[self._motor_joints]

    def _on_flex(self, now, message):
        elastic = self._flex.read(message)
        if not np.isfinite(elastic).all():
            raise CommandError('flex_states are not finite')
        self._observed.coordinates[self._flex_rows] = elastic
        self._observed.flex_received_at = now
        self._observed.flex_samples.append(
            (self._time(message), self._observed.coordinates.copy())
        )

    def _on_base(self, _, message):
        pose = pose_of(message.pose.pose)
        if not self._arm.has_free_base:
            if not np.isfinite(pose).all() or not are_unit(pose[3:]):
                raise CommandError('base_odometry has no finite pose')
            pose[3:] /= np.linalg.norm(pose[3:])
            self._observed.base_pose = pose
            return
        base = self._observed.coordinates[self._arm.base_q]
        base[:] = base_coordinates(self._arm, body_pose(self._arm, pose))

    def _on_target(self, now, message):
        self._observed.target[:] = self._target.read(message)
        self._observed.target_received_at = now

    def _on_twin(self, now, message):
        self._observed.twin, self._observed.twin_received_at = self._twin.read(message), now

    def _on_push(self, _, message):
        force = np.array(vector_of(message.wrench.force))
        if np.isfinite(force).all():
            self._observed.pushes[message.header.frame_id] = force

    def _on_contact(self, name, _, message):
        wrench = np.array([*vector_of(message.wrench.torque), *vector_of(message.wrench.force)])
        if np.isfinite(wrench).all():
            self._observed.contact_wrenches[name] = wrench

    def _on_diagnostics(self, now, message):
        namespace = f'{self._node.get_namespace().rstrip("/")}/'
        for status in message.status:
            node, _, _ = status.name.partition(': ')
            if node.startswith(namespace) and '/' not in node[len(namespace) :]:
                self._observed.status[node[len(namespace) :]] = Status(
                    LEVEL_NAMES.get(status.level, 'stale'),
                    status.message,
                    {item.key: item.value for item in status.values},
                    now,
                )
