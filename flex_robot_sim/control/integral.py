"""
Integral action of a servo: what it takes beside the weight that is fed forward.

A PD servo gives way to a payload that nobody has told it of. So the efforts K e of its stiffness
are summed up,

    v' = s w K e,    wanted = K e + D e' + v,                                                (C29)

with the rate w = sqrt(K / J) of a joint when alone and rigid, and a share s. A motor at its limit
adds nothing to the sum but what takes it away from there, so that it never winds up, and the sum
itself stays within the limit.

A joint with dry friction stands still while the sum grows, and moves on when the sum has overcome
the friction. So that it does not hunt about its target, nothing is summed up near the target.
"""

import numpy as np

from flex_robot_sim.model.arm_model import ArmModel

FADE = 0.5              # in which the sum vanishes when it is switched off                 [s]
NOTHING = 1e-9          # effort that is none                                          [N m, N]
# errors at which a joint with dry friction rests                                       [rad, m]
RESTING_TURN, RESTING_SLIDE = 5e-4, 1e-4


class Integral:
    """Efforts (joints,) that grow as long as joints are away from their targets [N m, N]."""

    def __init__(self, joints: int) -> None:
        """Begin switched off."""
        self.effort, self._rates, self._change = np.zeros((3, joints))
        self.is_on = False              # whether `update` has anything to do
        self._is_fading = False
        self._resting = np.zeros(joints)
        self._last: float | None = None

    def set_rates(self, rates: np.ndarray | None, resting: np.ndarray | float = 0.0) -> None:
        """
        Sum up at rates s w, (joints,) [1/s]; with zeros or None what is summed up fades.

        :param resting: pull K e up to which nothing is summed up, of `resting_pull` [N m, N].
        """
        self._resting = np.broadcast_to(resting, self._rates.shape)
        self._rates[:] = 0.0 if rates is None else rates
        self._is_fading = not self._rates.any()
        self.is_on = not self._is_fading or bool(np.any(self.effort))

    def reset(self) -> None:
        """Forget all: somebody else has led the arm."""
        self.effort[:] = 0.0
        self._last = None

    def update(self, now: float, pull: np.ndarray, wanted: np.ndarray, limits: np.ndarray) -> None:
        """
        Go on to a time [s].

        :param pull: K e, (joints,) [N m, N]; wanted: efforts without limits and without the sum;
            limits: of the motors.
        """
        last, self._last = self._last, now
        duration = 0.0 if last is None else max(now - last, 0.0)
        effort, change = self.effort, self._change
        if self._is_fading:
            effort *= max(0.0, 1.0 - duration / FADE)
            self.is_on = bool((np.abs(effort) > NOTHING).any())
            return
        np.multiply(self._rates, pull, out=change)
        change *= duration
        total = wanted + effort
        change[(np.abs(total) >= limits) & (total * change > 0.0)] = 0.0
        change[np.abs(pull) <= self._resting] = 0.0
        effort += change
        np.minimum(effort, limits, out=effort)
        np.maximum(effort, -limits, out=effort)


def resting_pull(arm: ArmModel, stiffness: np.ndarray) -> np.ndarray:
    """Pull K e (joints,) at which joints with dry friction rest, 0 for the others [N m, N]."""
    near = np.array([RESTING_SLIDE if unit == 'm' else RESTING_TURN for unit in arm.units])
    return np.where(arm.arrays.coulomb + arm.arrays.stiction > 0.0, near * stiffness, 0.0)
