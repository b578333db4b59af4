"""Plan of `flexsim tune`: poses in a range of joint positions, and short moves that end there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from flex_robot_sim.motion.limits import PEAK_ACCELERATION, PEAK_VELOCITY
from flex_robot_sim.util.exceptions import UsageError, plain
from flex_robot_sim.util.settings import Settings, setting

PERIOD_S = 5e-3  # of the set points of short moves                                   [s]
TRANSFER_PERIOD_S = 0.04  # of those of moves between poses                            [s]
MIN_POSES, MAX_POSES = 5, 9
LEVELS, LEVELS_OF_ONE_JOINT = 3, 9  # of each joint, from which poses are chosen
MIN_RANGE = 0.05  # of a joint whose position is varied                        [rad, m]
TRANSFER_SPEED = 0.5  # of moves between poses, over the speed of short moves
TRANSFER_ACCELERATION = 0.1  # over the acceleration of short moves
MIN_TRANSFER_S = 1.0


@dataclass(frozen=True)
class TuneSettings(Settings):
    """Moves by which `flexsim tune` measures vibration."""

    poses: int = setting(
        9, 'number of poses in which vibration is measured', at_least=MIN_POSES, at_most=MAX_POSES
    )
    travel: float = setting(
        0.15, 'travel of each joint in a short move', 'rad, m', above=0.0, at_most=1.0
    )
    speed: float = setting(0.5, 'largest speed of a joint', 'rad/s, m/s', above=0.0, at_most=10.0)
    acceleration: float = setting(
        5.0, 'largest acceleration of a joint', 'rad/s2, m/s2', above=0.0, at_most=100.0
    )
    ring: float = setting(5.0, 'duration of the log after a move', 's', at_least=1.0, at_most=60.0)


class Move(NamedTuple):
    """Set points from rest to rest."""

    times: np.ndarray  # (k,) from 0                                                 [s]
    positions: np.ndarray  # (k, n)                                            [rad, m]


class TunePlan(NamedTuple):
    """Poses, and short moves (start, end) that end in them."""

    joints: tuple[str, ...]
    poses: np.ndarray  # (k, n)                                                [rad, m]
    starts: np.ndarray  # (k, n) of the short moves
    settings: TuneSettings

    def short_move(self, row: int) -> Move:
        """Return the unshaped short move to a pose: a trapezoid of the velocity."""
        return trapezoid_move(
            self.starts[row], self.poses[row], self.settings.speed, self.settings.acceleration
        )

    def transfer(self, start: np.ndarray, row: int) -> Move:
        """Return a slow move from a position (n,) to the start of a short move."""
        return smooth_move(
            start,
            self.starts[row],
            TRANSFER_SPEED * self.settings.speed,
            TRANSFER_ACCELERATION * self.settings.acceleration,
        )

    def with_pose(self, pose: np.ndarray) -> TunePlan:
        """Return the plan with one more pose (n,)."""
        middle = (self.poses.min(axis=0) + self.poses.max(axis=0)) / 2
        travel = np.abs(self.starts - self.poses)[0]
        return self._replace(
            poses=np.vstack([self.poses, pose]),
            starts=np.vstack([self.starts, _start(pose, travel, middle)]),
        )


def make_plan(
    joints: Sequence[str],
    lower: Sequence[float],
    upper: Sequence[float],
    settings: TuneSettings,
    moving: Sequence[str] = (),
) -> TunePlan:
    """
    Return the TunePlan for poses between two corners (n,) of the workspace [rad, m].

    :param moving: joints that take part in short moves; default: all. Joints with the same
        position in both corners leave it by the travel of a short move only.
    """
    low, high = np.minimum(lower, upper), np.maximum(lower, upper)
    if not np.isfinite([low, high]).all() or low.shape != (len(joints),):
        raise UsageError(
            f'--from and --to need {len(joints)} finite numbers each, one for each joint: '
            f'{", ".join(map(plain, joints))}.'
        )
    unknown = [name for name in moving if name not in joints]
    if unknown:
        raise UsageError(
            f'--moving: there is no joint "{plain(unknown[0])}". Known: '
            f'{", ".join(map(plain, joints))}.'
        )
    varied = np.flatnonzero(high - low >= MIN_RANGE)
    if not varied.size:
        raise UsageError(
            f'--from and --to differ by less than {MIN_RANGE:g} in all joints: give two corners '
            'of the workspace.'
        )
    poses = chosen_poses(low, high, varied, settings.poses)
    is_moving = np.array([not moving or name in moving for name in joints])
    starts = _start(poses, settings.travel * is_moving, (low + high) / 2)
    return TunePlan(tuple(joints), poses, starts, settings)


def _start(poses, travel, middle):
    """Return the start of short moves to poses: towards the middle of the workspace."""
    return poses + travel * np.where(poses > middle, -1.0, 1.0)


def chosen_poses(low: np.ndarray, high: np.ndarray, varied: np.ndarray, count: int) -> np.ndarray:
    """
    Return poses (count, n): the middle, then each time the pose furthest from all before.

    The first poses are the same for any count.

    :param low, high: corners (n,); varied: rows of joints that differ between them.
    """
    levels = LEVELS_OF_ONE_JOINT if varied.size == 1 else LEVELS
    grid = np.array([*product(np.linspace(0.0, 1.0, levels), repeat=varied.size)])
    found = [int(np.argmin(np.abs(grid - 0.5).sum(axis=1)))]
    while len(found) < count:
        distances = np.linalg.norm(grid[:, None] - grid[found], axis=2).min(axis=1)
        found.append(int(np.argmax(distances)))
    poses = np.tile((low + high) / 2, (count, 1))
    poses[:, varied] = low[varied] + grid[found] * (high - low)[varied]
    return poses


def trapezoid_move(start: np.ndarray, end: np.ndarray, speed: float, acceleration: float) -> Move:
    """Return the fastest move of all joints together along a line, without limit of the jerk."""
    distance = float(np.abs(end - start).max())
    rise = min(speed / acceleration, np.sqrt(distance / acceleration))
    peak = acceleration * rise
    duration = rise + distance / peak
    times = _times(duration)
    left = np.minimum(times, duration - times).clip(0.0)
    ramp = 0.5 * acceleration * np.minimum(left, rise) ** 2
    half = ramp + peak * (left - rise).clip(0.0)
    share = np.where(times <= duration / 2, half, distance - half) / distance
    return Move(times, start + share[:, None] * (end - start))


def smooth_move(start: np.ndarray, end: np.ndarray, speed: float, acceleration: float) -> Move:
    """Return a move of least jerk along a line."""
    distance = float(np.abs(end - start).max())
    duration = max(
        PEAK_VELOCITY * distance / speed,
        np.sqrt(PEAK_ACCELERATION * distance / acceleration),
        MIN_TRANSFER_S,
    )
    times = _times(duration, TRANSFER_PERIOD_S)
    u = np.minimum(times / duration, 1.0)
    share = u**3 * (10 - 15 * u + 6 * u**2)
    return Move(times, start + share[:, None] * (end - start))


def _times(duration, period=PERIOD_S):
    """Return even times whose last one is at or after a duration."""
    return period * np.arange(int(np.ceil(duration / period - 1e-9)) + 1)
