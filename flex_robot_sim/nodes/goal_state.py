"""A goal of FollowJointTrajectory in execution: its tolerances, and when and how it ends."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from builtin_interfaces.msg import Duration

from flex_robot_sim.nodes.joint_table import JointTable
from flex_robot_sim.nodes.trajectory_relay import SentTrajectory
from flex_robot_sim.ros.conversions import SECOND

REST_VELOCITY = 0.01  # below it a joint counts as at rest                     [rad/s, m/s]
REST_DISTANCE = 1e-3  # from the last set point, of a joint at rest               [rad, m]
REST_TIME_S = math.pi * REST_DISTANCE / REST_VELOCITY
"""For which both hold at a stop: half a period of the slowest vibration that is still faster."""
ARRIVAL_DISTANCE = 1e-6  # between the controller's target and the goal              [rad, m]
MIN_TRAVEL = 0.01  # travel of a joint, if its goal is further away           [rad, m]
MIN_TRAVEL_SHARE = 0.5  # minimum travel over the distance from the goal
SAG_REST_TIME_S = 1.0  # rest time of joints that rest further from their set points
SETTLE_TIMEOUT_S = 10.0  # for joints to come to rest, or to reach a goal without a time
STATES_TIMEOUT_S = 1.0  # for joint states to arrive after the end
TARGET_TIMEOUT_S = 0.2  # after which the controller's target is unknown


class Outcome(NamedTuple):
    """Outcome of a goal."""

    code: int  # error_code of the result
    line: str = ''  # error_string of the result
    result: Any = None  # whole result, where the action of the controller gave one
    is_canceled: bool = False


class RunningGoal:
    """A goal, the trajectory that executes it, and its outcome."""

    def __init__(
        self,
        handle: Any,
        sent: SentTrajectory,
        measured: JointTable,
        tolerance: float,
        codes: Any,
        on_end: Callable[[RunningGoal], None],
    ) -> None:
        """
        Begin with the SentTrajectory of a goal.

        :param handle: ServerGoalHandle; codes: FollowJointTrajectory.Result.
        :param measured: JointTable at the beginning.
        :param tolerance: at the end and at a stop, of joints for which the goal gives none
            [rad, m]; 0: no limit.
        :param on_end: called once, when `outcome` is known.
        """
        self.handle, self._on_end = handle, on_end
        self.outcome: Outcome | None = None
        self.is_stopping = False  # a stop replaced the trajectory
        self.is_forwarded = False  # the action of the controller has yet to answer
        self.failure: Outcome | None = None  # why it is stopped; None: it was canceled
        self.use(sent)
        self._default, self._codes = tolerance, codes
        request = handle.request
        self._goal = dict(
            zip(request.trajectory.joint_names, request.trajectory.points[-1].positions)
        )
        first = dict(zip(sent.shaped.names, sent.shaped.positions[0].tolist()))
        self._travel = {name: place - first[name] for name, place in self._goal.items()}
        self._began = {**first, **measured.positions}
        self._path_tolerances = request.path_tolerance
        self._goal_tolerances = {item.name: item for item in request.goal_tolerance}
        self._goal_time = seconds(request.goal_time_tolerance)

    def use(self, sent: SentTrajectory, end: float | None = None) -> None:
        """Continue with another SentTrajectory; `end`: when its set points rest [s]."""
        self.sent, self.end = sent, sent.end if end is None else end
        self._last = dict(zip(sent.shaped.names, sent.shaped.positions[-1].tolist()))
        self._moved = self._away = -1.0  # newest time of a motion; away from set points   [s]
        self._place: dict[str, float] = {}  # of the joints when they came to rest       [rad, m]

    def finish(self, outcome: Outcome) -> None:
        """End the goal, unless it has ended."""
        if self.outcome is None:
            self.outcome = outcome
            self._on_end(self)

    def desired(self, target: JointTable, now: float) -> dict[str, tuple[float, float]]:
        """
        {joint: (position, velocity)} that the arm should have at a time [s; rad, m, per s].

        That is the controller's target where it publishes one, which its own shaper delays.
        """
        names = self.sent.shaped.names
        if all(
            now - target.times.get(name, -TARGET_TIMEOUT_S) < TARGET_TIMEOUT_S for name in names
        ):
            return {
                name: (target.position_at(name, now), target.velocities[name]) for name in names
            }
        return {
            name: (float(position), float(velocity))
            for name, position, velocity in zip(names, *self.sent.desired(now))
        }

    def path_violation(
        self, measured: JointTable, target: JointTable, now: float
    ) -> Outcome | None:
        """Return the outcome of a path tolerance that is violated now [s]; None if none is."""
        if not self._path_tolerances or not self.sent.start < now < self.end:
            return None
        desired = self.desired(target, now)
        for tolerance in self._path_tolerances:
            name = tolerance.name
            if name not in desired or name not in measured.positions:
                continue
            position, velocity = desired[name]
            for off, limit, what, path in (
                (
                    abs(measured.position_at(name, now) - position),
                    tolerance.position,
                    f'"{name}"',
                    'its path',
                ),
                (
                    abs(measured.velocities[name] - velocity),
                    tolerance.velocity,
                    f'the velocity of "{name}"',
                    'that of its path',
                ),
            ):
                if off > limit > 0.0:
                    return Outcome(
                        self._codes.PATH_TOLERANCE_VIOLATED,
                        f'{what} is {off:.4g} from {path}, more than its tolerance {limit:.4g}',
                    )
        return None

    def check_end(self, measured: JointTable, target: JointTable, now: float) -> None:
        """Finish the goal if it has ended at a time [s], with success or without."""
        if now < self.end:
            return
        silent = [name for name in self._last if measured.times.get(name, -1.0) < self.end]
        if silent:
            if now > self.end + max(STATES_TIMEOUT_S, self._goal_time):
                self._fail(
                    f'no joint state of "{silent[0]}" arrives: check the topic joint_states'
                )
        elif self.is_stopping:
            self._check_rest(measured, now)
        else:
            self._check_goal(measured, target, now)

    def _check_rest(self, measured, now):
        """
        Finish a stopped goal when its joints rest: at their set points, or where the arm sags.

        An elastic joint rests below its set point as long as the motor side is controlled.
        """
        places = {name: measured.positions[name] for name in self._last}
        off = {name: abs(places[name] - place) for name, place in self._last.items()}
        fastest = max(abs(measured.velocities[name]) for name in self._last)
        if fastest > REST_VELOCITY or any(
            abs(place - self._place.get(name, math.inf)) > REST_DISTANCE
            for name, place in places.items()
        ):
            self._moved, self._place = now, places
        if max(off.values()) > REST_DISTANCE:
            self._away = now
        name = max(off, key=off.__getitem__)
        resting_since = max(self._moved, self.end)
        if now - max(resting_since, self._away) >= REST_TIME_S:
            self._end_stopped('stopped')
        elif now - resting_since >= SAG_REST_TIME_S:
            if off[name] > self._default > 0.0:
                self._fail(
                    f'at rest after the stop, but "{name}" is {off[name]:.3g} from its '
                    'last set point: the diagnostics of the controller may name the reason'
                )
            else:
                self._end_stopped(
                    f'stopped; "{name}" rests {off[name]:.3g} from its last set point'
                )
        elif now > self.end + SETTLE_TIMEOUT_S:
            self._fail(
                f'the joints do not come to rest: {SETTLE_TIMEOUT_S:g} s after the stop '
                f'the fastest one moves at {fastest:.3g} per s'
            )

    def _end_stopped(self, line):
        self.finish(self.failure or Outcome(self._codes.SUCCESSFUL, line, None, True))

    def _check_goal(self, measured, target, now):
        late = [
            name
            for name, place in self._goal.items()
            if abs(target.positions.get(name, place) - place) > ARRIVAL_DISTANCE
        ]
        misses = [line for line in (self._miss(name, measured) for name in self._goal) if line]
        if not misses and not late:
            self.finish(Outcome(self._codes.SUCCESSFUL))
            return
        timeout = self._goal_time or SETTLE_TIMEOUT_S
        if now > self.end + (max(timeout, SETTLE_TIMEOUT_S) if late else timeout):
            self._fail(
                misses[0] if misses else f'the target of "{late[0]}" has not arrived at the goal'
            )

    def _miss(self, name, measured):
        """Return why a joint is not at its goal, or ''."""
        given = self._goal_tolerances.get(name)
        tolerance = self._default if given is None or given.position == 0.0 else given.position
        off = abs(measured.positions[name] - self._goal[name])
        velocity = abs(measured.velocities[name])
        if off > tolerance > 0.0:
            return f'"{name}" is {off:.4g} from its goal, more than its tolerance {tolerance:.4g}'
        # the goal may request less motion than the tolerance
        travel = self._travel[name]
        if given is None and tolerance and min(abs(travel), off) > MIN_TRAVEL:
            way = measured.positions[name] - self._began[name]
            moved = way * math.copysign(1.0, travel) + 0.0  # never -0
            if moved < MIN_TRAVEL_SHARE * abs(travel):
                return (
                    f'"{name}" has moved by {moved:.4g} of {abs(travel):.4g} to its goal: the '
                    'diagnostics of the controller may name the reason'
                )
        if given is not None and velocity > given.velocity > 0.0:
            return (
                f'"{name}" moves at {velocity:.4g} per s at its goal, more than its tolerance '
                f'{given.velocity:.4g}'
            )
        return ''

    def _fail(self, line):
        self.finish(self.failure or Outcome(self._codes.GOAL_TOLERANCE_VIOLATED, line))


def seconds(duration: Duration) -> float:
    """Duration message in seconds."""
    return duration.sec + duration.nanosec / SECOND
