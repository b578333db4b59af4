"""
Modal damping design: gains from link curvatures to efforts, for an arm held by a servo.

Every damped mode has a channel. The flex sensors measure its share of the motion,

    s = w (kappa - slow mean of kappa),                                                      (C21)

with the row w of the pseudo-inverse of the curvatures of the first modes. A filter of second order
follows it, v'' = r^2 (s - v) - 2 z r v'. The efforts are b (g v + h v'), where b distributes a
modal force over the drives as the mode loads them. With `strain` the filter is fast, and g and h
are gains of the strain and of its rate (Luo, 1993). With `ppf` the filter is tuned near the mode,
and h = 0. Then v is a second mode that absorbs the energy of the first one (Goh & Caughey, 1985).

A search determines r, z, g and h. The sampled loop, with servo and delay, has to reach the wanted
damping ratio, and no other mode may lose damping.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.drive_conditions import Gains, servo_gains
from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.feedback.pose_model import PoseModel, closed_loop_step, pose_model, rates_of
from flex_robot_sim.model.arguments import (
    checked,
    expect_arm,
    expect_kind,
    expect_one_of,
    number_or_nan,
)
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.simulation.loop_timing import LoopTiming, checked_timing
from flex_robot_sim.util.exceptions import SettingError, shortened
from flex_robot_sim.util.summary import summarized

KINDS = ('strain', 'ppf')
MAX_SENSOR_DELAY = 1000  # periods
DEFAULT_RATIO = 0.4  # wanted damping ratio of the damped modes
SUFFICIENT_RATIO = 0.7  # damping ratio to which other modes may be reduced
MAX_MODE_RATIO = 0.95  # damping ratio below which a motion counts as a mode
DAMPED_FREQUENCY_RATIO = 1.3  # frequency of damped modes, over the first one
EXTRA_MODES = 3  # separated by the sensors, in addition to damped ones
MEAN_RATE_SHARE = 0.01  # rate of the slow mean, over that of the mode
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


@summarized
@dataclass(frozen=True, eq=False)
class DampingDesign:
    """
    Channels for an arm at a pose, and their effect on its modes.

    Example::

        design = frs.feedback.design_damping(frs.load('single_link'), [0.0], gains=(60.0, 0.18),
                                             damping_ratio=0.1, period=5e-3, delay=0.0, kind='ppf')
        design.damping_ratio, design.damping_loss, design.warning
        design.poles_before[0], design.poles_after[0]           # poles [1/s]
    """

    kind: str
    loop: LoopTiming
    stiffness: np.ndarray  # (joints,)  of the parallel servo               [N m/rad, N/m]
    damping: np.ndarray  # (joints,)
    channels: tuple
    rest_curvature: np.ndarray  # (k,)       of the pose at rest                          [1/m]
    poles_before: np.ndarray  # (r,)       of the loop without channels           [1/s]
    poles_after: np.ndarray  # (q,)       of the loop with channels
    damping_ratio: float  # least damping ratio of the damped modes
    damping_loss: float  # largest relative loss of damping of another mode
    warning: str = ''  # why the design is insufficient
    sensor_delay: int = 0  # of the flex sensors relative to the encoders, in periods
    search_variables: tuple = ()  # search variables of each channel


def design_damping(
    arm: ArmModel,
    q: ArrayLike,
    *,
    gains: Gains,
    kind: str = 'strain',
    period: float = 1e-3,
    delay: float = 1e-3,
    damping_ratio: float = DEFAULT_RATIO,
    modes: int | None = None,
    feedback: str = 'motor',
    sensor_delay: int = 0,
    initial_design: DampingDesign | None = None,
) -> DampingDesign:
    """
    Design strain feedback or positive position feedback for an arm in a pose, held by a servo.

    Pass the result to StrainFeedback. The search takes seconds.

    :param q: positions of the joints, (joints,) [rad, m].
    :param gains: (stiffness, damping) of the servo, numbers or (joints,) each
        [N m/rad, N m s/rad; N/m, N s/m].
    :param kind: 'strain', or 'ppf' for positive position feedback.
    :param period: between two samples [s]; delay: from a sample to the resulting effort [s].
    :param damping_ratio: of the damped modes.
    :param modes: number of damped modes; None: those near the first one.
    :param feedback: side of the drives that the encoders measure, 'motor' or 'link'.
    :param sensor_delay: delay of the flex sensors relative to the encoders, in periods.
    :param initial_design: DampingDesign of another pose, with which the search starts.

    Example::

        arm = frs.load('single_link')
        design = frs.feedback.design_damping(arm, [0.0], gains=(60.0, 0.18), kind='ppf',
                                             damping_ratio=0.1, period=5e-3, delay=0.0)
        design.damping_ratio, design.warning              # achieved damping ratio
        law = frs.feedback.StrainFeedback(arm, design)
    """
    expect_arm(arm)
    expect_one_of('kind', kind, KINDS)
    if not isinstance(damping_ratio, Real) or not 0.0 < damping_ratio < 1.0:
        raise SettingError(f'damping_ratio = {damping_ratio!r} must be between 0 and 1')
    refuse_without_sensors(arm, kind)
    if not 0 <= number_or_nan(sensor_delay) <= MAX_SENSOR_DELAY or sensor_delay % 1:
        raise SettingError(
            f'sensor_delay = {shortened(repr(sensor_delay), 60)} must be a whole number of '
            f'periods from 0 to {MAX_SENSOR_DELAY}'
        )
    if initial_design is not None:
        expect_kind('initial_design', initial_design, DampingDesign, 'a DampingDesign')
    loop = checked_timing(LoopTiming(period, delay))
    stiffness, damping = servo_gains(arm, gains)
    model = pose_model(arm, checked('q', q, arm.joint_names), feedback)
    search = _Search(
        model, stiffness, damping, loop, kind, float(damping_ratio), modes, sensor_delay
    )
    channels, after, ratio, lost, warning, numbers = search.solve(
        initial_design.search_variables if initial_design else ()
    )
    return DampingDesign(
        kind,
        loop,
        stiffness,
        damping,
        channels,
        model.gauges_rest,
        search.before,
        after,
        ratio,
        lost,
        warning,
        sensor_delay,
        tuple(numbers),
    )


def refuse_without_sensors(arm: ArmModel, what: str) -> None:
    """Raise SettingError if an arm has no flex sensors."""
    if flex_sensors(arm).names:
        return
    links = ', '.join(arm.tips) or 'none'
    raise SettingError(
        f'{what} feedback needs flex sensors, and {arm.description.name} has none: '
        f'give <flex_sensor> to a flexible link (there are: {links}), or take lqg, '
        'which does with encoders'
    )


def closed_rates(
    model: PoseModel,
    loop: LoopTiming,
    stiffness: ArrayLike,
    damping: ArrayLike,
    channels: Sequence[Channel] = (),
    sensor_delay: int = 0,
) -> np.ndarray:
    """Closed-loop rates [1/s] of a PoseModel with a servo and channels."""
    law = _law(model, loop, stiffness, damping, channels, sensor_delay)
    return rates_of(closed_loop_step(model.sampled(loop), law, _outputs(model)), loop.period)


def _outputs(model):
    """Output matrix (y, 2 p): positions, velocities and curvatures from the state (x, x')."""
    nothing = np.zeros_like(model.encoders)
    return np.vstack(
        [
            np.hstack([model.encoders, nothing]),
            np.hstack([nothing, model.encoders]),
            np.hstack([model.gauges, np.zeros_like(model.gauges)]),
        ]
    )


def _law(model, loop, stiffness, damping, channels, sensor_delay=0):
    """Matrices of servo and channels, for `closed_loop_step`."""
    joints, k, size = len(stiffness), len(model.gauges), 3 + sensor_delay
    c = size * len(channels)
    P, Q = np.zeros((c, c)), np.zeros((c, 2 * joints + k))
    R, S = np.zeros((joints, c)), np.zeros((joints, 2 * joints + k))
    S[:, :joints], S[:, joints : 2 * joints] = -np.diag(stiffness), -np.diag(damping)
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


class _Search:
    """Search for the parameters of the channels, one mode after the other."""

    def __init__(self, model, stiffness, damping, loop, kind, wanted, modes, sensor_delay):
        self.model, self.loop, self.kind, self.wanted = model, loop, kind, wanted
        self.sensor_delay = sensor_delay
        self.servo = stiffness, damping
        self.arm_step, self.outputs = model.sampled(loop), _outputs(model)
        squares, shapes = model.servo_modes(stiffness)
        self.mode_rates = np.sqrt(np.maximum(squares, 0.0))
        # curvature over the root of the energy of a mode
        curvature = np.abs(model.gauges @ shapes).max(axis=0) / np.maximum(self.mode_rates, 1e-9)
        self.before = self.rates(())
        if modes is None:
            modes = int((self.mode_rates <= DAMPED_FREQUENCY_RATIO * self.mode_rates[0]).sum())
        if not isinstance(modes, (int, np.integer)) or not 1 <= modes <= len(squares):
            raise SettingError(
                f'modes = {shortened(repr(modes), 60)} must be between 1 and {len(squares)}'
            )
        # modes without curvature at the sensors cannot be damped
        self.damped = [k for k in range(modes) if curvature[k] > 1e-3 * curvature.max()]
        if not self.damped:
            raise SettingError(
                'no flex sensor sees the first mode in this pose: place one on the '
                'link that bends, in the plane in which it does'
            )
        if np.pi / loop.period <= 2 * self.mode_rates[self.damped[-1]]:
            raise SettingError(
                f'a period of {loop.period:g} s is too long for a mode of '
                f'{self.mode_rates[self.damped[-1]] / 2 / np.pi:.3g} Hz: take four or more in one '
                'period of the mode'
            )
        count = min(len(model.gauges), self.damped[-1] + EXTRA_MODES)
        self.sensor_rows = np.linalg.pinv(model.gauges @ shapes[:, :count], rcond=1e-3)
        motion = model.encoders @ shapes  # of the drives, (joints, p)
        pushes = stiffness[:, None] * motion
        self.shapes = shapes
        # constants of the search, by mode
        self.pushes = {
            k: pushes[:, k] / (model.actuation.T @ shapes[:, k] @ pushes[:, k])
            for k in self.damped
        }
        self.near = {
            k: np.setdiff1d(np.arange(min(k + EXTRA_MODES, len(self.sensor_rows))), self.damped)
            for k in self.damped
        }
        self.counts = {
            k: round(TEST_PERIODS * 2 * np.pi / self.mode_rates[k] / loop.period)
            for k in self.damped
        }
        self.seen_of = {k: model.M @ shapes[:, k] for k in self.damped}

    def step(self, channels):
        law = _law(self.model, self.loop, *self.servo, channels, self.sensor_delay)
        return closed_loop_step(self.arm_step, law, self.outputs)

    def rates(self, channels):
        return rates_of(self.step(channels), self.loop.period)

    def residual(self, step, k):
        """Residual amplitude of mode k after TEST_PERIODS, over that after a push."""
        rate, shape, p = self.mode_rates[k], self.shapes[:, k], len(self.model.M)
        state = np.zeros(len(step))
        state[p : 2 * p] = rate * shape
        state = _after(step, self.counts[k], state)
        seen = self.seen_of[k]
        return np.hypot(seen @ state[:p], seen @ state[p : 2 * p] / rate)

    def channel(self, k, numbers):
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
        weights = self.sensor_rows[k]
        if near.size:
            weights = self.sensor_rows[k] + numbers[-near.size :] @ self.sensor_rows[near]
        slowest = MIN_FILTER_RATE[self.kind]
        return Channel(
            weights,
            self.pushes[k],
            rate,
            rate * min(max(filter_rate, slowest), 20.0),
            min(max(z, 0.1), 2.0),
            gains,
        )

    def solve(self, like=()):
        """Channels, rates with them, least ratio, loss, warning, and search variables."""
        numbers: list[np.ndarray] = []
        wanted: list[int] = []
        for i, k in enumerate(self.damped):
            wanted.append(k)
            best, near = None, self.near[k].size
            starts = [np.array([*start, *np.zeros(near)]) for start in STARTS[self.kind]]
            if i < len(like) and like[i].size == starts[0].size:
                starts = [like[i]]
            for start in starts:
                candidate = self.search([*numbers, start], wanted, len(numbers), LOSS_WEIGHT)
                best = candidate if best is None or candidate[0] < best[0] else best
                if best[0] < 0.02:
                    break
            assert best is not None  # STARTS has starts of every kind
            numbers = best[1]
        channels, undamped = self.channels(numbers, wanted), self._undamped_rates(wanted)
        # refine all channels together
        if self.evaluate(self.rates(channels), wanted, undamped)[2].any():
            numbers = self.search(numbers, wanted, 0, STRICT_FACTOR * LOSS_WEIGHT)[1]
            channels = self.channels(numbers, wanted)
        after = self.rates(channels)
        ratio, _, losses = self.evaluate(after, wanted, undamped)
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
        return tuple(channels), after, ratio, float(lost), warning, numbers

    def channels(self, numbers, damped):
        return [self.channel(k, values) for k, values in zip(damped, numbers)]

    def search(self, numbers, damped, first, loss):
        """Least cost, and the variables; channels from `first` on are optimised."""
        from scipy.optimize import minimize  # imported late: slow, rarely needed

        fixed, sought = numbers[:first], numbers[first:]
        ends = [0, *accumulate(values.size for values in sought)]
        start = np.concatenate(sought)
        simplex = np.vstack([start, start + SIMPLEX_STEP * np.diag(1.0 + np.abs(start))])
        fixed_channels, undamped = self.channels(fixed, damped), self._undamped_rates(damped)

        def split(x):
            return [x[begin:end] for begin, end in zip(ends, ends[1:])]

        solution = minimize(
            lambda x: self.cost(
                [*fixed_channels, *self.channels(split(x), damped[first:])], damped, loss, undamped
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

    def cost(self, channels, damped, weight, undamped):
        step = self.step(channels)
        after = rates_of(step, self.loop.period)
        ratio, decay, losses = self.evaluate(after, damped, undamped)
        allowed = max(MAX_RESIDUAL, 1.2 * np.exp(-2 * np.pi * TEST_PERIODS * self.wanted))
        slow = sum(max(0.0, self.residual(step, k) - allowed) for k in damped)
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

    def evaluate(self, after, damped, undamped):
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


def ratios_of(rates: np.ndarray) -> np.ndarray:
    """Damping ratios of rates [1/s]."""
    return -rates.real / np.maximum(np.abs(rates), 1e-300)
