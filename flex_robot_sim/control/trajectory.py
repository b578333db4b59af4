"""
Trajectories: where joints are to be at which time.

Between two points a joint moves as joint_trajectory_controller of ros2_control does it: on a line
if only positions are given at both, on a cubic if velocities are, on a quintic if accelerations
are as well. Joints that the trajectory leaves out stand still.
"""

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.control.motion import Motion, cubic, line, quintic, rest
from flex_robot_sim.exceptions import SettingError


class Trajectory:
    """Points in time of some joints, checked."""

    def __init__(self, names: Sequence[str], times: ArrayLike, positions: ArrayLike,
                 velocities: Sequence[ArrayLike] | np.ndarray = (),
                 accelerations: Sequence[ArrayLike] | np.ndarray = ()) -> None:
        """
        Check the points; SettingError if they are no trajectory.

        :param names: of m joints.
        :param times: of k points after the start, rising (k,) [s].
        :param positions: k rows of m [rad, m].
        :param velocities: k rows of m, or of none where a point has no velocity [rad/s, m/s];
            none at all: no point has. Likewise accelerations, where there are velocities.
        """
        self.names = tuple(names)
        self.times = _checked_times(times)
        size = len(self.times), len(self.names)
        self.positions, has = _rows('positions', positions, *size)
        if not has.all():
            raise SettingError(f'point {_first(~has)} of the trajectory has no positions')
        self.velocities, self.has_velocity = _rows('velocities', velocities, *size)
        self.accelerations, self.has_acceleration = _rows('accelerations', accelerations, *size)
        lacks = self.has_acceleration & ~self.has_velocity
        if lacks.any():
            raise SettingError(f'point {_first(lacks)} of the trajectory has accelerations but no '
                               'velocities: give both')
        if self.velocities[-1].any():
            name = self.names[np.flatnonzero(self.velocities[-1])[0]]
            raise SettingError(f'the trajectory ends while "{name}" moves: its last velocity must '
                               'be 0')

    def rows(self, joint_names: Sequence[str]) -> list[int]:
        """Index of each of its joints among `joint_names`; SettingError if one is not there."""
        return joint_rows(self.names, joint_names)

    def motion(self, joint_names: Sequence[str], present: np.ndarray,
               elapsed: float = 0.0) -> Motion:
        """
        Motion that leads from the present reference through the points that are still to come.

        A point at `elapsed` or before it is over, also one at time 0: the motion begins where the
        reference is. The first piece takes over velocity and acceleration of the reference if its
        end has them.

        :param joint_names: of all n joints.
        :param present: positions, velocities and accelerations of the reference (3, n).
        :param elapsed: time since the start of the trajectory [s].
        """
        first, rows = bisect_right(self.times, elapsed), self.rows(joint_names)
        if first == len(self.times):
            raise SettingError(f'the trajectory is over: its last point is at '
                               f'{self.times[-1]:.6g} s, and {elapsed:.6g} s have passed')
        start = present[0]
        pieces, knots = [rest(start)], [elapsed, *self.times[first:]]
        here, has_velocity, has_acceleration = present[:, rows], True, True
        for k, T in enumerate(np.diff(knots), first):
            there = np.array([self.positions[k], self.velocities[k], self.accelerations[k]])
            has_velocity &= self.has_velocity[k]
            has_acceleration &= self.has_acceleration[k]
            piece = rest(start)
            piece[:, rows] = _piece(here, there, T, has_velocity, has_acceleration)
            pieces.append(piece)
            here, has_velocity, has_acceleration = (
                there, self.has_velocity[k], self.has_acceleration[k])
        end = start.copy()
        end[rows] = self.positions[-1]
        return Motion(knots, [*pieces, rest(end)])


def joint_rows(names: Sequence[str], joint_names: Sequence[str]) -> list[int]:
    """Index of each of `names` among `joint_names`; SettingError if it is not there once."""
    for name in names:
        if name not in joint_names:
            raise SettingError(f'no joint "{name}". Known: {", ".join(joint_names)}')
    if not names or len(set(names)) < len(names):
        raise SettingError('each joint must be named once' if names else 'it names no joint')
    return [joint_names.index(name) for name in names]


def _piece(start, end, T, has_velocity, has_acceleration):
    if has_acceleration:
        return quintic(start[0], end[0], start[1], end[1], start[2], end[2], T)
    if has_velocity:
        return cubic(start[0], end[0], start[1], end[1], T)
    return line(start[0], end[0])


def _checked_times(times):
    times = [float(time) for time in times]
    if not times:
        raise SettingError('the trajectory has no points')
    if not np.isfinite(times).all() or times[0] < 0.0:
        raise SettingError('the times of a trajectory must be finite and >= 0 [s]')
    late = np.diff(times) <= 0.0
    if late.any():
        k = _first(late)
        raise SettingError(f'the times of a trajectory must rise: {times[k]:.9g} s of point '
                           f'{k + 1} comes after {times[k - 1]:.9g} s')
    if times[-1] <= 0.0:
        raise SettingError('a trajectory needs a point after time 0: it begins where the '
                           'reference is')
    return times


def _rows(what, values, k, m):
    """Table (k, m), zero where a point has no such values, and which points have them (k,)."""
    table, has = np.zeros((k, m)), np.zeros(k, bool)
    if len(values) not in (0, k):
        raise SettingError(f'the trajectory has {len(values)} rows of {what} for {k} times')
    for i, row in enumerate(values):
        if len(row) not in (0, m):
            raise SettingError(f'point {i + 1} of the trajectory has {len(row)} {what} for {m} '
                               'joints')
        if len(row):
            try:
                table[i], has[i] = row, True
            except (TypeError, ValueError) as error:
                raise SettingError(f'the {what} of point {i + 1} of the trajectory are not '
                                   'numbers') from error
    if not np.isfinite(table).all():
        i = _first(~np.isfinite(table).all(axis=1))
        raise SettingError(f'the {what} of point {i} of the trajectory are not finite')
    return table, has


def _first(marks):
    """Number of the first marked point, as people count."""
    return int(np.flatnonzero(marks)[0]) + 1
