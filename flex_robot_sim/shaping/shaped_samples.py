"""
Shaped motions: sampled set points and Motions.

They end exactly where the motion ends, later by the duration of the shaper.
"""

from __future__ import annotations

from bisect import bisect_left
from math import comb

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.motion.joint_motion import Motion, rest
from flex_robot_sim.shaping.impulses import Shaper
from flex_robot_sim.shaping.sampled_positions import checked_samples, convolved_samples
from flex_robot_sim.util.exceptions import SettingError, shortened

SAME_TIME = 1e-12  # distance over the duration: closer knots are merged


def shaped_samples(shaper: Shaper, samples: ArrayLike, period: float) -> np.ndarray:
    """Shape set points (k, n) [rad, m] of a period [s] to (k + delay, n); constant history."""
    samples = checked_samples(samples)
    return convolved_samples(samples, *shaper.fir(period))


def shaped_motion(shaper: Shaper, motion: Motion) -> Motion:
    """
    Shape a Motion; polynomials remain polynomials, without sampling (S1).

    Example::

        motion = frs.planning.minimum_jerk_motion([0.0], [0.5], duration=0.4)
        shaped = frs.shaping.shaped_motion(frs.shaping.zvd(2.7), motion)
        shaped.end                                  # later by the duration of the shaper
    """
    if not isinstance(shaper, Shaper):
        raise SettingError(f'shaper = {shortened(repr(shaper), 60)} must be a Shaper')
    if not isinstance(motion, Motion):
        raise SettingError(
            f'{shortened(repr(motion), 60)} is no Motion: set points in an array '
            'are shaped by shaper.shape(times, positions)'
        )
    if shaper.times.size == 1:
        return motion
    knots, pieces, cycle = motion.knots, motion.pieces, None
    if motion.end == np.inf:
        knots, pieces, cycle = _unrolled(motion, shaper.duration)
    merged = np.unique(np.add.outer(shaper.times, knots).ravel())
    if cycle is not None:
        ends = np.array([knots[-1] - cycle, knots[-1]])
        merged = np.unique(np.concatenate([merged[merged < ends[1]], ends]))
    nearest = SAME_TIME * max(merged[-1] - merged[0], 1.0)
    merged = merged[np.concatenate([[True], np.diff(merged) > nearest])]
    shaped = [pieces[0]]
    for start, end in zip(merged, merged[1:]):
        middle = (start + end) / 2
        total = 0.0
        for time, amplitude in zip(shaper.times, shaper.amplitudes):
            i = int(np.searchsorted(knots, middle - time))
            if 0 < i < len(knots):
                T = knots[i] - knots[i - 1]
                piece = _part(pieces[i], (start - time - knots[i - 1]) / T, (end - start) / T)
            else:
                piece = pieces[min(i, len(knots))]
            total = total + amplitude * piece
        shaped.append(total)
    shaped.append(rest(pieces[-1][0]))
    if cycle is None:
        return Motion(merged, shaped)
    first = int(np.argmin(np.abs(merged - (knots[-1] - cycle))))
    return Motion(merged, shaped, repeats_from=first)


def _unrolled(motion, duration):
    """Knots and pieces of a periodic motion, unrolled until they contain a shaped cycle."""
    knots, pieces = list(motion.knots), motion.pieces
    start = motion.repeats_from
    first = knots.index(start)
    cycle = knots[-1] - start
    period_knots, period_pieces = np.array(knots[first + 1 :]) - start, pieces[first + 1 : -1]
    pieces = pieces[:-1]
    for _ in range(1 + int(np.ceil(duration / cycle))):
        knots += list(knots[-1] + period_knots)
        pieces += period_pieces
    return knots, [*pieces, rest(pieces[-1].sum(axis=0))], cycle


def _part(piece, start, length):
    """Coefficients of a polynomial on a part of its range, by the share of that part."""
    out = np.zeros_like(piece)
    for i in range(6):
        for j in range(i + 1):
            out[j] += comb(i, j) * start ** (i - j) * length**j * piece[i]
    return out


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
            'dki,kin->dkn', np.array([powers, slopes / T, bends / T**2]), pieces[rows]
        )
        newest = values if newest is None else newest
        # relative to the newest one: a constant motion has no rounding errors
        total = total + amplitude * (values - newest)
    assert newest is not None  # every shaper has an impulse
    total = newest + total
    # differences of times are rounded; the end must be exact
    total[:, times >= knots[-1] + shaper.duration] = np.array(
        [pieces[-1][0], 0 * pieces[-1][0], 0 * pieces[-1][0]]
    )[:, None]
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
        knots, pieces = old.knots[:count], old.pieces[: count + 1]
        if count < len(old.knots):
            start, end = old.knots[count - 1], old.knots[count]
            # the first part of this piece, by the share of that part
            pieces[-1] = pieces[-1] * ((cut - start) / (end - start)) ** np.arange(6.0)[:, None]
        while len(knots) > 1 and knots[1] < since:
            del knots[0], pieces[0]
        pieces[0] = rest(pieces[1][0])
    times = [shift + time for time in new.knots[1:]]
    return Motion([*knots, cut, *times], [*pieces, *new.pieces[1:]])
