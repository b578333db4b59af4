"""
Excitation trajectories for identification. Each begins at rest and ends with a rest.

    decay       fast moves back and forth, each followed by a rest with free vibration
    sweep       a sine with increasing frequency, over the band of the arm
    chirp       the same from CHIRP_BAND_HZ, for any arm
    multisine   sines of equal acceleration with the phases of Schroeder (I14)
    fourier     the periodic series of Swevers (I15), with free coefficients
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicHermiteSpline

KINDS = ('fourier', 'decay', 'sweep', 'chirp', 'multisine')
CHIRP_BAND_HZ = 0.3, 10.0
REST_RATIO = 0.15  # share of the final rest, with free vibration, in an experiment
INITIAL_REST_S = 0.5
RISE_RATIO = 0.1  # share of the motion with increasing, and with decreasing amplitude
SERIES_PERIODS = 2  # periods of a series in an experiment
SPECTRAL_LINES = 20  # lines of a series for each joint, in addition to those near resonances
MIN_HIGHEST_LINE = 8  # multiple of the base frequency
DECAY_MOVES = 4
MOVE_DURATION_RATIO = 0.6  # duration of a move of a decay, over the first period of the arm


class ExcitationTrajectory(NamedTuple):
    """Reference motion of the joints."""

    kind: str
    time: np.ndarray  # (k,)          evenly spaced                                   [s]
    position: np.ndarray  # (k, joints)   [rad, m]
    velocity: np.ndarray  # (k, joints)   [rad/s, m/s]

    @property
    def pose(self) -> np.ndarray:
        """Initial position, (joints,)."""
        return self.position[0]

    def sampled(self, period: float) -> ExcitationTrajectory:
        """Return the trajectory at another sampling period, by cubic Hermite interpolation."""
        count = round((self.time[-1] - self.time[0]) / period)
        time = np.linspace(self.time[0], self.time[-1], count + 1)
        spline = CubicHermiteSpline(self.time, self.position, self.velocity)
        return self._replace(time=time, position=spline(time), velocity=spline(time, 1))

    def scaled(self, factors: np.ndarray | float) -> ExcitationTrajectory:
        """Return the trajectory with displacements scaled by factors, (joints,) or a scalar."""
        return self._replace(
            position=self.pose + factors * (self.position - self.pose),
            velocity=factors * self.velocity,
        )


def excitation_trajectory(
    kind: str,
    pose: np.ndarray,
    seconds: float,
    band: tuple[float, float],
    period: float,
    coefficients: np.ndarray | None = None,
    resonances: Iterable[float] = (),
    moves: np.ndarray | None = None,
) -> ExcitationTrajectory:
    """
    Return an ExcitationTrajectory of unit amplitude, to be scaled.

    :param pose: center of the motion, (joints,); band: lowest and highest frequency [Hz].
    :param period: between samples [s].
    :param coefficients: of a fourier, (joints, lines, 2); default: those of a multisine.
    :param resonances: frequencies of the arm, slowest first [Hz].
    :param moves: whether each joint has a motor, (joints,); default: all.
    """
    time = period * np.arange(round(seconds / period) + 1)
    joints, duration = len(pose), motion_duration(seconds)
    t = time - INITIAL_REST_S
    if kind == 'decay':
        slowest_resonance = min(resonances, default=band[1])
        displacements, rates = _point_to_point_moves(
            t, seconds - INITIAL_REST_S, MOVE_DURATION_RATIO / slowest_resonance, joints
        )
    else:
        inside = np.clip(t, 0.0, duration)
        if kind in ('sweep', 'chirp'):
            band = (
                band
                if kind == 'sweep'
                else (CHIRP_BAND_HZ[0], min(CHIRP_BAND_HZ[1], 0.1 / period))
            )
            displacements, rates = _sweep(inside, duration, band, joints)
        else:
            frequencies = line_frequencies(duration, band, resonances)
            if coefficients is None:
                coefficients = multisine_coefficients(frequencies, joints)
            displacements, rates = fourier_series(inside, frequencies, coefficients)
        # the window makes the motion begin and end at rest
        window, slope = _window(t, duration)
        rates = window[:, None] * rates + slope[:, None] * displacements
        displacements = window[:, None] * displacements
    if moves is not None:
        displacements, rates = np.where(moves, displacements, 0.0), np.where(moves, rates, 0.0)
    size = np.maximum(np.abs(displacements).max(axis=None if kind == 'fourier' else 0), 1e-12)
    return ExcitationTrajectory(kind, time, pose + displacements / size, rates / size)


def motion_duration(seconds: float) -> float:
    """Return the time with motion of the drives in an experiment [s]."""
    return max(seconds * (1 - REST_RATIO) - INITIAL_REST_S, 0.5 * seconds)


def line_frequencies(
    duration: float, band: tuple[float, float], resonances: Iterable[float] = ()
) -> np.ndarray:
    """
    Return frequencies [Hz] of a series: multiples of a base frequency, over a band.

    :param duration: of the series [s].
    :param resonances: each gets one line on either side [Hz].
    """
    first = SERIES_PERIODS / duration
    low, high = max(band[0] / first, 1.0), max(band[1] / first, MIN_HIGHEST_LINE)
    near_resonances = [
        resonance / first + offset
        for resonance in resonances
        if band[0] < resonance < band[1]
        for offset in (-0.5, 0.5)
    ]
    multiples = np.round([*np.geomspace(low, high, SPECTRAL_LINES), *near_resonances]).astype(int)
    return first * np.unique(np.maximum(multiples, 1))


def multisine_coefficients(frequencies: np.ndarray, joints: int) -> np.ndarray:
    """Return coefficients (joints, lines, 2) with Schroeder phases, different for each joint."""
    n, k = len(frequencies), np.arange(len(frequencies))
    phase = -np.pi * k * (k + 1) / n  # (I14)
    phase = phase + 2.4 * np.arange(joints)[:, None] * (1 + k)  # no two joints alike
    return np.stack([np.cos(phase), np.sin(phase)], axis=-1)


def fourier_series(
    t: np.ndarray, frequencies: np.ndarray, coefficients: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return displacements and velocities (k, joints) of a series (I15) at times t (k,) [s].

    :param coefficients: of cos and sin in the accelerations, (joints, lines, 2).
    """
    w = 2 * np.pi * frequencies[: len(coefficients[0])]
    c, s = np.cos(np.outer(t, w)), np.sin(np.outer(t, w))
    a, b = coefficients[..., 0], coefficients[..., 1]
    return -(c / w**2) @ a.T - (s / w**2) @ b.T, (s / w) @ a.T - (c / w) @ b.T


