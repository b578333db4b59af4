"""
Set points that follow a goal within limits of velocity and acceleration, sample by sample.

Before a joint moves, it looks whether it can still stop at the goal. So it passes no goal that it
was able to stop at, and stays within the stops of the joint.
"""

import numpy as np


def stopping_velocity(distance: np.ndarray, deceleration: np.ndarray, period: float) -> np.ndarray:
    """
    Return the largest velocities (n,) of the next sample that still permit a stop in a distance.

    With n whole samples of deceleration d after the next one, the velocity v takes the distance

        D = (n + 1) v T - d T^2 n (n + 1) / 2,    n = floor(v / (d T))                      (S20)

    :param distance: (n,) >= 0 [rad, m]; deceleration: limits (n,), inf where there is none.
    """
    unit = deceleration * period**2
    is_limited = np.isfinite(unit)
    unit = np.where(is_limited, unit, 1.0)
    count = np.floor((np.sqrt(1 + 8 * distance / unit) - 1) / 2)
    velocity = (distance + unit * count * (count + 1) / 2) / ((count + 1) * period)
    return np.where(is_limited, velocity, distance / period)


def limited_velocity(
    wanted: np.ndarray,
    present: np.ndarray,
    acceleration: np.ndarray,
    deceleration: np.ndarray,
    period: float,
) -> np.ndarray:
    """Return the velocity nearest to `wanted` that limits of acceleration permit, (n,) each."""
    direction = np.where(present < 0.0, -1.0, 1.0)
    forward, along = direction * present, direction * wanted
    slowest = forward - deceleration * period
    # a joint that turns round within a sample keeps both limits
    turned = np.minimum(0.0, forward - np.minimum(acceleration, deceleration) * period)
    slowest = np.where(slowest < 0.0, turned, slowest)
    return direction * np.clip(along, slowest, forward + acceleration * period)
