"""Limits of a learnt reference, as linear constraints on the weights of its splines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flex_robot_sim.motion.joint_motion import Motion
from flex_robot_sim.motion.spline_path import SplinePaths
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.settings import Settings, setting

SAMPLES_PER_PIECE = 20  # of a spline, at which limits are checked
LIMIT_SHARE = 0.99  # of velocity and acceleration, because peaks lie between samples
FIELDS = 'lower', 'upper', 'velocity', 'acceleration'


@dataclass(frozen=True)
class ReferenceLimits(Settings):
    """
    Limits of a learnt reference, one number per joint; empty: none.

    Example::

        limits = frs.planning.ReferenceLimits(velocity=(2.0,), acceleration=(15.0,))
    """

    lower: tuple = setting((), 'smallest position of each joint', 'rad, m', of=float)
    upper: tuple = setting((), 'largest position of each joint', 'rad, m', of=float)
    velocity: tuple = setting((), 'of each joint', 'rad/s, m/s', above=0.0, of=float)
    acceleration: tuple = setting((), 'of each joint', 'rad/s2, m/s2', above=0.0, of=float)


class WeightConstraints:
    """Rows A and bounds b of A w <= b, for weights w (joints * count,) of the splines."""

    def __init__(
        self, limits: ReferenceLimits, motion: Motion, paths: SplinePaths, duration: float
    ) -> None:
        """Sample a Motion and the splines that are added to it, over `duration` [s]."""
        joints, count = len(paths.start), paths.count
        samples = SAMPLES_PER_PIECE * (len(paths.corners) - 1) + 1
        times = np.linspace(0.0, duration, samples)
        motion_samples = motion.samples(times)
        unit = SplinePaths(np.zeros(count), np.zeros(count), count)
        splines = unit.motion(np.eye(count), duration).samples(times)  # (t, 3, count)
        rows, bounds = [np.zeros((0, joints * count))], [np.zeros(0)]
        for order, sign, name in (
            (0, -1.0, 'lower'),
            (0, 1.0, 'upper'),
            (1, -1.0, 'velocity'),
            (1, 1.0, 'velocity'),
            (2, -1.0, 'acceleration'),
            (2, 1.0, 'acceleration'),
        ):
            values = getattr(limits, name)
            if not values:
                continue
            if len(values) != joints:
                raise SettingError(
                    f'{name} of the limits has {len(values)} numbers: give {joints}, one per joint'
                )
            for j, value in enumerate(values):
                limit = sign * value if order == 0 else value
                reached = sign * motion_samples[:, order, j]
                if reached.max() > limit:
                    raise SettingError(
                        f'the motion of joint {j + 1} reaches {sign * reached.max():.4g}, beyond '
                        f'its {name} limit of {value:.4g}: give the motion more time, or raise '
                        'the limit'
                    )
                block = np.zeros((samples, joints * count))
                block[:, j * count : (j + 1) * count] = sign * splines[:, order]
                rows.append(block)
                share = 1.0 if order == 0 else LIMIT_SHARE
                bounds.append(np.maximum(share * limit, reached) - reached)
        self.rows, self.bounds = np.vstack(rows), np.concatenate(bounds)
