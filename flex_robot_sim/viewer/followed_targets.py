"""Smooth drive motion to changing targets, slow enough that links bend little."""

import numpy as np

from flex_robot_sim.analysis.natural_modes import frequencies
from flex_robot_sim.demo.swing import MAX_BENDING_RATIO
from flex_robot_sim.model.arm_model import ArmModel

MAX_RATE = 6.0              # of the approach of a drive to its target                     [1/s]


class FollowedTargets:
    """
    Critically damped motion x'' = w^2 (target - x) - 2 w x', in closed form.

    Its velocity is continuous even if the target jumps.
    """

    def __init__(self, arm: ArmModel, position: np.ndarray, travel: float) -> None:
        """
        Start at rest at `position` (joints,) [rad, m].

        :param travel: largest step of a target [rad, m]. Its acceleration w^2 travel bends links
            by about MAX_BENDING_RATIO of their length.
        """
        self.position, self.velocity = np.array(position, float), np.zeros(len(position))
        self.target = self.position.copy()
        first = next((f for f in frequencies(arm, position) if f > 0.0), np.inf)
        self.rate = float(min(
            2 * np.pi * first * np.sqrt(MAX_BENDING_RATIO / max(travel, 1e-3)), MAX_RATE))

    def samples(self, step: float, count: int) -> tuple[np.ndarray, np.ndarray]:
        """
        Advance by `count` steps [s].

        Return positions and rates (count + 1, joints) [rad, m; per s] from the present ones on.
        """
        t = (step * np.arange(count + 1))[:, None]
        error = self.position - self.target
        slope, decay = self.velocity + self.rate * error, np.exp(-self.rate * t)
        positions = self.target + (error + slope * t) * decay
        rates = (slope - self.rate * (error + slope * t)) * decay
        self.position, self.velocity = positions[-1], rates[-1]
        return positions, rates
