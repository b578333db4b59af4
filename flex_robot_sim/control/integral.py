"""
Integral action of a servo: it compensates an unknown payload and dry friction.

A PD servo gives way under a payload that its model does not include. Integral action sums the
efforts K e of its stiffness,

    v' = s w K e,    wanted = K e + D e' + v,                                                (C29)

with the rate w = sqrt(K / J) of a joint when alone and rigid, and a share s. Anti-windup: at an
effort limit the sum only changes away from the limit, and the sum itself stays within the limit.

A joint with dry friction sticks while the sum grows, and moves on when the sum has overcome the
friction. Integration stops near the target, which avoids hunting (stick-slip limit cycles).
"""

import numpy as np

from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.friction import static_frictions

FADE_TIME_S = 0.5  # fade-out time of the sum after switch-off                         [s]
ZERO_EFFORT = 1e-9  # below it an effort is zero                                   [N m, N]
# position errors below which the sum is frozen                                         [rad, m]
REST_TURN_ERROR, REST_SLIDE_ERROR = 5e-4, 1e-4


class Integral:
    """Integral efforts (joints,), which grow while joints are off their targets [N m, N]."""

    def __init__(self, joints: int) -> None:
        """Begin switched off."""
        self.effort, self._rates, self._change = np.zeros((3, joints))
        self.is_on = False  # whether `update` has anything to do
        self._is_fading = False
        self._rest_effort = np.zeros(joints)
        self._last: float | None = None

    def set_rates(self, rates: np.ndarray | None, rest_effort: np.ndarray | float = 0.0) -> None:
        """Integrate K e above `rest_effort` at rates s w (joints,) [1/s]; 0 or None: fade out."""
        self._rest_effort = np.broadcast_to(rest_effort, self._rates.shape)
        self._rates[:] = 0.0 if rates is None else rates
        self._is_fading = not self._rates.any()
        self.is_on = not self._is_fading or bool(np.any(self.effort))

    def reset(self) -> None:
        """Clear the sum, after another controller has moved the arm."""
        self.effort[:] = 0.0
        self._last = None

    def update(
        self, now: float, spring_effort: np.ndarray, unlimited: np.ndarray, limits: np.ndarray
    ) -> None:
        """
        Advance to a time [s].

        :param spring_effort: K e, (joints,) [N m, N]; unlimited: efforts before limits,
            without the sum; limits: of the motors.
        """
        last, self._last = self._last, now
        duration = 0.0 if last is None else max(now - last, 0.0)
        effort, change = self.effort, self._change
        if self._is_fading:
            effort *= max(0.0, 1.0 - duration / FADE_TIME_S)
            self.is_on = bool((np.abs(effort) > ZERO_EFFORT).any())
            return
        np.multiply(self._rates, spring_effort, out=change)
        change *= duration
        total = unlimited + effort
        change[(np.abs(total) >= limits) & (total * change > 0.0)] = 0.0
        change[np.abs(spring_effort) <= self._rest_effort] = 0.0
        effort += change
        np.minimum(effort, limits, out=effort)
        np.maximum(effort, -limits, out=effort)


def rest_spring_effort(arm: ArmModel, stiffness: np.ndarray) -> np.ndarray:
    """Effort K e (joints,) at which joints with dry friction rest, 0 without it [N m, N]."""
    near = np.array([REST_SLIDE_ERROR if unit == 'm' else REST_TURN_ERROR for unit in arm.units])
    return np.where(static_frictions(arm.arrays.friction) > 0.0, near * stiffness, 0.0)
