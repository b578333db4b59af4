"""
FollowJointTrajectory through the shaper: for MoveIt and others who want an answer.

The action is of the package control_msgs, which not every installation has. Where it cannot be
imported, nothing is offered: the topic does the same without an answer.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from builtin_interfaces.msg import Duration
from rclpy.node import Node
from rclpy.task import Future

from flex_robot_sim.exceptions import FlexRobotSimError
from flex_robot_sim.nodes.conversions import SECOND, trajectory_of
from flex_robot_sim.nodes.reporting import refuse

LOOK = 0.02                 # period of the look at cancellations and at the clock              [s]
SUCCEEDED = 4               # action_msgs/GoalStatus
REPLACED = 'replaced by a new goal'
STOPPED = 'stopped, shaped'


def offer_follow_joint_trajectory(node: Node, relay: Any,
                                  controller: str = '') -> ShaperAction | None:
    """
    Offer the action of a node; return None where its type is unknown.

    :param relay: what shapes, stops and sends: a ShaperNode.
    :param controller: name of the action to which goals go on; empty: by the topic.
    """
    try:
        kind = import_module('control_msgs.action').FollowJointTrajectory
    except ImportError:
        return None
    from rclpy.action import ActionClient, ActionServer, CancelResponse, GoalResponse

    action = ShaperAction(node, relay, kind, ActionClient(node, kind, controller)
                          if controller else None)
    ActionServer(
        node, kind, '~/follow_joint_trajectory', action.execute,
        goal_callback=lambda goal: (GoalResponse.ACCEPT if action.is_useful(goal)
                                    else GoalResponse.REJECT),
        cancel_callback=lambda handle: CancelResponse.ACCEPT)
    node.create_timer(LOOK, action.look)
    return action


class ShaperAction:
    """One goal at a time: a new one replaces the one before without a jump."""

    def __init__(self, node: Node, relay: Any, kind: Any, client: Any | None = None) -> None:
        """
        Wait for goals.

        :param kind: FollowJointTrajectory; client: ActionClient of the controller, or None.
        """
        self._node, self._relay, self._kind, self._client = node, relay, kind, client
        self._goal: _Goal | None = None

    def is_useful(self, goal: Any) -> bool:
        """Whether the trajectory of a goal is one; why not is logged."""
        try:
            trajectory_of(goal.trajectory)
        except FlexRobotSimError as error:
            refuse(self._node, error)
            return False
        return True

    async def execute(self, handle: Any) -> Any:
        """Carry out an accepted goal; return its result."""
        before, self._goal = self._goal, None
        if before is not None:
            before.finish(REPLACED)
        try:
            message, end = self._relay.shape(handle.request.trajectory)
        except FlexRobotSimError as error:
            handle.abort()
            return self._result(self._kind.Result.INVALID_GOAL, str(error))
        goal = self._goal = _Goal(handle, end)
        self._send(goal, message)
        outcome = await goal.done
        if self._goal is goal:
            self._goal = None
        if outcome == STOPPED:
            handle.canceled()
            return self._result(self._kind.Result.SUCCESSFUL, STOPPED)
        if isinstance(outcome, str):
            handle.abort()
            code = (self._kind.Result.INVALID_GOAL if outcome == REPLACED
                    else self._kind.Result.GOAL_TOLERANCE_VIOLATED)
            return self._result(code, outcome)
        if outcome is not None and outcome.status != SUCCEEDED:
            handle.abort()
            return outcome.result
        handle.succeed()
        return self._result(self._kind.Result.SUCCESSFUL, '') if outcome is None else (
            outcome.result)

    def look(self) -> None:
        """See to cancellations, and to the end of what goes by the topic."""
        goal = self._goal
        if goal is None or goal.done.done():
            return
        if goal.handle.is_cancel_requested and not goal.is_stopping:
            goal.is_stopping = True
            try:
                message, goal.end = self._relay.stop()
            except FlexRobotSimError:       # it rests already
                goal.finish(STOPPED)
                return
            self._send(goal, message)
        elif self._relay.now() >= goal.end and not goal.is_forwarded:
            self._arrive(goal)

    def _arrive(self, goal):
        if goal.is_stopping:
            goal.finish(STOPPED)
            return
        request, measured = goal.handle.request, self._relay.measured
        names = request.trajectory.joint_names
        last = dict(zip(names, request.trajectory.points[-1].positions))
        off = [tolerance.name for tolerance in request.goal_tolerance
               if tolerance.position > 0.0 and tolerance.name in last
               and not abs(measured.get(tolerance.name, float('nan')) - last[tolerance.name])
               <= tolerance.position]
        if not off:
            goal.finish(None)
        elif self._relay.now() >= goal.end + seconds(request.goal_time_tolerance):
            goal.finish(f'"{off[0]}" is not within its tolerance of the goal')

    def _send(self, goal, message):
        """Let the controller move, by its action if there is one, or else by the topic."""
        if self._client is None or not self._client.server_is_ready():
            self._relay.publish(message)
            return
        request, goal.is_forwarded = goal.handle.request, True
        goal.turn = turn = goal.turn + 1        # answers to what was sent before count no more
        sent = self._client.send_goal_async(
            self._kind.Goal(trajectory=message, path_tolerance=request.path_tolerance,
                            goal_tolerance=[] if goal.is_stopping else request.goal_tolerance,
                            goal_time_tolerance=request.goal_time_tolerance),
            feedback_callback=lambda told: goal.handle.publish_feedback(told.feedback))

        def on_answer(answer):
            if not answer.result().accepted:
                goal.finish('the controller has refused the shaped trajectory')
                return
            answer.result().get_result_async().add_done_callback(on_result)

        def on_result(result):
            if turn == goal.turn:
                goal.finish(STOPPED if goal.is_stopping else result.result())
        sent.add_done_callback(on_answer)

    def _result(self, code, line):
        return self._kind.Result(error_code=code, error_string=line)


class _Goal:
    def __init__(self, handle, end):
        self.handle, self.end, self.done = handle, end, Future()
        self.is_stopping = self.is_forwarded = False
        self.turn = 0

    def finish(self, outcome):
        """Let it end: None, it has arrived; a result of the controller; or a line, why not."""
        if not self.done.done():
            self.done.set_result(outcome)


def seconds(duration: Duration) -> float:
    """Duration message in seconds."""
    return duration.sec + duration.nanosec / SECOND
