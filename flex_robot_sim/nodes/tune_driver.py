"""
An arm behind a trajectory controller of ROS, as a driver of `flexsim tune`.

Set points go to a topic of JointTrajectory, or to an action FollowJointTrajectory. The log has the
IMU if one is named, else the efforts in the joint states.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from builtin_interfaces.msg import Duration
from rclpy.duration import Duration as RosDuration
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future
from sensor_msgs.msg import Imu, JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from flex_robot_sim.jit.deferred_signals import deferred_signals
from flex_robot_sim.nodes.follow_trajectory import follow_joint_trajectory_type
from flex_robot_sim.ros import topics
from flex_robot_sim.ros.conversions import SECOND
from flex_robot_sim.ros.node_runner import make_executor
from flex_robot_sim.shaping.tuning.driver import (
    MAX_ERROR,
    MAX_STATE_AGE_S,
    ArmState,
    DriverError,
    log_lines,
    set_point_velocities,
)
from flex_robot_sim.util.exceptions import UsageError, plain
from flex_robot_sim.util.files import open_atomic

STOP_TIME_S = 0.25  # of the motion that stops the arm                                [s]
FIRST_POINT_S = 0.3  # of the first trajectory: the controller moves there from its target [s]
PEAK_OF_CUBIC = 1.5  # velocity of a cubic from rest to rest, over its mean
MIN_STOP_SPEED = 0.1  # at which a target returns to an arm that did not follow  [rad/s, m/s]
ACKNOWLEDGE_TIMEOUT_S = 0.1  # for the trajectory that stops the arm                   [s]
SERVER_TIMEOUT_S = 5.0  # for a controller, and for an answer of its action           [s]
DISCOVERY_S = 1.0  # of a client by its server                                         [s]
IMU_COLUMNS = tuple(f'{kind}/{axis}' for kind in ('acceleration', 'gyro') for axis in 'xyz')
MIN_STATE_PERIOD_S = 4e-3  # between two joint states, unless a log has all of them    [s]
MAX_ROWS = 2_000_000  # of a log
QUEUE_TIME_S = 0.01  # for queued states of a process that was held up, before they are old
# the queue outlasts a quarter of a second in which this process is held up
SENSOR_QOS = QoSProfile(depth=50, reliability=ReliabilityPolicy.BEST_EFFORT)


class RosDriver:
    """Publishes trajectories and records joint states and an IMU."""

    def __init__(
        self,
        joints: Sequence[str],
        topic: str = '',
        action: str = '',
        imu: str = '',
        states: str = topics.JOINT_STATES.name,
        context: rclpy.Context | None = None,
    ) -> None:
        """
        Make a node and wait for the controller.

        :param topic: of JointTrajectory; action: FollowJointTrajectory, instead of a topic.
        :param imu: topic of sensor_msgs/Imu; '': efforts of the joints instead.
        :param context: initialised context of rclpy; default: one that `close` shuts down.
        """
        self.joints = tuple(joints)
        self._owns_context = context is None
        self._context = rclpy.Context() if context is None else context
        if self._owns_context:
            rclpy.init(context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self._node = Node('tune', context=self._context)
        self._executor = make_executor('auto', self._context)
        self._executor.add_node(self._node)
        self._state: ArmState | None = None
        self._imu, self._is_recording, self._origin = imu, False, 0
        self._rows: list[list[float]] = []
        self._efforts: np.ndarray | None = None
        self._goal: Any = None  # ClientGoalHandle
        self._failure = ''
        # begin, times, positions and velocities of the newest trajectory
        self._sent: tuple[float, np.ndarray, np.ndarray, np.ndarray] | None = None
        self._has_moved = False
        # bytes: most joint states of a fast controller are passed over
        self._node.create_subscription(JointState, states, self._on_state, SENSOR_QOS, raw=True)
        if imu:
            self._node.create_subscription(Imu, imu, self._on_imu, SENSOR_QOS, raw=True)
        try:
            self._connect(topic, action)
        except BaseException:
            self.close()
            raise

    def now(self) -> float:
        """Time of the steady clock of this machine [s]."""
        return time.monotonic()

    def state(self) -> ArmState | None:
        """Return the newest joint state."""
        return self._state

    def move(self, times: np.ndarray, positions: np.ndarray) -> None:
        """Send a trajectory; with an action, wait until the controller accepts it."""
        times, positions = np.asarray(times, float), np.asarray(positions, float)
        velocities = set_point_velocities(times, positions)
        # the arm is at the first point already, or vibrates about it, or sags below it
        first = 1 if self._has_moved else int(np.searchsorted(times[:-1], FIRST_POINT_S))
        goal = self._send(times[first:], positions[first:], velocities[first:])
        if goal is not None:
            self._await_answer(goal)
        self._sent, self._has_moved = (self.now(), times, positions, velocities), True

    def wait(self, seconds: float) -> None:
        """Handle messages; DriverError if the controller refuses or aborts a trajectory."""
        self._spin(seconds)
        if self._state is not None and self.now() - self._state.time > MAX_STATE_AGE_S:
            self._spin(QUEUE_TIME_S)
        self._raise_failure()

    def _raise_failure(self):
        if self._failure:
            failure, self._failure = self._failure, ''
            raise DriverError(failure)

    def stop(self) -> None:
        """Cancel the goal, or decelerate from the present set point."""
        if self._goal is not None:
            self._goal.cancel_goal_async()
            self._goal = None
        elif self._sent is not None:
            self._send_stop(*self._sent)
        self._sent, self._has_moved = None, False
        self._spin(0.05)

    def _send_stop(self, begin, times, positions, velocities):
        """Send a target at which the arm comes to rest."""
        elapsed = self.now() - begin
        position, velocity = (
            np.array([np.interp(elapsed, times, column) for column in table.T])
            for table in (positions, velocities)
        )
        end, duration, state = position + velocity * STOP_TIME_S / 2, STOP_TIME_S, self._state
        if state is not None and self.now() - state.time < MAX_STATE_AGE_S:
            error = np.abs(state.position - position).max()
            if error > MAX_ERROR / 2:  # it is held up, or does not follow: set points go to it
                end = state.position
                speed = max(np.abs(velocities).max(), MIN_STOP_SPEED)
                duration = max(duration, PEAK_OF_CUBIC * error / speed)
            elif elapsed >= times[-1]:
                return
        self._send(np.array([duration]), end[None, :], np.zeros((1, end.size)))
        if self._client is None:
            self._publisher.wait_for_all_acked(RosDuration(seconds=ACKNOWLEDGE_TIMEOUT_S))

    def begin_log(self) -> None:
        """Record from now on."""
        self._rows, self._is_recording = [], True

    def write_log(self, path: Path) -> None:
        """Write the samples since `begin_log`."""
        self._is_recording = False
        columns = IMU_COLUMNS if self._imu else tuple(f'torque_{name}' for name in self.joints)
        if not self._rows:
            what = f'messages on {self._imu}' if self._imu else 'efforts in the joint states'
            raise UsageError(
                f'no {plain(what)} arrived during the move. Name the topic of an IMU by --imu.'
            )
        with open_atomic(path, 'w', encoding='utf-8') as file:
            file.write(log_lines(self.joints, columns, self._rows))

    def close(self) -> None:
        """Destroy the node."""
        self._executor.shutdown()
        self._node.destroy_node()
        if self._owns_context:
            rclpy.try_shutdown(context=self._context)

    def _connect(self, topic, action):
        """Make the publisher, or the client of the action, and wait for its other side."""
        if not action:
            self._publisher = self._node.create_publisher(JointTrajectory, topic, 10)
            self._client = None
            self._await(
                self._publisher.get_subscription_count, f'no controller listens on {topic}'
            )
            return
        kind = follow_joint_trajectory_type()
        if kind is None:
            raise UsageError(
                'the package control_msgs is not installed: name the topic of the controller by '
                '--topic instead of --action.'
            )
        from rclpy.action import ActionClient

        self._kind, self._client = kind, ActionClient(self._node, kind, action)
        self._await(self._client.server_is_ready, f'no controller offers the action {action}')
        # answers are lost until the server has discovered this client, too
        self.wait(DISCOVERY_S)

    def _await(self, condition, problem):
        end = time.monotonic() + SERVER_TIMEOUT_S
        while not condition():
            if time.monotonic() > end:
                raise UsageError(
                    f'{plain(problem)} within {SERVER_TIMEOUT_S:g} s. Start the controller, or '
                    'correct the name.'
                )
            self._spin(0.05)

    def _await_answer(self, goal):
        """Spin until the controller has accepted a goal; DriverError if it does not."""
        end = time.monotonic() + SERVER_TIMEOUT_S
        while not goal.done():
            if time.monotonic() > end:
                raise DriverError(
                    f'the controller does not answer the goal within {SERVER_TIMEOUT_S:g} s. '
                    'Restart it, and begin again: finished moves are kept'
                )
            self._spin(0.05)
        self._raise_failure()

    def _spin(self, seconds):
        """Handle messages; Ctrl-C inside rclpy would become an unrelated error."""
        with deferred_signals():
            # `spin_once` returns after each message, which takes twice the processor time
            self._executor.spin_until_future_complete(Future(), seconds)

    def _send(self, times, positions, velocities):
        message = JointTrajectory(joint_names=list(self.joints))
        for t, position, velocity in zip(times, positions, velocities):
            message.points.append(
                JointTrajectoryPoint(
                    positions=position.tolist(),
                    velocities=velocity.tolist(),
                    time_from_start=Duration(sec=int(t), nanosec=round(t % 1.0 * SECOND) % SECOND),
                )
            )
        with deferred_signals():
            if self._client is None:
                self._publisher.publish(message)
                return None
            goal = self._client.send_goal_async(self._kind.Goal(trajectory=message))
            goal.add_done_callback(self._on_answer)
        return goal

    def _on_answer(self, answer: Any) -> None:
        handle = answer.result()
        if not handle.accepted:
            self._failure = 'the controller rejected the trajectory. Check its log'
            return
        self._goal = handle
        handle.get_result_async().add_done_callback(
            lambda result: self._on_result(handle, result.result().result)
        )

    def _on_result(self, handle, result):
        if self._goal is not handle:
            return
        self._goal = None
        if result.error_code:
            self._failure = (
                f'the controller aborted the trajectory: {plain(result.error_string)}. Make moves '
                'slower by --speed'
            )

    def _on_state(self, data: bytes) -> None:
        keeps_all = self._is_recording and not self._imu
        age = np.inf if self._state is None else self.now() - self._state.time
        if not keeps_all and age < MIN_STATE_PERIOD_S:
            return
        message = deserialize_message(data, JointState)
        try:
            rows = [message.name.index(name) for name in self.joints]
            position = np.array([message.position[row] for row in rows])
        except (ValueError, IndexError):
            return  # of other joints
        if not np.isfinite(position).all():
            return
        self._state = ArmState(self.now(), position)
        if keeps_all and len(message.effort) == len(message.name):
            self._add_row(message, [message.effort[row] for row in rows])

    def _on_imu(self, data: bytes) -> None:
        if self._is_recording and self._state is not None:
            message = deserialize_message(data, Imu)
            parts = message.linear_acceleration, message.angular_velocity
            self._add_row(message, [value for p in parts for value in (p.x, p.y, p.z)])

    def _add_row(self, message, values):
        stamp = message.header.stamp.sec * SECOND + message.header.stamp.nanosec
        if not stamp:
            stamp = round(self.now() * SECOND)
        if not self._rows:
            self._origin = stamp
        if len(self._rows) < MAX_ROWS and self._state is not None:
            time_s = (stamp - self._origin) / SECOND
            self._rows.append([time_s, *self._state.position, *values])
