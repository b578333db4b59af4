"""Channels from link curvatures to efforts, and the loop of an arm with a servo and channels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.feedback.pose_model import PoseModel, closed_loop_step, rates_of
from flex_robot_sim.simulation.loop_timing import LoopTiming
from flex_robot_sim.util.summary import summarized

MEAN_RATE_SHARE = 0.01  # rate of the slow mean, over that of the mode


@summarized
@dataclass(frozen=True, eq=False)
class Channel:
    """Channel that damps one mode, see (C21)."""

    sensor_weights: np.ndarray  # (k,)       w: from curvatures to the mode
    drive_weights: np.ndarray  # (joints,)  b                                         [N m, N]
    rate: float  # of the mode with the servo alone                      [rad/s]
    filter_rate: float  # r                                                     [rad/s]
    filter_ratio: float  # z
    gains: tuple[float, float]  # g [1/s2], h [1/s]

    def sampled(self, period: float) -> tuple[np.ndarray, np.ndarray]:
        """Return P, Q of x[k] = P x[k-1] + Q s[k], with x = (mean, v, v')."""
        return _filter(self.filter_rate, self.filter_ratio, MEAN_RATE_SHARE * self.rate, period)


@lru_cache(maxsize=64)  # the search changes one channel at a time
def _filter(r, z, mean, period):
    from scipy.linalg import expm  # imported late: slow

    both = np.array(
        [[-mean, 0, 0, mean], [0, 0, 1, 0], [-r * r, -r * r, -2 * z * r, r * r], [0, 0, 0, 0]]
    )
    both = expm(both * period)
    return both[:3, :3], both[:3, 3]


def closed_rates(
    model: PoseModel,
    loop: LoopTiming,
    stiffness: ArrayLike,
    damping: ArrayLike,
    channels: Sequence[Channel] = (),
    sensor_delay: int = 0,
) -> np.ndarray:
    """Closed-loop rates [1/s] of a PoseModel with a servo and channels."""
    law = servo_and_channels(model, loop, stiffness, damping, channels, sensor_delay)
    return rates_of(
        closed_loop_step(model.sampled(loop), law, outputs_of_sensors(model)), loop.period
    )


def outputs_of_sensors(model: PoseModel) -> np.ndarray:
    """Output matrix (y, 2 p): positions, velocities and curvatures from the state (x, x')."""
    nothing = np.zeros_like(model.encoders)
    return np.vstack(
        [
            np.hstack([model.encoders, nothing]),
            np.hstack([nothing, model.encoders]),
            np.hstack([model.gauges, np.zeros_like(model.gauges)]),
        ]
    )


def servo_and_channels(
    model: PoseModel,
    loop: LoopTiming,
    stiffness: ArrayLike,
    damping: ArrayLike,
    channels: Sequence[Channel],
    sensor_delay: int = 0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Matrices of servo and channels, for `closed_loop_step`."""
    joints, k, size = np.size(stiffness), len(model.gauges), 3 + sensor_delay
    c = size * len(channels)
    P, Q = np.zeros((c, c)), np.zeros((c, 2 * joints + k))
    R, S = np.zeros((joints, c)), np.zeros((joints, 2 * joints + k))
    S[:, :joints], S[:, joints : 2 * joints] = (
        -np.diag(np.asarray(stiffness)),
        -np.diag(np.asarray(damping)),
    )
    for i, channel in enumerate(channels):
        at = size * i
        states, waiting = slice(at, at + 3), at + size - 1
        p, q = channel.sampled(loop.period)
        out = np.array([0.0, *channel.gains])
        P[states, states] = p
        R[:, states] = np.outer(channel.drive_weights, out @ p)
        if sensor_delay:  # delay line of the curvatures
            P[states, waiting] = q
            R[:, waiting] = (out @ q) * channel.drive_weights
            Q[at + 3, 2 * joints :] = channel.sensor_weights
            P[range(at + 4, at + size), range(at + 3, at + size - 1)] = 1.0
        else:
            Q[states, 2 * joints :] = np.outer(q, channel.sensor_weights)
            S[:, 2 * joints :] += (out @ q) * np.outer(
                channel.drive_weights, channel.sensor_weights
            )
    return P, Q, R, S


def ratios_of(rates: np.ndarray) -> np.ndarray:
    """Damping ratios of rates [1/s]."""
    return -rates.real / np.maximum(np.abs(rates), 1e-300)
