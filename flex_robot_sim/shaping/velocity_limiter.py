"""
Velocity limiter for shaped set points of joints that move together (S18).

Delays that shrink while an arm moves make the shaped set points faster than the original ones.
Where a joint would exceed its limit, the limiter delays all joints by the same time. Their path
does not change. The delay then decreases again, as far as the limits permit, with the duration of
the shaper as time constant. The velocity has no jump where that of the input has none.

If the set points are faster than the limits for longer than the duration of the shaper, as after
a jump, the joints go straight to the oldest one in memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.arguments import array_or_nan
from flex_robot_sim.util.exceptions import SettingError, shortened
from flex_robot_sim.util.serialization import Serializable, writable

ROUNDING_MARGIN = 1.0 + 1e-10  # factor on limits
SPARE_SAMPLES = 8  # of the memory, beyond the duration of the shaper


class LimiterState(NamedTuple):
    """Set points of n joints in a ring buffer of r samples, and the place reached among them."""

    max_step: np.ndarray  # (n,)    largest step of a sample, inf without a limit  [rad, m]
    catch_up: np.ndarray  # (1,)    share of the delay regained in a sample
    tick: np.ndarray  # (1,)        samples received since the reset
    delay: np.ndarray  # (1,)       of the output                                  [samples]
    ring: np.ndarray  # (r, n)
    output: np.ndarray  # (n,)
    work: np.ndarray  # (2, n)


class VelocityLimiter(Serializable):
    """Delays set points (joints,) where they exceed velocity limits, sample by sample."""

    def __init__(self, limits: np.ndarray, period: float, duration: float) -> None:
        """
        Allocate the memory.

        :param limits: (joints,) [rad/s, m/s], inf where there is none; period: of samples [s].
        :param duration: of the shaper that makes the set points [s].
        """
        joints = limits.size
        count = int(np.ceil(duration / period)) + SPARE_SAMPLES
        self._state = LimiterState(
            ROUNDING_MARGIN * limits * period,
            np.array([period / max(duration, period)]),
            np.zeros(1, int),
            np.zeros(1),
            np.zeros((count, joints)),
            np.zeros(joints),
            np.zeros((2, joints)),
        )
        self.position = self._state.output  # one array, written by each step
        follow(self._state, self.position)  # compile or load now
        self.reset(np.zeros(joints))

    def __setstate__(self, state: dict[str, object]) -> None:
        super().__setstate__(state)
        self._state = LimiterState(*map(writable, self.state))
        self.position = self._state.output

    @property
    def state(self) -> LimiterState:
        """Its arrays; each step writes them."""
        return self._state

    @property
    def delay(self) -> float:
        """Present delay, in samples."""
        return float(self._state.delay[0])

    def reset(self, position: np.ndarray) -> None:
        """Reset to a constant history at a position (joints,)."""
        state = self._state
        state.tick[0], state.delay[0] = 0, 0.0
        state.ring[0] = state.output[:] = position

    def step(self, sample: np.ndarray) -> None:
        """Receive a set point (joints,) [rad, m] and update `position`."""
        follow(self._state, sample)


def limiter_for(
    limits: ArrayLike | None, joints: int, period: float, duration: float
) -> VelocityLimiter | None:
    """Return the VelocityLimiter of limits for joints, or None if there is no limit."""
    if limits is None:
        return None
    checked = array_or_nan(limits)
    if checked.shape != (joints,) or not (checked > 0.0).all():
        raise SettingError(
            f'velocity_limits = {shortened(repr(limits), 60)} must be {joints} numbers > 0, one '
            'per joint [rad/s, m/s]; inf: no limit'
        )
    if not np.isfinite(checked).any():
        return None
    return VelocityLimiter(checked, period, duration)


@compiled
def follow(state, sample):
    """Receive a set point (n,) and advance along the received ones, within the limits."""
    length, n = state.ring.shape
    start, end = state.work[0], state.work[1]
    tick = state.tick[0] + 1
    state.tick[0] = tick
    row = tick % length
    for j in range(n):
        state.ring[row, j] = sample[j]
    place = tick - 1 - state.delay[0]
    goal = min(float(tick), place + 1.0 + state.catch_up[0] * state.delay[0])
    place = max(place, float(max(tick - length + 1, 0)))
    goal = max(goal, place)

    # straight to the place, if samples were overwritten before they were reached
    _sample_at(state, place, start)
    share = 1.0
    for j in range(n):
        distance = abs(start[j] - state.output[j])
        if distance > state.max_step[j]:
            share = min(share, state.max_step[j] / distance)
    if share < 1.0:
        for j in range(n):
            state.output[j] += share * (start[j] - state.output[j])
        state.delay[0] = tick - place
        return

    # along the samples, until the goal or the limit of a joint
    while place < goal and share == 1.0:
        following = min(np.floor(place) + 1.0, goal)
        _sample_at(state, following, end)
        share = _share_within(state, start, end)
        if share == 1.0:
            place = following
            for j in range(n):
                start[j] = end[j]
        else:
            place += share * (following - place)
            for j in range(n):
                start[j] += share * (end[j] - start[j])
    for j in range(n):
        state.output[j] = start[j]
    state.delay[0] = tick - place


@compiled
def _sample_at(state, place, out):
    """Interpolate the samples linearly at a place in ticks."""
    length = state.ring.shape[0]
    tick = int(np.floor(place))
    share = place - tick
    here, after = tick % length, min(tick + 1, state.tick[0]) % length
    for j in range(out.size):
        out[j] = state.ring[here, j]
        if share > 0.0:
            out[j] += share * (state.ring[after, j] - out[j])


@compiled
def _share_within(state, start, end):
    """Share of the way from start to end (n,) in which no joint exceeds its largest step."""
    share = 1.0
    for j in range(start.size):
        change = end[j] - start[j]
        done = start[j] - state.output[j]
        if change > 0.0:
            share = min(share, (state.max_step[j] - done) / change)
        elif change < 0.0:
            share = min(share, (state.max_step[j] + done) / -change)
    return max(share, 0.0)
