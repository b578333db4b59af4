"""Shaping of a stream of set points, in the message types of common drivers."""

from collections.abc import Sequence
from typing import Any

from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from flex_robot_sim.ros.conversions import SECOND, stamp_of
from flex_robot_sim.ros.endpoints import advertise
from flex_robot_sim.ros.message_limits import subscribe_short
from flex_robot_sim.ros.reporting import refuse
from flex_robot_sim.ros.topics import (
    FLOATS,
    JOINT_STATE,
    JOINT_TRAJECTORY,
    SET_POINTS,
    SHAPER_SET_POINTS,
)
from flex_robot_sim.shaping.set_point_stream import SetPointStream
from flex_robot_sim.util.exceptions import CommandError, FlexRobotSimError, SettingError

KINDS = {'commands': FLOATS, 'joint_state': JOINT_STATE, 'joint_trajectory': JOINT_TRAJECTORY}
# size limit of a message per joint, in numbers; a name takes the space of several
NUMBERS_PER_JOINT = {'commands': 1, 'joint_state': 64, 'joint_trajectory': 64}
SET_POINT_TIMEOUT_S = 0.5  # time until the set points for an arm at rest end


class ShaperStream:
    """Receives set points at any rate, and publishes shaped ones at a constant rate."""

    def __init__(self, node: Node, kind: str, stream: SetPointStream, max_names: int) -> None:
        """Subscribe and publish messages of a `kind` in KINDS."""
        self._node, self.stream, self.problem = node, stream, ''
        self.accepted = self.refused = 0
        self._last_set_point, self._is_idle = None, True
        self._make_message = {
            'commands': self._commands,
            'joint_state': self._joint_state,
            'joint_trajectory': self._joint_trajectory,
        }[kind]
        self._publisher = advertise(node, SET_POINTS._replace(kind=KINDS[kind]))
        source = subscribe_short(
            node,
            SHAPER_SET_POINTS.private._replace(kind=KINDS[kind]),
            self._on_set_point,
            NUMBERS_PER_JOINT[kind] * max_names,
        )
        if source.topic_name == self._publisher.topic_name:
            raise SettingError(
                f'the shaper would receive its own output on {source.topic_name}: '
                'remap set_points to the topic of the driver'
            )
        self.topics = source.topic_name, self._publisher.topic_name
        node.create_timer(stream.period, self._on_timer)

    @property
    def is_moving(self) -> bool:
        """Whether the published set points still change."""
        return self.stream.has_begun and not self.stream.is_settled

    def figures(self) -> dict[str, int]:
        """{figure: value} for the diagnostics."""
        return {
            'set points': self.accepted,
            'set points refused': self.refused,
            'set points late or twice': self.stream.ignored,
            'set points beyond a limit': self.stream.limited,
        }

    def _on_set_point(self, message):
        now = self._now()
        try:
            names, positions, stamp = set_point_of(message)
            if self._is_idle and self._was_moved_externally():
                self.stream.forget()
            self.stream.receive(positions, names, stamp, now)
        except FlexRobotSimError as error:
            self.refused += 1
            self.problem = f'refused: {error}'
            refuse(self._node, error)
            return
        self.accepted, self.problem = self.accepted + 1, ''
        self._last_set_point, self._is_idle = now, False

    def _on_timer(self):
        if self._is_idle:
            return
        self.stream.tick()
        self._publisher.publish(self._make_message())
        # the absolute value also covers a clock that is set back
        self._is_idle = self.stream.is_settled and (
            abs(self._now() - self._last_set_point) > SET_POINT_TIMEOUT_S
        )

    def _was_moved_externally(self):
        stream = self.stream
        return stream.has_begun and any(
            abs(stream.measured.get(name, position) - position) > stream.tolerance
            for name, position in zip(stream.names, stream.position)
        )

    def _now(self):
        return self._node.get_clock().now().nanoseconds / SECOND

    def _commands(self):
        return Float64MultiArray(data=self.stream.position.tolist())

    def _joint_state(self):
        message = JointState(
            name=list(self.stream.names),
            position=self.stream.position.tolist(),
            velocity=self.stream.velocity.tolist(),
        )
        message.header.stamp = self._node.get_clock().now().to_msg()
        return message

    def _joint_trajectory(self):
        point = JointTrajectoryPoint(
            positions=self.stream.position.tolist(), velocities=self.stream.velocity.tolist()
        )
        point.time_from_start.nanosec = round(self.stream.period * SECOND) % SECOND
        return JointTrajectory(joint_names=list(self.stream.names), points=[point])


def set_point_of(message: Any) -> tuple[Sequence[str] | None, Sequence[float], float | None]:
    """Return names (None: all), positions and stamp [s] (None: none) of a set point."""
    if isinstance(message, Float64MultiArray):
        return None, message.data, None
    stamp = stamp_of(message.header)
    stamp = None if stamp is None else stamp / SECOND
    if isinstance(message, JointState):
        return message.name or None, message.position, stamp
    if not message.points:
        raise CommandError('it has no point. Send a trajectory of one point')
    return message.joint_names, message.points[-1].positions, stamp
