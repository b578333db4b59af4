"""References of sampled control laws: a pose, a Motion, or a function of time."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flex_robot_sim.model.arguments import array_or_nan
from flex_robot_sim.motion.joint_motion import Motion
from flex_robot_sim.util.exceptions import SettingError


class ReferenceFunction:
    """Positions, velocities and accelerations (3, joints) of the joints at any time."""

    def __init__(self, reference: Any, names: Sequence[str]) -> None:
        """
        Check the reference of a law for joints with these names.

        :param reference: a pose (joints,) [rad, m], a Motion, or a function of time [s] that
            returns positions, or positions, velocities and accelerations (3, joints).
        """
        self.names = tuple(names)
        self._function: Callable[[float], Any] | None = None
        if isinstance(reference, Motion):
            self._function = reference.sample
        elif callable(reference):
            self._function = reference
        else:
            self._constant = self._checked(reference, 'reference')

    def __call__(self, time: float) -> np.ndarray:
        """Positions, velocities and accelerations (3, joints) at a time [s]."""
        if self._function is None:
            return self._constant
        return self._checked(self._function(time), f'reference at {time:.6g} s')

    def _checked(self, points, name):
        n, points = len(self.names), array_or_nan(points)
        if points.shape not in ((n,), (3, n)) or not np.isfinite(points).all():
            raise SettingError(
                f'{name} must be {n} finite positions, or positions, velocities and accelerations '
                f'(3, {n}), in this order: {", ".join(self.names)}'
            )
        return points if points.ndim == 2 else np.array([points, 0 * points, 0 * points])
