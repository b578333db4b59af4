"""
Motions of all joints: piecewise polynomials of fifth degree.

Every piece is a table of coefficients (6, n) by the share u = 0 ... 1 of its duration. Sampling is
a single product of a row of powers with a table, because a hard real-time loop samples at every
step.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from math import comb
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.model.arguments import array_or_nan, number_or_nan
from flex_robot_sim.util.exceptions import SettingError, shortened
from flex_robot_sim.util.summary import counted

# rows: Bernstein coefficients from those of powers, by degree
BERNSTEIN = {
    degree: np.array(
        [[comb(i, j) / comb(degree, j) for j in range(degree + 1)] for i in range(degree + 1)]
    )
    for degree in (2, 3, 4, 5)
}
NEGLIGIBLE = 1e-300  # coefficient over the largest one


class Motion:
    """
    Positions, velocities and accelerations of n joints at any time.

    Example::

        motion = frs.planning.minimum_jerk_motion([0.0], [0.3], duration=0.8)
        motion.duration, motion.end                 # 0.8, 0.8
        motion.sample(0.2)                          # (3, 1)
        motion                                      # Motion of 1 joint, 1 piece, 0 to 0.8 s
    """

    def __init__(
        self, knots: Sequence[float], pieces: Sequence[np.ndarray], repeats_from: int | None = None
    ) -> None:
        """
        Join pieces.

        :param knots: times at which one piece follows another, rising (k,) [s].
        :param pieces: k + 1 tables (6, n); the first and the last one are constant.
        :param repeats_from: index of the knot to which the motion returns from the last one.
        """
        times, coefficients = array_or_nan(knots), array_or_nan(pieces)
        if (
            times.ndim != 1
            or not times.size
            or coefficients.shape[:2] != (times.size + 1, 6)
            or coefficients.ndim != 3
        ):
            raise SettingError(
                'a Motion needs k knots, times in a row, and k + 1 pieces, tables (6, joints)'
            )
        if repeats_from is not None and repeats_from not in range(times.size):
            raise SettingError(
                f'repeats_from = {shortened(repr(repeats_from), 60)} must be the index of a knot'
            )
        durations = np.ones(times.size + 1)
        durations[1:-1] = np.diff(times)
        self._set(times.tolist(), tables_of(coefficients, durations), repeats_from)

    @classmethod
    def of_tables(cls, knots: list[float], tables: np.ndarray) -> Motion:
        """Motion with knots (k,) [s] that shares tables (k + 1, 6, 3 n) of `tables_of`."""
        motion = cls.__new__(cls)
        motion._set(knots, tables, None)
        return motion

    def _set(self, knots, tables, repeats_from):
        self.knots, self.tables = knots, tables
        self._n = tables.shape[2] // 3
        self._powers = np.ones(6)
        self._repeats_from = None if repeats_from is None else knots[repeats_from]

    def __repr__(self) -> str:
        start = '' if self._repeats_from is None else f', repeats from {self._repeats_from:.6g} s'
        return (
            f'Motion of {counted(self._n, "joint")}, {counted(len(self.knots) - 1, "piece")}, '
            f'{self.knots[0]:.6g} to {self.knots[-1]:.6g} s{start}'
        )

    @property
    def duration(self) -> float:
        """From the first knot to the end, inf for a repeating motion [s]."""
        return self.end - self.knots[0]

    @property
    def end(self) -> float:
        """Time at which the joints come to rest, inf for a repeating motion [s]."""
        return self.knots[-1] if self._repeats_from is None else np.inf

    @property
    def repeats_from(self) -> float | None:
        """Time to which the motion returns from its last knot, or None [s]."""
        return self._repeats_from

    @property
    def pieces(self) -> list[np.ndarray]:
        """Coefficients (6, n) of every piece by the share of its duration."""
        return [*self.tables[:, :, : self._n]]

    @property
    def knot_positions(self) -> np.ndarray:
        """Positions (k, n) at the knots."""
        return self.tables[1:, 0, : self._n].copy()

    def extremes(
        self, lower: np.ndarray | float = np.inf, upper: np.ndarray | float = -np.inf
    ) -> tuple[np.ndarray, np.ndarray, list[float]]:
        """
        Lowest and highest positions (k - 1, n) between two knots each, and the knots (k,).

        :param lower: bounds (n,). For a piece that certainly lies between `lower` and `upper`,
            only its ends count. Default: all extremes are exact.
        """
        return *_reach(self.tables[1:-1, :, : self._n], lower, upper), self.knots

    def max_speeds(self, limits: np.ndarray | float = -np.inf) -> np.ndarray:
        """Largest speeds (k - 1, n) between knots; of slow pieces below `limits`, at the ends."""
        n = self._n
        lowest, highest = _reach(self.tables[1:-1, :5, n : 2 * n], -limits, limits)
        return np.maximum(highest, -lowest)

    def max_accelerations(self, limits: np.ndarray | float = -np.inf) -> np.ndarray:
        """Largest magnitudes of the acceleration (k - 1, n), as `max_speeds`."""
        lowest, highest = _reach(self.tables[1:-1, :4, 2 * self._n :], -limits, limits)
        return np.maximum(highest, -lowest)

    def max_jerks(self, limits: np.ndarray | float = -np.inf) -> np.ndarray:
        """Largest magnitudes of the jerk (k - 1, n), as `max_speeds`."""
        durations = np.diff(self.knots)[:, None, None]
        accelerations = self.tables[1:-1, 1:4, 2 * self._n :]
        jerks = np.arange(1.0, 4.0)[:, None] * accelerations / durations
        lowest, highest = _reach(jerks, -limits, limits)
        return np.maximum(highest, -lowest)

    def rates_of_piece(self, k: int, j: int) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients of velocity (5,) and acceleration (4,) of joint j after knot k."""
        table = self.tables[k + 1]
        return table[:5, self._n + j].copy(), table[:4, 2 * self._n + j].copy()

    def rates_at_knots(
        self, order: int, present: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """
        Velocities (order 1) or accelerations (2) before and after knots (k, n), k > 1.

        :param present: sample (3, n) before the first knot; None: as after it.
        :returns: values before, values after, and the mean duration of the adjacent pieces (k,),
            which is infinite at the first and the last knot.
        """
        columns = slice(order * self._n, (order + 1) * self._n)
        pieces, durations = self.tables[1:-1, :, columns], np.diff(self.knots)
        starts, ends = pieces[:, 0], pieces.sum(axis=1)
        first = starts[:1] if present is None else present[order][None]
        before = np.vstack([first, ends])
        after = np.vstack([starts, self.tables[-1:, 0, columns]])
        sides = np.concatenate([[np.inf], durations, [np.inf]])
        return before, after, (sides[1:] + sides[:-1]) / 2

    def sample(self, t: float) -> np.ndarray:
        """Positions, velocities and accelerations, rows of (3, n), at time t [s]."""
        out = np.empty(3 * self._n)
        try:
            self.set_sample(t, out)
        except (TypeError, ValueError):  # checked last, as loops sample in every period
            raise SettingError(f't = {shortened(repr(t), 60)} must be a time [s]') from None
        return out.reshape(3, self._n)

    def samples(self, times: ArrayLike) -> np.ndarray:
        """Return samples at many times (k,), as (k, 3, n)."""
        times = array_or_nan(times)
        if times.ndim != 1 or np.isnan(times).any():
            raise SettingError('times must be numbers in a row, (k,) [s]')
        out = np.empty((len(times), 3 * self._n))
        for t, row in zip(times.tolist(), out):
            self.set_sample(t, row)
        return out.reshape(-1, 3, self._n)

    def set_sample(self, t: float, out: np.ndarray) -> None:
        """Write positions, velocities and accelerations at time t [s] to `out` (3 n,)."""
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
        np.dot(powers, self.tables[i], out=out)


def _reach(curves, lower, upper):
    """Lowest and highest values (k, n) of polynomials (k, degree + 1, n) from 0 to 1."""
    curves = np.ascontiguousarray(curves)
    ends = curves[:, 0], curves.sum(axis=1)
    lowest, highest = np.minimum(*ends), np.maximum(*ends)
    # a curve lies between the least and the largest of its Bernstein coefficients
    hull = np.einsum('ij,kjn->kin', BERNSTEIN[curves.shape[1] - 1], curves)
    bottom, top = hull.min(axis=1), hull.max(axis=1)
    k, j = np.nonzero(((bottom < lowest) | (top > highest)) & ((bottom < lower) | (top > upper)))
    if k.size:
        extremes = _extremes_between_ends(curves[k, :, j])
        lowest[k, j] = np.fmin(lowest[k, j], extremes[0])
        highest[k, j] = np.fmax(highest[k, j], extremes[1])
    return lowest, highest


def _extremes_between_ends(curves):
    """Return local minima and maxima (2, m) of polynomials (m, degree + 1), or nan."""
    slopes = np.arange(1.0, curves.shape[1]) * curves[:, 1:]
    extremes = np.full((2, len(curves)), np.nan)
    # slopes of one degree at a time, without their roots at 0 and those far beyond 1
    is_term = np.abs(slopes) > NEGLIGIBLE * np.abs(slopes).max(axis=1, keepdims=True)
    last = slopes.shape[1] - 1 - np.argmax(is_term[:, ::-1], axis=1)
    first = np.argmax(is_term, axis=1)
    for low, high in set(zip(first.tolist(), last.tolist())):
        rows = np.flatnonzero((first == low) & (last == high) & is_term.any(axis=1))
        if high == low or not rows.size:
            continue
        # companion matrices, whose eigenvalues are the roots
        matrices = np.zeros((rows.size, high - low, high - low))
        matrices[:, range(1, high - low), range(high - low - 1)] = 1.0
        matrices[:, 0] = -slopes[rows, low:high][:, ::-1] / slopes[rows, high, None]
        roots = np.linalg.eigvals(matrices)
        stationary = np.where(
            (np.abs(roots.imag) < 1e-6) & (roots.real > 0) & (roots.real < 1), roots.real, np.nan
        )
        values = np.zeros_like(stationary)
        for terms in curves[rows].T[::-1]:
            values = values * stationary + terms[:, None]
        extremes[0, rows] = np.fmin.reduce(values, axis=1)
        extremes[1, rows] = np.fmax.reduce(values, axis=1)
    return extremes


# positions, velocities and accelerations below are (n,), or (k, n) for k pieces with T (k, 1)


def rest(position: np.ndarray) -> np.ndarray:
    """Piece at rest."""
    return _piece(position)


def line(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Piece at constant velocity."""
    return _piece(start, end - start)


def cubic(
    start: np.ndarray,
    end: np.ndarray,
    start_velocity: np.ndarray,
    end_velocity: np.ndarray,
    T: float,
) -> np.ndarray:
    """Piece of duration T [s] between positions with velocities (n,)."""
    d, v, w = end - start, start_velocity * T, end_velocity * T
    return _piece(start, v, 3 * d - 2 * v - w, v + w - 2 * d)


def quintic(
    start: np.ndarray,
    end: np.ndarray,
    start_velocity: np.ndarray,
    end_velocity: np.ndarray,
    start_acceleration: np.ndarray,
    end_acceleration: np.ndarray,
    T: float,
) -> np.ndarray:
    """Piece of duration T [s] between positions with velocities and accelerations (n,)."""
    d, v, w = end - start, start_velocity * T, end_velocity * T
    a, b = start_acceleration * (T * T) / 2, end_acceleration * (T * T) / 2
    return _piece(
        start,
        v,
        a,
        10 * d - 6 * v - 4 * w - 3 * a + b,
        -15 * d + 8 * v + 7 * w + 3 * a - 2 * b,
        6 * d - 3 * (v + w) - a + b,
    )


def minimum_jerk(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """
    Piece from rest to rest with the least mean square of jerk.

    Flash and Hogan, J. Neuroscience 5 (1985) 1688: d (10 u^3 - 15 u^4 + 6 u^5), with the largest
    velocity 15/8 d/T half way.
    """
    d = end - start
    return _piece(start, 0 * d, 0 * d, 10 * d, -15 * d, 6 * d)


def minimum_jerk_motion(
    start: ArrayLike, goal: ArrayLike, *, duration: float, begin: float = 0.0
) -> Motion:
    """
    Return the Motion of minimum jerk from rest to rest, independent of the arm.

    :param start: positions (n,) [rad, m]; goal: (n,).
    :param duration: from the start to the goal [s]; begin: time at the start [s].

    Example::

        motion = frs.planning.minimum_jerk_motion([0.0, 0.5], [0.3, -0.2], duration=0.8)
        position, velocity, acceleration = motion.sample(0.4)
        motion.samples(np.arange(0.0, 0.8, 1e-3)).shape         # (800, 3, 2)
    """
    start, goal = array_or_nan(start), array_or_nan(goal)
    if start.ndim != 1 or start.shape != goal.shape or not np.isfinite([start, goal]).all():
        raise SettingError('start and goal must be finite positions, one per joint each')
    if not isinstance(duration, Real) or not 0.0 < duration < np.inf:
        raise SettingError(f'duration = {duration!r} must be above 0 and finite [s]')
    if not np.isfinite(number_or_nan(begin)):
        raise SettingError(f'begin = {shortened(repr(begin), 60)} must be a finite time [s]')
    return Motion([begin, begin + duration], [rest(start), minimum_jerk(start, goal), rest(goal)])


def _piece(*coefficients):
    rows, n = coefficients[0].shape[:-1], coefficients[0].shape[-1]
    table = np.zeros((*rows, 6, n))
    for degree, values in enumerate(coefficients):
        table[..., degree, :] = values
    return table


def tables_of(pieces: np.ndarray, durations: np.ndarray) -> np.ndarray:
    """Tables (k, 6, 3 n) of positions, velocities and accelerations of pieces (k, 6, n) [s]."""
    k, _, n = pieces.shape
    order, T = np.arange(1.0, 6.0)[:, None], durations[:, None, None]
    tables = np.zeros((k, 6, 3 * n))
    tables[:, :, :n] = pieces
    tables[:, :5, n : 2 * n] = order * pieces[:, 1:] / T
    tables[:, :5, 2 * n :] = order * tables[:, 1:, n : 2 * n] / T
    return tables
