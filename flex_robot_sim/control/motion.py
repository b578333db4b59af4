"""
Motions of all joints: polynomials of fifth degree, one after the other.

Every piece is a table of coefficients (6, n) by the share u = 0 ... 1 of its duration. To sample a
motion is one product of a row of powers with a table, because it happens at every step of a hard
real-time loop.
"""

from bisect import bisect_right
from collections.abc import Sequence
from math import comb

import numpy as np

# rows: Bernstein coefficients from those of powers, by degree
BERNSTEIN = {degree: np.array([[comb(i, j) / comb(degree, j) for j in range(degree + 1)]
                               for i in range(degree + 1)]) for degree in (4, 5)}


class Motion:
    """Positions, velocities and accelerations of n joints at any time."""

    def __init__(self, knots: Sequence[float], pieces: Sequence[np.ndarray],
                 repeats_from: int | None = None) -> None:
        """
        Join pieces.

        :param knots: times at which one piece follows another, rising (k,) [s].
        :param pieces: k + 1 tables (6, n); the first and the last one are constant.
        :param repeats_from: index of the knot to which the motion returns from the last one.
        """
        self.knots = [float(knot) for knot in knots]
        self._n = pieces[0].shape[1]
        durations = [1.0, *np.diff(self.knots), 1.0]
        self._tables = [_with_slopes(piece, T) for piece, T in zip(pieces, durations)]
        self._powers = np.ones(6)
        self._repeats_from = None if repeats_from is None else self.knots[repeats_from]

    @property
    def end(self) -> float:
        """When the joints come to rest for good [s]."""
        return self.knots[-1] if self._repeats_from is None else np.inf

    @property
    def repeats_from(self) -> float | None:
        """Time to which the motion returns from its last knot, or None [s]."""
        return self._repeats_from

    @property
    def pieces(self) -> list[np.ndarray]:
        """Coefficients (6, n) of every piece by the share of its duration, as given."""
        return [table[:, :self._n] for table in self._tables]

    @property
    def corners(self) -> np.ndarray:
        """Positions (k, n) at the knots."""
        return np.array([table[0, :self._n] for table in self._tables[1:]])

    def extremes(self) -> tuple[np.ndarray, np.ndarray, list[float]]:
        """Lowest and highest positions (k - 1, n) between two knots each, and the knots (k,)."""
        n = self._n
        return *_reach(np.array([table[:, :n] for table in self._tables[1:-1]]).reshape(
            -1, 6, n)), self.knots

    def fastest(self) -> np.ndarray:
        """Largest speeds (k - 1, n) between two knots each [rad/s, m/s]."""
        n = self._n
        lowest, highest = _reach(np.array(
            [table[:5, n:2 * n] for table in self._tables[1:-1]]).reshape(-1, 5, n))
        return np.maximum(highest, -lowest)

    def sample(self, t: float) -> np.ndarray:
        """Positions, velocities and accelerations, rows of (3, n), at time t [s]."""
        out = np.empty(3 * self._n)
        self.set_sample(t, out)
        return out.reshape(3, self._n)

    def samples(self, times: np.ndarray) -> np.ndarray:
        """Return the same at many times (k,), as (k, 3, n)."""
        out = np.empty((len(times), 3 * self._n))
        for t, row in zip(times.tolist(), out):
            self.set_sample(t, row)
        return out.reshape(-1, 3, self._n)

    def set_sample(self, t: float, out: np.ndarray) -> None:
        """Likewise, one after the other into `out` (3 n,)."""
        knots, powers = self.knots, self._powers
        if self._repeats_from is not None and t >= knots[-1]:
            first = self._repeats_from
            t = first + (t - first) % (knots[-1] - first)
        i = bisect_right(knots, t)
        u = 0.0
        if 0 < i < len(knots):
            start = knots[i - 1]
            u = (t - start) / (knots[i] - start)
        powers[1] = u
        powers[2] = square = u * u
        powers[3] = cube = square * u
        powers[4] = square * square
        powers[5] = square * cube
        np.dot(powers, self._tables[i], out=out)


def _reach(curves):
    """Lowest and highest values (k, n) of polynomials (k, degree + 1, n) from 0 to 1."""
    ends = curves[:, 0], curves.sum(axis=1)
    lowest, highest = np.minimum(*ends), np.maximum(*ends)
    degree = curves.shape[1] - 1
    # a curve lies between the least and the largest of its Bernstein coefficients
    hull = np.einsum('ij,kjn->kin', BERNSTEIN[degree], curves)
    beyond = (hull.min(axis=1) < lowest) | (hull.max(axis=1) > highest)
    for k, j in np.argwhere(beyond):
        slope = np.arange(1.0, degree + 1) * curves[k, 1:, j]
        turns = np.roots(slope[::-1])
        turns = turns.real[(np.abs(turns.imag) < 1e-6) & (turns.real > 0) & (turns.real < 1)]
        places = np.polyval(curves[k, ::-1, j], turns)
        lowest[k, j] = places.min(initial=lowest[k, j])
        highest[k, j] = places.max(initial=highest[k, j])
    return lowest, highest


def rest(position: np.ndarray) -> np.ndarray:
    """Piece that stands still."""
    return _piece(position)


def line(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Piece at constant velocity."""
    return _piece(start, end - start)


def cubic(start: np.ndarray, end: np.ndarray, start_velocity: np.ndarray, end_velocity: np.ndarray,
          T: float) -> np.ndarray:
    """Piece of duration T [s] between positions with velocities (n,)."""
    d, v, w = end - start, start_velocity * T, end_velocity * T
    return _piece(start, v, 3 * d - 2 * v - w, v + w - 2 * d)


def quintic(start: np.ndarray, end: np.ndarray, start_velocity: np.ndarray,
            end_velocity: np.ndarray, start_acceleration: np.ndarray, end_acceleration: np.ndarray,
            T: float) -> np.ndarray:
    """Piece of duration T [s] between positions with velocities and accelerations (n,)."""
    d, v, w = end - start, start_velocity * T, end_velocity * T
    a, b = start_acceleration * T**2 / 2, end_acceleration * T**2 / 2
    return _piece(start, v, a,
                  10 * d - 6 * v - 4 * w - 3 * a + b,
                  -15 * d + 8 * v + 7 * w + 3 * a - 2 * b,
                  6 * d - 3 * (v + w) - a + b)


def minimum_jerk(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """
    Piece from rest to rest with the least mean square of jerk.

    Flash and Hogan, J. Neuroscience 5 (1985) 1688: d (10 u^3 - 15 u^4 + 6 u^5), with the largest
    velocity 15/8 d/T half way.
    """
    d = end - start
    return _piece(start, 0 * d, 0 * d, 10 * d, -15 * d, 6 * d)


def _piece(*coefficients):
    table = np.zeros((6, coefficients[0].size))
    table[:len(coefficients)] = coefficients
    return table


def _with_slopes(piece, T):
    """Table (6, 3 n) of positions, velocities and accelerations of a piece of duration T."""
    order = np.arange(1.0, 6.0)[:, None]
    slope, bend = np.zeros((2, *piece.shape))
    slope[:5] = order * piece[1:] / T
    bend[:5] = order * slope[1:] / T
    return np.hstack([piece, slope, bend])
