"""
Set points that are no faster than their joints may be, though a shaper follows the pose.

Delays that shrink while the arm moves make a motion faster than it was. Where that would be faster
than the joint can, the set point goes as fast as it can and falls behind, and catches up as soon
as there is room: at a speed that falls with the way that is left, so that it has no jump either.
"""

import numpy as np
from numpy.typing import ArrayLike

CATCHES_UP = 4.0            # parts of the way left, in the duration of a shaper
SLOWEST = 1e-3              # at which it catches up, over the limit: it does arrive
ARRIVED = 1e-12             # way left that is none                                    [rad, m]
SPARE = 8                   # samples for which a leap is remembered beyond the shaper
FASTER = 1.0 + 1e-10        # than the limit by rounding


class RateLimiter:
    """
    Keeps the rates of set points (joints,), sample by sample.

    A joint may be as fast as its limit, or as what is shaped has been lately: who lets a target
    leap wants a leap.
    """

    def __init__(self, limits: ArrayLike, period: float) -> None:
        """Keep limits (joints,), inf where there is none [rad/s, m/s]; samples at a period [s]."""
        self._limits, self._period = np.array(limits, float), period
        self._bounds = self._limits.copy()      # that are in force
        self._left = 0                          # samples until they sink to the limits again
        self._source = np.zeros(self._limits.size)  # newest set point that was asked for
        self.is_behind = False                  # of what was asked for
        self._longest = 0.0                     # duration of a shaper since it has been

    def stand(self, position: np.ndarray) -> None:
        """Let everything have stood at a position (joints,) for ever."""
        self._source[:], self.is_behind = position, False
        self._bounds[:], self._left = self._limits, 0

    def heed(self, moved: np.ndarray, duration: float) -> None:
        """
        See by how much what is shaped has moved in a sample.

        :param moved: (joints,) [rad, m]; duration: of the shaper [s].
        """
        speed = np.abs(moved) / self._period
        if (speed > self._limits).any():
            np.maximum(self._bounds, FASTER * speed, out=self._bounds)
            self._left = round(duration / self._period) + SPARE
        elif self._left:
            self._left -= 1
        else:
            np.maximum(self._limits, (1.0 - self._share(duration)) * self._bounds,
                       out=self._bounds)

    def keep(self, before: np.ndarray, position: np.ndarray, velocity: np.ndarray,
             duration: float) -> None:
        """
        Slow a set point down, in place.

        :param before: the one before it, as it came out, (joints,) [rad, m].
        :param position: that is asked for; velocity: likewise, (joints,) each.
        :param duration: of the shaper [s].
        """
        most = FASTER * self._bounds * self._period
        if not self.is_behind and (np.abs(position - before) <= most).all():
            self._source[:] = position
            return
        own, behind = position - self._source, self._source - before
        # as gently with a shorter shaper, or none, in the place of that which fell behind
        self._longest = max(duration, self._longest if self.is_behind else 0.0)
        share = self._share(self._longest)
        least = np.where(np.isfinite(most), SLOWEST * most, 0.0)
        catching = np.minimum(np.abs(behind), np.maximum(share * np.abs(behind), least))
        step = np.clip(own + np.copysign(catching, behind), -most, most)
        self._source[:] = position
        there = np.abs(before + step - position) <= ARRIVED
        self.is_behind = not there.all()
        velocity += np.where(there, 0.0, (step - own) / self._period)
        np.clip(velocity, -self._bounds, self._bounds, out=velocity)
        position[:] = np.where(there, position, before + step)

    def _share(self, duration):
        """Part of what is left that goes in a sample."""
        return min(0.5, CATCHES_UP * self._period / max(duration, self._period))