def _window(t, length):
    """Return a window (k,) and its slope, with quintic edges that end without acceleration."""
    rise = RISE_RATIO * length

    def step(u):
        u = np.clip(u, 0.0, 1.0)
        return u**3 * (10 - 15 * u + 6 * u**2), 30 * u**2 * (1 - u) ** 2

    up, up_slope = step(t / rise)
    down, down_slope = step((length - t) / rise)
    return up * down, (up_slope * down - up * down_slope) / rise


def _sweep(t, length, band, joints):
    low, high = band
    growth = np.log(high / low) / length
    phase = 2 * np.pi * low * np.expm1(growth * t) / growth
    rate = 2 * np.pi * low * np.exp(growth * t)
    phase_offsets = 2 * np.pi * np.arange(joints) / max(joints, 1)
    amplitude = (low / band[0]) / (rate / rate[0])  # of equal speed
    angle = phase[:, None] + phase_offsets
    displacements = amplitude[:, None] * np.sin(angle)
    return displacements, (rate * amplitude)[:, None] * np.cos(angle) - growth * displacements


def _point_to_point_moves(t, length, duration, joints):
    """Return quintic moves back and forth, each followed by a rest."""
    displacements, rates = np.zeros((2, t.size, joints))
    begins = np.arange(DECAY_MOVES) * length / DECAY_MOVES
    for k, begin in enumerate(begins):
        u = np.clip((t - begin) / duration, 0.0, 1.0)
        sign = 1.0 if k % 2 == 0 else -1.0
        displacements += sign * (u**3 * (10 - 15 * u + 6 * u**2))[:, None]
        rates += sign * (30 * u**2 * (1 - u) ** 2 / duration)[:, None]
    return displacements, rates
