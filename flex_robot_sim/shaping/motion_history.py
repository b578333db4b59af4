"""Motion history: concatenated motions, and samples of a shaped motion at any times."""

from bisect import bisect_left

import numpy as np

from flex_robot_sim.motion.motion import Motion, rest
from flex_robot_sim.shaping.impulses import Shaper


def sampled(shaper: Shaper, motion: Motion, times: np.ndarray) -> np.ndarray:
    """Positions, velocities and accelerations (3, k, n) of a shaped Motion at times (k,) (S1)."""
    knots, pieces = np.array(motion.knots), np.array(motion.pieces)
    lengths = np.concatenate([[1.0], np.diff(knots), [1.0]])
    order = np.arange(6.0)
    newest, total = None, np.zeros(())
    for delay, amplitude in zip(shaper.times, shaper.amplitudes):
        rows = np.searchsorted(knots, times - delay, side='right')
        inside = (rows > 0) & (rows < knots.size)
        u = np.where(inside, (times - delay - knots[np.maximum(rows, 1) - 1]) / lengths[rows], 0.0)
        powers = u[:, None] ** order
        slopes, bends = np.zeros_like(powers), np.zeros_like(powers)
        slopes[:, 1:] = order[1:] * powers[:, :-1]
        bends[:, 2:] = order[2:] * order[1:-1] * powers[:, :-2]
        T = lengths[rows][:, None]
        values = np.einsum(
            'dki,kin->dkn', np.array([powers, slopes / T, bends / T**2]), pieces[rows])
        newest = values if newest is None else newest
        # relative to the newest one: a constant motion has no rounding errors
        total = total + amplitude * (values - newest)
    assert newest is not None       # every shaper has an impulse
    total = newest + total
    # differences of times are rounded; the end must be exact
    total[:, times >= knots[-1] + shaper.duration] = np.array(
        [pieces[-1][0], 0 * pieces[-1][0], 0 * pieces[-1][0]])[:, None]
    return total


def appended(old: Motion | None, new: Motion, cut: float, shift: float, since: float) -> Motion:
    """
    Motion that changes from one motion to another.

    :param old: None without a previous motion.
    :param cut: time of the change; shift: time at which the new motion starts [s].
    :param since: earlier history is discarded [s].
    """
    knots, pieces = [], [new.pieces[0]]
    if old is not None and old.knots[0] < cut:
        count = bisect_left(old.knots, cut)
        knots, pieces = old.knots[:count], old.pieces[:count + 1]
        if count < len(old.knots):
            start, end = old.knots[count - 1], old.knots[count]
            pieces[-1] = shortened(pieces[-1], (cut - start) / (end - start))
        while len(knots) > 1 and knots[1] < since:
            del knots[0], pieces[0]
        pieces[0] = rest(pieces[1][0])
    times = [shift + time for time in new.knots[1:]]
    return Motion([*knots, cut, *times], [*pieces, *new.pieces[1:]])


def shortened(piece: np.ndarray, share: float) -> np.ndarray:
    """Coefficients of the first part of a piece, by the share of that part."""
    return piece * share**np.arange(6.0)[:, None]
