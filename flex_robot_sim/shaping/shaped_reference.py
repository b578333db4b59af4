"""
Shaped reference: set points of the joints after an online input shaper.

The shaper samples the reference on its own grid, once every period. Set points between two samples
are interpolated linearly, so early or late states change nothing. The shaper also receives the
integral of the reference velocity. The slope of that integral, shaped, is the velocity of the set
points, without the spike of a stepped target.

If the shaper changes while the arm moves, the old one fades into the new one. The fade begins when
the new one has received enough of the motion. The set points remain a mean of past references:
they stay in its range and do not jump (S11). `rate_limiter` limits their rates.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from flex_robot_sim.motion.rate_limiter import RateLimiter
from flex_robot_sim.shaping.online_shaper import OnlineShaper

FADE_DURATIONS = 1.5  # duration of a fade, over that of the longer shaper
MIN_FADE_S = 0.1  # minimum duration of a fade                                    [s]
MAX_LATE_SHARE = 1e-3  # delay of a state after its sample, over the period


class Targets(Protocol):
    """Unshaped input: a Reference, or the reference of a set-point stream."""

    position: np.ndarray  # (joints,)                                            [rad, m]
    velocity: np.ndarray  # (joints,)                                        [rad/s, m/s]
    doublet: Any  # effort doublet that replaces them, or None


class ShapedReference:
    """Positions and velocities of the joints for a servo, delayed by the shaper."""

    def __init__(self, reference: Targets, rates: np.ndarray | None = None) -> None:
        """Pass a Reference through until `use`, within rates (joints,) [rad/s, m/s]."""
        n = reference.position.size
        self._rates = np.full(n, np.inf) if rates is None else rates
        self._limiter = RateLimiter(self._rates, 1.0)  # at the period in use
        self.is_shaped = False  # whether set points differ from the reference
        self.position, self.velocity = np.zeros((2, n))  # [rad, m; per s]
        self._reference, self._stages = reference, [_Stage(None, reference)]
        self._sample = np.zeros(2 * n)  # positions, integrated velocities
        self._sampled_position, self._travel = self._sample[:n], self._sample[n:]
        self._rate = np.zeros(n)  # of the reference, last sample
        self._newest, self._previous, self._part = np.zeros((3, 2, n))  # positions, velocities
        self._period, self._count = 0.0, 0
        self._origin: float | None = None

    @property
    def is_arriving(self) -> bool:
        """Whether the set points have not yet reached the reference."""
        return self.is_shaped and not (self.position == self._reference.position).all()

    @property
    def duration(self) -> float:
        """Time that the shaper adds to a motion, at most [s]."""
        return self._stages[-1].duration

    def use(self, shaper: OnlineShaper | None) -> None:
        """Change the shaper, of positions and integrated velocities of all joints; no step."""
        if not self.is_shaped:
            self._restart(self._reference.position, self._reference.velocity)
        while len(self._stages) > 1 and self._stages[-1].age <= 0.0:
            del self._stages[-1]  # has not begun to fade in
        if shaper is None and self._stages[-1].shaper is None:
            return
        stage = _Stage(
            shaper,
            self._reference,
            max(
                MIN_FADE_S,
                FADE_DURATIONS * self.duration,
                FADE_DURATIONS * (0.0 if shaper is None else shaper.duration),
            ),
        )
        stage.reset_to(self._sample)
        if shaper is not None and shaper.period != self._period:
            # older shapers continue at the new period: they end soon
            self._period, self._origin = shaper.period, None
            self._limiter = RateLimiter(self._rates, shaper.period)
            self._limiter.stand(self._newest[0])
        is_moving = np.any(self.velocity) or np.any(self.position != self._sampled_position)
        self._stages = [*self._stages, stage] if is_moving else [stage]
        self.is_shaped = True

    def reset(self) -> None:
        """Reset to a constant history at the reference."""
        if not self.is_shaped:
            return
        self._stages = self._stages[-1:]
        self._restart(self._reference.position, 0.0)
        self._stages[0].reset_to(self._sample)

    def update(self, now: float, move: Callable[[float], object]) -> None:
        """If `is_shaped`, update set points at a time [s]; `move(t)` advances the reference."""
        if (
            self._stages[-1].shaper is None
            and len(self._stages) == 1
            and not (self._limiter.is_behind)
        ):
            self.is_shaped = False
            move(now)
            return
        if self._reference.doublet is not None:  # the doublet controls the efforts
            move(now)
            self.reset()
            return
        if self._origin is None:
            self._origin, self._count = now - self._period, 0
        latest = now - MAX_LATE_SHARE * self._period
        while self._origin + self._count * self._period < latest:
            self._count += 1
            move(self._origin + self._count * self._period)
            self._tick()
        share = (now - self._origin) / self._period - self._count + 1.0
        np.subtract(self._newest, self._previous, out=self._part)
        self._part *= min(max(share, 0.0), 1.0)
        self._part += self._previous
        self.position[:], self.velocity[:] = self._part

    def _restart(self, position, velocity):
        """Restart the grid at a position (joints,) and a velocity of the reference."""
        self._sampled_position[:] = self._travel[:] = position
        self._rate[:] = velocity
        self._newest[0], self._newest[1] = position, velocity
        self._previous[:] = self._newest
        self.position[:], self.velocity[:] = self._newest
        self._limiter.stand(position)
        self._origin = None

    def _tick(self):
        """Sample the reference, and update all shapers and their fade."""
        reference, period = self._reference, self._period
        duration = max(stage.duration for stage in self._stages)
        self._limiter.heed(reference.position - self._sampled_position, duration)
        self._sampled_position[:] = reference.position
        self._rate += reference.velocity
        self._rate *= 0.5 * period
        self._travel += self._rate
        self._rate[:] = reference.velocity
        self._previous[:] = self._newest
        for k, stage in enumerate(self._stages):
            stage.step(self._sample)
            if k == 0:
                self._newest[0], self._newest[1] = stage.position, stage.velocity
                continue
            stage.age += period / stage.fade
            weight, slope = _fading(max(stage.age, 0.0))
            difference = self._newest - (stage.position, stage.velocity)
            self._newest[0] = stage.position + weight * difference[0]
            self._newest[1] = (
                stage.velocity + weight * difference[1] + slope / stage.fade * difference[0]
            )
        self._limiter.keep(self._previous[0], self._newest[0], self._newest[1], duration)
        while len(self._stages) > 1 and self._stages[1].age >= 1.0:
            del self._stages[0]


class _Stage:
    """A shaper, or no shaper, that fades in."""

    def __init__(self, shaper, reference, fade=MIN_FADE_S):
        self.shaper, self.fade = shaper, fade
        # 0: its history is complete, the fade starts; 1: the fade is complete
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

    def reset_to(self, sample):
        """Reset to a constant history at a sample (2 joints,)."""
        if self.shaper is not None:
            self.shaper.reset(sample)

    def step(self, sample):
        """Take a sample (2 joints,)."""
        if self.shaper is not None:
            self.shaper.step(sample)


def _fading(u):
    """Weight at a share of the fade, and its slope: 1 - 10 u^3 + 15 u^4 - 6 u^5."""
    u = min(u, 1.0)
    return 1.0 + u**3 * (-10.0 + u * (15.0 - 6.0 * u)), -30.0 * u * u * (1.0 - u) ** 2
