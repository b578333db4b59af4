"""
Rate limiter for set points of a pose-dependent shaper.

Delays that decrease during a motion make it faster. Where it would exceed the velocity limit of a
joint, the set point moves at the limit and lags behind. It catches up as soon as the limit
permits, with a velocity proportional to the remaining distance, so that the velocity has no jump.
"""

import numpy as np
from numpy.typing import ArrayLike

CATCH_UP_RATE = 4.0  # share of the remaining distance, per duration of the shaper
MIN_CATCH_UP_RATIO = 1e-3  # least catch-up velocity, over the limit, for arrival
POSITION_TOLERANCE = 1e-12  # of arrival                                           [rad, m]
EXTRA_SAMPLES = 8  # with raised limits after a jump, beyond the shaper duration
ROUNDING_MARGIN = 1.0 + 1e-10  # factor on limits


class RateLimiter:
    """
    Limits the rates of set points (joints,), sample by sample.

    The bound of a joint is its limit, or the recent speed of the shaper input if that is higher: a
    jump of the target is intentional.
    """

    def __init__(self, limits: ArrayLike, period: float) -> None:
        """Store limits (joints,), inf where there is none [rad/s, m/s]; period of samples [s]."""
        self._limits, self._period = np.array(limits, float), period
        self._bounds = self._limits.copy()  # present bounds
        self._raised_samples = 0  # samples until the bounds return to the limits
        self._source = np.zeros(self._limits.size)  # newest requested set point
        self.is_behind = False  # whether the output lags the requested set point
        self._max_duration = 0.0  # of the shaper since the lag began

    def stand(self, position: np.ndarray) -> None:
        """Reset to a constant position (joints,)."""
        self._source[:], self.is_behind = position, False
        self._bounds[:], self._raised_samples = self._limits, 0

    def heed(self, displacement: np.ndarray, duration: float) -> None:
        """Update the bounds by a step (joints,) of the input of a shaper of a duration [s]."""
        speed = np.abs(displacement) / self._period
        if (speed > self._limits).any():
            np.maximum(self._bounds, ROUNDING_MARGIN * speed, out=self._bounds)
            self._raised_samples = round(duration / self._period) + EXTRA_SAMPLES
        elif self._raised_samples:
            self._raised_samples -= 1
        else:
            np.maximum(
                self._limits,
                (1.0 - self._catch_up_share(duration)) * self._bounds,
                out=self._bounds,
            )

    def keep(
        self, before: np.ndarray, position: np.ndarray, velocity: np.ndarray, duration: float
    ) -> None:
        """
        Limit a set point, in place.

        :param before: previous output, (joints,) [rad, m].
        :param position: requested position; velocity: requested velocity, (joints,) each.
        :param duration: of the shaper [s].
        """
        max_step = ROUNDING_MARGIN * self._bounds * self._period
        if not self.is_behind and (np.abs(position - before) <= max_step).all():
            self._source[:] = position
            return
        target_step, lag = position - self._source, self._source - before
        # the longest shaper since the lag began determines the catch-up rate
        self._max_duration = max(duration, self._max_duration if self.is_behind else 0.0)
        share = self._catch_up_share(self._max_duration)
        min_step = np.where(np.isfinite(max_step), MIN_CATCH_UP_RATIO * max_step, 0.0)
        catch_up = np.minimum(np.abs(lag), np.maximum(share * np.abs(lag), min_step))
        step = np.clip(target_step + np.copysign(catch_up, lag), -max_step, max_step)
        self._source[:] = position
        has_arrived = np.abs(before + step - position) <= POSITION_TOLERANCE
        self.is_behind = not has_arrived.all()
        velocity += np.where(has_arrived, 0.0, (step - target_step) / self._period)
        np.clip(velocity, -self._bounds, self._bounds, out=velocity)
        position[:] = np.where(has_arrived, position, before + step)

    def _catch_up_share(self, duration):
        """Return the share of the remaining distance per sample."""
        return min(0.5, CATCH_UP_RATE * self._period / max(duration, self._period))
