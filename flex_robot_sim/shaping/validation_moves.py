"""
Moves of the nonlinear arm that try a shaper before anybody recommends it.

Linear models of single poses know nothing of what speed does, nor of modes that change on the way.
So an arm makes fast moves, with and without the shaper. From move to move it differs from its
description as much as it may, in its stiffness and its payload, and the shaper is not told. A move
that happens to ring little by itself says little about a shaper: what is left is then compared
with the median of the moves.
"""

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.jacobians import jacobian
from flex_robot_sim.analysis.joint_space_inertia import poses_within
from flex_robot_sim.analysis.mode_table import loaded, path_table
from flex_robot_sim.analysis.statics import Equilibrium, equilibrium
from flex_robot_sim.model.arm_model import ArmModel, with_stiffness
from flex_robot_sim.motion.limits import rate_limits
from flex_robot_sim.shaping.comparison import ShaperCandidate
from flex_robot_sim.shaping.online_shaper import OnlineShaper
from flex_robot_sim.shaping.shaped_samples import shaped_samples
from flex_robot_sim.shaping.shaper_stages import stretched
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.settings import SimulationSettings
from flex_robot_sim.util.summary import summarized

MOVES = 16                  # of a trial, at least
SPEED = 0.6                 # largest velocity, over that of the description
LONGEST = 1.5               # way of a joint between poses that nobody has named        [rad, m]
PEAK = 1.5                  # velocity of a trapezoid of three equal parts, over its mean
LEAST_PERIODS = 1.0         # of the slowest mode that a move takes
PERIODS = 2.0               # likewise, where no velocity is limited
PER_PERIOD = 16             # steps in the period of the fastest mode
SHORTEST_STEP, LONGEST_STEP = 5e-4, 4e-3                                                # [s]


@summarized
class ValidationMove(NamedTuple):
    """A move of an arm that need not be as described."""

    arm: object                 # ArmModel
    start: np.ndarray           # (joints,) [rad, m]
    end: np.ndarray
    rests: tuple[Equilibrium, Equilibrium]      # at both
    tool: np.ndarray            # (3, n) places of the tool by coordinates, at the end
    share: np.ndarray           # (k,) of the way, by sample, unshaped
    tables: tuple               # ModeTable along the way for each payload of the design
    window: float               # one period of the slowest mode                            [s]
    step: float                 # of set points and of the simulation                       [s]


