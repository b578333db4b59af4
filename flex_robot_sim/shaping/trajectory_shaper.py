"""
Shaped trajectories for any controller of trajectories, whatever arm it leads.

The motion that was asked for is kept as it is, unshaped, and all that is sent is shaped from it.
So a trajectory that replaces another one is appended to that where it is left: the shaper
remembers what it has sent, and what it sends next goes on without a jump.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.motion.limits import (
    VELOCITY_MARGIN,
    rate_limits,
    refuse_beyond_stops,
    refuse_curve_beyond_rates,
    refuse_curve_beyond_stops,
)
from flex_robot_sim.motion.motion import Motion, rest
from flex_robot_sim.motion.trajectory import Interpolation, Trajectory, joint_rows
from flex_robot_sim.shaping.impulses import NONE, Shaper, convolved, of_kind
from flex_robot_sim.shaping.motion_history import appended, sampled
from flex_robot_sim.shaping.path_deviation import MAX_SAMPLES, path_deviation
from flex_robot_sim.shaping.pose_dependent_shaper import GRID, PoseDependentShaper
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.summary import summarized

if TYPE_CHECKING:       # which needs what is here
    from flex_robot_sim.shaping.shaper_specification import ShaperSpecification

NO_SHAPER = 'none'          # as its kind
MOST_POINTS = 100_000       # of a trajectory that is sent
MOST_SAMPLES = 200_000      # of one whose delays follow the pose
STILL = 1e-9                # velocity of a joint at rest                              [rad/s, m/s]
SET_BACK = 5.0              # of a clock, from which on it tells another time                   [s]
NEAREST = 1e-6              # two points nearer than this are one                               [s]
MAX_EXCESS = 1.5            # speed on the way to a trajectory, over its own speed
STOP, SHORTEST_STOP = 0.25, 1e-3    # time in which what is asked for comes to rest      [s]


@summarized
@dataclass(frozen=True, eq=False)
class ShapedTrajectory:
    """What goes out, and what has to be remembered of it."""

    names: tuple                # of m joints
    start: float                # time of the first point                                      [s]
    times: np.ndarray           # (k,) from there                                              [s]
    positions: np.ndarray       # (k, m) [rad, m]; likewise the other two, or None where the
    velocities: np.ndarray      # input has none either
    accelerations: np.ndarray
    memory: _Memory = field(repr=False)


@dataclass(frozen=True, eq=False)
class _Memory:
    """The motion that was asked for, and how it is shaped."""

    joints: tuple               # that the motion has
    sent: tuple                 # those of them that are told to the controller
    motion: Motion
    shaper: Shaper | PoseDependentShaper   # the latter at the time of the change
    order: int                  # 0 where points have positions only, 1 velocities, 2 accelerations
    now: float                  # when it changed last                                          [s]

    @property
    def end(self):
        """When all that is sent is at rest [s]."""
        return self.motion.end + self.shaper.duration


class TrajectoryShaper:
    """Shape trajectories one after the other, or one in place of the other."""

    def __init__(self, shaper_at: Callable[[np.ndarray], Shaper] | ShaperSpecification,
                 period: float = 0.02, arm: ArmModel | None = None,
                 tolerance: float = 0.1, most_points: int = MOST_POINTS,
                 shortest_period: float = 0.0) -> None:
        """
        Begin without a motion.

        :param shaper_at: function that returns the Shaper for a motion that ends at joint
            positions (n,), or ShaperSpecification whose delays follow the pose of the arm.
        :param period: longest time between two points [s].
        :param arm: ArmModel, whose joints and stops are kept to; None: any joints, no stops.
        :param tolerance: how far a motion may begin from where the arm is [rad, m].
        :param most_points: of a trajectory that is sent, as far as its receiver takes them.
        :param shortest_period: shortest time between two points [s].
        """
        if shortest_period > period:
            raise SettingError(f'shortest_period = {shortest_period:g} must not be above period = '
                               f'{period:g}')
        self._most_points, self._shortest = most_points, shortest_period
        self._shaper_at, self._period = shaper_at, period
        self._arm, self.tolerance = arm, tolerance
        self._memory: _Memory | None = None
        # positions by joint, as far as anybody has told                                [rad, m]
        self.measured: dict[str, float] = {}

    def forget(self) -> None:
        """Forget the motion: somebody else stops the arm, or leads it."""
        self._memory = None

    def is_moving(self, now: float) -> bool:
        """Whether set points that were sent still change after `now` [s]."""
        return self._memory is not None and now < self._memory.end

    @property
    def added(self) -> float:
        """Time that the shaper of the newest motion adds to it [s]."""
        return 0.0 if self._memory is None else self._memory.shaper.duration

    def shaped(self, trajectory: Trajectory, now: float,
               start: float | None = None) -> ShapedTrajectory:
        """
        Shape a Trajectory; SettingError if that cannot be. It counts once it is kept by `keep`.

        :param now: from when on set points may change [s].
        :param start: of the trajectory; what goes on goes on until then. Default: now [s].
        """
        if self._memory is not None:
            if now < self._memory.now - SET_BACK:
                self.forget()
            else:
                now = max(now, self._memory.now)
        start = now if start is None else start
        cut, elapsed = max(start, now), max(now - start, 0.0)
        old = self._memory if self.is_moving(now) else None
        joints = self._joints(trajectory, old)
        if old is None:
            present = np.zeros((3, len(joints)))
            present[0] = self._start(trajectory, joints)
            history = None
        else:
            history = self._extended(old, trajectory, joints)
            present = history.sample(cut)
            self._refuse_if_left_moving(present[1], trajectory, joints)
        pieces = Interpolation(trajectory, joints)
        first = None if old is None else self._joining_point(pieces, present, elapsed, joints)
        new = pieces.motion(present, elapsed, first)
        self._refuse_beyond_limits(trajectory, new)
        shaper = self._shaper(new.corners[-1], present[0], cut) if old is None else (
            self._gone_on(old, now))
        motion = appended(history, new, cut, start, now - shaper.duration)
        order = int(trajectory.has_velocity.any()) + int(trajectory.has_acceleration.any())
        sent = trajectory.names
        if old is not None:
            order = max(order, old.order)
            sent += tuple(name for name in old.sent if name not in sent)
        memory = _Memory(joints, sent, motion, shaper, order, now)
        return self._points(memory, cut if old is None else now, trajectory)

    def stopped(self, now: float) -> ShapedTrajectory:
        """Shape a stop of the joints that move, from `now` on [s]; SettingError if none does."""
        memory = self._memory
        if memory is None or not self.is_moving(now):
            raise SettingError('nothing moves that could be stopped')
        place, speed, _ = memory.motion.sample(now)
        time = STOP
        if self._arm is not None:
            room = np.where(speed > 0.0, self._arm.arrays.upper - place,
                            place - self._arm.arrays.lower)
            moves = np.abs(speed) > STILL
            time = max(min([STOP, *(2 * room[moves] / np.abs(speed[moves]))]), SHORTEST_STOP)
        # with an even deceleration, which a cubic is as well
        end = place + speed * time / 2
        if self._arm is not None:
            end = np.clip(end, self._arm.arrays.lower, self._arm.arrays.upper)
        still = [[0.0] * len(end)] if memory.order else ()
        return self.shaped(Trajectory(memory.joints, [time], [end], still), now)

    def path_deviation(self, shaped: ShapedTrajectory) -> float | None:
        """Largest distance of the tool from the unshaped path [m]; None without an arm."""
        memory = shaped.memory
        if self._arm is None:
            return None
        if memory.shaper.duration == 0.0:
            return 0.0
        motion = memory.motion
        times = np.unique([*motion.knots, *np.linspace(motion.knots[0], motion.end, MAX_SAMPLES)])
        path = motion.samples(times)[:, 0]
        columns = [memory.joints.index(name) for name in shaped.names]
        rows = np.tile(path[-1], (len(shaped.times), 1))
        rows[:, columns] = shaped.positions
        return path_deviation(self._arm, rows, path)

    def keep(self, shaped: ShapedTrajectory) -> None:
        """Remember what goes out."""
        self._memory = shaped.memory

    def _joints(self, trajectory, old):
        if self._arm is not None:
            trajectory.rows(self._arm.joint_names)
            return tuple(self._arm.joint_names)
        joint_rows(trajectory.names, trajectory.names)
        known = () if old is None else old.joints
        return known + tuple(name for name in trajectory.names if name not in known)

    def _start(self, trajectory, joints):
        """Positions (n,) from which a motion begins."""
        first = {}
        if trajectory.times[0] == 0.0:
            first = dict(zip(trajectory.names, trajectory.positions[0]))
        goal = {}
        if self._memory is not None:
            goal = dict(zip(self._memory.joints, self._memory.motion.corners[-1]))
        return np.array([self._start_of(name, first.get(name), goal.get(name)) for name in joints])

    def _start_of(self, name, first, goal):
        measured = self.measured.get(name)
        told = measured if measured is not None else first
        if goal is not None and (told is None or abs(goal - told) <= self.tolerance):
            return goal         # where the controller holds it: no step by what the arm sags
        if told is None:
            raise SettingError(f'nobody has said where "{name}" is: send joint_states, or a first '
                               'point at time 0')
        if first is None:
            return measured
        if abs(first - told) > self.tolerance:
            known = self._arm is not None and name in self._arm.joint_names
            unit = f' {self._arm.units[self._arm.joint_names.index(name)]}' if known else ''
            raise SettingError(f'the trajectory begins with "{name}" at {first:.6g}, but it is at '
                               f'{told:.6g}{unit}: let it begin where the arm is')
        return first

    def _extended(self, old, trajectory, joints):
        """Return the motion of before, with joints that it did not have at rest."""
        more = joints[len(old.joints):]
        if not more:
            return old.motion
        start = self._start(trajectory, more)
        return Motion(old.motion.knots, [np.hstack([piece, rest(start)])
                                         for piece in old.motion.pieces])

    def _joining_point(self, pieces, present, elapsed, joints):
        """
        Index of the point at which a trajectory that begins elsewhere is joined during a motion.

        On the way there, no joint is faster than in the trajectory or the present motion. Without
        such a point it is the one that exceeds these speeds least: by MAX_EXCESS, or as far as the
        limits of an arm allow. None: the next point, if the trajectory has no point at its start.
        """
        times = pieces.trajectory.times
        if times[0] > elapsed or len(times) < 2:
            return None
        limits = VELOCITY_MARGIN * np.maximum(pieces.later_pieces(-1.0).fastest().max(axis=0),
                                     np.abs(present[1])) + STILL
        if elapsed >= times[-1]:
            return None             # `Interpolation.motion` refuses it
        first, step, least, best = int(np.searchsorted(times, elapsed, side='right')), 1, np.inf, 0
        while first < len(times):
            ratios = pieces.first_piece(present, elapsed, first).fastest()[0] / limits
            if ratios.max() < least:
                least, best, name = ratios.max(), first, joints[int(np.argmax(ratios))]
            if least <= 1.0:
                break
            first, step = min(first + step, len(times) - 1 + (first == len(times) - 1)), 2 * step
        if least <= (MAX_EXCESS if self._arm is None else np.inf):
            return best
        begin = pieces.trajectory.positions[0][pieces.trajectory.names.index(name)]
        raise SettingError(
            f'the trajectory begins with "{name}" at {begin:.6g}, but it moves at '
            f'{present[0][joints.index(name)]:.6g} then: to get there, it would be faster than '
            'the trajectory. Let it begin where the arm is, or give it more time')

    def _refuse_if_left_moving(self, velocity, trajectory, joints):
        for name, rate in zip(joints, velocity):
            if abs(rate) > STILL and name not in trajectory.names:
                raise SettingError(f'"{name}" is moving and not in the new trajectory: name all '
                                   'joints that move')

    def _refuse_beyond_limits(self, trajectory, motion):
        if self._arm is None:
            return
        refuse_beyond_stops(self._arm, trajectory.rows(self._arm.joint_names),
                            trajectory.positions)
        refuse_curve_beyond_stops(self._arm, motion)
        refuse_curve_beyond_rates(self._arm, motion)

    def _shaper(self, end, start, begin):
        """Shaper of a motion from rest to an end (n,), or the PoseDependentShaper of it."""
        shaper = self._shaper_at(end)
        stages = getattr(shaper, 'stages', ())
        if stages:
            return PoseDependentShaper(shaper, start, begin - GRID)
        return getattr(shaper, 'shaper', shaper)

    @staticmethod
    def _gone_on(old, now):
        if isinstance(old.shaper, PoseDependentShaper):
            return old.shaper.advanced(old.motion, now)
        return old.shaper

    def _points(self, memory, begin, trajectory):
        """Points of the shaped motion from `begin` on."""
        columns = [memory.joints.index(name) for name in memory.sent]
        if isinstance(memory.shaper, PoseDependentShaper):
            return self._followed(memory, columns, trajectory)
        times = self._times(memory, begin)
        tables = sampled(memory.shaper, memory.motion, times)
        tables = [*tables[:memory.order + 1, :, columns]] + [None] * (2 - memory.order)
        return ShapedTrajectory(memory.sent, begin, times - begin, *tables, memory)

    def _followed(self, memory, columns, trajectory):
        left = memory.end - memory.shaper.time
        if left / self._period + 2 > self._most_points or left / GRID > MOST_SAMPLES:
            raise SettingError(f'shaped, the trajectory would take {left:.6g} s: give a longer '
                               'period, or send it in parts')
        times, positions, speeds = memory.shaper.run(memory.motion)
        limits = VELOCITY_MARGIN * rate_limits(self._arm)
        if (np.abs(speeds) > limits).any():
            k, j = np.argwhere(np.abs(speeds) > limits)[0]
            raise SettingError(
                f'shaped by pose, the trajectory moves "{self._arm.joint_names[j]}" at '
                f'{abs(speeds[k, j]):.6g} after {times[k] - times[0]:.6g} s, faster than its '
                f'{limits[j] / VELOCITY_MARGIN:.6g} {self._arm.units[j]}/s: give it more time')
        every = max(1, int(self._period / GRID + 1e-9), math.ceil(self._shortest / GRID - 1e-9))
        rows = np.unique([*range(0, len(times) - (every if self._shortest else 0), every),
                          len(times) - 1])
        velocities = speeds[rows][:, columns] if memory.order else None
        return ShapedTrajectory(memory.sent, times[0], times[rows] - times[0],
                                positions[rows][:, columns], velocities, None, memory)

    def _times(self, memory, begin):
        """All knots of the shaped motion, and as many between as the period asks for (k,)."""
        knots = np.add.outer(memory.shaper.times, memory.motion.knots).ravel()
        knots = np.unique(knots[knots > begin + NEAREST])
        # of two that are one, the later one stays: the last point is the end
        knots = np.concatenate([[begin], knots[np.append(np.diff(knots) > NEAREST, True)]])
        knots = self._thinned(knots)
        counts = np.ceil(np.diff(knots) / self._period * (1 - 1e-9))
        if self._shortest > 0.0:    # the points between two knots keep it, too
            counts = np.minimum(counts, np.floor(np.diff(knots) / self._shortest * (1 + 1e-9)))
        points = 1 + counts.sum()
        if points > self._most_points:
            raise SettingError(f'shaped, the trajectory would have {points:.0f} points, more than '
                               f'{self._most_points}: give a longer period, or send it in parts')
        parts = [np.linspace(start, end, 1 + max(int(count), 1))[1:]
                 for start, end, count in zip(knots, knots[1:], counts)]
        return np.concatenate([[begin], *parts])

    def _thinned(self, knots):
        """Return the knots that keep the shortest period from one another, and the last one."""
        if self._shortest <= 0.0 or len(knots) < 2:
            return knots
        kept = [0]
        while True:
            row = int(np.searchsorted(knots, knots[kept[-1]] + self._shortest * (1 - 1e-9)))
            if row >= len(knots) - 1:
                break
            kept.append(row)
        if len(kept) > 1 and knots[-1] - knots[kept[-1]] < self._shortest * (1 - 1e-9):
            del kept[-1]
        return knots[[*kept, len(knots) - 1]]


def shaper_of_modes(kind: str, frequencies: Iterable[float], ratios: Iterable[float]) -> Shaper:
    """Shaper of a kind, or 'none', for modes [Hz] one after the other."""
    if kind == NO_SHAPER:
        return NONE
    return convolved([of_kind(kind, float(frequency), float(ratio))
                      for frequency, ratio in zip(frequencies, ratios)])
