"""
Trajectories of all joints as one function of time, from functions, samples or plans.

Velocities and accelerations that a function does not return are central differences.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from flex_robot_sim.model.arguments import array_or_nan
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.motion.joint_motion import Motion
from flex_robot_sim.motion.trajectory import Interpolation, Trajectory
from flex_robot_sim.util.exceptions import SettingError, shortened

DIFFERENCE_STEP_S = 1e-4  # its error is below 1e-8 of the third derivative
FORMS = 'a function of time, a pair (times, positions), a Trajectory, a Motion or a Plan'


class TrajectoryPoint(NamedTuple):
    """Target of all joints at an instant, (joints,) each."""

    position: np.ndarray  # [rad, m]
    velocity: np.ndarray  # [rad/s, m/s]
    acceleration: np.ndarray  # [rad/s2, m/s2]


class JointTrajectory:
    """A trajectory of all joints; a call with a time returns its TrajectoryPoint."""

    def __init__(self, arm: ArmModel, trajectory: Any, position: np.ndarray, start: float) -> None:
        """
        Convert a trajectory from one of FORMS.

        :param trajectory: a function returns positions (joints,), or rows of positions,
            velocities and accelerations, (2 or 3, joints), at a time [s]. Pairs are times (k,),
            rising, and positions (k, joints), joined by a cubic spline at rest at both ends.
        :param position: from which a Trajectory begins, (joints,) [rad, m].
        :param start: time from which the times of the trajectory count [s].
        """
        self._names, self._start = arm.joint_names, start
        self._function = self._converted(trajectory, position)
        self._points: dict[float, TrajectoryPoint] = {}  # the last ones that were requested

    def __call__(self, time: float) -> TrajectoryPoint:
        """Return the TrajectoryPoint at a time [s]."""
        if time not in self._points:
            if len(self._points) > 1:  # a step needs its start and its end
                del self._points[next(iter(self._points))]
            self._points[time] = self._point(time - self._start)
        return self._points[time]

    def of_joint(self, row: int) -> Callable[[float], tuple[float, float]]:
        """Return the function from time [s] to position and velocity of a joint, by its row."""
        return partial(_joint_motion, self, row)

    def _converted(self, trajectory, position):
        motion = getattr(trajectory, 'motion', trajectory)  # of a Plan
        if isinstance(motion, Motion):
            return motion.sample
        if isinstance(trajectory, Trajectory):
            present = np.zeros((3, len(self._names)))
            present[0] = position
            return Interpolation(trajectory, self._names).motion(present).sample
        if callable(trajectory):
            return trajectory
        return self._spline(trajectory)

    def _spline(self, trajectory):
        n = len(self._names)
        try:
            times, positions = (np.array(values, float) for values in trajectory)
            positions = positions[:, None] if positions.ndim == n == 1 else positions
            is_valid = (
                times.ndim == 1
                and times.size > 1
                and positions.shape == (times.size, n)
                and np.isfinite(times).all()
                and np.isfinite(positions).all()
                and (np.diff(times) > 0).all()
            )
        except (TypeError, ValueError):
            is_valid = False
        if not is_valid:
            raise SettingError(
                f'trajectory = {shortened(repr(trajectory), 60)} must be {FORMS}; a pair has '
                f'times (k,) that rise and positions (k, {n}), finite, of {", ".join(self._names)}'
            )
        return SplineTrajectory(times, positions)

    def _point(self, time):
        rows = self._rows(time)
        position = rows[0]
        if len(rows) == 3:
            return TrajectoryPoint(*rows)
        h = DIFFERENCE_STEP_S
        before, after = self._rows(time - h), self._rows(time + h)
        if len(rows) == 2:
            return TrajectoryPoint(rows[0], rows[1], (after[1] - before[1]) / (2 * h))
        return TrajectoryPoint(
            position,
            (after[0] - before[0]) / (2 * h),
            (after[0] - 2 * position + before[0]) / h**2,
        )

    def _rows(self, time):
        """Return the rows (1 to 3, joints) that the function returns, checked."""
        n, values = len(self._names), self._function(time)
        rows = np.atleast_2d(array_or_nan(values))
        if rows.ndim != 2 or rows.shape[1] != n or len(rows) > 3 or not np.isfinite(rows).all():
            raise SettingError(
                f'the trajectory returned {shortened(repr(values), 60)} at {time:.6g} s: it must '
                f'return {n} finite positions ({", ".join(self._names)}), or rows of positions, '
                'velocities and accelerations'
            )
        return rows


class SplineTrajectory:
    """A cubic spline through positions, at rest at both ends and beyond them."""

    def __init__(self, times: np.ndarray, positions: np.ndarray) -> None:
        """Interpolate positions (k, joints) at ascending times (k,) [s]."""
        from scipy.interpolate import CubicSpline  # imported late: rarely needed

        self._times, self._positions = times, positions
        # clamped ends avoid a velocity jump at the start and at the end
        self._spline = CubicSpline(times, positions, bc_type='clamped')

    def __call__(self, time: float) -> np.ndarray:
        """Positions, velocities and accelerations (3, joints) at a time [s]."""
        times = self._times
        if times[0] <= time <= times[-1]:
            return np.array([self._spline(time, derivative) for derivative in range(3)])
        rows = np.zeros((3, self._positions.shape[1]))
        rows[0] = self._positions[0 if time < times[0] else -1]
        return rows


def _joint_motion(trajectory, row, time):
    point = trajectory(time)
    return float(point.position[row]), float(point.velocity[row])
