"""A natural mode as a motion to look at: slow, and as large as can be seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flex_robot_sim.analysis.natural_modes import modes
from flex_robot_sim.display.posture import Posture

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel

LARGE = 0.07            # how far the point that moves most goes, in reaches of the arm
LEVER = 0.15            # of turning, in reaches
SMALL = 1e-6            # step of the difference that measures it, in reaches
SHOWN = 0.6             # frequency that faster modes are shown with                        [Hz]


class ModeMotion:
    """The natural modes of an arm about a state."""

    def __init__(self, arm: ArmModel, q: np.ndarray, reach: float) -> None:
        """
        Find them, with the drives locked.

        :param q: coordinates (n,) at rest; reach: of the arm [m].
        """
        found = modes(arm, q, joints='locked')
        swings = (found.damping_ratios > -1.0) & (found.damping_ratios < 1.0) & (
            found.frequencies > 0.0)
        self._arm, self._q, self._reach = arm, np.array(q, float), reach
        self.frequencies = found.frequencies[swings]
        self.ratios = found.damping_ratios[swings]
        self._shapes = found.shapes[:, swings]
        self._posture = Posture(arm)

    def coordinates(self, mode: int, time: float) -> np.ndarray:
        """Coordinates (n,) of a mode at a time on the wall [s]."""
        # the phase that moves most, or rounding would choose
        shape = self._shapes[:, mode] * self._size(mode)
        rate = 2 * np.pi * min(SHOWN, self.frequencies[mode])
        return self._q + (shape * np.exp(1j * rate * time)).real

    def slower(self, mode: int) -> float:
        """How many times slower than it is a mode is shown."""
        return float(max(self.frequencies[mode] / SHOWN, 1.0))

    def _size(self, mode):
        shape = self._shapes[:, mode].real
        step = SMALL * self._reach / max(np.abs(shape).max(), 1e-300)
        before, after = self._points(self._q), self._points(self._q + step * shape)
        moved = np.linalg.norm(after - before, axis=1).max() / step
        return LARGE * self._reach / max(moved, 1e-12)

    def _points(self, q):
        """Points beside every frame and the tips of links, so that turning moves them, too."""
        posture, beside = self._posture, LEVER * self._reach * np.eye(3)
        posture.take(q)
        poses = [posture.frame(frame) for frame in self._arm.frames.values()]
        for body, station in self._arm.tips.values():
            R, p = posture.base_R[body], posture.base_p[body]
            poses.append((R @ posture.station_R[station], R @ posture.station_p[station] + p))
        return np.concatenate([p + beside @ R.T for R, p in poses])
