"""Simulation of an arm for a page: free fall, or prescribed drive motion."""

import numpy as np

from flex_robot_sim.analysis.natural_modes import frequencies
from flex_robot_sim.demo.swing import MAX_BENDING_RATIO, MAX_SWING, SWING_SHARE
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.free_base import without_free_fall
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.viewer.joint_sliders import ranges

PAUSE_PERIODS = 5.0  # pause at either end of a swing, in units of 1 / rate of the drives
MIN_PAUSE_S = 4.0  # shortest pause
MAX_RATE = 6.0  # of the approach of a drive to its target                     [1/s]


class Live:
    """A simulation and the motion of its drives."""

    def __init__(self, arm: ArmModel) -> None:
        self._arm, self.simulation = arm, Simulation(arm)
        self._begin = self.simulation.save_state()  # a moved base has its pose at time zero
        self._motors = arm.motor_q
        self._drives: FollowedTargets | None = None
        self._start, self._poses = np.zeros(arm.size), np.zeros((0, 0))
        self._reversed_at = 0.0

    def start(self, q: np.ndarray, swings: bool) -> None:
        """Start from rest at coordinates (n,): in free fall, or swinging between two poses."""
        self._start, self._reversed_at = np.array(q, float), 0.0
        self.simulation.restore_state(self._begin)
        self.simulation.set_state(q=q)
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
        positions, rates = self._drives.samples(step, count)
        if self.simulation.is_base_moved:
            self._follow_on_moved_base(positions, rates, step)
        else:
            self.simulation.follow(positions, rates)

    def _follow_on_moved_base(self, positions, rates, step):
        """Move the drives along samples, one step apart, while the base moves, too."""
        simulation, last = self.simulation, len(positions) - 1
        start = simulation.time

        def motion(joint):
            def at(time):
                row = min(max(round((time - start) / step), 0), last)
                return positions[row, joint], rates[row, joint]

            return at

        for joint, name in enumerate(self._arm.joint_names):
            if self._arm.actuated[joint]:
                simulation.prescribe(name, motion(joint))
        simulation.step(last)


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
        first = next((f for f in frequencies(without_free_fall(arm), position) if f > 0.0), np.inf)
        self.rate = float(
            min(2 * np.pi * first * np.sqrt(MAX_BENDING_RATIO / max(travel, 1e-3)), MAX_RATE)
        )

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


def swing_poses(arm: ArmModel, position: np.ndarray) -> np.ndarray:
    """Return two poses (2, joints) around a position, within the joint ranges [rad, m]."""
    low, high = ranges(arm).T
    reach = np.minimum([MAX_SWING[unit] for unit in arm.units], SWING_SHARE * (high - low) / 2)
    reach[2::3] *= -1.0  # elbows fold back
    return np.clip([position + reach, position - reach], low, high)
