"""Textbook input shapers, from frequencies and damping ratios of modes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.model.arguments import array_or_nan
from flex_robot_sim.shaping.impulses import TOLERANCE, Shaper
from flex_robot_sim.shaping.specified_insensitivity import for_modes
from flex_robot_sim.util.exceptions import SettingError


def zv(frequencies: ArrayLike, *, damping_ratios: ArrayLike = 0.0) -> Shaper:
    """
    Zero vibration (ZV): the shortest shaper, sensitive to errors of the frequencies.

    :param frequencies: natural frequency of a mode, or of several modes (m,) [Hz].
    :param damping_ratios: one for all modes, or (m,).

    Example::

        shaper = frs.shaping.zv(2.7, damping_ratios=0.006)
        shaper.times, shaper.amplitudes             # of its impulses [s]
        shaper.vibration(2.9, 0.006)                # residual share at another frequency
    """
    return for_modes('zv', _modes(frequencies, damping_ratios))


def zvd(frequencies: ArrayLike, *, damping_ratios: ArrayLike = 0.0) -> Shaper:
    """
    Zero vibration and derivative (ZVD): robust, one period long.

    :param frequencies: natural frequency of a mode, or of several modes (m,) [Hz].
    :param damping_ratios: one for all modes, or (m,).

    Example::

        shaper = frs.shaping.zvd([2.7, 3.0], damping_ratios=0.006)
        times = np.arange(0.0, 1.0, 1e-3)
        shaped = shaper.shape(times, np.minimum(times / 0.5, 1.0))
    """
    return for_modes('zvd', _modes(frequencies, damping_ratios))


def zvdd(frequencies: ArrayLike, *, damping_ratios: ArrayLike = 0.0) -> Shaper:
    """
    Zero vibration and two derivatives (ZVDD): more robust, one and a half periods long.

    :param frequencies: natural frequency of a mode, or of several modes (m,) [Hz].
    :param damping_ratios: one for all modes, or (m,).

    Example::

        shaper = frs.shaping.zvdd(2.7)
        shaper.duration                             # added to a motion [s]
    """
    return for_modes('zvdd', _modes(frequencies, damping_ratios))


def ei(
    frequencies: ArrayLike, *, damping_ratios: ArrayLike = 0.0, tolerance: float = TOLERANCE
) -> Shaper:
    """
    Extra insensitive (EI): one period long, with a wider band than ZVD.

    :param frequencies: natural frequency of a mode, or of several modes (m,) [Hz].
    :param damping_ratios: one for all modes, or (m,).
    :param tolerance: allowed residual vibration in its band, relative to the unshaped one.

    Example::

        shaper = frs.shaping.ei(2.7, tolerance=0.02)
        shaper.insensitivity(2.7)                   # width of the band, over 2.7 Hz
    """
    return for_modes('ei', _modes(frequencies, damping_ratios), tolerance)


def ei2(
    frequencies: ArrayLike, *, damping_ratios: ArrayLike = 0.0, tolerance: float = TOLERANCE
) -> Shaper:
    """
    Two-hump extra insensitive (two-hump EI): one and a half periods long, with the widest band.

    :param frequencies: natural frequency of a mode, or of several modes (m,) [Hz].
    :param damping_ratios: one for all modes, or (m,).
    :param tolerance: allowed residual vibration in its band, relative to the unshaped one.

    Example::

        shaper = frs.shaping.ei2(2.7, damping_ratios=0.01)
        shaper.vibration(np.linspace(2.0, 3.5, 50), 0.01).max()
    """
    return for_modes('ei2', _modes(frequencies, damping_ratios), tolerance)


def _modes(frequencies, damping_ratios):
    """Return (frequency [Hz], damping ratio) of each mode; `check_mode` checks their values."""
    frequencies, ratios = array_or_nan(frequencies), array_or_nan(damping_ratios)
    if frequencies.ndim > 1 or not frequencies.size or np.isnan(frequencies).any():
        raise SettingError(
            'frequencies must be a number, or one per mode [Hz], such as 2.7 or [2.7, 11.0]'
        )
    frequencies = frequencies.reshape(-1)
    if ratios.shape not in ((), frequencies.shape) or np.isnan(ratios).any():
        raise SettingError(
            f'damping_ratios must be a number, or one per mode: {frequencies.size} here'
        )
    return [*zip(frequencies.tolist(), np.broadcast_to(ratios, frequencies.shape).tolist())]
