"""Search for the channels that damp the modes of an arm held by a servo."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from flex_robot_sim.feedback.damped_modes import ServoModes
from flex_robot_sim.feedback.damping_channels import (
    Channel,
    outputs_of_sensors,
    ratios_of,
    servo_and_channels,
)
from flex_robot_sim.feedback.pose_model import PoseModel, closed_loop_step, rates_of
from flex_robot_sim.simulation.loop_timing import LoopTiming

KINDS = ('strain', 'ppf')
SUFFICIENT_RATIO = 0.7  # damping ratio to which other modes may be reduced
MAX_MODE_RATIO = 0.95  # damping ratio below which a motion counts as a mode
EXTRA_MODES = 3  # separated by the sensors, in addition to damped ones
STARTS = {
    'strain': ((5.0, 0.7, 0.0, 1.0), (8.0, 0.7, 0.3, 1.0), (4.0, 0.7, -0.3, 1.5)),
    'ppf': ((1.2, 0.6, 0.5), (1.0, 0.4, 0.3), (1.5, 0.8, 0.7), (1.3, 0.3, -0.5)),
}
MIN_FILTER_RATE = {'strain': 2.0, 'ppf': 0.5}  # filter rate over the rate of the mode
LOSS_WEIGHT, STRICT_FACTOR = 5.0, 10.0  # weight of other losses; factor in the last search
MAX_EVALUATIONS = 400  # evaluations of the cost, per start
MIN_REACHED_SHARE = 0.95  # achieved share of the wanted ratio
MAX_LOSS = 5e-3  # relative loss of damping of another mode, its uncertainty
SIMPLEX_STEP = 0.15  # relative size of the first simplex
TEST_PERIODS, MAX_RESIDUAL = 2.0, 0.013  # periods of a mode after a push; residual amplitude then


class DampingResult(NamedTuple):
    """Channels that a search has found, and their effect."""

    channels: tuple
    rates: np.ndarray  # of the loop with channels [1/s]
    ratio: float  # least damping ratio of the damped modes
    loss: float  # largest relative loss of damping of another mode
    warning: str
    search_variables: list


class DampingSearch:
    """Search for the parameters of the channels, one mode after the other."""

    def __init__(
        self,
        model: PoseModel,
        modes: ServoModes,
        damped: Sequence[int],
        servo: tuple[np.ndarray, np.ndarray],
        loop: LoopTiming,
        kind: str,
        wanted: float,
        sensor_delay: int,
    ) -> None:
        """
        Prepare the search for some modes.

        :param damped: indices of the damped modes, rising; servo: its stiffness and damping.
        :param wanted: their damping ratio; sensor_delay: of the flex sensors, in periods.
        """
        self.model, self.loop, self.kind, self.wanted = model, loop, kind, wanted
        self.sensor_delay, self.servo = sensor_delay, servo
        self.arm_step, self.outputs = model.sampled(loop), outputs_of_sensors(model)
        self.mode_rates, shapes, self.damped = modes.rates, modes.shapes, [*damped]
        self.before, stiffness = self._rates(()), servo[0]
        # modes that the sensors separate: damped ones first
        others = np.setdiff1d(np.arange(self.damped[-1] + EXTRA_MODES), self.damped)
        others = others[others < len(self.mode_rates)]
        count = min(len(model.gauges), self.damped[-1] + EXTRA_MODES)
        sensed = sorted([*self.damped, *others.tolist()][:count])
        self.sensor_rows = np.linalg.pinv(model.gauges @ shapes[:, sensed], rcond=1e-3)
        self.row_of = {k: row for row, k in enumerate(sensed)}
        motion = model.encoders @ shapes  # of the drives, (joints, p)
        pushes = stiffness[:, None] * motion
        self.shapes = shapes
        # constants of the search, by mode
        self.pushes = {
            k: pushes[:, k] / (model.actuation.T @ shapes[:, k] @ pushes[:, k])
            for k in self.damped
        }
        self.near = {
            k: np.array(
                [
                    row
                    for other, row in self.row_of.items()
                    if other < k + EXTRA_MODES and other not in self.damped
                ],
                int,
            )
            for k in self.damped
        }
        self.counts = {
            k: round(TEST_PERIODS * 2 * np.pi / self.mode_rates[k] / loop.period)
            for k in self.damped
        }
        self.seen_of = {k: model.M @ shapes[:, k] for k in self.damped}

    def _step(self, channels):
        law = servo_and_channels(self.model, self.loop, *self.servo, channels, self.sensor_delay)
        return closed_loop_step(self.arm_step, law, self.outputs)

    def _rates(self, channels):
        return rates_of(self._step(channels), self.loop.period)

    def _residual(self, step, k):
        """Residual amplitude of mode k after TEST_PERIODS, over that after a push."""
        rate, shape, p = self.mode_rates[k], self.shapes[:, k], len(self.model.M)
        state = np.zeros(len(step))
        state[p : 2 * p] = rate * shape
        state = _after(step, self.counts[k], state)
        seen = self.seen_of[k]
        return np.hypot(seen @ state[:p], seen @ state[p : 2 * p] / rate)

    def _channel(self, k, numbers):
        """Channel of mode k from search variables."""
        rate, ratio = self.mode_rates[k], -2.0 * self.wanted
        if self.kind == 'strain':
            filter_rate, z, g, h = numbers[:4]
            gains = g * rate**2, ratio * h * rate
        else:
            filter_rate, z, g = numbers[:3]
            gains = g * rate**2, 0.0
        # a share of the neighbouring modes, which can improve their damping
        near = self.near[k]
        weights = self.sensor_rows[self.row_of[k]]
        if near.size:
            weights = weights + numbers[-near.size :] @ self.sensor_rows[near]
        slowest = MIN_FILTER_RATE[self.kind]
        return Channel(
            weights,
            self.pushes[k],
            rate,
            rate * min(max(filter_rate, slowest), 20.0),
            min(max(z, 0.1), 2.0),
            gains,
        )

    def solve(self, like: Sequence[np.ndarray] = ()) -> DampingResult:
        """Return the DampingResult; `like`: search variables of a similar design."""
        numbers: list[np.ndarray] = []
        wanted: list[int] = []
        for i, k in enumerate(self.damped):
            wanted.append(k)
            best, near = None, self.near[k].size
            starts = [np.array([*start, *np.zeros(near)]) for start in STARTS[self.kind]]
            if i < len(like) and like[i].size == starts[0].size:
                starts = [like[i]]
            for start in starts:
                candidate = self._search([*numbers, start], wanted, len(numbers), LOSS_WEIGHT)
                best = candidate if best is None or candidate[0] < best[0] else best
                if best[0] < 0.02:
                    break
            assert best is not None  # STARTS has starts of every kind
            numbers = best[1]
        channels, undamped = self._channels(numbers, wanted), self._undamped_rates(wanted)
        # refine all channels together
        if self._evaluate(self._rates(channels), wanted, undamped)[2].any():
            numbers = self._search(numbers, wanted, 0, STRICT_FACTOR * LOSS_WEIGHT)[1]
            channels = self._channels(numbers, wanted)
        after = self._rates(channels)
        ratio, _, losses = self._evaluate(after, wanted, undamped)
        lost, warning = losses.max(initial=0.0), ''
        if ratio < MIN_REACHED_SHARE * self.wanted:
            warning = (
                f'the modes come to {max(ratio, 0.0):.2g} of critical damping, not to '
                f'{self.wanted:.2g}: take a stiffer servo, a shorter delay, or sensors '
                'nearer to the root'
            )
        elif lost > MAX_LOSS:
            warning = (
                f'another mode loses {lost:.2g} of the damping that it has: want less, '
                'or take a shorter delay'
            )
        return DampingResult(tuple(channels), after, ratio, float(lost), warning, numbers)

    def _channels(self, numbers, damped):
        return [self._channel(k, values) for k, values in zip(damped, numbers)]

    def _search(self, numbers, damped, first, loss):
        """Least cost, and the variables; channels from `first` on are optimised."""
        from scipy.optimize import minimize  # imported late: slow, rarely needed

        fixed, sought = numbers[:first], numbers[first:]
        ends = [0, *accumulate(values.size for values in sought)]
        start = np.concatenate(sought)
        simplex = np.vstack([start, start + SIMPLEX_STEP * np.diag(1.0 + np.abs(start))])
        fixed_channels, undamped = self._channels(fixed, damped), self._undamped_rates(damped)

        def split(x):
            return [x[begin:end] for begin, end in zip(ends, ends[1:])]

        solution = minimize(
            lambda x: self._cost(
                [*fixed_channels, *self._channels(split(x), damped[first:])],
                damped,
                loss,
                undamped,
            ),
            start,
            method='Nelder-Mead',
            options={
                'maxfev': MAX_EVALUATIONS * len(sought),
                'fatol': 1e-4,
                'initial_simplex': simplex,
            },
        )
        return solution.fun, [*fixed, *split(solution.x)]

    def _cost(self, channels, damped, weight, undamped):
        step = self._step(channels)
        after = rates_of(step, self.loop.period)
        ratio, decay, losses = self._evaluate(after, damped, undamped)
        allowed = max(MAX_RESIDUAL, 1.2 * np.exp(-2 * np.pi * TEST_PERIODS * self.wanted))
        slow = sum(max(0.0, self._residual(step, k) - allowed) for k in damped)
        small = sum(abs(g) / c.rate**2 + abs(h) / c.rate for c in channels for g, h in [c.gains])
        return (
            max(0.0, self.wanted - ratio) / self.wanted
            + max(0.0, self.wanted - decay)
            + weight * losses.sum()
            + 5 * slow
            + 1e-3 * small
        )

    def _undamped_rates(self, damped):
        """Rates, without channels, of the undamped modes."""
        before = self.before[ratios_of(self.before) < MAX_MODE_RATIO]
        damped_rows = {int(np.abs(np.abs(before) - self.mode_rates[k]).argmin()) for k in damped}
        return np.array([s for i, s in enumerate(before) if i not in damped_rows])

    def _evaluate(self, after, damped, undamped):
        """Least ratio and decay of the damped modes, and the losses of all others."""
        from scipy.optimize import linear_sum_assignment  # as above

        first = self.mode_rates[damped[0]]
        # exclude the slow means of the channels
        after = after[(np.abs(after) > 0.1 * first) | (after.real > 0)]
        losses, is_damped = np.zeros(0), np.ones(after.size, bool)
        if undamped.size:
            distance = np.abs(after[None] - undamped[:, None]) / np.abs(undamped[:, None])
            rows, columns = linear_sum_assignment(distance)
            is_damped[columns] = False
            required = np.minimum(ratios_of(undamped[rows]), SUFFICIENT_RATIO)
            losses = np.maximum(1.0 - ratios_of(after[columns]) / required, 0.0)
        remaining = after[is_damped]
        decay = (-remaining.real / first).min(initial=1.0)
        return ratios_of(remaining).min(initial=1.0), decay, losses


def _after(step, count, state):
    """State after `count` > 0 steps, by repeated squaring of the matrix."""
    while True:
        if count % 2:
            state = step @ state
        count //= 2
        if not count:
            return state
        step = step @ step
