"""
What the drift node hears: gauges, and where the drives were when they were read.

Nobody is called when a message comes, as in `view_inputs`: the newest joint states are asked for
some tens of times a second, which is all that a link needs that rings at some hertz.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState

from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.nodes.joint_motor_pairing import NamedValues, StrainReader
from flex_robot_sim.nodes.polling_node import Stamps
from flex_robot_sim.nodes.reporting import refuse
from flex_robot_sim.nodes.topics import NEWEST, SAMPLES
from flex_robot_sim.util.exceptions import CommandError, FlexRobotSimError

WAITING = 400           # gauges that wait for the joint states of a later time
Sample = tuple[float, np.ndarray, np.ndarray, np.ndarray]


class DriftInputs:
    """Subscriptions of a node, taken together to samples of one time each."""

    def __init__(self, node: Node, arm: ArmModel) -> None:
        """Make the subscriptions of `node`, which no executor may wait for: see `polled`."""
        self._node = node
        joints = len(arm.joint_names)
        self._gears = np.array([arm.joint_names.index(name) for name in arm.motor_names], int)
        self._joints = NamedValues(arm.joint_names, 'joint_states', 'joint')
        self._motors = NamedValues(arm.motor_names, 'motor_states', 'joint')
        self._strain = StrainReader(arm)
        self._no_efforts = np.full(joints, np.nan)
        self._time = Stamps(node)
        # two newest: (time, places, efforts) and (time, places)
        self._known: deque[tuple[float, np.ndarray]] = deque(maxlen=2)
        self._behind: deque[tuple[float, np.ndarray]] = deque(maxlen=2)
        self._gauges: deque[tuple[float, np.ndarray]] = deque(maxlen=WAITING)
        self._strains = self._listen('strain', SAMPLES)
        self._states = self._listen('joint_states', NEWEST)
        self._motor_states = self._listen('motor_states', NEWEST) if arm.motor_names else None

    @property
    def polled(self) -> tuple[Subscription, ...]:
        """Return the subscriptions."""
        return tuple(one for one in (self._strains, self._states, self._motor_states) if one)

    def _listen(self, topic: str, qos: QoSProfile) -> Subscription:
        return self._node.create_subscription(JointState, topic, lambda _: None, qos)

    def samples(self) -> Iterator[Sample]:
        """Yield (time, drives, gauges, efforts) of what has come."""
        try:
            self._take()
        except FlexRobotSimError as error:
            refuse(self._node, error)
        newest = min([self._known[-1][0] if len(self._known) == 2 else -np.inf] + (
            [self._behind[-1][0] if len(self._behind) == 2 else -np.inf] if len(self._gears)
            else []))
        joints = len(self._no_efforts)
        while self._gauges and self._gauges[0][0] <= newest:
            time, strain = self._gauges.popleft()
            row = _between(self._known, time)
            if row is None:
                continue
            drives = row[:joints].copy()
            if len(self._gears):
                motors = _between(self._behind, time)
                if motors is None:
                    continue
                drives[self._gears] = motors
            yield time, drives, strain, row[joints:]

    def _take(self):
        for message in self._time.waiting(self._strains):
            strain = self._strain.read(message)
            if np.isfinite(strain).all():
                self._gauges.append((self._time(message), strain))
        for message in self._time.waiting(self._states):
            efforts = self._joints.read(message, 'effort') if len(message.effort) else (
                self._no_efforts)
            self._put(self._known, message, np.concatenate([self._joints.read(message), efforts]),
                      len(self._no_efforts))
        for message in self._time.waiting(self._motor_states) if self._motor_states else ():
            self._put(self._behind, message, self._motors.read(message).copy(), len(self._gears))

    def _put(self, known, message, row, count):
        if not np.isfinite(row[:count]).all():
            raise CommandError('joint_states are no numbers')
        time = self._time(message)
        if known and time <= known[-1][0]:
            if time < known[-1][0]:
                known.clear()
            return
        known.append((time, row))


def _between(known, time):
    """Row at a time between the two newest, or None."""
    (before, first), (behind, second) = known
    if not before <= time <= behind:
        return None
    share = (time - before) / (behind - before)
    return (1 - share) * first + share * second
