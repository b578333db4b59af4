"""
Input shaping of joint trajectories, independent of the trajectory controller and the arm.

The shaper stores the unshaped reference and shapes every outgoing trajectory from it. A trajectory
that replaces another one is appended to the unshaped reference at the time of the change. The
shaper keeps its state, so the outgoing motion continues without a step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.motion.joint_motion import Motion, rest
from flex_robot_sim.motion.limits import (
    MAX_STEP_TIME_S,
    VELOCITY_MARGIN,
    deceleration_limits,
    jerk_limits,
    rate_limits,
    refuse_accelerations_of_samples,
    refuse_beyond_stops,
    refuse_curve_beyond_limits,
    refuse_curve_beyond_stops_and_velocities,
    refuse_steps,
)
from flex_robot_sim.motion.loop_targets import refuse_passive_joints
from flex_robot_sim.motion.trajectory import Interpolation, Trajectory, joint_rows
from flex_robot_sim.shaping import shaped_samples
from flex_robot_sim.shaping.impulses import Shaper
from flex_robot_sim.shaping.online_shaper import GRID, PoseDependentShaper
from flex_robot_sim.shaping.path_accuracy import MAX_PATH_SAMPLES, path_deviation
from flex_robot_sim.shaping.shaper_specification import ShaperSpecification
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.summary import summarized

MAX_POINTS_PER_TRAJECTORY = 100_000  # of an outgoing trajectory
MAX_SAMPLES_BY_POSE = 200_000  # if delays follow the pose
REST_VELOCITY = 1e-9  # below it a joint is at rest                              [rad/s, m/s]
MAX_CLOCK_SETBACK_S = 5.0  # larger clock jumps discard the motion                           [s]
MIN_KNOT_DISTANCE_S = 1e-6  # closer points are merged                                          [s]
MAX_EXCESS = 1.5  # velocity of the joining segment, over that of the trajectory
STOP_TIME_S, MIN_STOP_TIME_S = 0.25, 1e-3  # duration of the unshaped stop, and its minimum [s]


@summarized
@dataclass(frozen=True, eq=False)
class ShapedTrajectory:
    """Outgoing trajectory, and the state of the shaper after it."""

    names: tuple  # of m joints
    start: float  # time of the first point                                      [s]
    times: np.ndarray  # (k,) from there                                              [s]
    positions: np.ndarray  # (k, m) [rad, m]; the other two are rates of it, (k, m),
    velocities: np.ndarray | None  # None if the input has none
    accelerations: np.ndarray | None
    state: _ShaperState = field(repr=False)


@dataclass(frozen=True, eq=False)
class _ShaperState:
    """Unshaped reference received so far, and the shaper applied to it."""

    joints: tuple  # joints of the motion
    commanded_joints: tuple  # joints included in the outgoing trajectory
    motion: Motion
    shaper: Shaper | PoseDependentShaper  # the latter at the time `now`
    order: int  # highest derivative of the points: 0, 1 or 2
    now: float  # time of the last change                                       [s]
    rest: float = -np.inf  # of a shaper by pose within velocity limits, if known        [s]

    @property
    def end(self):
        """Time at which the outgoing motion is at rest [s]."""
        return max(self.motion.end + self.shaper.duration, self.rest)


class TrajectoryShaper:
    """Shapes trajectories that follow or replace each other."""

    def __init__(
        self,
        shaper_at: Callable[[np.ndarray], Shaper | ShaperSpecification],
        period: float = 0.02,
        arm: ArmModel | None = None,
        tolerance: float = 0.1,
        max_points: int = MAX_POINTS_PER_TRAJECTORY,
        shortest_period: float = 0.0,
    ) -> None:
        """
        Begin without a motion.

        :param shaper_at: function that returns the Shaper for a motion that ends at joint
            positions (n,), or a ShaperSpecification, whose delays may follow the pose of the arm.
        :param period: longest time between two points [s].
        :param arm: ArmModel with joints and limits; None: any joints, without limits.
        :param tolerance: largest distance of the start from the measured position [rad, m].
        :param max_points: of an outgoing trajectory; a limit of its receiver.
        :param shortest_period: shortest time between two points [s].
        """
        if shortest_period > period:
            raise SettingError(
                f'shortest_period = {shortest_period:g} must not be above period = {period:g}'
            )
        self._max_points, self._shortest_period = max_points, shortest_period
        self._shaper_at, self._period = shaper_at, period
        self._arm, self.tolerance = arm, tolerance
        self._state: _ShaperState | None = None
        # newest known positions by joint                                               [rad, m]
        self.measured: dict[str, float] = {}

    def forget(self) -> None:
        """Discard the motion, because another controller stops or moves the arm."""
        self._state = None

    def is_moving(self, now: float) -> bool:
        """Whether the outgoing set points still change after `now` [s]."""
        return self._state is not None and now < self._state.end

    @property
    def added(self) -> float:
        """Time that the shaper of the newest motion adds to it [s]."""
        return 0.0 if self._state is None else self._state.shaper.duration

    def shaped(
        self, trajectory: Trajectory, now: float, start: float | None = None
    ) -> ShapedTrajectory:
        """
        Shape a Trajectory; SettingError if that is not possible. `keep` makes it the present one.

        :param now: earliest time at which set points may change [s].
        :param start: of the trajectory; the present motion continues until then. Default: now [s].
        """
        return self._shaped(trajectory, now, start)

    def _shaped(self, trajectory, now, start=None, is_stop=False):
        """Shape a Trajectory; a stop may exceed limits of acceleration and jerk."""
        if self._state is not None:
            if now < self._state.now - MAX_CLOCK_SETBACK_S:
                self.forget()
            else:
                now = max(now, self._state.now)
        start = now if start is None else start
        cut, elapsed = max(start, now), max(now - start, 0.0)
        old = self._state if self.is_moving(now) else None
        joints = self._joints(trajectory, old)
        if old is None:
            present = np.zeros((3, len(joints)))
            present[0] = self._start(trajectory, joints)
            history = None
        else:
            history = self._with_new_joints(old, trajectory, joints)
            present = history.sample(cut)
            self._refuse_if_left_moving(present[1], trajectory, joints)
        pieces = Interpolation(trajectory, joints)
        first = None if old is None else self._joining_point(pieces, present, elapsed, joints)
        new = pieces.motion(present, elapsed, first)
        self._refuse_beyond_limits(trajectory, new, present, is_stop)
        if old is None:
            shaper = self._shaper(new.knot_positions[-1], present[0], cut)
        elif isinstance(old.shaper, PoseDependentShaper):
            shaper = old.shaper.advanced(old.motion, now)
        else:
            shaper = old.shaper
        motion = shaped_samples.appended(history, new, cut, start, now - shaper.duration)
        order = int(trajectory.has_velocity.any()) + int(trajectory.has_acceleration.any())
        commanded_joints = trajectory.names
        if old is not None:
            order = max(order, old.order)
            commanded_joints += tuple(
                name for name in old.commanded_joints if name not in commanded_joints
            )
        state = _ShaperState(joints, commanded_joints, motion, shaper, order, now)
        return self._points(state, cut if old is None else now, is_stop)

    def stopped(self, now: float) -> ShapedTrajectory:
        """Shape a stop of the moving joints from `now` on [s]; SettingError if none moves."""
        state = self._state
        if state is None or not self.is_moving(now):
            raise SettingError('nothing moves that could be stopped')
        position, velocity, _ = state.motion.sample(now)
        duration = STOP_TIME_S
        if self._arm is not None:
            distance = np.where(
                velocity > 0.0,
                self._arm.arrays.upper - position,
                position - self._arm.arrays.lower,
            )
            is_moving = np.abs(velocity) > REST_VELOCITY
            max_deceleration = np.minimum(
                deceleration_limits(self._arm), MAX_STEP_TIME_S * jerk_limits(self._arm)
            )
            shortest = max(STOP_TIME_S, *(np.abs(velocity) / max_deceleration))
            duration = max(
                min([shortest, *(2 * distance[is_moving] / np.abs(velocity[is_moving]))]),
                MIN_STOP_TIME_S,
            )
        # constant deceleration, which a cubic represents exactly
        end = position + velocity * duration / 2
        if self._arm is not None:
            end = np.clip(end, self._arm.arrays.lower, self._arm.arrays.upper)
        rest_velocity = [[0.0] * len(end)] if state.order else ()
        stop = Trajectory(state.joints, [duration], [end], rest_velocity)
        return self._shaped(stop, now, is_stop=True)

    def path_deviation(self, shaped: ShapedTrajectory) -> float | None:
        """Largest distance of the tool from the unshaped path [m]; None without an arm."""
        state = shaped.state
        if self._arm is None:
            return None
        if state.shaper.duration == 0.0:
            return 0.0
        motion = state.motion
        even_times = np.linspace(motion.knots[0], motion.end, MAX_PATH_SAMPLES)
        times = np.unique([*motion.knots, *even_times])
        path = motion.samples(times)[:, 0]
        columns = [state.joints.index(name) for name in shaped.names]
        rows = np.tile(path[-1], (len(shaped.times), 1))
        rows[:, columns] = shaped.positions
        return path_deviation(self._arm, rows, path)

    def keep(self, shaped: ShapedTrajectory) -> None:
        """Make a shaped trajectory the present one."""
        self._state = shaped.state

    def _joints(self, trajectory, old):
        if self._arm is not None:
            refuse_passive_joints(self._arm, trajectory.names)
            trajectory.rows(self._arm.joint_names)
            return tuple(self._arm.joint_names)
        joint_rows(trajectory.names, trajectory.names)
        known = () if old is None else old.joints
        return known + tuple(name for name in trajectory.names if name not in known)

    def _start(self, trajectory, joints):
        """Start positions (n,) of a motion."""
        first = {}
        if trajectory.times[0] == 0.0:
            first = dict(zip(trajectory.names, trajectory.positions[0]))
        goal = {}
        if self._state is not None:
            goal = dict(zip(self._state.joints, self._state.motion.knot_positions[-1]))
        return np.array([self._start_of(name, first.get(name), goal.get(name)) for name in joints])

    def _start_of(self, name, first, goal):
        measured = self.measured.get(name)
        known = measured if measured is not None else first
        if goal is not None and (known is None or abs(goal - known) <= self.tolerance):
            return goal  # held position of the controller: no step by gravity sag
        if known is None and self._is_ball_joint(name):
            return 0.0  # joint_states have no position of it
        if known is None:
            raise SettingError(
                f'the position of "{name}" is unknown: send joint_states, or a '
                'first point at time 0'
            )
        if first is None:
            return measured
        if abs(first - known) > self.tolerance:
            unit = ''
            if self._arm is not None and name in self._arm.joint_names:
                unit = f' {self._arm.units[self._arm.joint_names.index(name)]}'
            raise SettingError(
                f'the trajectory begins with "{name}" at {first:.6g}, but it is at '
                f'{known:.6g}{unit}: let it begin where the arm is'
            )
        return first

    def _is_ball_joint(self, name):
        return self._arm is not None and name not in self._arm.description.urdf_joint_names

    def _with_new_joints(self, old, trajectory, joints):
        """Return the previous motion, with new joints at rest."""
        new_joints = joints[len(old.joints) :]
        if not new_joints:
            return old.motion
        start = self._start(trajectory, new_joints)
        return Motion(
            old.motion.knots, [np.hstack([piece, rest(start)]) for piece in old.motion.pieces]
        )

    def _joining_point(self, pieces, present, elapsed, joints):
        """
        Index of the point at which a motion joins a trajectory with another start.

        In the joining segment, no joint is faster than in the trajectory or the present motion.
        Without such a point, take the one with the smallest excess: up to MAX_EXCESS, or up to the
        limits of an arm. None: the next point, if the trajectory has no point at its start.
        """
        times = pieces.trajectory.times
        if times[0] > elapsed or len(times) < 2:
            return None
        limits = (
            VELOCITY_MARGIN
            * np.maximum(pieces.later_pieces(-1.0).max_speeds().max(axis=0), np.abs(present[1]))
            + REST_VELOCITY
        )
        if elapsed >= times[-1]:
            return None  # `Interpolation.motion` raises
        first = int(np.searchsorted(times, elapsed, side='right'))
        step = 1
        lowest = np.inf
        best = 0
        while first < len(times):
            ratios = pieces.first_piece(present, elapsed, first).max_speeds()[0] / limits
            if ratios.max() < lowest:
                lowest, best, name = ratios.max(), first, joints[int(np.argmax(ratios))]
            if lowest <= 1.0:
                break
            first, step = min(first + step, len(times) - 1 + (first == len(times) - 1)), 2 * step
        if lowest <= (MAX_EXCESS if self._arm is None else np.inf):
            return best
        begin = pieces.trajectory.positions[0][pieces.trajectory.names.index(name)]
        raise SettingError(
            f'the trajectory begins with "{name}" at {begin:.6g}, but it moves at '
            f'{present[0][joints.index(name)]:.6g} then: to get there, it would be faster than '
            'the trajectory. Let it begin where the arm is, or give it more time'
        )

    def _refuse_if_left_moving(self, velocity, trajectory, joints):
        for name, rate in zip(joints, velocity):
            if abs(rate) > REST_VELOCITY and name not in trajectory.names:
                raise SettingError(
                    f'"{name}" is moving and not in the new trajectory: name all joints that move'
                )

    def _refuse_beyond_limits(self, trajectory, motion, present, is_stop):
        if self._arm is None:
            return
        refuse_beyond_stops(
            self._arm, trajectory.rows(self._arm.joint_names), trajectory.positions
        )
        if is_stop:
            refuse_curve_beyond_stops_and_velocities(self._arm, motion)
            return
        refuse_curve_beyond_limits(self._arm, motion)
        refuse_steps(self._arm, motion, present)

    def _shaper(self, end, start, begin):
        """Shaper of a motion from rest to an end (n,), or the PoseDependentShaper of it."""
        shaper = self._shaper_at(end)
        if isinstance(shaper, Shaper):
            return shaper
        if shaper.stages:
            assert self._arm is not None  # stages are those of an arm
            shaper = shaper._replace(velocity_limits=rate_limits(self._arm))
            return PoseDependentShaper(shaper.online(len(start), GRID), start, begin - GRID)
        return shaper.shaper

    def _points(self, state, begin, is_stop):
        """Points of the shaped motion from `begin` on."""
        columns = [state.joints.index(name) for name in state.commanded_joints]
        if isinstance(state.shaper, PoseDependentShaper):
            return self._points_by_pose(state, columns, is_stop)
        times = self._times(state, begin)
        tables = shaped_samples.sampled(state.shaper, state.motion, times)
        positions, velocities, accelerations = [*tables[: state.order + 1, :, columns]] + [
            None
        ] * (2 - state.order)
        return ShapedTrajectory(
            state.commanded_joints,
            begin,
            times - begin,
            positions,
            velocities,
            accelerations,
            state,
        )

    def _points_by_pose(self, state, columns, is_stop):
        remaining = state.end - state.shaper.time
        if (
            remaining / self._period + 2 > self._max_points
            or remaining / GRID > MAX_SAMPLES_BY_POSE
        ):
            raise SettingError(
                f'shaped, the trajectory would take {remaining:.6g} s: give a '
                'longer period, or send it in parts'
            )
        assert self._arm is not None  # stages are those of an arm
        times, positions, rates = state.shaper.run(state.motion)
        if not is_stop:
            refuse_accelerations_of_samples(self._arm, positions, GRID)
        state = replace(state, rest=float(times[-1]))
        stride = max(
            1, int(self._period / GRID + 1e-9), math.ceil(self._shortest_period / GRID - 1e-9)
        )
        rows = np.unique(
            [
                *range(0, len(times) - (stride if self._shortest_period else 0), stride),
                len(times) - 1,
            ]
        )
        velocities = rates[rows][:, columns] if state.order else None
        return ShapedTrajectory(
            state.commanded_joints,
            times[0],
            times[rows] - times[0],
            positions[rows][:, columns],
            velocities,
            None,
            state,
        )

    def _times(self, state, begin):
        """Knots of the shaped motion, and intermediate times for the period (k,)."""
        knots = np.add.outer(state.shaper.times, state.motion.knots).ravel()
        knots = np.unique(knots[knots > begin + MIN_KNOT_DISTANCE_S])
        # of two close knots keep the later one: the last point is the end
        knots = np.concatenate(
            [[begin], knots[np.append(np.diff(knots) > MIN_KNOT_DISTANCE_S, True)]]
        )
        knots = self._thinned(knots)
        counts = np.ceil(np.diff(knots) / self._period * (1 - 1e-9))
        if self._shortest_period > 0.0:  # it also holds for the points between two knots
            counts = np.minimum(
                counts, np.floor(np.diff(knots) / self._shortest_period * (1 + 1e-9))
            )
        points = 1 + counts.sum()
        if points > self._max_points:
            raise SettingError(
                f'shaped, the trajectory would have {points:.0f} points, more than '
                f'{self._max_points}: give a longer period, or send it in parts'
            )
        parts = [
            np.linspace(start, end, 1 + max(int(count), 1))[1:]
            for start, end, count in zip(knots, knots[1:], counts)
        ]
        return np.concatenate([[begin], *parts])

    def _thinned(self, knots):
        """Return knots at least the shortest period apart, and the last one."""
        if self._shortest_period <= 0.0 or len(knots) < 2:
            return knots
        rows = [0]
        while True:
            row = int(np.searchsorted(knots, knots[rows[-1]] + self._shortest_period * (1 - 1e-9)))
            if row >= len(knots) - 1:
                break
            rows.append(row)
        if len(rows) > 1 and knots[-1] - knots[rows[-1]] < self._shortest_period * (1 - 1e-9):
            del rows[-1]
        return knots[[*rows, len(knots) - 1]]
