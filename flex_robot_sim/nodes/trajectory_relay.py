"""
Trajectories for a controller: shaped, stamped and published; and their reported states.

A trajectory must reach the controller before its first point is due. The relay measures how long
shaping and packing take, and stamps the next trajectory later by that lead.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from builtin_interfaces.msg import Duration
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.motion.limits import refuse_beyond_stops
from flex_robot_sim.motion.reference import ACCEPTED, REFUSED, REPLACED
from flex_robot_sim.motion.trajectory import Interpolation, Trajectory, joint_rows
from flex_robot_sim.nodes.joint_table import JointTable
from flex_robot_sim.ros import topics
from flex_robot_sim.ros.conversions import SECOND, stamp_of, trajectory_of
from flex_robot_sim.ros.endpoints import advertise
from flex_robot_sim.ros.joint_state_reader import listen_to_joint_states
from flex_robot_sim.ros.message_limits import subscribe_short
from flex_robot_sim.ros.node_settings import MessageSettings
from flex_robot_sim.ros.reporting import refuse
from flex_robot_sim.ros.trajectory_cdr import write_trajectory
from flex_robot_sim.ros.trajectory_messages import read_trajectory_status, refuse_many_points
from flex_robot_sim.shaping.trajectory_shaper import (
    STOP_TIME_S,
    ShapedTrajectory,
    TrajectoryShaper,
)
from flex_robot_sim.util.exceptions import CommandError, SettingError

MIN_LEAD_S = 0.02  # time from the request to the first point that may differ
DELIVERY_S = 0.005  # from publishing until the controller has planned a trajectory
DELIVERY_PER_POINT_S = 5e-6
LEAD_DECAY = 0.8  # decay of the longest computing time, per trajectory
MAX_ATTEMPTS = 6  # attempts to shape a trajectory, each with a longer lead
STOP_LEADS = 4  # in lead times: a motion that ends within this time needs no stop
MAX_STATES = 100  # reported states that are stored


@dataclass(frozen=True, eq=False)
class SentTrajectory:
    """A shaped trajectory, as sent to the controller."""

    stamp: int  # of its first point; identifies the trajectory               [ns]
    start: float  # time of the first point by the clock of the relay           [s]
    end: float  # time of the last point by the clock of the relay            [s]
    shaped: ShapedTrajectory
    data: bytes  # the JointTrajectory

    @property
    def message(self) -> JointTrajectory:
        """The trajectory as a message."""
        return deserialize_message(self.data, JointTrajectory)

    def desired(self, now: float) -> tuple[np.ndarray, np.ndarray]:
        """Interpolated positions and velocities (joints,) at a time [s; rad, m, per s]."""
        position, velocity, _ = self._motion.sample(now - self.start)
        return position, velocity

    @cached_property
    def _motion(self):
        names, tables = self.shaped.names, tables_of(self.shaped)
        first = np.zeros((3, len(names)))
        for row, table in zip(first, tables.values()):
            row[:] = table[0]
        trajectory = Trajectory(names, self.shaped.times, **tables)
        return Interpolation(trajectory, names).motion(first, 0.0)


class TrajectoryRelay:
    """Shapes and publishes trajectories; stores joint states and reports of the controller."""

    def __init__(
        self,
        node: Node,
        shaper: TrajectoryShaper,
        arm: ArmModel | None,
        limits: MessageSettings,
        has_reports: bool = True,
    ) -> None:
        """
        Publish `joint_trajectory` of a node, and subscribe to the states of arm and controller.

        :param arm: ArmModel with the joints and stops for goals; None: any joints.
        :param has_reports: whether the controller reports the states of these trajectories; False
            with another node in between.
        """
        self.shaper, self._node, self._arm, self._limits = shaper, node, arm, limits
        self.measured, self.target = JointTable(), JointTable()  # target: of the controller
        shaper.measured = self.measured.positions
        self.max_deviation = 0.0  # of the tool from the unshaped path; 0: no limit     [m]
        self.deviation: float | None = None  # of the newest trajectory; None: unknown     [m]
        self.problem = ''  # why the controller refused the newest trajectory
        self._reports: dict[int, tuple[str, str]] = {}  # {stamp: (state, reason)}
        self._sent: deque[int] = deque(maxlen=MAX_STATES)  # stamps, the newest one last    [ns]
        self._origin = node.get_clock().now().nanoseconds
        self._working_time = 0.0  # from the request to the message                     [s]
        self._publisher = advertise(node, topics.TRAJECTORY)
        for topic, table in ((topics.JOINT_STATES, self.measured), (topics.TARGET, self.target)):
            listen_to_joint_states(node, topic, partial(self._update, table), limits.max_names)
        if has_reports:
            subscribe_short(node, topics.TRAJECTORY_STATUS, self._on_status)

    @property
    def topic(self) -> str:
        """Full name of the topic of the controller."""
        return self._publisher.topic_name

    def now(self) -> float:
        """Time since the start by the clock of the node [s]; small enough for double precision."""
        return (self._node.get_clock().now().nanoseconds - self._origin) / SECOND

    def check(self, message: JointTrajectory) -> Trajectory:
        """Return the Trajectory of a message; FlexRobotSimError if it can never be followed."""
        refuse_many_points(len(message.points), self._limits)
        trajectory = trajectory_of(message)
        if self._arm is None:
            joint_rows(trajectory.names, trajectory.names)
        else:
            refuse_beyond_stops(
                self._arm, trajectory.rows(self._arm.joint_names), trajectory.positions
            )
        start = self._time_of(stamp_of(message.header))
        if start is not None and self.now() - start >= trajectory.times[-1]:
            raise SettingError('the trajectory is over: its stamp and its times are in the past')
        return trajectory

    def check_path(self, trajectory: Trajectory, stamp: int | None) -> None:
        """
        Raise FlexRobotSimError if the tool would leave the path of a Trajectory too far.

        Without `max_deviation` it does nothing. It shapes the trajectory as `shape` would now, and
        ignores other errors, which `shape` raises.
        """
        if self.max_deviation == 0.0:
            return
        try:
            shaped = self.shaper.shaped(trajectory, self.now() + MIN_LEAD_S, self._time_of(stamp))
        except SettingError:
            return
        self._check_deviation(shaped)

    def shape(self, trajectory: Trajectory, stamp: int | None, frame: str = '') -> SentTrajectory:
        """Shape a Trajectory from a stamp on [ns; None: now]; the next one continues from it."""
        start = self._time_of(stamp)
        return self._shape_in_time(
            lambda now: self._check_deviation(self.shaper.shaped(trajectory, now, start)), frame
        )

    def stop(self) -> SentTrajectory | None:
        """Return a shaped trajectory that stops the joints; None if they stop earlier anyway."""
        try:
            return self._shape_in_time(self.shaper.stopped)
        except SettingError:
            if self.shaper.is_moving(self.now() + STOP_LEADS * (MIN_LEAD_S + self._working_time)):
                raise
            return None

    def halt(self, names: Sequence[str]) -> None:
        """Publish an unshaped trajectory that stops joints from their measured positions."""
        measured = self.measured
        names = [name for name in names if name in measured.positions]
        self.pass_on(
            JointTrajectory(
                joint_names=names,
                points=[
                    JointTrajectoryPoint(
                        positions=[
                            measured.positions[name] + measured.velocities[name] * STOP_TIME_S / 2
                            for name in names
                        ],
                        velocities=[0.0] * len(names),
                        time_from_start=Duration(nanosec=round(STOP_TIME_S * SECOND)),
                    )
                ],
            )
        )

    def publish(self, sent: SentTrajectory) -> None:
        """Publish a trajectory for the controller."""
        self._publisher.publish(sent.data)
        if self.max_deviation == 0.0:  # no limit: compute the deviation after publishing
            self.deviation = self.shaper.path_deviation(sent.shaped)

    def pass_on(self, message: JointTrajectory | bytes) -> None:
        """Publish a message unchanged; the shaper discards the present motion."""
        self.shaper.forget()
        self._publisher.publish(message)

    def report_of(self, sent: SentTrajectory) -> tuple[str, str]:
        """State of a trajectory reported by the controller, and its reason; ('', ''): none."""
        return self._reports.get(sent.stamp, ('', ''))

    def _time_of(self, stamp):
        return None if stamp is None else (stamp - self._origin) / SECOND

    def _check_deviation(self, shaped):
        if self.max_deviation > 0.0:
            deviation = self.shaper.path_deviation(shaped)
            if deviation is not None and deviation > self.max_deviation:
                raise SettingError(
                    f'shaped, the tool leaves its path by {deviation:.3g} m, more than '
                    f'max_path_deviation = {self.max_deviation:g}: move slower, or stop at corners'
                )
            self.deviation = deviation
        return shaped

    def _shape_in_time(self, shaped_at: Callable[[float], ShapedTrajectory], frame=''):
        """Shape and serialize a trajectory, with a lead for arrival before its first point."""
        lead = MIN_LEAD_S + self._working_time
        for _ in range(MAX_ATTEMPTS):
            began = self.now()
            shaped = shaped_at(began + lead)
            stamp = self._origin + round(shaped.start * SECOND)
            while stamp in self._sent:  # it identifies the trajectory in reports
                stamp += 1
            data = write_trajectory(stamp, frame, shaped.names, shaped.times, tables_of(shaped))
            ready = self.now()
            self._working_time = max(ready - began, LEAD_DECAY * self._working_time)
            # the arm would jump if the first point were in the past
            if ready + DELIVERY_S + DELIVERY_PER_POINT_S * len(shaped.times) <= shaped.start:
                self.shaper.keep(shaped)
                self._sent.append(stamp)
                self.problem = ''
                return SentTrajectory(
                    stamp, shaped.start, shaped.start + float(shaped.times[-1]), shaped, data
                )
            lead = 2 * max(lead, ready - began)
        raise CommandError(
            'this machine takes too long to shape such a trajectory: send fewer '
            'points, or shape fewer modes'
        )

    def _update(self, table, message):
        table.update(message, self.now())

    def _on_status(self, message):
        event = read_trajectory_status(message)
        if event is None:
            return
        self._reports[event.identifier] = event.state, event.reason
        if len(self._reports) > MAX_STATES:
            del self._reports[next(iter(self._reports))]
        is_newest = bool(self._sent) and event.identifier == self._sent[-1]
        if event.state == ACCEPTED and event.identifier not in self._sent:
            self.shaper.forget()  # another sender moves the arm
        elif is_newest and event.state in (REFUSED, REPLACED):
            self.shaper.forget()  # the arm does not move as the shaper assumes
            if event.state == REFUSED:
                self.problem = f'the controller refused the trajectory: {event.reason}'
                refuse(self._node, CommandError(self.problem))


def tables_of(shaped: ShapedTrajectory) -> dict[str, np.ndarray]:
    """Arrays (k, m) of a ShapedTrajectory by the names of the fields of a point."""
    tables = {
        'positions': shaped.positions,
        'velocities': shaped.velocities,
        'accelerations': shaped.accelerations,
    }
    return {name: table for name, table in tables.items() if table is not None}
