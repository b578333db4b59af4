"""Animation of natural modes: slowed down and scaled to be visible."""

import numpy as np

from flex_robot_sim.analysis.natural_modes import modes
from flex_robot_sim.display.posture import Posture
from flex_robot_sim.model.arm_model import ArmModel

MODE_AMPLITUDE = 0.07  # of the point that moves most, in reaches of the arm
LEVER_ARM = 0.15  # for rotations, in reaches
DIFFERENCE_STEP = 1e-6  # of the amplitude measurement, in reaches
MAX_SHOWN_HZ = 0.6  # faster modes are slowed down to it


class ModeMotion:
    """The natural modes of an arm about a state."""

    def __init__(self, arm: ArmModel, q: np.ndarray, reach: float) -> None:
        """Compute the modes about a rest at `q` (n,), with locked drives; reach [m]."""
        mode_set = modes(arm, q, joints='locked')
        is_oscillating = (
            (mode_set.damping_ratios > -1.0)
            & (mode_set.damping_ratios < 1.0)
            & (mode_set.frequencies > 0.0)
        )
        self._arm, self._q, self._reach = arm, np.array(q, float), reach
        self.frequencies = mode_set.frequencies[is_oscillating]
        self.ratios = mode_set.damping_ratios[is_oscillating]
        self._shapes = mode_set.shapes[:, is_oscillating]
        self._posture = Posture(arm)

    def coordinates(self, mode: int, time: float) -> np.ndarray:
        """Coordinates (n,) of a mode at a wall-clock time [s]."""
        # the phase with the largest motion; any other would depend on rounding
        shape = self._shapes[:, mode] * self._size(mode)
        rate = 2 * np.pi * min(MAX_SHOWN_HZ, self.frequencies[mode])
        return self._q + (shape * np.exp(1j * rate * time)).real

    def slowdown(self, mode: int) -> float:
        """Factor by which the animation of a mode is slowed down."""
        return float(max(self.frequencies[mode] / MAX_SHOWN_HZ, 1.0))

    def _size(self, mode):
        shape = self._shapes[:, mode].real
        step = DIFFERENCE_STEP * self._reach / max(np.abs(shape).max(), 1e-300)
        before, after = self._points(self._q), self._points(self._q + step * shape)
        displacement = np.linalg.norm(after - before, axis=1).max() / step
        return MODE_AMPLITUDE * self._reach / max(displacement, 1e-12)

    def _points(self, q):
        """Points at LEVER_ARM from frames and tips, so that rotations move them, too."""
        posture, offsets = self._posture, LEVER_ARM * self._reach * np.eye(3)
        posture.take(q)
        poses = [posture.frame(frame) for frame in self._arm.frames.values()]
        poses += [posture.section(*tip) for tip in self._arm.tips.values()]
        return np.concatenate([p + offsets @ R.T for R, p in poses])
