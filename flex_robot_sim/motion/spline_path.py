"""
Paths of joints from rest to rest with numbers left to choose, as a Motion.

Every joint goes along minimum jerk plus a sum of B-splines of fifth degree over equal pieces of
time, without those that would give it a place, a speed or an acceleration at the ends (C26). A
piece is a polynomial of fifth degree, so that a trajectory of its corners with velocities and
accelerations says the same.
"""

import numpy as np
from scipy.interpolate import BSpline, PPoly

from flex_robot_sim.motion.motion import Motion, minimum_jerk, rest

DEGREE = 5
AT_REST = 3             # splines at either end that have a place, a speed or an acceleration there


class SplinePaths:
    """All paths between two poses that differ by `count` splines per joint."""

    def __init__(self, start: np.ndarray, goal: np.ndarray, count: int) -> None:
        """Lay out the splines; start and goal are (n,) [rad, m]."""
        self.start, self.goal, self.count = start, goal, count
        pieces = count + 2 * AT_REST - DEGREE
        self.corners = np.linspace(0.0, 1.0, pieces + 1)
        knots = np.concatenate([np.zeros(DEGREE), self.corners, np.ones(DEGREE)])
        self._tables = np.zeros((count, pieces, DEGREE + 1))    # by the share of a piece
        for k in range(count):
            weights = np.zeros(count + 2 * AT_REST)
            weights[AT_REST + k] = 1.0
            whole = PPoly.from_spline(BSpline(knots, weights, DEGREE))
            rows = whole.c[::-1, DEGREE:DEGREE + pieces].T       # rising powers
            self._tables[k] = rows * (1.0 / pieces)**np.arange(DEGREE + 1)
        self._base = np.zeros((pieces, DEGREE + 1))
        whole = np.polynomial.Polynomial([0, 0, 0, 10, -15, 6])
        for i, corner in enumerate(self.corners[:-1]):
            piece = whole(np.polynomial.Polynomial([corner, 1.0 / pieces]))
            self._base[i, :piece.coef.size] = piece.coef

    def motion(self, weights: np.ndarray, duration: float, begin: float = 0.0) -> Motion:
        """Return the Motion for weights (joints, count) [rad, m] that takes `duration` [s]."""
        tables = np.einsum('jk,kpc->pcj', weights, self._tables)
        tables += self._base[:, :, None] * (self.goal - self.start)
        tables[:, 0] += self.start
        return Motion([*(begin + duration * self.corners)], [rest(self.start), *tables,
                                                        rest(self.goal)])


def plain_motion(start: np.ndarray, goal: np.ndarray, duration: float,
                 begin: float = 0.0) -> Motion:
    """Return the Motion of minimum jerk, which knows nothing of what bends."""
    return Motion([begin, begin + duration], [rest(start), minimum_jerk(start, goal), rest(goal)])
