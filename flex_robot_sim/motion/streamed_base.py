"""Motion of a base through poses and twists that arrive one at a time, such as in messages."""

from __future__ import annotations

from typing import Any

import numpy as np

from flex_robot_sim.dynamics.moved_base import TWIST
from flex_robot_sim.motion.base_motion import SampledBaseMotion, with_continuous_signs


class StreamedBaseMotion(SampledBaseMotion):
    """
    A motion through poses and twists, and on to rest.

    Cubic polynomials in position and quaternion join them. Another one stops the base.
    """

    def __init__(self, times: np.ndarray, states: np.ndarray, stop_time: float) -> None:
        """
        Join poses and twists (k, 13), as in `dynamics.moved_base.place_base`.

        :param times: ascending (k,) [s]; stop_time: in which the base stops after the last [s].
        """
        from scipy.interpolate import CubicHermiteSpline  # imported late: rarely needed

        self.states, self.stop_time, self.end = states, stop_time, np.inf
        poses = with_continuous_signs(states[:, :TWIST])
        rates = _rates(poses, states[:, TWIST:])
        rest = poses[-1] + 0.5 * stop_time * rates[-1]
        self.times = np.append(times, times[-1] + stop_time)
        self._join(
            CubicHermiteSpline(
                self.times, np.vstack([poses, rest]), np.vstack([rates, np.zeros(7)])
            )
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.times[:-1], self.states, self.stop_time)


def _rates(poses, twists):
    """Rates (k, 7) of positions and quaternions for twists (k, 6) in the axes of the base."""
    u, w, omega, v = poses[:, 3:6], poses[:, 6:], twists[:, :3], twists[:, 3:]
    velocity = v + 2.0 * np.cross(u, np.cross(u, v) + w * v)
    turning = w * omega + np.cross(u, omega), -np.einsum('ka,ka->k', u, omega)[:, None]
    return np.hstack([velocity, 0.5 * np.hstack(turning)])
