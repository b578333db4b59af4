"""
Joint trajectories: positions over time.

Interpolation is that of joint_trajectory_controller in ros2_control. If both points have positions
only, it is linear; with velocities, cubic; with accelerations, quintic. Joints that are not in the
trajectory remain at rest.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.motion.joint_motion import Motion, cubic, line, quintic, rest, tables_of
from flex_robot_sim.util.exceptions import SettingError

MAX_VALUE = 1e100  # position, velocity or acceleration                  [rad, m; per s, per s2]


class Table(NamedTuple):
    """Values of all points of a trajectory, zero where a point has none."""

    values: np.ndarray  # (k, m) [rad, m], or their rates
    is_given: np.ndarray  # (k,)


class Trajectory:
    """Validated trajectory points of some joints."""

    def __init__(
        self,
        names: Sequence[str],
        times: ArrayLike,
        positions: ArrayLike,
        velocities: Sequence[ArrayLike] | np.ndarray = (),
        accelerations: Sequence[ArrayLike] | np.ndarray = (),
    ) -> None:
        """
        Check the points; SettingError if they are invalid.

        :param names: of m joints.
        :param times: of k points after the start, rising (k,) [s].
        :param positions: k rows of m [rad, m].
        :param velocities: k rows of m, or of none where a point has no velocity [rad/s, m/s];
            none at all: no point has. The same applies to accelerations, where there are
            velocities.
        """
        times = _checked_times(times)
        size = len(times), len(names)
        self._set(
            names,
            times,
            (
                _table(what, values, *size)
                for what, values in (
                    ('positions', positions),
                    ('velocities', velocities),
                    ('accelerations', accelerations),
                )
            ),
        )

    @classmethod
    def of_tables(
        cls,
        names: Sequence[str],
        times: np.ndarray,
        positions: Table,
        velocities: Table,
        accelerations: Table,
    ) -> Trajectory:
        """Return the trajectory with these arrays of points; SettingError if they are invalid."""
        trajectory = cls.__new__(cls)
        trajectory._set(names, _checked_times(times), (positions, velocities, accelerations))
        return trajectory

    def _set(self, names, times, tables):
        self.names, self.times = tuple(names), times
        positions, velocities, accelerations = (
            _finite(what, table)
            for what, table in zip(('positions', 'velocities', 'accelerations'), tables)
        )
        self.positions = positions.values
        self.velocities, self.has_velocity = velocities
        self.accelerations, self.has_acceleration = accelerations
        lacks = self.has_acceleration & ~self.has_velocity
        if lacks.any():
            raise SettingError(
                f'point {_first(lacks)} of the trajectory has accelerations but no '
                'velocities: give both'
            )
        if self.velocities[-1].any():
            name = self.names[np.flatnonzero(self.velocities[-1])[0]]
            raise SettingError(
                f'the trajectory ends while "{name}" moves: its last velocity must be 0'
            )

    def rows(self, joint_names: Sequence[str]) -> list[int]:
        """Return the index of each joint in `joint_names`; SettingError if one is missing."""
        return joint_rows(self.names, joint_names)


class Interpolation:
    """Polynomials between trajectory points, which can begin at any present reference."""

    def __init__(self, trajectory: Trajectory, joint_names: Sequence[str]) -> None:
        """Compute the pieces between the points of a Trajectory, for all n joints."""
        self.trajectory = trajectory
        self._rows = trajectory.rows(joint_names)
        self._idle = [row for row in range(len(joint_names)) if row not in self._rows]
        k, n = len(trajectory.times), len(joint_names)
        durations = np.diff(trajectory.times)
        pieces = np.zeros((k - 1, 6, n))
        # rest before the motion, and the first piece of it, are computed by `motion`
        self._tables = np.zeros((k + 2, 6, 3 * n))
        with np.errstate(over='ignore', invalid='ignore'):
            pieces[:, :, self._rows] = _pieces(trajectory, durations)
            self._tables[2:-1] = tables_of(pieces, durations)
        self._tables[-1, 0, self._rows] = trajectory.positions[-1]
        _refuse_unbounded(self._tables)

    def first_piece(self, present: np.ndarray, elapsed: float, first: int | None = None) -> Motion:
        """
        Motion from the present reference to a point, at which it rests: one piece.

        It begins with velocity and acceleration of the reference if the point has them.

        :param present: positions, velocities and accelerations of the reference (3, n).
        :param elapsed: time since the start of the trajectory [s].
        :param first: index of the point; None: the next one; call `refuse_if_over` before.
        """
        trajectory, start = self.trajectory, present[0]
        if first is None:
            first = bisect_right(trajectory.times, elapsed)
        T = trajectory.times[first] - elapsed
        there = np.array(
            [
                trajectory.positions[first],
                trajectory.velocities[first],
                trajectory.accelerations[first],
            ]
        )
        piece = rest(start)
        with np.errstate(over='ignore', invalid='ignore'):
            piece[:, self._rows] = _piece(
                present[:, self._rows],
                there,
                T,
                trajectory.has_velocity[first],
                trajectory.has_acceleration[first],
            )
            tables = tables_of(
                np.array([rest(start), piece, rest(start)]), np.array([1.0, T, 1.0])
            )
        tables[2, 0, self._rows] = trajectory.positions[first]
        _refuse_unbounded(tables)
        return Motion.of_tables([elapsed, trajectory.times[first]], tables)

    def first_two_pieces(
        self, present: np.ndarray, elapsed: float, first: int | None = None
    ) -> Motion:
        """Beginning of `motion` that ends within it: the last table is that of the next piece."""
        times = self.trajectory.times
        if first is None:
            first = bisect_right(times, elapsed)
        tables = [
            self.first_piece(present, elapsed, first).tables[:2],
            self._tables[first + 2 : first + 4],
        ]
        return Motion.of_tables([elapsed, *times[first : first + 2]], np.concatenate(tables))

    def later_pieces(self, elapsed: float) -> Motion:
        """Return the motion after the next point; joints not in the trajectory are at 0."""
        first = bisect_right(self.trajectory.times, elapsed)
        return Motion.of_tables(self.trajectory.times[first:], self._tables[first + 1 :])

    def refuse_if_over(self, elapsed: float) -> None:
        """Raise SettingError if no point is left after a time since the start [s]."""
        end = self.trajectory.times[-1]
        if elapsed >= end:
            raise SettingError(
                f'the trajectory is over: its last point is at {end:.6g} s, and '
                f'{elapsed:.6g} s have passed'
            )

    def motion(
        self, present: np.ndarray, elapsed: float = 0.0, first: int | None = None
    ) -> Motion:
        """
        Motion from the present reference through all later points.

        Points up to `elapsed` are past, also a point at time 0: the motion begins at the present
        reference. It shares its tables with the previously returned motion. Parameters as above.
        """
        times, start = self.trajectory.times, present[0]
        self.refuse_if_over(elapsed)
        if first is None:
            first = bisect_right(times, elapsed)
        tables = self._tables[first:]
        tables[:2] = self.first_piece(present, elapsed, first).tables[:2]
        if self._idle and not (tables[-1, 0, self._idle] == start[self._idle]).all():
            tables[2:, 0, self._idle] = start[self._idle]
        return Motion.of_tables([elapsed, *times[first:]], tables)


def _pieces(trajectory, durations):
    """Pieces (k - 1, 6, m) between the points of a Trajectory, of durations (k - 1,) [s]."""
    has_velocity, has_acceleration = (
        given[:-1] & given[1:] for given in (trajectory.has_velocity, trajectory.has_acceleration)
    )
    # quintic, cubic or line
    kinds = np.where(has_acceleration, 2, np.where(has_velocity, 1, 0))
    values = trajectory.positions, trajectory.velocities, trajectory.accelerations
    pieces = np.zeros((len(durations), 6, len(trajectory.names)))
    for kind in np.unique(kinds).tolist():
        rows = np.flatnonzero(kinds == kind)
        start, end = ([table[ends] for table in values] for ends in (rows, rows + 1))
        pieces[rows] = _piece(start, end, durations[rows, None], kind > 0, kind > 1)
    return pieces


def _refuse_unbounded(tables):
    if tables.size and not (tables.min() >= -MAX_VALUE and tables.max() <= MAX_VALUE):
        raise SettingError(
            'the trajectory goes beyond all bounds between its points: give '
            'smaller velocities and accelerations, and times further apart'
        )


def joint_rows(names: Sequence[str], joint_names: Sequence[str]) -> list[int]:
    """Return the index of each name in `joint_names`; SettingError if it is not there once."""
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
    if not isinstance(times, np.ndarray):
        times = np.array([float(time) for time in times])
    if not len(times):
        raise SettingError('the trajectory has no points')
    if not np.isfinite(times).all() or times[0] < 0.0:
        raise SettingError('the times of a trajectory must be finite and >= 0 [s]')
    late = np.diff(times) <= 0.0
    if late.any():
        k = _first(late)
        raise SettingError(
            f'the times of a trajectory must rise: {times[k]:.9g} s of point '
            f'{k + 1} comes after {times[k - 1]:.9g} s'
        )
    if times[-1] <= 0.0:
        raise SettingError(
            'a trajectory needs a point after time 0: it begins where the reference is'
        )
    return times.astype(float).tolist()


def _table(what, values, k, m):
    if len(values) not in (0, k):
        raise SettingError(f'the trajectory has {len(values)} rows of {what} for {k} times')
    if isinstance(values, np.ndarray) and values.shape == (k, m) and values.dtype == float:
        return Table(values.copy(), np.full(k, m > 0))
    table, has = np.zeros((k, m)), np.zeros(k, bool)
    for i, row in enumerate(values):
        if len(row) not in (0, m):
            raise SettingError(
                f'point {i + 1} of the trajectory has {len(row)} {what} for {m} joints'
            )
        if len(row):
            try:
                table[i], has[i] = row, True
            except (TypeError, ValueError) as error:
                raise SettingError(
                    f'the {what} of point {i + 1} of the trajectory are not numbers'
                ) from error
    return Table(table, has)


def _finite(what, table):
    """Return a Table of finite numbers, the positions of all points; SettingError otherwise."""
    is_finite = np.isfinite(table.values).all(axis=1)
    if not is_finite.all():
        raise SettingError(
            f'the {what} of point {_first(~is_finite)} of the trajectory are not finite'
        )
    if what == 'positions' and not table.is_given.all():
        raise SettingError(f'point {_first(~table.is_given)} of the trajectory has no positions')
    return table


def _first(marks):
    """Return the number of the first marked point, counted from 1."""
    return int(np.flatnonzero(marks)[0]) + 1
