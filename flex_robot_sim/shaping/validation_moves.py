"""
Validation of a shaper by fast moves of the nonlinear arm, before it is recommended.

Linear models of single poses omit effects of speed, and the change of modes during a move.
The arm makes fast moves with and without the shaper. From move to move its stiffness and its
payload vary within their tolerances, unknown to the shaper. A move with little unshaped
vibration is no useful reference: its residual vibration is compared with the median of all moves.
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
from flex_robot_sim.motion.limits import (
    acceleration_limits,
    deceleration_limits,
    jerk_limits,
    rate_limits,
)
from flex_robot_sim.shaping.online_shaper import OnlineShaper
from flex_robot_sim.shaping.shaped_samples import shaped_samples
from flex_robot_sim.shaping.shaper_comparison import ShaperCandidate
from flex_robot_sim.shaping.shaper_stages import scaled_stages
from flex_robot_sim.simulation.rollout import rollout
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.settings import SimulationSettings
from flex_robot_sim.util.summary import summarized

MIN_MOVES = 16  # number of moves
MAX_SPEED_SHARE = 0.6  # peak velocity, over the limit of the description
MAX_JOINT_TRAVEL = 1.5  # travel of a joint between automatic poses  [rad, m]
PEAK_TO_MEAN_VELOCITY = 1.5  # peak over mean velocity of a trapezoid of three equal parts
PEAK_ACCELERATION = 4.5  # of this trapezoid, over distance / duration**2
MIN_PERIODS = 1.0  # duration of a move, in periods of the slowest mode
PERIODS_WITHOUT_LIMITS = 2.0  # the same without velocity limits
STEPS_PER_PERIOD = 16  # steps in the period of the fastest mode
MIN_STEP_S, MAX_STEP_S = 5e-4, 4e-3  # [s]


@summarized
class ValidationMove(NamedTuple):
    """A move of an arm with varied stiffness and payload."""

    arm: object  # ArmModel
    start: np.ndarray  # (joints,) [rad, m]
    end: np.ndarray
    rests: tuple[Equilibrium, Equilibrium]  # at start and end
    tool: np.ndarray  # (3, n) Jacobian of the tool at the end
    share: np.ndarray  # (k,) unshaped path parameter, by sample
    tables: tuple  # ModeTable along the path, for each payload of the design
    window: float  # one period of the slowest mode                            [s]
    step: float  # of set points and of the simulation                       [s]


class ValidationMoves:
    """Moves of an arm, and the residual vibration of its tool with a shaper."""

    def __init__(
        self,
        arm: ArmModel,
        poses: np.ndarray | None = None,
        payloads: Sequence[tuple | None] = (None,),
        uncertainty: float = 0.1,
        count: int = 1,
        gains: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> None:
        """
        Choose the moves.

        :param poses: start and end poses (k, joints), k > 1 [rad, m]; default: the joint range.
        :param payloads: each as of `mode_table.loaded`.
        :param uncertainty: relative error of the frequencies.
        :param count: number of modes of the shaper design.
        :param gains: (stiffness, damping) of a servo; None: drives follow exactly.
        """
        self._arm, self._gains, self._count = arm, gains, count
        self._payloads, self._tool = tuple(payloads), arm.tool
        stiffness_errors = (0.0, -uncertainty, uncertainty) if uncertainty else (0.0,)
        # soft and heavy is the same error as stiff and light
        self._variants = [
            (error, payload) for payload in self._payloads for error in stiffness_errors
        ]
        number = max(MIN_MOVES, 2 * len(self._variants))
        self._pairs = _start_goal_pairs(arm, number) if poses is None else _between(poses, number)
        self._order = [*range(len(self._pairs))]
        # built on demand: the first ones reject a poor shaper
        self._move = lru_cache(maxsize=None)(self._build_move)
        self._unshaped = lru_cache(maxsize=None)(
            lambda k: self._vibration(self._move(k), self._move(k).share)
        )

    @cached_property
    def _median_unshaped(self):
        return float(np.median([self._unshaped(k) for k in self._order]))

    def __len__(self):
        """Return the number of moves."""
        return len(self._pairs)

    def residual_vibration(self, candidate: ShaperCandidate, limit: float = np.inf) -> float:
        """Largest vibration in all moves over the unshaped one; above a limit, a lower bound."""
        worst = 0.0
        for k in self._order.copy():
            move = self._move(k)
            shaped = self._shaped(move, candidate)
            unshaped = max(self._unshaped(k), self._median_unshaped)
            worst = max(worst, self._vibration(move, shaped) / unshaped)
            if worst > limit:
                self._order.remove(k)  # a critical move: the next shaper has to pass it first
                self._order.insert(0, k)
                break
        return worst

    def _build_move(self, k):
        start, end = self._pairs[k]
        tables = tuple(
            path_table(self._arm, start, end, self._count, self._gains, payload)
            for payload in self._payloads
        )
        error, payload = self._variants[k % len(self._variants)]
        arm = with_stiffness(loaded(self._arm, payload), (1 + error) ** 2)
        slowest = min(table.frequencies.min() for table in tables)
        fastest = max(table.frequencies.max() for table in tables)
        step = float(np.clip(1 / (STEPS_PER_PERIOD * fastest), MIN_STEP_S, MAX_STEP_S))
        duration, rounding = _shortest_trapezoid(arm, end - start, slowest)
        rests = equilibrium(arm, start), equilibrium(arm, end)
        return ValidationMove(
            arm,
            start,
            end,
            rests,
            jacobian(arm, rests[1].q, link=self._tool, representation='mixed')[3:],
            rounded(trapezoid(max(int(np.ceil(duration / step)), 6)), rounding / step),
            tables,
            1 / slowest,
            step,
        )

    def _shaped(self, move, candidate):
        """Shaped path parameter, by sample."""
        samples = move.share[:, None]
        if not candidate.units:
            return shaped_samples(candidate.shaper, samples, move.step)[:, 0]
        shaper = OnlineShaper(
            1, move.step, table=move.tables[0], stages=scaled_stages(candidate.units, move.tables)
        )
        return shaper.run(samples)[:, 0]

    def _vibration(self, move, share):
        """Largest distance of the tool from its rest position after the set points stop [m]."""
        arm, h = move.arm, move.step
        start, end = move.rests
        simulation = Simulation(arm, SimulationSettings(time_step=h))
        simulation.set_state(q=start.q)
        positions = move.start + share[:, None] * (move.end - move.start)
        rates = np.gradient(positions, h, axis=0)
        rates[[0, -1]] = 0.0
        window = int(np.ceil(move.window / h))
        held = np.repeat(positions[-1:], window, axis=0)
        positions = np.vstack([positions, held])
        if self._gains is None:
            coordinates = simulation.follow(positions, np.vstack([rates, 0 * held]))
        else:
            coordinates = self._servo_response(
                simulation, positions, start.effort, end.effort, share
            )
        swing = (coordinates[-window:] - end.q) @ move.tool.T
        return float(np.linalg.norm(swing, axis=1).max())

    def _servo_response(self, simulation, positions, start, end, share):
        """Coordinates (k, n) of an arm with a servo and gravity feed-forward."""
        assert self._gains is not None
        stiffness, damping = self._gains
        rates = np.gradient(positions, simulation.settings.time_step, axis=0)
        rows = zip(positions, rates, np.append(share, np.repeat(share[-1], len(rates))))

        def servo(_time, simulation):
            position, rate, fraction = next(rows)
            simulation.hold(position, stiffness, damping, rate)
            return start + fraction * (end - start)

        log = rollout(
            simulation,
            controller=servo,
            record='q',
            duration=len(positions) * simulation.settings.time_step,
        )
        return log.q[1:]


def trapezoid(count: int) -> np.ndarray:
    """Path parameter (count + 1,) of a trapezoid: accelerate, cruise, brake, a third each."""
    t, rise = np.arange(count + 1) / count, 1 / 3
    return np.where(
        t < rise,
        t**2 / (2 * rise),
        np.where(t < 1 - rise, t - rise / 2, 1 - rise - (1 - t) ** 2 / (2 * rise)),
    ) / (1 - rise)


def rounded(share: np.ndarray, count: float) -> np.ndarray:
    """
    Mean of a path parameter over the last `count` samples, which then rest at its end (k,).

    A step of acceleration a becomes a ramp over these samples, of duration T: the jerk is a / T.
    """
    count = int(np.ceil(count - 1e-9))
    if count < 2:
        return share
    padded = np.concatenate([np.zeros(count - 1), share, np.ones(count - 1)])
    return np.convolve(padded, np.full(count, 1.0 / count), 'valid')


def _shortest_trapezoid(arm, distance, slowest):
    """
    Duration of a trapezoid within the limits of the joints, and the time over which it is rounded.

    :param distance: of the joints (joints,) [rad, m]; slowest: frequency of the first mode [Hz].
    """
    length, velocities = np.abs(distance), rate_limits(arm)
    accelerations = np.minimum(acceleration_limits(arm), deceleration_limits(arm))
    duration = max(
        PEAK_TO_MEAN_VELOCITY / MAX_SPEED_SHARE * float((length / velocities).max()),
        MIN_PERIODS / slowest,
        float(np.sqrt(PEAK_ACCELERATION * length / accelerations).max()),
        # rounded over a third of the duration at most, so that no two steps of acceleration add up
        float(np.cbrt(3 * PEAK_ACCELERATION * length / jerk_limits(arm)).max()),
    )
    if not np.isfinite(velocities).any():
        duration = max(duration, PERIODS_WITHOUT_LIMITS / slowest)
    jerk = PEAK_ACCELERATION * length / duration**2 / jerk_limits(arm)
    return duration, float(jerk.max())


def _start_goal_pairs(arm, number):
    """Pairs of poses in the joint range, with at most MAX_JOINT_TRAVEL between them."""
    poses = poses_within(arm, number + 1)[-number - 1 :]
    pairs = []
    for start, end in zip(poses, poses[1:]):
        travel = np.abs(end - start).max()
        pairs.append((start, start + (end - start) * min(1.0, MAX_JOINT_TRAVEL / travel)))
    return pairs


def _between(poses, number):
    """Pairs of given poses, each at least once."""
    poses = np.asarray(poses, float)
    pairs = [(a, b) for a in poses for b in poses if (a != b).any()]
    # shuffled: neighbours in the list differ in all conditions
    order = np.random.default_rng(0).permutation(len(pairs))
    pairs = [pairs[k] for k in order]
    return [pairs[k % len(pairs)] for k in range(number)]
