"""An arm that is simulated for a page: it is dropped, or its drives are led."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flex_robot_sim.analysis.tangent import driven
from flex_robot_sim.demo.swing import ANGLE, DISTANCE, ROOM
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.viewer.followed_targets import FollowedTargets
from flex_robot_sim.viewer.joints import ranges

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel

REST = 5.0              # of a swing at either end, in times 1 / rate of the drives, and
RINGING = 4.0           # at least this long                                                [s]


class Live:
    """A simulation and who leads its drives."""

    def __init__(self, arm: ArmModel) -> None:
        """Take `arm` (ArmModel) with n coordinates."""
        self._arm, self.simulation = arm, Simulation(arm)
        self._motors = driven(arm)
        self._drives: FollowedTargets | None = None
        self._start, self._poses = np.zeros(arm.size), np.zeros((0, 0))
        self._turned = 0.0

    def start(self, q: np.ndarray, swings: bool) -> None:
        """Let the arm go from rest at coordinates (n,): falling, or led to and fro."""
        self._start, self._turned = np.array(q, float), 0.0
        self.simulation.set_state(coordinates=q)
        self.simulation.time = 0.0
        self._drives, here = None, self._start[self._motors]
        self._poses = swing_poses(self._arm, here) if swings else here[None]
        if swings:
            travel = float(np.abs(self._poses[0] - self._poses[-1]).max())
            self._drives = FollowedTargets(self._arm, here, travel)
            self._drives.target = self._poses[0]

    def reset(self) -> None:
        """Begin anew."""
        self.start(self._start, self._drives is not None)

    def lead(self, target: np.ndarray) -> None:
        """Lead the drives to a target (joints,) [rad, m] from now on, and no longer to and fro."""
        if self._drives is not None:
            self._drives.target, self._poses = np.array(target, float), np.zeros((0, 0))

    @property
    def is_prescribed(self) -> bool:
        """Whether drives are led; otherwise the arm falls."""
        return self._drives is not None

    def advance(self, seconds: float) -> None:
        """Go on for a while, at least a step [s]."""
        step = self.simulation.settings.time_step
        count = max(1, round(seconds / step))
        if self._drives is None:
            self.simulation.step(count)
            return
        pause = max(REST / self._drives.rate, RINGING)
        if len(self._poses) and self.simulation.time - self._turned > pause:
            self._turned, self._poses = self.simulation.time, self._poses[::-1]
            self._drives.target = self._poses[0]
        self.simulation.follow(*self._drives.samples(step, count))


def swing_poses(arm: ArmModel, position: np.ndarray) -> np.ndarray:
    """Return two poses (2, joints) about a position, inside the range of the joints [rad, m]."""
    low, high = ranges(arm).T
    most = [DISTANCE if arm.description.joint(name).kind == 'prismatic' else ANGLE
            for name in arm.joint_names]
    reach = np.minimum(most, ROOM * (high - low) / 2)
    reach[2::3] *= -1.0         # elbows fold back
    return np.clip([position + reach, position - reach], low, high)
