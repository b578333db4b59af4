"""
Set points of the joints: what an input shaper makes of their reference.

The shaper sees the reference on a grid of its own, a sample every period, and set points between
two samples lie on a line, so that states which come early or late change nothing. Beside the
positions it is given the way that the velocities of the reference make: its slope, shaped, is the
velocity of the set points without the spike of a target that leaps.

A shaper that is changed while the arm moves is faded into the next one, as soon as that one has
seen enough of the motion. The set points stay a mean of places where the reference was, so they
leave neither its range nor jump (S11). `rate_limiter` keeps their joints within their rates.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from flex_robot_sim.motion.rate_limiter import RateLimiter
from flex_robot_sim.shaping.online_shaper import OnlineShaper

FADES = 1.5                 # durations of the longer shaper in which one becomes the other
SHORTEST = 0.1              # time that it takes                                           [s]
SLACK = 1e-3                # of a period, by which a state may be later than its sample


class Targets(Protocol):
    """What is shaped: a Reference, or what goes after a stream."""

    position: np.ndarray        # (joints,)                                            [rad, m]
    velocity: np.ndarray        # (joints,)                                        [rad/s, m/s]
    doublet: Any                # that takes their place, or None


class ShapedReference:
    """Positions and velocities of the joints for a servo, later than the reference."""

    def __init__(self, reference: Targets, rates: np.ndarray | None = None) -> None:
        """
        Do nothing to a Reference, until `use` says what.

        :param rates: that no joint exceeds, unless the reference does, (joints,) [rad/s, m/s].
        """
        n = reference.position.size
        self._rates = np.full(n, np.inf) if rates is None else rates
        self._kept = RateLimiter(self._rates, 1.0)                # of the period in use
        self.is_shaped = False          # whether they are another thing than the reference
        self.position, self.velocity = np.zeros((2, n))         # [rad, m; per s]
        self._reference, self._stages = reference, [_Stage(None, reference)]
        self._sample = np.zeros(2 * n)                          # positions, and ways
        self._seen, self._way = self._sample[:n], self._sample[n:]
        self._rate = np.zeros(n)                                # of the reference, last sample
        self._newest, self._before, self._part = np.zeros((3, 2, n))    # positions, velocities
        self._period, self._count = 0.0, 0
        self._origin: float | None = None

    @property
    def is_arriving(self) -> bool:
        """Whether they have not yet arrived at the reference."""
        return self.is_shaped and not (self.position == self._reference.position).all()

    @property
    def duration(self) -> float:
        """Time that the shaper adds to a motion, at most [s]."""
        return self._stages[-1].duration

    def use(self, shaper: OnlineShaper | None) -> None:
        """
        Go over to another shaper, without a jump.

        :param shaper: OnlineShaper of twice the joints, for positions and ways; None: none.
        """
        if not self.is_shaped:
            self._stand(self._reference.position, self._reference.velocity)
        while len(self._stages) > 1 and self._stages[-1].age <= 0.0:
            del self._stages[-1]            # has not begun to fade in
        if shaper is None and self._stages[-1].shaper is None:
            return
        stage = _Stage(shaper, self._reference, max(
            SHORTEST, FADES * self.duration, FADES * (0.0 if shaper is None else shaper.duration)))
        stage.stand(self._sample)
        if shaper is not None and shaper.period != self._period:
            # older ones go on at the new pace: they end soon
            self._period, self._origin = shaper.period, None
            self._kept = RateLimiter(self._rates, shaper.period)
            self._kept.stand(self._newest[0])
        is_moving = np.any(self.velocity) or np.any(self.position != self._seen)
        self._stages = [*self._stages, stage] if is_moving else [stage]
        self.is_shaped = True

    def reset(self) -> None:
        """Let everything have stood where the reference is for ever."""
        if not self.is_shaped:
            return
        self._stages = self._stages[-1:]
        self._stand(self._reference.position, 0.0)
        self._stages[0].stand(self._sample)

    def update(self, now: float, move: Callable[[float], object]) -> None:
        """
        Renew `position` and `velocity`; for a shaper only.

        :param now: [s]; move: function that moves the reference on to a time [s].
        """
        if self._stages[-1].shaper is None and len(self._stages) == 1 and not (
                self._kept.is_behind):
            self.is_shaped = False
            move(now)
            return
        if self._reference.doublet is not None:         # its joints are where they are
            move(now)
            self.reset()
            return
        if self._origin is None:
            self._origin, self._count = now - self._period, 0
        behind = now - SLACK * self._period
        while self._origin + self._count * self._period < behind:
            self._count += 1
            move(self._origin + self._count * self._period)
            self._tick()
        share = (now - self._origin) / self._period - self._count + 1.0
        np.subtract(self._newest, self._before, out=self._part)
        self._part *= min(max(share, 0.0), 1.0)
        self._part += self._before
        self.position[:], self.velocity[:] = self._part

    def _stand(self, position, velocity):
        """Begin a grid anew at a position (joints,), with a velocity of the reference."""
        self._seen[:] = self._way[:] = position
        self._rate[:] = velocity
        self._newest[0], self._newest[1] = position, velocity
        self._before[:] = self._newest
        self.position[:], self.velocity[:] = self._newest
        self._kept.stand(position)
        self._origin = None

    def _tick(self):
        """Take a sample of the reference, and see what all shapers make of it."""
        reference, period = self._reference, self._period
        duration = max(stage.duration for stage in self._stages)
        self._kept.heed(reference.position - self._seen, duration)
        self._seen[:] = reference.position
        self._rate += reference.velocity
        self._rate *= 0.5 * period
        self._way += self._rate
        self._rate[:] = reference.velocity
        self._before[:] = self._newest
        for k, stage in enumerate(self._stages):
            stage.tick(self._sample)
            if k == 0:
                self._newest[0], self._newest[1] = stage.position, stage.velocity
                continue
            stage.age += period / stage.fade
            left, slope = _fading(max(stage.age, 0.0))
            apart = self._newest - (stage.position, stage.velocity)
            self._newest[0] = stage.position + left * apart[0]
            self._newest[1] = stage.velocity + left * apart[1] + slope / stage.fade * apart[0]
        self._kept.keep(self._before[0], *self._newest, duration)
        while len(self._stages) > 1 and self._stages[1].age >= 1.0:
            del self._stages[0]


class _Stage:
    """A shaper, or none, that fades in."""

    def __init__(self, shaper, reference, fade=SHORTEST):
        self.shaper, self.fade = shaper, fade
        # 0: begins to fade in, when it has seen all that it shapes; 1: the older ones are out
        self.age = -self.duration / fade
        if shaper is None:
            self.position, self.velocity = reference.position, reference.velocity
        else:
            n = shaper.joints // 2
            self.position, self.velocity = shaper.position[:n], shaper.velocity[n:]

    @property
    def duration(self):
        """Time that it adds [s]."""
        return 0.0 if self.shaper is None else self.shaper.duration

    def stand(self, sample):
        """Let everything have stood at a sample (2 joints,) for ever."""
        if self.shaper is not None:
            self.shaper.reset(sample)

    def tick(self, sample):
        """Take a sample (2 joints,)."""
        if self.shaper is not None:
            self.shaper.tick(sample)


def _fading(u):
    """Share of what fades at a share of its time, and its slope: 1 - 10 u^3 + 15 u^4 - 6 u^5."""
    u = min(u, 1.0)
    return 1.0 + u**3 * (-10.0 + u * (15.0 - 6.0 * u)), -30.0 * u * u * (1.0 - u)**2
