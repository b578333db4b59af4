"""
The action FollowJointTrajectory, by which MoveIt and other clients move an arm.

Goals go to a TrajectoryRelay, and from there to the topic of a controller or to its own action.
Codes of results are those of joint_trajectory_controller. Not every installation has the package
control_msgs, which defines the action; where it is missing, nodes take trajectories by topic only.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from builtin_interfaces.msg import Duration
from rclpy.node import Node

from flex_robot_sim.motion.reference import REFUSED, REPLACED
from flex_robot_sim.nodes.goal_state import Outcome, RunningGoal
from flex_robot_sim.nodes.trajectory_relay import TrajectoryRelay
from flex_robot_sim.ros.conversions import SECOND, stamp_of
from flex_robot_sim.ros.endpoints import make_timer
from flex_robot_sim.ros.reporting import refuse
from flex_robot_sim.util.exceptions import FlexRobotSimError, plain

CHECK_PERIOD = 0.02  # between two checks of the running goal                          [s]
CHECKS_PER_FEEDBACK = 3
SERVER_TIMEOUT_S = 2.0  # for the discovery of the action server of the controller
SUCCEEDED = 4  # value of action_msgs/GoalStatus
Report = Callable[[Callable[[Any], Any]], None]


def follow_joint_trajectory_type() -> Any | None:
    """Return the type of the action; None where control_msgs is not installed."""
    try:
        return import_module('control_msgs.action').FollowJointTrajectory
    except ImportError:
        return None


def offer_follow_joint_trajectory(
    node: Node, name: str, relay: TrajectoryRelay, controller: str = '', tolerance: float = 0.1
) -> FollowTrajectoryAction | None:
    """
    Offer the action of a node; return None where control_msgs is not installed.

    :param name: of the action; relay: TrajectoryRelay for the trajectories of goals.
    :param controller: action that the shaped goals go to; empty: they go to the topic.
    :param tolerance: at the end, of joints for which a goal gives none [rad, m].
    """
    kind = follow_joint_trajectory_type()
    if kind is None:
        return None
    from rclpy.action import ActionClient, ActionServer, CancelResponse, GoalResponse

    client = ActionClient(node, kind, controller) if controller else None
    action = FollowTrajectoryAction(node, relay, kind, client, controller, tolerance)

    class Server(ActionServer):
        """
        Starts a goal where rclpy would execute it, and calls rclpy when the goal has ended.

        An execute callback that awaits the end would keep a processor busy meanwhile: executors of
        rclpy resume a coroutine that waits again and again (ros2/rclpy, issue 1405).
        """

        def notify_execute(self, handle: Any, _execute_callback: Any) -> None:
            report = super().notify_execute
            action.start(handle, lambda conclude: report(handle, conclude))

    Server(
        node,
        kind,
        name,
        action.start,
        goal_callback=lambda goal: (
            GoalResponse.ACCEPT if action.accepts(goal) else GoalResponse.REJECT
        ),
        cancel_callback=lambda handle: CancelResponse.ACCEPT,
    )
    make_timer(node, CHECK_PERIOD, action.check)
    return action


class FollowTrajectoryAction:
    """Executes one goal at a time; a new one replaces it without a jump."""

    def __init__(
        self,
        node: Node,
        relay: TrajectoryRelay,
        kind: Any,
        client: Any | None,
        controller: str,
        tolerance: float,
    ) -> None:
        """Wait for goals of `kind` FollowJointTrajectory."""
        self._node, self._relay, self._kind, self._client = node, relay, kind, client
        self._controller, self.tolerance = controller, tolerance
        self._goal: RunningGoal | None = None
        self._controller_goal: Any = None  # ClientGoalHandle of the last forwarded goal
        self._checks = 0
        self._server_seen = 0  # number of the last check that found it
        # goals that wait for the action server of the controller, each with its last check
        self._waiting: list[tuple[Any, Report, int]] = []

    def accepts(self, goal: Any) -> bool:
        """Return whether the trajectory of a goal can be followed; log why it cannot."""
        try:
            trajectory = self._relay.check(goal.trajectory)
            self._relay.check_path(trajectory, stamp_of(goal.trajectory.header))
        except FlexRobotSimError as error:
            refuse(self._node, error)
            return False
        return True

    def start(self, handle: Any, report: Report) -> None:
        """
        Follow the trajectory of an accepted goal, as soon as the controller answers.

        :param report: called when the goal has ended, with a function that sets the final state of
            the handle and returns the result.
        """
        if self._client is None or self._client.server_is_ready():
            self._begin(handle, report)
        else:  # discovery takes a while
            self._waiting.append(
                (handle, report, self._checks + round(SERVER_TIMEOUT_S / CHECK_PERIOD))
            )

    def _begin(self, handle, report):
        message, codes = handle.request.trajectory, self._kind.Result
        try:
            sent = self._relay.shape(
                self._relay.check(message), stamp_of(message.header), message.header.frame_id
            )
        except FlexRobotSimError as error:  # the running goal continues
            self._refuse(report, str(error))
            return

        def on_end(goal):
            if self._goal is goal:
                self._goal = None
            report(lambda _: self._conclude(goal))

        before = self._goal
        goal = RunningGoal(handle, sent, self._relay.measured, self.tolerance, codes, on_end)
        self._goal = goal
        if before is not None:
            before.finish(Outcome(codes.INVALID_GOAL, 'replaced by a new goal', None, True))
        self._send(goal)

    def _refuse(self, report, line):
        def abort(handle):
            handle.abort()
            return self._result(self._kind.Result.INVALID_GOAL, line)

        report(abort)

    def _conclude(self, goal):
        """Set the final state of the handle; return the result."""
        handle, outcome = goal.handle, goal.outcome
        if outcome.is_canceled:
            set_canceled(handle)
        elif outcome.code == self._kind.Result.SUCCESSFUL:
            handle.succeed()
            if self._relay.deviation:
                outcome = outcome._replace(
                    line=outcome.line
                    or (f'the tool left its path by at most {self._relay.deviation:.3g} m')
                )
        else:
            handle.abort()
        return outcome.result or self._result(outcome.code, outcome.line)

    def check(self) -> None:
        """Act on cancellations, tolerances and reports of the controller; send feedback."""
        self._checks += 1
        if self._client is not None and self._client.server_is_ready():
            self._server_seen = self._checks
        self._check_waiting()
        goal, relay = self._goal, self._relay
        if goal is None:
            return
        state, reason = relay.report_of(goal.sent)
        if state in (REFUSED, REPLACED):
            self._end(
                goal,
                plain(
                    f'the controller refused the trajectory: {reason}'
                    if state == REFUSED
                    else 'the controller follows another target now'
                ),
            )
        elif goal.handle.is_cancel_requested and not goal.is_stopping:
            self._stop(goal)
        elif goal.is_forwarded:
            if (self._checks - self._server_seen) * CHECK_PERIOD > SERVER_TIMEOUT_S:
                self._end(goal, self._missing)
        else:
            self._check_joints(goal)

    def _check_waiting(self):
        waiting, self._waiting = self._waiting, []
        for handle, report, last_check in waiting:
            if self._server_seen == self._checks:
                self._begin(handle, report)
            elif self._checks >= last_check:
                self._refuse(report, self._missing)
            else:
                self._waiting.append((handle, report, last_check))

    def _check_joints(self, goal):
        relay, now = self._relay, self._relay.now()
        violation = (
            None if goal.is_stopping else goal.path_violation(relay.measured, relay.target, now)
        )
        if violation is not None:
            goal.failure = violation
            self._stop(goal)
            return
        if self._checks % CHECKS_PER_FEEDBACK == 0:
            goal.handle.publish_feedback(self._feedback(goal, now))
        goal.check_end(relay.measured, relay.target, now)

    @property
    def _missing(self):
        return (
            f'no action server "{self._controller}" answers: start the controller, or correct '
            'controller_action'
        )

    def _end(self, goal, line):
        """Abort a goal that the controller does not follow."""
        self._relay.shaper.forget()
        goal.finish(Outcome(self._kind.Result.INVALID_GOAL, line))

    def _stop(self, goal):
        """Bring the joints to rest; the goal ends when they are."""
        goal.is_stopping = True
        try:
            stop = self._relay.stop()
        except FlexRobotSimError as error:
            self._halt(goal, f'stopped without the shaper: {error}')
            return
        if stop is not None:
            goal.use(stop)
            self._send(goal)
            return
        self._cancel_controller_goal()
        goal.is_forwarded = False
        goal.use(goal.sent, max(goal.end, self._relay.now()))

    def _halt(self, goal, line):
        """Stop the joints without the shaper, and abort the goal."""
        if self._client is None:
            self._relay.halt(goal.sent.shaped.names)
        self._cancel_controller_goal()
        self._end(goal, line)

    def _cancel_controller_goal(self):
        if self._controller_goal is not None:
            self._controller_goal.cancel_goal_async()

    def _send(self, goal):
        """Send the trajectory of a goal to the controller: to its action, or to its topic."""
        if self._client is None:
            self._relay.publish(goal.sent)
            return
        goal.is_forwarded, sent, request = True, goal.sent, goal.handle.request
        forwarded = self._kind.Goal(trajectory=sent.message)
        if not goal.is_stopping:
            forwarded.path_tolerance = request.path_tolerance
            forwarded.goal_tolerance = request.goal_tolerance
            forwarded.goal_time_tolerance = request.goal_time_tolerance

        def is_over():
            # a stop or another goal replaced it
            return goal.sent is not sent or goal.outcome is not None

        def on_answer(answer):
            handle = answer.result()
            if handle.accepted:
                self._controller_goal = handle
                handle.get_result_async().add_done_callback(on_result)
            elif is_over():
                return
            elif goal.is_stopping:
                self._halt(goal, 'stopped without the shaper: the controller refused its stop')
            else:
                self._end(goal, 'the controller refused the shaped trajectory')

        def on_result(result):
            if is_over():
                return
            if goal.is_stopping:
                goal.is_forwarded = False  # joint states show when it has ended
                return
            answer = result.result()
            code = answer.result.error_code
            if answer.status != SUCCEEDED:
                self._relay.shaper.forget()
                code = code or self._kind.Result.INVALID_GOAL
            goal.finish(Outcome(code, answer.result.error_string, answer.result))

        self._client.send_goal_async(
            forwarded,
            feedback_callback=lambda message: goal.handle.publish_feedback(message.feedback),
        ).add_done_callback(on_answer)

    def _feedback(self, goal, now):
        measured, desired = self._relay.measured, goal.desired(self._relay.target, now)
        names = list(desired)
        feedback = self._kind.Feedback(joint_names=names)
        feedback.header.stamp = self._node.get_clock().now().to_msg()
        t = max(now - goal.sent.start, 0.0)
        for point in (feedback.desired, feedback.actual, feedback.error):
            point.time_from_start = Duration(sec=int(t), nanosec=int(t % 1.0 * SECOND))
        feedback.desired.positions, feedback.desired.velocities = map(list, zip(*desired.values()))
        if all(name in measured.positions for name in names):
            feedback.actual.positions = [measured.positions[name] for name in names]
            feedback.actual.velocities = [measured.velocities[name] for name in names]
            feedback.error.positions, feedback.error.velocities = (
                [wanted[k] - got for wanted, got in zip(desired.values(), values)]
                for k, values in enumerate((feedback.actual.positions, feedback.actual.velocities))
            )
        return feedback

    def _result(self, code, line):
        return self._kind.Result(error_code=code, error_string=line)


def set_canceled(handle: Any) -> None:
    """End a goal as CANCELED, also when a new goal replaces it."""
    if not handle.is_cancel_requested:
        from rclpy.impl.implementation_singleton import rclpy_implementation

        # the transition has no public name in rclpy; in rclcpp it belongs to `canceled`
        handle._update_state(rclpy_implementation.GoalEvent.CANCEL_GOAL)
    handle.canceled()
