"""Simulation of an arm for a page: free fall, or prescribed drive motion."""

import numpy as np

from flex_robot_sim.demo.swing import MAX_SWING, SWING_SHARE
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.viewer.followed_targets import FollowedTargets
from flex_robot_sim.viewer.joints import ranges

PAUSE_PERIODS = 5.0         # pause at either end of a swing, in units of 1 / rate of the drives
MIN_PAUSE_S = 4.0           # shortest pause


class Live:
    """A simulation and the motion of its drives."""

    def __init__(self, arm: ArmModel) -> None:
        """Take `arm` (ArmModel) with n coordinates."""
        self._arm, self.simulation = arm, Simulation(arm)
        self._motors = arm.motor_q
        self._drives: FollowedTargets | None = None
        self._start, self._poses = np.zeros(arm.size), np.zeros((0, 0))
        self._reversed_at = 0.0

    def start(self, q: np.ndarray, swings: bool) -> None:
        """Start from rest at coordinates (n,): in free fall, or swinging between two poses."""
        self._start, self._reversed_at = np.array(q, float), 0.0
        self.simulation.set_state(coordinates=q)
        self.simulation.time = 0.0
        self._drives, drive_position = None, self._start[self._motors]
        self._poses = swing_poses(self._arm, drive_position) if swings else drive_position[None]
        if swings:
            travel = float(np.abs(self._poses[0] - self._poses[-1]).max())
            self._drives = FollowedTargets(self._arm, drive_position, travel)
            self._drives.target = self._poses[0]

    def reset(self) -> None:
        """Restart the motion."""
        self.start(self._start, self._drives is not None)

    def set_target(self, target: np.ndarray) -> None:
        """Move the drives to a target (joints,) [rad, m] and end the swing."""
        if self._drives is not None:
            self._drives.target, self._poses = np.array(target, float), np.zeros((0, 0))

    @property
    def is_prescribed(self) -> bool:
        """Whether the drive motion is prescribed; otherwise the arm falls."""
        return self._drives is not None

    def advance(self, seconds: float) -> None:
        """Advance by a time, at least one step [s]."""
        step = self.simulation.settings.time_step
        count = max(1, round(seconds / step))
        if self._drives is None:
            self.simulation.step(count)
            return
        pause = max(PAUSE_PERIODS / self._drives.rate, MIN_PAUSE_S)
        if len(self._poses) and self.simulation.time - self._reversed_at > pause:
            self._reversed_at, self._poses = self.simulation.time, self._poses[::-1]
            self._drives.target = self._poses[0]
        self.simulation.follow(*self._drives.samples(step, count))


def swing_poses(arm: ArmModel, position: np.ndarray) -> np.ndarray:
    """Return two poses (2, joints) around a position, within the joint ranges [rad, m]."""
    low, high = ranges(arm).T
    reach = np.minimum([MAX_SWING[unit] for unit in arm.units], SWING_SHARE * (high - low) / 2)
    reach[2::3] *= -1.0         # elbows fold back
    return np.clip([position + reach, position - reach], low, high)
