"""
Parametrized joint paths from rest to rest, as a Motion.

Every joint follows minimum jerk plus a sum of B-splines of fifth degree over equal pieces of time.
Splines with a position, velocity or acceleration at the ends are left out (C26). Each piece is a
polynomial of fifth degree, so a trajectory of its corners with velocities and accelerations is
equivalent.
"""

import numpy as np
from scipy.interpolate import BSpline, PPoly

from flex_robot_sim.motion.joint_motion import Motion, rest

DEGREE = 5
END_SPLINES = 3  # at either end, with a position, velocity or acceleration there


class SplinePaths:
    """Family of paths between two poses, with `count` splines per joint."""

    def __init__(self, start: np.ndarray, goal: np.ndarray, count: int) -> None:
        """Compute the splines; start and goal are (n,) [rad, m]."""
        self.start, self.goal, self.count = start, goal, count
        pieces = count + 2 * END_SPLINES - DEGREE
        self.corners = np.linspace(0.0, 1.0, pieces + 1)
        knots = np.concatenate([np.zeros(DEGREE), self.corners, np.ones(DEGREE)])
        self._tables = np.zeros((count, pieces, DEGREE + 1))  # by the share of a piece
        for k in range(count):
            weights = np.zeros(count + 2 * END_SPLINES)
            weights[END_SPLINES + k] = 1.0
            polynomial = PPoly.from_spline(BSpline(knots, weights, DEGREE))
            rows = polynomial.c[::-1, DEGREE : DEGREE + pieces].T  # rising powers
            self._tables[k] = rows * (1.0 / pieces) ** np.arange(DEGREE + 1)
        self._base = np.zeros((pieces, DEGREE + 1))
        polynomial = np.polynomial.Polynomial([0, 0, 0, 10, -15, 6])
        for i, corner in enumerate(self.corners[:-1]):
            piece = polynomial(np.polynomial.Polynomial([corner, 1.0 / pieces]))
            self._base[i, : piece.coef.size] = piece.coef

    def motion(self, weights: np.ndarray, duration: float, begin: float = 0.0) -> Motion:
        """Return the Motion for weights (joints, count) [rad, m] that takes `duration` [s]."""
        tables = np.einsum('jk,kpc->pcj', weights, self._tables)
        tables += self._base[:, :, None] * (self.goal - self.start)
        tables[:, 0] += self.start
        return Motion(
            [*(begin + duration * self.corners)], [rest(self.start), *tables, rest(self.goal)]
        )
