"""
Vibration that a shaper leaves of recorded modes, with an interval of 95 %.

It is the vibration of the tool after the recorded move with the shaper, over that without it. For
a sweep, the move is a step of acceleration. The interval covers two standard deviations of
frequencies and damping ratios. It also covers modes that the recording does not determine: they
have a small share of the vibration, all of which may be left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.resonance import Resonance
from flex_robot_sim.shaping.impulses import Shaper

DEVIATIONS = 2.0  # standard deviations of an interval of 95 %
GRID = 33  # frequencies of an interval
SHARE_FACTOR = 1.3  # of the share of a mode: shares are those some periods after the move
UNSEEN_SHARE = {'decay': 0.06, 'sweep': 0.02, 'spectrum': 0.1}  # of modes that are not found
SPECTRUM_SHARE_FACTOR = 4.0  # of the share of a mode that is excited all the time


class LeftInterval(NamedTuple):
    """Vibration left, over that without a shaper."""

    nominal: float
    low: float
    high: float


def deflection_shares(resonances: Sequence[Resonance]) -> np.ndarray:
    """Return the shares (m,) of modes in the deflection, from their sizes in accelerations."""
    sizes = np.array([one.size / one.frequency**2 for one in resonances])
    return sizes / sizes.sum()


def left_interval(
    shaper: Shaper, resonances: Sequence[Resonance], unseen: float = 0.0
) -> LeftInterval:
    """
    Return the LeftInterval of a shaper for the modes of a recording.

    :param unseen: share of the vibration of modes that the recording does not determine.
    """
    shares = deflection_shares(resonances)
    nominal = np.array([float(shaper.vibration(one.frequency, one.ratio)) for one in resonances])
    ranges = np.array([_range(shaper, one) for one in resonances])
    factors = np.array(
        [SPECTRUM_SHARE_FACTOR if one.way == 'spectrum' else SHARE_FACTOR for one in resonances]
    )
    unseen = max([2 * unseen, *(UNSEEN_SHARE[one.way] for one in resonances)])
    return LeftInterval(
        float(shares @ nominal),
        -_largest_mean(-ranges[:, 0], shares, factors),
        _largest_mean(ranges[:, 1], shares, factors) + min(unseen, 1.0),
    )


def _range(shaper, mode):
    """Return least and largest vibration over the interval of a mode."""
    half = DEVIATIONS * mode.frequency_deviation
    f = np.linspace(max(mode.frequency - half, 1e-3 * mode.frequency), mode.frequency + half, GRID)
    half = DEVIATIONS * mode.ratio_deviation
    ratios = np.clip([mode.ratio - half, mode.ratio, mode.ratio + half], 0.0, 0.9)
    left = np.array([shaper.vibration(f, ratio) for ratio in ratios])
    return left.min(), left.max()


def _largest_mean(values, shares, factors):
    """Return the largest weighted mean if each share may be off by its factor."""
    order = np.argsort(-values)
    means = []
    for count in range(len(values) + 1):
        raised = np.zeros(len(values), bool)
        raised[order[:count]] = True
        weights = shares * np.where(raised, factors, 1 / factors)
        means.append(float(weights @ values / weights.sum()))
    return max(means)
