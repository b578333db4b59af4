"""
Motion profiles from rest to rest, as alternatives to a shaper that takes the same time.

A profile is a path parameter, sampled from 0 to 1. Each alternative keeps the largest velocity and
acceleration of the unshaped move, and ends when the shaped move ends, or later if it has to.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate

import numpy as np

from flex_robot_sim.util.exceptions import SettingError

PEAK_VELOCITY = 15 / 8  # of a quintic, over 1 / duration
PEAK_ACCELERATION = 10 / np.sqrt(3)  # over 1 / duration**2
END_SHARE = 0.1  # of the allowed distance, at which a low-pass counts as arrived
RUCKIG_HINT = 'pip install ruckig'


def trapezoid(count: int) -> np.ndarray:
    """Path parameter (count + 1,) of a trapezoid: accelerate, cruise, brake, a third each."""
    t, rise = np.arange(count + 1) / count, 1 / 3
    return np.where(
        t < rise,
        t**2 / (2 * rise),
        np.where(t < 1 - rise, t - rise / 2, 1 - rise - (1 - t) ** 2 / (2 * rise)),
    ) / (1 - rise)


def rounded(share: np.ndarray, count: float) -> np.ndarray:
    """
    Mean of a path parameter over the last `count` samples, which then rest at its end (k,).

    A step of acceleration a becomes a ramp over these samples, of duration T: the jerk is a / T.
    """
    count = int(np.ceil(count - 1e-9))
    if count < 2:
        return share
    padded = np.concatenate([np.zeros(count - 1), share, np.ones(count - 1)])
    return np.convolve(padded, np.full(count, 1.0 / count), 'valid')


def s_curve(share: np.ndarray, step: float, added: float, _margin: float) -> np.ndarray:
    """Path with ramps of acceleration that take the added time [s]: limited jerk."""
    return rounded(share, added / step + 1)


def quintic(share: np.ndarray, step: float, added: float, _margin: float) -> np.ndarray:
    """Polynomial of fifth order, the minimum of jerk, within the peaks of the unshaped path."""
    velocity, acceleration = peaks(share, step)
    duration = max(
        step * (len(share) - 1) + added,
        PEAK_VELOCITY / velocity,
        float(np.sqrt(PEAK_ACCELERATION / acceleration)),
    )
    count = int(np.ceil(duration / step - 1e-9))
    u = np.arange(count + 1) / count
    return u**3 * (10 - 15 * u + 6 * u**2)


def low_pass(share: np.ndarray, step: float, added: float, margin: float) -> np.ndarray:
    """
    Path behind a low-pass of first order, which arrives within `margin` after the added time.

    :param margin: distance that counts as arrived, over the length of the path.
    """
    if margin >= 1.0:
        return share
    time_constant = added / np.log(1 / margin)
    count = int(np.ceil((added + time_constant * np.log(1 / END_SHARE)) / step))
    decay = np.exp(-step / time_constant)
    inputs = np.append(share, np.ones(count))
    filtered = np.array([*accumulate(inputs, lambda y, x: y + (1 - decay) * (x - y))])
    filtered[-1] = 1.0
    return filtered


def ruckig_profile(share: np.ndarray, step: float, added: float, _margin: float) -> np.ndarray:
    """Jerk-limited profile of the library ruckig, with the same time; needs ruckig."""
    try:
        import ruckig
    except ImportError:
        raise SettingError(f'ruckig is not installed: {RUCKIG_HINT}') from None
    velocity, acceleration = peaks(share, step)
    planner = ruckig.Ruckig(1)
    task = ruckig.InputParameter(1)
    task.current_position, task.target_position = [0.0], [1.0]
    task.max_velocity, task.max_acceleration = [velocity], [acceleration]
    task.max_jerk = [acceleration / max(added, step)]
    task.minimum_duration = step * (len(share) - 1) + added
    trajectory = ruckig.Trajectory(1)
    planner.calculate(task, trajectory)
    times = step * np.arange(int(np.ceil(trajectory.duration / step - 1e-9)) + 1)
    path = np.array([trajectory.at_time(min(t, trajectory.duration))[0][0] for t in times])
    path[-1] = 1.0
    return path


# functions of unshaped path, step [s], added time [s] and relative distance that counts as arrived
PROFILES: dict[str, Callable[[np.ndarray, float, float, float], np.ndarray]] = {
    's-curve': s_curve,
    'quintic': quintic,
    'low-pass': low_pass,
    'ruckig': ruckig_profile,
}


def peaks(share: np.ndarray, step: float) -> tuple[float, float]:
    """Largest velocity [1/s] and acceleration [1/s2] of a path parameter (k,)."""
    slopes = np.diff(share, prepend=share[0], append=share[-1]) / step
    return float(np.abs(slopes).max()), float(np.abs(np.diff(slopes)).max() / step)
