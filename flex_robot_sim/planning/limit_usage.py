"""Shares of the limits that a motion uses: joint limits, efforts and deflections."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from flex_robot_sim.model.arguments import checked
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.motion.limits import (
    acceleration_limits,
    deceleration_limits,
    effort_limits,
    jerk_limits,
    rate_limits,
)
from flex_robot_sim.planning.motion_response import MotionResponse
from flex_robot_sim.planning.plan import PlanLimits

SEGMENTS = 40  # segments of a path; the largest share of each one counts


class LimitUsage:
    """Limits of a plan, and the shares of them that the response to a motion uses."""

    def __init__(self, arm: ArmModel, limits: PlanLimits) -> None:
        """Take the limits of the description where PlanLimits have none."""

        def limit(name, default):
            values = getattr(limits, name)
            by_joint = checked(name, values, arm.joint_names) if values else default
            # passive joints of closed loops follow, without limits
            return np.where(arm.actuated, by_joint, np.inf) if arm.closed_loops else by_joint

        self.limits = {
            'effort': limit('effort', effort_limits(arm)),
            'velocity': limit('velocity', rate_limits(arm)),
            'acceleration': limit('acceleration', acceleration_limits(arm)),
            'jerk': limit('jerk', jerk_limits(arm)),
        }
        decelerations = limit('acceleration', deceleration_limits(arm))
        if (decelerations != self.limits['acceleration']).any():
            self.limits['deceleration'] = decelerations
        self.deflection = limits.deflection or np.inf
        self._joint_names = arm.joint_names
        self._lengths = {link: arm.length(link) for link in arm.tips}

    @property
    def is_limited(self) -> bool:
        """Whether there is any limit."""
        return bool(np.isfinite(np.concatenate([*self.limits.values(), [self.deflection]])).any())

    def shares(
        self, arm: ArmModel, response: MotionResponse, *, of_motion: bool = True
    ) -> np.ndarray:
        """
        Largest signed shares of the limits in the segments of a path, flat.

        :param of_motion: False: only of effort and deflection, which differ between arms.
        """
        shares = [
            _extremes(row) for name, row in self._ratios(response) if of_motion or name == 'effort'
        ]
        return np.concatenate([*shares, [*self._deflections(arm, response).values()]])

    def peaks(self, arm: ArmModel, response: MotionResponse) -> dict[str, float]:
        """Largest share of every limit, by name, such as 'effort of "elbow"'."""
        usage = {}
        for name, row in self._ratios(response):
            for joint, peak in zip(self._joint_names, np.abs(row).max(axis=0)):
                usage[f'{name} of "{joint}"'] = float(peak)
        usage.update(
            (f'deflection of "{link}"', float(share))
            for link, share in self._deflections(arm, response).items()
        )
        return usage

    def _ratios(self, response: MotionResponse) -> Iterator[tuple[str, np.ndarray]]:
        """Yield pairs of a name and shares of limits (t, joints) along a path."""
        jerk = np.gradient(response.sample[:, 2], response.times[1], axis=0)
        rows = {
            'effort': response.effort,
            'velocity': response.sample[:, 1],
            'acceleration': response.sample[:, 2],
            'jerk': jerk,
        }
        if 'deceleration' in self.limits:  # where acceleration and velocity have opposite signs
            slows = response.sample[:, 1] * response.sample[:, 2] < 0.0
            rows['deceleration'] = np.where(slows, response.sample[:, 2], 0.0)
            rows['acceleration'] = np.where(slows, 0.0, response.sample[:, 2])
        for name, row in rows.items():
            limit = self.limits[name]
            if np.isfinite(limit).any():
                yield name, row / limit

    def _deflections(self, arm, response):
        if not np.isfinite(self.deflection):
            return {}
        return {
            link: deflection / self._lengths[link] / self.deflection
            for link, deflection in response.max_deflections(arm).items()
        }


def _extremes(rows):
    """Largest entries of (t, joints) in each of SEGMENTS segments, flat."""
    starts = [part[0] for part in np.array_split(np.arange(len(rows)), min(SEGMENTS, len(rows)))]
    highest, lowest = (extreme.reduceat(rows, starts) for extreme in (np.maximum, np.minimum))
    return np.where(highest >= -lowest, highest, lowest).ravel()
