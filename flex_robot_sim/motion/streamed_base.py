"""Motion of a base towards a pose and twist that arrive one at a time, such as in messages."""

from __future__ import annotations

from typing import Any

import numpy as np

from flex_robot_sim.dynamics.moved_base import RATE, TWIST
from flex_robot_sim.motion.base_motion import SampledBaseMotion
from flex_robot_sim.spatial.turns import rotation


class ApproachingBaseMotion(SampledBaseMotion):
    """
    A motion from the present state of a base to a pose and twist, and on to rest.

    Polynomials of fourth degree in position and quaternion begin with the present pose, twist and
    rate of the twist. Cubic ones stop the base in the same time.
    """

    def __init__(self, begin: float, duration: float, sample: np.ndarray, end: np.ndarray) -> None:
        """
        Reach a pose and twist (13,) some time after a time [s] at which a sample (19,) holds.

        The sample is as in `dynamics.moved_base.place_base`.
        """
        from scipy.interpolate import BPoly  # imported late: rarely needed

        self._arguments = begin, duration, sample, end
        self.times, self.end = begin + duration * np.arange(3.0), np.inf
        target = end.copy()
        if target[3:TWIST] @ sample[3:TWIST] < 0.0:
            target[3:TWIST] *= -1.0
        pose, rate, _ = _derivatives(np.append(target, np.zeros(6)))
        rest = pose + 0.5 * duration * rate
        self._spline = BPoly.from_derivatives(
            self.times, [_derivatives(sample), [pose, rate], [rest, np.zeros(7)]]
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._arguments


def _derivatives(sample):
    """Pose (7,), and its first and second derivatives, from a sample (19,)."""
    R, q = rotation(sample[3:TWIST]), sample[3:TWIST]
    omega, v = sample[TWIST : TWIST + 3], sample[TWIST + 3 : RATE]
    alpha, dv = sample[RATE : RATE + 3], sample[RATE + 3 :]
    turning = 0.5 * _product(q, alpha) - 0.25 * (omega @ omega) * q
    return [
        sample[:TWIST],
        np.append(R @ v, 0.5 * _product(q, omega)),
        np.append(R @ (dv + np.cross(omega, v)), turning),
    ]


def _product(q, u):
    """Product of a quaternion (4,), x y z w, and a vector (3,)."""
    return np.append(q[3] * u + np.cross(q[:3], u), -(q[:3] @ u))
