"""Axis of a straight beam, with the interface of an AxisCurve."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class StraightAxis:
    """The x axis from 0 on; sections do not turn along it."""

    length: float  # [m]

    def positions(self, s: ArrayLike) -> np.ndarray:
        """Positions (m, 3) [m] at arc lengths s (m,) [m]."""
        s = np.atleast_1d(np.asarray(s, float))
        return np.column_stack([s, np.zeros((len(s), 2))])

    def frames(self, s: ArrayLike) -> np.ndarray:
        """Rotations (m, 3, 3) of the sections at arc lengths s (m,) [m]."""
        return np.tile(np.eye(3), (np.size(s), 1, 1))
