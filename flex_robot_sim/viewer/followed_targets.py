"""Targets that drives follow: smoothly, and so slowly that links bend little."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flex_robot_sim.analysis.natural_modes import frequencies
from flex_robot_sim.demo.swing import BENDING

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel

FASTEST = 6.0           # rate with which a drive approaches its target                     [1/s]


class FollowedTargets:
    """
    Critically damped motion x'' = w^2 (target - x) - 2 w x', in closed form.

    Its velocity never jumps, whenever the target does.
    """

    def __init__(self, arm: ArmModel, position: np.ndarray, travel: float) -> None:
        """
        Begin at rest at `position` (joints,) [rad, m].

        :param travel: largest step of a target [rad, m]: its acceleration w^2 travel bends links
            by about the share BENDING of their length.
        """
        self.position, self.velocity = np.array(position, float), np.zeros(len(position))
        self.target = self.position.copy()
        first = next((f for f in frequencies(arm, position) if f > 0.0), np.inf)
        self.rate = float(min(2 * np.pi * first * np.sqrt(BENDING / max(travel, 1e-3)), FASTEST))

    def samples(self, step: float, count: int) -> tuple[np.ndarray, np.ndarray]:
        """
        Go on by `count` steps [s].

        Return places and rates (count + 1, joints) [rad, m; per s], the present ones first.
        """
        t = (step * np.arange(count + 1))[:, None]
        away = self.position - self.target
        slope, fade = self.velocity + self.rate * away, np.exp(-self.rate * t)
        places = self.target + (away + slope * t) * fade
        rates = (slope - self.rate * (away + slope * t)) * fade
        self.position, self.velocity = places[-1], rates[-1]
        return places, rates
