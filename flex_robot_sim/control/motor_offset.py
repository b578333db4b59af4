"""Offset of motors from links that the twist of their gears needs to carry efforts."""

import numpy as np

from flex_robot_sim.model.arm_arrays import ArmArrays

MAX_ROUNDS = 50  # of the kinematic error at the position of the motor, which contract
ROUNDING = 1e-15  # change of the last of them                                      [rad, m]


class MotorOffset:
    """
    Offset of each motor, with every stiffness of its gear and its kinematic error.

    Backlash is left out: it would move the motor back and forth where an effort passes zero.
    """

    def __init__(self, arrays: ArmArrays, is_elastic: bool) -> None:
        """Take the gears of an arm; not elastic: the offset is zero."""
        has_gear = arrays.motor >= 0
        self._arrays = arrays
        self._compliance = is_elastic * np.where(
            has_gear, 1 / np.where(has_gear, arrays.gear_stiffness, 1.0), 0.0
        )
        has_law = (arrays.gear_share[:, 1] != 0.0) | (arrays.kinematic_error[:, 0, 0] != 0.0)
        self._rows = np.flatnonzero(has_gear & has_law) if is_elastic else np.zeros(0, int)

    def disable(self) -> None:
        """Set all offsets to zero from now on."""
        self._compliance[:] = 0.0
        self._rows = np.zeros(0, int)

    def update(self, effort: np.ndarray, position: np.ndarray, offset: np.ndarray) -> None:
        """
        Set the offsets (joints,) [rad, m].

        :param effort: on the link side, (joints,) [N m, N]; position: of the links [rad, m].
        """
        np.multiply(effort, self._compliance, out=offset)
        for j in self._rows:
            twist = np.copysign(self._twist(j, abs(effort[j])), effort[j])
            offset[j] = twist
            for _ in range(MAX_ROUNDS):
                error = self._error(j, position[j] + offset[j])
                change = twist + error - offset[j]
                offset[j] += change
                if abs(change) < ROUNDING:
                    break

    def _twist(self, j, effort):
        """Twist of the gear of joint j beyond its backlash, for an effort above zero."""
        arrays, stiffness, corner = self._arrays, 0.0, 0.0
        start = arrays.gear_corner[j] - arrays.gear_corner[j, 0]
        for share, at in zip(arrays.gear_share[j], start):
            if share != 0.0 and effort > stiffness * (at - corner):
                effort -= stiffness * (at - corner)
                stiffness, corner = stiffness + share * arrays.gear_stiffness[j], at
        return corner + effort / stiffness

    def _error(self, j, position):
        amplitude, wave_number, phase = self._arrays.kinematic_error[j].T
        return (amplitude * np.sin(wave_number * position + phase)).sum()
