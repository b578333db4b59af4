"""
Gains that damp the first modes of an arm whose joints are held, from the curvatures of its links.

Every mode to be damped has a channel. The flex sensors give its share of the motion,

    s = w (kappa - slow mean of kappa),                                                      (C21)

with the row w of the pseudo-inverse of what they see of the first modes. A filter of second order
follows it, v'' = r^2 (s - v) - 2 z r v', and the drives get b (g v + h v'), where b spreads one
modal force over them as the mode itself loads them. With `strain` the filter is fast, and g and h
are gains of the strain and of its rate (Luo, 1993); with `ppf` it is tuned near the mode, h = 0,
and v is a second mode that takes the energy of the first one (Goh & Caughey, 1985).

The numbers r, z, g and h are searched for: those with which the sampled loop, servo and delay
included, damps the modes as wanted and leaves no other mode with less damping than it had.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.feedback.pose_model import (
    Loop,
    PoseModel,
    checked_loop,
    closing,
    pose_model,
    rates_of,
)
from flex_robot_sim.model.arguments import checked
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.summary import summarized

KINDS = ('strain', 'ppf')
WANTED = 0.4                # damping ratio of the modes that are damped
ENOUGH = 0.7                # of another mode that had as much: it may come down to this
OSCILLATING = 0.95          # damping ratio below which a motion is called a mode
NEAR = 1.3                  # modes up to this times the first frequency are damped with it
SEEN = 3                    # modes that are told apart, beside those that are damped
MEAN = 0.01                 # rate at which the mean is learnt, over that of the mode
STARTS = {'strain': ((5.0, 0.7, 0.0, 1.0), (8.0, 0.7, 0.3, 1.0), (4.0, 0.7, -0.3, 1.5)),
          'ppf': ((1.2, 0.6, 0.5), (1.0, 0.4, 0.3), (1.5, 0.8, 0.7), (1.3, 0.3, -0.5))}
SLOWEST = {'strain': 2.0, 'ppf': 0.5}   # filter, over the rate of the mode
LOSS, STRICT = 5.0, 10.0    # weight of what other modes lose, and over it in the last search
TRIES = 400                 # evaluations from every start
REACHED = 0.95              # of what is wanted
TOLERATED = 5e-3            # of its damping that another mode may lose: nobody knows it better
STEP = 0.15                 # by which the search begins
PERIODS, LEFT = 2.0, 0.013  # of a mode, and what may be left of a push after them


@summarized
@dataclass(frozen=True, eq=False)
class Channel:
    """What damps one mode: numbers of (C21)."""

    look: np.ndarray            # (k,)       w: the mode from the curvatures
    push: np.ndarray            # (joints,)  b                                          [N m, N]
    rate: float                 # of the mode, held by the servo alone                  [rad/s]
    filter_rate: float          # r                                                     [rad/s]
    filter_ratio: float         # z
    gains: tuple[float, float]  # g [1/s2], h [1/s]

    def sampled(self, period: float) -> tuple[np.ndarray, np.ndarray]:
        """Return P, Q of x[k] = P x[k-1] + Q s[k], with x = (mean, v, v')."""
        return _filter(self.filter_rate, self.filter_ratio, MEAN * self.rate, period)


@lru_cache(maxsize=64)      # while one channel is sought, the others stay as they are
def _filter(r, z, mean, period):
    from scipy.linalg import expm  # late: a fifth of a start

    both = np.array([[-mean, 0, 0, mean], [0, 0, 1, 0], [-r * r, -r * r, -2 * z * r, r * r],
                     [0, 0, 0, 0]])
    both = expm(both * period)
    return both[:3, :3], both[:3, 3]


@summarized
@dataclass(frozen=True, eq=False)
class DampingDesign:
    """Channels for an arm in a pose, and what they do to its modes there."""

    kind: str
    loop: Loop
    stiffness: np.ndarray       # (joints,)  of the servo beside it              [N m/rad, N/m]
    damping: np.ndarray         # (joints,)
    channels: tuple
    rest: np.ndarray            # (k,)       curvatures in the pose at rest               [1/m]
    before: np.ndarray          # (r,)       rates of the loop without it                 [1/s]
    after: np.ndarray           # (q,)       likewise with it
    ratio: float                # least damping ratio of what its modes became
    lost: float                 # of the damping of another mode, at most, over what it had
    complaint: str = ''         # what was not reached
    late: int = 0               # periods by which flex sensors are older than encoders
    numbers: tuple = ()         # of each channel, in units of its mode


def design_damping(arm: ArmModel, position: ArrayLike, stiffness: ArrayLike, damping: ArrayLike,
                   kind: str = 'strain', loop: Loop | None = None, wanted: float = WANTED,
                   modes: int | None = None, feedback: str = 'motor', late: int = 0,
                   like: DampingDesign | None = None) -> DampingDesign:
    """
    Return the DampingDesign for an ArmModel in a pose, held by a servo.

    :param position: of the joints, (joints,) [rad, m].
    :param stiffness: of the servo, (joints,) [N m/rad, N/m]; damping: likewise.
    :param kind: 'strain' or 'ppf'.
    :param wanted: damping ratio; modes: how many are damped; None: those near the first one.
    :param late: periods by which what flex sensors show is older than what encoders show.
    :param like: DampingDesign in another pose, from whose numbers the search begins.
    """
    if kind not in KINDS:
        raise SettingError(f'kind = {kind!r} must be one of {", ".join(KINDS)}')
    if not 0.0 < wanted < 1.0:
        raise SettingError(f'the wanted damping ratio = {wanted!r} must be between 0 and 1')
    refuse_without_sensors(arm, kind)
    loop = checked_loop(loop or Loop())
    names = arm.joint_names
    stiffness, damping = checked('stiffness', stiffness, names), checked('damping', damping, names)
    model = pose_model(arm, position, feedback)
    search = _Search(model, stiffness, damping, loop, kind, wanted, modes, late)
    channels, after, ratio, lost, complaint, numbers = search.found(like.numbers if like else ())
    return DampingDesign(kind, loop, stiffness, damping, channels, model.gauges_rest,
                         search.before, after, ratio, lost, complaint, late, tuple(numbers))


def refuse_without_sensors(arm: ArmModel, what: str) -> None:
    """Raise SettingError if an arm has no flex sensors."""
    if flex_sensors(arm).names:
        return
    links = ', '.join(arm.tips) or 'none'
    raise SettingError(f'{what} feedback needs flex sensors, and {arm.description.name} has none: '
                       f'give <flex_sensor> to a flexible link (there are: {links}), or take lqg, '
                       'which does with encoders')


def closed_rates(model: PoseModel, loop: Loop, stiffness: ArrayLike, damping: ArrayLike,
                 channels: Sequence[Channel] = (), late: int = 0) -> np.ndarray:
    """Rates [1/s] of a PoseModel that a servo holds, with channels."""
    law = _law(model, loop, stiffness, damping, channels, late)
    return rates_of(closing(model.sampled(loop), law, _seen(model)), loop.period)


def _seen(model):
    """Rows (y, 2 p) of positions, velocities and curvatures in the state (x, x')."""
    nothing = np.zeros_like(model.seen)
    return np.vstack([np.hstack([model.seen, nothing]), np.hstack([nothing, model.seen]),
                      np.hstack([model.gauges, np.zeros_like(model.gauges)])])


def _law(model, loop, stiffness, damping, channels, late=0):
    """Matrices of servo and channels, as `closing` wants them."""
    joints, k, size = len(stiffness), len(model.gauges), 3 + late
    c = size * len(channels)
    P, Q = np.zeros((c, c)), np.zeros((c, 2 * joints + k))
    R, S = np.zeros((joints, c)), np.zeros((joints, 2 * joints + k))
    S[:, :joints], S[:, joints:2 * joints] = -np.diag(stiffness), -np.diag(damping)
    for i, channel in enumerate(channels):
        at = size * i
        own, old = slice(at, at + 3), at + size - 1
        p, q = channel.sampled(loop.period)
        out = np.array([0.0, *channel.gains])
        P[own, own] = p
        R[:, own] = np.outer(channel.push, out @ p)
        if late:                            # what was seen waits behind the filter
            P[own, old] = q
            R[:, old] = (out @ q) * channel.push
            Q[at + 3, 2 * joints:] = channel.look
            P[range(at + 4, at + size), range(at + 3, at + size - 1)] = 1.0
        else:
            Q[own, 2 * joints:] = np.outer(q, channel.look)
            S[:, 2 * joints:] += (out @ q) * np.outer(channel.push, channel.look)
    return P, Q, R, S


class _Search:
    """Looks for numbers of channels, one mode after the other."""

    def __init__(self, model, stiffness, damping, loop, kind, wanted, modes, late):
        self.model, self.loop, self.kind, self.wanted = model, loop, kind, wanted
        self.late = late
        self.servo = stiffness, damping
        self.arm_step, self.outputs = model.sampled(loop), _seen(model)
        squares, shapes = model.held(stiffness, damping)
        self.mode_rates = np.sqrt(np.maximum(squares, 0.0))
        # curvature by the root of the energy of a mode
        seen = np.abs(model.gauges @ shapes).max(axis=0) / np.maximum(self.mode_rates, 1e-9)
        self.before = self.rates(())
        if modes is None:
            modes = int((self.mode_rates <= NEAR * self.mode_rates[0]).sum())
        if not 1 <= modes <= len(squares):
            raise SettingError(f'modes = {modes!r} must be between 1 and {len(squares)}')
        # those that no sensor sees cannot be damped by what it sees
        self.picked = [k for k in range(modes) if seen[k] > 1e-3 * seen.max()]
        if not self.picked:
            raise SettingError('no flex sensor sees the first mode in this pose: place one on the '
                               'link that bends, in the plane in which it does')
        if np.pi / loop.period <= 2 * self.mode_rates[self.picked[-1]]:
            raise SettingError(
                f'a period of {loop.period:g} s is too long for a mode of '
                f'{self.mode_rates[self.picked[-1]] / 2 / np.pi:.3g} Hz: take four or more in one '
                'period of the mode')
        count = min(len(model.gauges), self.picked[-1] + SEEN)
        self.looks = np.linalg.pinv(model.gauges @ shapes[:, :count], rcond=1e-3)
        motion = model.seen @ shapes                        # of the drives, (joints, p)
        pushes = stiffness[:, None] * motion
        self.shapes = shapes
        # what does not change from one try to the next, by mode
        self.pushes = {k: pushes[:, k] / (model.push.T @ shapes[:, k] @ pushes[:, k])
                       for k in self.picked}
        self.near = {k: np.setdiff1d(np.arange(min(k + SEEN, len(self.looks))), self.picked)
                     for k in self.picked}
        self.counts = {k: round(PERIODS * 2 * np.pi / self.mode_rates[k] / loop.period)
                       for k in self.picked}
        self.seen_of = {k: model.M @ shapes[:, k] for k in self.picked}

    def step(self, channels):
        law = _law(self.model, self.loop, *self.servo, channels, self.late)
        return closing(self.arm_step, law, self.outputs)

    def rates(self, channels):
        return rates_of(self.step(channels), self.loop.period)

    def left(self, step, k):
        """What is left of mode k, over its amplitude after a push, after PERIODS of it."""
        rate, shape, p = self.mode_rates[k], self.shapes[:, k], len(self.model.M)
        state = np.zeros(len(step))
        state[p:2 * p] = rate * shape
        state = _after(step, self.counts[k], state)
        seen = self.seen_of[k]
        return np.hypot(seen @ state[:p], seen @ state[p:2 * p] / rate)

    def channel(self, k, numbers):
        """Channel of mode k with numbers in its own units."""
        rate, ratio = self.mode_rates[k], -2.0 * self.wanted
        if self.kind == 'strain':
            filter_rate, z, g, h = numbers[:4]
            gains = g * rate**2, ratio * h * rate
        else:
            filter_rate, z, g = numbers[:3]
            gains = g * rate**2, 0.0
        # a little of the modes next to it, with a sign that does them good
        near = self.near[k]
        look = self.looks[k] + numbers[-near.size:] @ self.looks[near] if near.size else \
            self.looks[k]
        slowest = SLOWEST[self.kind]
        return Channel(look, self.pushes[k], rate, rate * min(max(filter_rate, slowest), 20.0),
                       min(max(z, 0.1), 2.0), gains)

    def found(self, like=()):
        """Channels, rates with them, least ratio, loss, what is wrong, and their numbers."""
        numbers, wanted = [], []
        for i, k in enumerate(self.picked):
            wanted.append(k)
            best, near = None, self.near[k].size
            starts = [np.array([*start, *np.zeros(near)]) for start in STARTS[self.kind]]
            if i < len(like) and like[i].size == starts[0].size:
                starts = [like[i]]
            for start in starts:
                answer = self.searched([*numbers, start], wanted, len(numbers), LOSS)
                best = answer if best is None or answer[0] < best[0] else best
                if best[0] < 0.02:
                    break
            numbers = best[1]
        channels, others = self.channels(numbers, wanted), self._others(wanted)
        if self.judged(self.rates(channels), wanted, others)[2].any():  # all at once, and stricter
            numbers = self.searched(numbers, wanted, 0, STRICT * LOSS)[1]
            channels = self.channels(numbers, wanted)
        after = self.rates(channels)
        ratio, _, losses = self.judged(after, wanted, others)
        lost, complaint = losses.max(initial=0.0), ''
        if ratio < REACHED * self.wanted:
            complaint = (f'the modes come to {max(ratio, 0.0):.2g} of critical damping, not to '
                         f'{self.wanted:.2g}: take a stiffer servo, a shorter delay, or sensors '
                         'nearer to the root')
        elif lost > TOLERATED:
            complaint = (f'another mode loses {lost:.2g} of the damping that it has: want less, '
                         'or take a shorter delay')
        return tuple(channels), after, ratio, float(lost), complaint, numbers

    def channels(self, numbers, picked):
        return [self.channel(k, own) for k, own in zip(picked, numbers)]

    def searched(self, numbers, picked, first, loss):
        """Least cost, and numbers of channels of which those from `first` on are sought."""
        from scipy.optimize import minimize  # a tenth of a start, and rarely needed

        fixed, sought = numbers[:first], numbers[first:]
        ends = [0, *accumulate(own.size for own in sought)]
        start = np.concatenate(sought)
        simplex = np.vstack([start, start + STEP * np.diag(1.0 + np.abs(start))])
        stand, others = self.channels(fixed, picked), self._others(picked)

        def parts(x):
            return [x[begin:end] for begin, end in zip(ends, ends[1:])]

        answer = minimize(
            lambda x: self.cost([*stand, *self.channels(parts(x), picked[first:])], picked, loss,
                                others),
            start, method='Nelder-Mead', options={
                'maxfev': TRIES * len(sought), 'fatol': 1e-4, 'initial_simplex': simplex})
        return answer.fun, [*fixed, *parts(answer.x)]

    def cost(self, channels, picked, weight, others):
        step = self.step(channels)
        after = rates_of(step, self.loop.period)
        ratio, decay, losses = self.judged(after, picked, others)
        allowed = max(LEFT, 1.2 * np.exp(-2 * np.pi * PERIODS * self.wanted))
        slow = sum(max(0.0, self.left(step, k) - allowed) for k in picked)
        small = sum(abs(g) / c.rate**2 + abs(h) / c.rate for c in channels for g, h in [c.gains])
        return (max(0.0, self.wanted - ratio) / self.wanted + max(0.0, self.wanted - decay)
                + weight * losses.sum() + 5 * slow + 1e-3 * small)

    def _others(self, picked):
        """Rates, without channels, of the modes that are not damped."""
        before = self.before[_ratios(self.before) < OSCILLATING]
        own = {int(np.abs(np.abs(before) - self.mode_rates[k]).argmin()) for k in picked}
        return np.array([s for i, s in enumerate(before) if i not in own])

    def judged(self, after, picked, others):
        """Least ratio and decay of what became of the modes, and what each other loses."""
        from scipy.optimize import linear_sum_assignment  # as above

        first = self.mode_rates[picked[0]]
        # the slow means of the channels are no modes
        after = after[(np.abs(after) > 0.1 * first) | (after.real > 0)]
        losses, left = np.zeros(0), np.ones(after.size, bool)
        if others.size:
            far = np.abs(after[None] - others[:, None]) / np.abs(others[:, None])
            rows, columns = linear_sum_assignment(far)
            left[columns] = False
            need = np.minimum(_ratios(others[rows]), ENOUGH)
            losses = np.maximum(1.0 - _ratios(after[columns]) / need, 0.0)
        kept = after[left]
        decay = (-kept.real / first).min(initial=1.0)
        return _ratios(kept).min(initial=1.0), decay, losses


def _after(step, count, state):
    """State after `count` > 0 steps, whose matrix is squared again and again."""
    while True:
        if count % 2:
            state = step @ state
        count //= 2
        if not count:
            return state
        step = step @ step


def _ratios(rates):
    return -rates.real / np.maximum(np.abs(rates), 1e-300)
