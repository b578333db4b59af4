"""Sampled joint positions: their checks, and their convolution with the impulses of a shaper."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.model.arguments import array_or_nan
from flex_robot_sim.util.exceptions import SettingError

MAX_PERIOD_CHANGE = 1e-6  # deviation of evenly spaced times, over their period


class ShapedPositions(NamedTuple):
    """
    Shaped set points; they end exactly at the last position.

    Example::

        times, positions = frs.shaping.zv(2.5).shape([0.0, 0.1, 0.2], [0.0, 0.5, 1.0])
    """

    times: np.ndarray  # (m,)                                                      [s]
    positions: np.ndarray  # (m, n) or (m,), as the unshaped ones                  [rad, m]


def checked_samples(samples: ArrayLike) -> np.ndarray:
    """Set points as an array (k, n); SettingError if they are invalid."""
    samples = array_or_nan(samples)
    if samples.ndim != 2 or not samples.size or not np.isfinite(samples).all():
        raise SettingError(
            'set points must be finite numbers in rows, one row per sample and one '
            'column per joint'
        )
    return samples


def checked_times(times: ArrayLike, positions: ArrayLike) -> tuple[float, np.ndarray]:
    """Return the period [s] of evenly spaced times (k,), and positions as (k, n)."""
    times, positions = array_or_nan(times), array_or_nan(positions)
    samples = checked_samples(positions[:, None] if positions.ndim == 1 else positions)
    if times.shape != samples.shape[:1] or times.size < 2:
        raise SettingError(
            f'times must be 2 numbers or more, one per position, and there are '
            f'{len(samples)} positions'
        )
    period = (times[-1] - times[0]) / (times.size - 1)
    if (
        not 0.0 < period < np.inf
        or not (np.abs(np.diff(times) - period) <= MAX_PERIOD_CHANGE * period).all()
    ):
        raise SettingError(
            'times must rise in even steps: interpolate the positions, or use the '
            'times numpy.arange(0.0, duration, period)'
        )
    return float(period), samples


def convolved_samples(samples: np.ndarray, delays: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return (k + delay, n) from (k, n), for delays in samples; constant history."""
    rows = np.arange(len(samples) + delays[-1])
    newest = samples[np.minimum(rows, len(samples) - 1)]
    out = newest.copy()
    for delay, weight in zip(delays, weights):
        # relative to the newest one: a constant motion has no rounding errors
        out += weight * (samples[np.clip(rows - delay, 0, len(samples) - 1)] - newest)
    return out


def extended_times(times: ArrayLike, period: float, count: int) -> np.ndarray:
    """Return `count` times that begin with these and continue with the period [s]."""
    times = np.asarray(times, float)
    return np.concatenate([times, times[-1] + period * np.arange(1, count - times.size + 1)])
