"""
Motions that make an arm tell about itself: each begins and ends at rest, and rests before the end.

    decay       fast moves to and fro with a rest behind each, in which the links ring down
    sweep       one sine whose frequency rises
    multisine   sines of equal acceleration with the phases of Schroeder (I14)
    fourier     the periodic series of Swevers (I15), whose coefficients somebody chooses
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicHermiteSpline

KINDS = ('fourier', 'decay', 'sweep', 'multisine')
REST = 0.15             # share of an experiment at its end, in which links ring down
STILL = 0.5             # at its beginning                                                  [s]
RISE = 0.1              # share of the motion over which it grows, and dies away
PERIODS = 2             # of a series, in an experiment
LINES = 20              # of a series, for each joint, beside those near rings
HIGHEST = 8             # line that its band has at least
MOVES = 4               # of a decay
QUICK = 0.6             # duration of a move of a decay, over the first period of the arm


class Course(NamedTuple):
    """Where joints are to be."""

    kind: str
    time: np.ndarray        # (k,)          even                                            [s]
    position: np.ndarray    # (k, joints)   [rad, m]
    velocity: np.ndarray    # (k, joints)   [rad/s, m/s]

    @property
    def pose(self) -> np.ndarray:
        """Where it begins, (joints,)."""
        return self.position[0]

    def sampled(self, period: float) -> Course:
        """Return the course at other samples, by the cubics of its points."""
        count = round((self.time[-1] - self.time[0]) / period)
        time = np.linspace(self.time[0], self.time[-1], count + 1)
        curve = CubicHermiteSpline(self.time, self.position, self.velocity)
        return self._replace(time=time, position=curve(time), velocity=curve(time, 1))

    def scaled(self, factors: np.ndarray | float) -> Course:
        """Return the course with all ways from its pose times factors, (joints,) or one."""
        return self._replace(position=self.pose + factors * (self.position - self.pose),
                             velocity=factors * self.velocity)


def course(kind: str, pose: np.ndarray, seconds: float, band: tuple[float, float], period: float,
           coefficients: np.ndarray | None = None, rings: Iterable[float] = ()) -> Course:
    """
    Return a Course of unit size, to be scaled.

    :param pose: about which it moves, (joints,); band: lowest and highest frequency [Hz].
    :param period: between samples [s].
    :param coefficients: of a fourier, (joints, lines, 2); default: those of a multisine.
    :param rings: frequencies of the arm, slowest first [Hz].
    """
    time = period * np.arange(round(seconds / period) + 1)
    joints, length = len(pose), moving(seconds)
    t = time - STILL
    if kind == 'decay':
        slowest = min(rings, default=band[1])
        ways, rates = _moves(t, seconds - STILL, QUICK / slowest, joints)
    else:
        inside = np.clip(t, 0.0, length)
        if kind == 'sweep':
            ways, rates = _sweep(inside, length, band, joints)
        else:
            frequencies = lines(length, band, rings)
            if coefficients is None:
                coefficients = multisine(frequencies, joints)
            ways, rates = series(inside, frequencies, coefficients)
        # what it begins with is part of the pose, so that it grows out of rest
        window, slope = _window(t, length)
        rates = window[:, None] * rates + slope[:, None] * ways
        ways = window[:, None] * ways
    size = np.maximum(np.abs(ways).max(axis=None if kind == 'fourier' else 0), 1e-12)
    return Course(kind, time, pose + ways / size, rates / size)


def moving(seconds: float) -> float:
    """Time of an experiment in which drives move [s]."""
    return max(seconds * (1 - REST) - STILL, 0.5 * seconds)


def lines(length: float, band: tuple[float, float], rings: Iterable[float] = ()) -> np.ndarray:
    """
    Return frequencies [Hz] of a series over a length [s]: whole multiples of one, over a band.

    :param rings: frequencies that they meet as well as they can, with one on either side [Hz].
    """
    first = PERIODS / length
    low, high = max(band[0] / first, 1.0), max(band[1] / first, HIGHEST)
    near = [ring / first + side for ring in rings if band[0] < ring < band[1]
            for side in (-0.5, 0.5)]
    whole = np.round([*np.geomspace(low, high, LINES), *near]).astype(int)
    return first * np.unique(np.maximum(whole, 1))


def multisine(frequencies: np.ndarray, joints: int) -> np.ndarray:
    """Return coefficients (joints, lines, 2) with Schroeder's phases, another for each joint."""
    n, k = len(frequencies), np.arange(len(frequencies))
    phase = -np.pi * k * (k + 1) / n                                                # (I14)
    phase = phase + 2.4 * np.arange(joints)[:, None] * (1 + k)      # no two joints alike
    return np.stack([np.cos(phase), np.sin(phase)], axis=-1)


def series(t: np.ndarray, frequencies: np.ndarray,
           coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return ways and rates (k, joints) of a series (I15) at times t (k,) [s].

    :param coefficients: of cos and sin in the accelerations, (joints, lines, 2).
    """
    w = 2 * np.pi * frequencies[:len(coefficients[0])]
    c, s = np.cos(np.outer(t, w)), np.sin(np.outer(t, w))
    a, b = coefficients[..., 0], coefficients[..., 1]
    return -(c / w**2) @ a.T - (s / w**2) @ b.T, (s / w) @ a.T - (c / w) @ b.T


def _window(t, length):
    """Rise and fall (k,) with slopes, by the quintic whose ends have no acceleration."""
    rise = RISE * length

    def step(u):
        u = np.clip(u, 0.0, 1.0)
        return u**3 * (10 - 15 * u + 6 * u**2), 30 * u**2 * (1 - u)**2
    up, up_slope = step(t / rise)
    down, down_slope = step((length - t) / rise)
    return up * down, (up_slope * down - up * down_slope) / rise


def _sweep(t, length, band, joints):
    low, high = band
    growth = np.log(high / low) / length
    phase = 2 * np.pi * low * np.expm1(growth * t) / growth
    rate = 2 * np.pi * low * np.exp(growth * t)
    shift = 2 * np.pi * np.arange(joints) / max(joints, 1)
    size = (low / band[0]) / (rate / rate[0])       # of equal speed
    angle = phase[:, None] + shift
    ways = size[:, None] * np.sin(angle)
    return ways, (rate * size)[:, None] * np.cos(angle) - growth * ways


def _moves(t, length, duration, joints):
    """Moves to and fro, by the quintic, with rests behind them."""
    ways, rates = np.zeros((2, t.size, joints))
    begins = np.arange(MOVES) * length / MOVES
    for k, begin in enumerate(begins):
        u = np.clip((t - begin) / duration, 0.0, 1.0)
        sign = 1.0 if k % 2 == 0 else -1.0
        ways += sign * (u**3 * (10 - 15 * u + 6 * u**2))[:, None]
        rates += sign * (30 * u**2 * (1 - u)**2 / duration)[:, None]
    return ways, rates