class ValidationMoves:
    """Moves of an arm, and what shapers leave of the vibration of its tool."""

    def __init__(self, arm: ArmModel, poses: np.ndarray | None = None,
                 payloads: Sequence[tuple | None] = (None,), uncertainty: float = 0.1,
                 count: int = 1, gains: tuple[ArrayLike, ArrayLike] | None = None) -> None:
        """
        Choose the moves.

        :param poses: between which it moves (k, joints), k > 1 [rad, m]; default: all its range.
        :param payloads: each as of `mode_table.loaded`.
        :param uncertainty: share by which frequencies may be off.
        :param count: of modes that shapers are made for.
        :param gains: (stiffness, damping) of a servo; None: drives follow exactly.
        """
        self._arm, self._gains, self._count = arm, gains, count
        self._payloads, self._tool = tuple(payloads), arm.tool
        offs = (0.0, -uncertainty, uncertainty) if uncertainty else (0.0,)
        # what is soft and heavy is as far off as what is stiff and light
        self._variants = [(off, payload) for payload in self._payloads for off in offs]
        number = max(MOVES, 2 * len(self._variants))
        self._ways = _ways(arm, number) if poses is None else _between(poses, number)
        self._order = [*range(len(self._ways))]
        # made when they are needed: a poor shaper is known by the first ones
        self._move = lru_cache(maxsize=None)(self._made)
        self._unshaped = lru_cache(maxsize=None)(
            lambda k: self._vibration(self._move(k), self._move(k).share))

    @cached_property
    def _typical(self):
        return float(np.median([self._unshaped(k) for k in self._order]))

    def __len__(self):
        """Count them."""
        return len(self._ways)

    def left(self, choice: ShaperCandidate, limit: float = np.inf) -> float:
        """
        Largest share of the vibration that a Choice leaves in all moves.

        :param limit: beyond which it is enough to know that it is more.
        """
        worst = 0.0
        for k in self._order.copy():
            move = self._move(k)
            shaped = self._shaped(move, choice)
            unshaped = max(self._unshaped(k), self._typical)
            worst = max(worst, self._vibration(move, shaped) / unshaped)
            if worst > limit:
                self._order.remove(k)       # it told: the next shaper has to pass it first
                self._order.insert(0, k)
                break
        return worst

    def _made(self, k):
        start, end = self._ways[k]
        tables = tuple(path_table(self._arm, start, end, self._count, self._gains, payload)
                       for payload in self._payloads)
        off, payload = self._variants[k % len(self._variants)]
        arm = with_stiffness(loaded(self._arm, payload), (1 + off)**2)
        slowest = min(table.frequencies.min() for table in tables)
        fastest = max(table.frequencies.max() for table in tables)
        step = float(np.clip(1 / (PER_PERIOD * fastest), SHORTEST_STEP, LONGEST_STEP))
        duration = max(PEAK / SPEED * float((np.abs(end - start) / rate_limits(arm)).max()),
                       LEAST_PERIODS / slowest)
        if not np.isfinite(rate_limits(arm)).any():
            duration = max(duration, PERIODS / slowest)
        rests = equilibrium(arm, start), equilibrium(arm, end)
        return ValidationMove(
            arm, start, end, rests, jacobian(arm, rests[1].coordinates, self._tool, 'mixed')[3:],
            trapezoid(max(int(np.ceil(duration / step)), 6)), tables, 1 / slowest, step)

    def _shaped(self, move, choice):
        """Shares of the way, by sample."""
        samples = move.share[:, None]
        if not choice.units:
            return shaped_samples(choice.shaper, samples, move.step)[:, 0]
        shaper = OnlineShaper(1, move.step, table=move.tables[0],
                              stages=stretched(choice.units, move.tables))
        return shaper.run(samples)[:, 0]

    def _vibration(self, move, share):
        """Largest distance of the tool from its rest after the set points have arrived [m]."""
        arm, h = move.arm, move.step
        start, end = move.rests
        simulation = Simulation(arm, SimulationSettings(time_step=h))
        simulation.set_state(coordinates=start.coordinates)
        places = move.start + share[:, None] * (move.end - move.start)
        rates = np.gradient(places, h, axis=0)
        rates[[0, -1]] = 0.0
        window = int(np.ceil(move.window / h))
        if self._gains is None:
            still = np.repeat(places[-1:], window, axis=0)
            seen = simulation.follow(np.vstack([places, still]), np.vstack([rates, 0 * still]))
        else:
            seen = self._pulled(simulation, np.vstack([places, np.repeat(places[-1:], window, 0)]),
                                start.effort, end.effort, share)
        swing = (seen[-window:] - end.coordinates) @ move.tool.T
        return float(np.linalg.norm(swing, axis=1).max())

    def _pulled(self, simulation, places, start, end, share):
        """Coordinates (k, n) of an arm that a servo pulls along; its weight is carried as well."""
        rates = np.gradient(places, simulation.settings.time_step, axis=0)
        seen = np.empty((len(places), simulation.arm.size))
        for k, (place, rate) in enumerate(zip(places, rates)):
            simulation.effort = start + share[min(k, len(share) - 1)] * (end - start)
            simulation.hold(place, *self._gains, rate)
            simulation.step()
            seen[k] = simulation.coordinates
        return seen


def trapezoid(count: int) -> np.ndarray:
    """Shares (count + 1,) of a way, in thirds: faster, steady, slower."""
    t, rise = np.arange(count + 1) / count, 1 / 3
    return np.where(t < rise, t**2 / (2 * rise), np.where(
        t < 1 - rise, t - rise / 2, 1 - rise - (1 - t)**2 / (2 * rise))) / (1 - rise)


def _ways(arm, number):
    """Pairs of poses all over the range, no further apart than people move an arm at once."""
    poses = poses_within(arm, number + 1)[-number - 1:]
    ways = []
    for start, end in zip(poses, poses[1:]):
        longest = np.abs(end - start).max()
        ways.append((start, start + (end - start) * min(1.0, LONGEST / longest)))
    return ways


def _between(poses, number):
    """Pairs of given poses, each at least once."""
    poses = np.asarray(poses, float)
    pairs = [(a, b) for a in poses for b in poses if (a != b).any()]
    # neighbours in the list are unlike each other in all that is tried
    order = np.random.default_rng(0).permutation(len(pairs))
    pairs = [pairs[k] for k in order]
    return [pairs[k % len(pairs)] for k in range(number)]
