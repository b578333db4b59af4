"""
Inputs of the drift node: strain, and the drive positions at the time of measurement.

Subscriptions are polled, as in `view_inputs`: some tens of joint states a second are enough for a
link that vibrates at some hertz.
"""

from collections import deque
from collections.abc import Iterator

import numpy as np
from rclpy.node import Node
from rclpy.subscription import Subscription

from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.ros import topics
from flex_robot_sim.ros.endpoints import subscribe
from flex_robot_sim.ros.joint_motor_pairing import NamedValues, strain_values
from flex_robot_sim.ros.polling_node import Stamps
from flex_robot_sim.ros.reporting import refuse
from flex_robot_sim.ros.state_rows import joint_rows
from flex_robot_sim.ros.topics import Topic
from flex_robot_sim.util.exceptions import CommandError, FlexRobotSimError

MAX_PENDING_STRAINS = 400  # strain samples without later joint states
Sample = tuple[float, np.ndarray, np.ndarray, np.ndarray]


class DriftInputs:
    """
    Subscriptions of a node, combined to samples with one time each.

    Coordinates of universal, spherical and planar joints, not in joint_states, stay zero.
    """

    def __init__(self, node: Node, arm: ArmModel) -> None:
        """Make the subscriptions of `node`; no executor may wait for those in `polled`."""
        self._node = node
        joints = len(arm.joint_names)
        self._motor_joints = np.array([arm.idx_q[name] for name in arm.motor_names], int)
        self._rows = joint_rows(arm)
        self._joints = NamedValues(arm.description.urdf_joint_names, topics.JOINT_STATES)
        self._motors = NamedValues(arm.motor_names, topics.MOTOR_STATES)
        self._strain = strain_values(arm)
        self._no_efforts = np.full(joints, np.nan)
        self._time = Stamps(node)
        # two newest samples: (time, positions and efforts), (time, motor positions)
        self._joint_samples: deque[tuple[float, np.ndarray]] = deque(maxlen=2)
        self._motor_samples: deque[tuple[float, np.ndarray]] = deque(maxlen=2)
        self._strain_samples: deque[tuple[float, np.ndarray]] = deque(maxlen=MAX_PENDING_STRAINS)
        self._strain_subscription = self._listen(topics.STRAIN)
        self._joint_subscription = self._listen(topics.JOINT_STATES)
        self._motor_subscription = self._listen(topics.MOTOR_STATES) if arm.motor_names else None
        self.polled = tuple(
            filter(
                None,
                (self._strain_subscription, self._joint_subscription, self._motor_subscription),
            )
        )

    def _listen(self, topic: Topic) -> Subscription:
        return subscribe(self._node, topic, lambda _: None, topic.quality_for('drift'))

    def samples(self) -> Iterator[Sample]:
        """Yield (time, drive positions, strains, efforts) of the received messages."""
        try:
            self._take()
        except FlexRobotSimError as error:
            refuse(self._node, error)
        newest_time = min(
            [self._joint_samples[-1][0] if len(self._joint_samples) == 2 else -np.inf]
            + (
                [self._motor_samples[-1][0] if len(self._motor_samples) == 2 else -np.inf]
                if len(self._motor_joints)
                else []
            )
        )
        joints = len(self._no_efforts)
        while self._strain_samples and self._strain_samples[0][0] <= newest_time:
            time, strain = self._strain_samples.popleft()
            row = _interpolate(self._joint_samples, time)
            if row is None:
                continue
            drives = row[:joints].copy()
            if len(self._motor_joints):
                motors = _interpolate(self._motor_samples, time)
                if motors is None:
                    continue
                drives[self._motor_joints] = motors
            yield time, drives, strain, row[joints:]

    def _take(self):
        for message in self._time.new_messages(self._strain_subscription):
            strain = self._strain.read(message)
            if np.isfinite(strain).all():
                self._strain_samples.append((self._time(message), strain))
        for message in self._time.new_messages(self._joint_subscription):
            joints = np.zeros((2, len(self._no_efforts)))  # positions and efforts
            joints[0, self._rows] = self._joints.read(message)
            if len(message.effort):
                joints[1, self._rows] = self._joints.read(message, 'effort')
            else:
                joints[1] = self._no_efforts
            self._append(self._joint_samples, message, joints.ravel(), len(self._no_efforts))
        for message in (
            self._time.new_messages(self._motor_subscription) if self._motor_subscription else ()
        ):
            self._append(
                self._motor_samples,
                message,
                self._motors.read(message).copy(),
                len(self._motor_joints),
            )

    def _append(self, samples, message, row, count):
        if not np.isfinite(row[:count]).all():
            raise CommandError('joint_states are not finite')
        time = self._time(message)
        if samples and time <= samples[-1][0]:
            if time < samples[-1][0]:
                samples.clear()
            return
        samples.append((time, row))


def _interpolate(samples, time):
    """Return the row at a time between two samples, or None outside."""
    (before, first), (after, last) = samples
    if not before <= time <= after:
        return None
    fraction = (time - before) / (after - before)
    return (1 - fraction) * first + fraction * last
