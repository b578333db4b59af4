"""
Moves of the nonlinear arm, by which shapers and motion profiles are compared.

Linear models of single poses omit effects of speed, and the change of modes during a move.
The arm makes fast moves with each of them. From move to move its stiffness and its payload vary
within their tolerances, unknown to the shaper. A single move is made with all of these variations.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.drive_conditions import servo_gains
from flex_robot_sim.analysis.jacobians import jacobian
from flex_robot_sim.analysis.joint_space_inertia import poses_within, rigid_moves
from flex_robot_sim.analysis.loop_poses import pose_of_drives
from flex_robot_sim.analysis.mode_table import loaded, path_table
from flex_robot_sim.analysis.statics import Equilibrium, equilibrium
from flex_robot_sim.model.arm_model import ArmModel, with_stiffness
from flex_robot_sim.model.free_base import with_base_at_rest
from flex_robot_sim.motion.limits import (
    acceleration_limits,
    deceleration_limits,
    jerk_limits,
    rate_limits,
)
from flex_robot_sim.shaping.motion_profiles import peaks, rounded, trapezoid
from flex_robot_sim.shaping.move_figures import MoveFigures, Plant, summed_figures
from flex_robot_sim.shaping.time_to_rest import rest_time
from flex_robot_sim.simulation.rollout import rollout
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.settings import SimulationSettings
from flex_robot_sim.util.summary import summarized

MIN_MOVES = 16  # number of moves of a sample
MAX_SPEED_SHARE = 0.6  # peak velocity, over the limit of the description
MAX_JOINT_TRAVEL = 1.5  # travel of a joint between automatic poses  [rad, m]
PEAK_TO_MEAN_VELOCITY = 1.5  # peak over mean velocity of a trapezoid of three equal parts
PEAK_ACCELERATION = 4.5  # of this trapezoid, over distance / duration**2
MIN_PERIODS = 1.0  # duration of a move, in periods of the slowest mode
PERIODS_WITHOUT_LIMITS = 2.0  # the same without velocity limits
STEPS_PER_PERIOD = 16  # steps in the period of the fastest mode
MIN_STEP_S, MAX_STEP_S = 5e-4, 4e-3  # [s]
PATH_POINTS = 5  # poses of a path at which its Jacobian is known


class ToolPath(NamedTuple):
    """Jacobians along a path, for the distance of the tool from it."""

    rests: np.ndarray  # (p, n) coordinates at rest
    sideways: np.ndarray  # (p, 3, n) Jacobian of the tool, without the direction of the path


@summarized
class ValidationMove(NamedTuple):
    """A move of an arm with varied stiffness and payload."""

    arm: ArmModel
    start: np.ndarray  # (joints,) [rad, m]
    end: np.ndarray
    rests: tuple[Equilibrium, Equilibrium]  # at start and end
    tool: np.ndarray  # (3, n) Jacobian of the tool at the end
    share: np.ndarray  # (k,) unshaped path parameter, by sample
    tables: tuple  # ModeTable along the path, for each payload of the design
    window: float  # one period of the slowest mode                            [s]
    decay: float  # slowest rate of decay                                      [1/s]
    step: float  # of set points and of the simulation                       [s]
    path: ToolPath | None  # None: the plant is not the nominal one

    @property
    def tool_travel(self) -> float:
        """Travel of the tool per unit of the path parameter, with the Jacobian of the end [m]."""
        columns = self.tool @ rigid_moves(self.arm, self.rests[1].q)
        return float(np.linalg.norm(columns @ (self.end - self.start)))


class ValidationMoves:
    """Moves of an arm, and how its tool comes to rest after set points."""

    def __init__(
        self,
        arm: ArmModel,
        pairs: Sequence[tuple[np.ndarray, np.ndarray]],
        payloads: Sequence[tuple | None] = (None,),
        uncertainty: float = 0.1,
        count: int = 1,
        gains: tuple[ArrayLike, ArrayLike] | None = None,
        acceleration: float = np.inf,
    ) -> None:
        """
        Choose the moves.

        :param pairs: start and end (joints,) of each move [rad, m]; a few are made with every
            plant, many with one plant each.
        :param payloads: each as of `mode_table.loaded`.
        :param uncertainty: relative error of the frequencies.
        :param count: number of modes of the shaper design.
        :param gains: (stiffness, damping) of a servo; None: drives follow exactly.
        :param acceleration: largest one of the tool [m/s2].
        """
        self._arm, self._gains, self._count = arm, gains, count
        self._payloads, self._tool = tuple(payloads), arm.tool
        self._pairs = [(np.asarray(a, float), np.asarray(b, float)) for a, b in pairs]
        self._acceleration = acceleration
        # soft and heavy is the same error as stiff and light
        errors = (0.0, -uncertainty, uncertainty) if uncertainty else (0.0,)
        if len(self._pairs) == 1 and uncertainty:
            errors = (*errors, -uncertainty / 2, uncertainty / 2)
        plants = [Plant(error, payload) for payload in self._payloads for error in errors]
        if len(self._pairs) * len(plants) <= MIN_MOVES or len(self._pairs) == 1:
            self._runs = [(k, plant) for k in range(len(self._pairs)) for plant in plants]
        else:
            number = max(len(self._pairs), 2 * len(plants))
            self._runs = [(k % len(self._pairs), plants[k % len(plants)]) for k in range(number)]
        # workspaces and bound functions belong to an arm: each plant is one arm for all moves
        self._loaded = [loaded(arm, payload) for payload in self._payloads]
        self._stiffened = lru_cache(maxsize=None)(
            lambda row, error: with_stiffness(self._loaded[row], (1 + error) ** 2)
        )
        self._nominal = lru_cache(maxsize=None)(self._build_nominal)
        self._simulation = lru_cache(maxsize=None)(self._new_simulation)
        self.moves = [self._build_move(*run) for run in self._runs]

    def __len__(self):
        """Return the number of moves."""
        return len(self._runs)

    def figures(self, path: Callable[[ValidationMove], np.ndarray], allowed: float) -> MoveFigures:
        """
        Return the MoveFigures of all moves.

        :param path: function from a move to its path parameter (k,), from 0 to 1.
        :param allowed: distance of the tool that counts as rest [m].
        """
        shares: dict[int, np.ndarray] = {}  # by pair: the shaper does not know the plant
        rows = []
        for number, ((pair, _), move) in enumerate(zip(self._runs, self.moves)):
            if pair not in shares:
                shares[pair] = path(move)
            rows.append(self._figures(number, move, shares[pair], allowed))
        return summed_figures(rows)

    def _new_simulation(self, number):
        """Simulation of a move, which its next ones with other set points use again."""
        move = self.moves[number]
        return Simulation(with_base_at_rest(move.arm), SimulationSettings(time_step=move.step))

    def _build_nominal(self, pair):
        """Tables, step [s] and unshaped path of a pair of poses."""
        start, end = self._pairs[pair]
        tables = tuple(
            path_table(arm, start, end, self._count, self._gains) for arm in self._loaded
        )
        slowest = min(table.frequencies.min() for table in tables)
        fastest = max(table.frequencies.max() for table in tables)
        step = float(np.clip(1 / (STEPS_PER_PERIOD * fastest), MIN_STEP_S, MAX_STEP_S))
        q = _rest(self._arm, end).q
        tool = self._jacobian(self._arm, q)
        travel = float(np.linalg.norm(tool @ rigid_moves(self._arm, q) @ (end - start)))
        duration, rounding = _shortest_trapezoid(
            self._arm, end - start, slowest, self._acceleration / max(travel, 1e-300)
        )
        count = max(int(np.ceil(duration / step)), 6)
        return tables, step, rounded(trapezoid(count), rounding / step)

    def _build_move(self, pair, plant):
        start, end = self._pairs[pair]
        tables, step, share = self._nominal(pair)
        row = self._payloads.index(plant.payload)
        arm, table = self._stiffened(row, plant.error), tables[row]
        rests = _rest(arm, start), _rest(arm, end)
        return ValidationMove(
            arm,
            start,
            end,
            rests,
            self._jacobian(arm, rests[1].q),
            share,
            tables,
            1 / min(table.frequencies.min() for table in tables),
            (1 + plant.error) * float((2 * np.pi * table.frequencies * table.ratios)[-1].min()),
            step,
            None if plant.error else self._tool_path(arm, start, end),
        )

    def _jacobian(self, arm, q):
        return jacobian(arm, q, link=self._tool, representation='mixed')[3:]

    def _tool_path(self, arm, start, end):
        rests, sideways = [], []
        for share in np.linspace(0.0, 1.0, PATH_POINTS):
            q = _rest(arm, start + share * (end - start)).q
            J = self._jacobian(arm, q)
            along = J @ rigid_moves(arm, q) @ (end - start)
            along /= max(np.linalg.norm(along), 1e-300)
            rests.append(q)
            sideways.append(J - np.outer(along, along @ J))
        return ToolPath(np.array(rests), np.array(sideways))

    def _figures(self, number, move, share, allowed):
        """Return the MoveFigures of one move, by number, along a path parameter (k,)."""
        q, count = self._coordinates(self._simulation(number), move, share)
        distances = np.linalg.norm((q - move.rests[1].q) @ move.tool.T, axis=1)
        left = float(distances[count:].max())
        velocity, acceleration = peaks(share, move.step)
        travel = float(np.abs(move.end - move.start).max())
        return MoveFigures(
            left if move.path is not None else np.nan,
            left,
            rest_time(
                distances[:count], move.step, allowed, np.array([left]), np.array([move.decay])
            ),
            np.nan if move.path is None else _path_error(move.path, q[:count], share),
            travel * velocity,
            travel * acceleration,
            move.step * (len(share) - len(move.share)),
            left,
        )

    def _coordinates(self, simulation, move, share):
        """Coordinates (k, n) along a path parameter and for a period after it; its samples."""
        h, start = move.step, move.rests[0]
        simulation.set_state(q=start.q)
        positions = move.start + share[:, None] * (move.end - move.start)
        rates = np.gradient(positions, h, axis=0)
        rates[[0, -1]] = 0.0
        held = np.repeat(positions[-1:], int(np.ceil(move.window / h)), axis=0)
        positions = np.vstack([positions, held])
        if self._gains is None:
            q = simulation.follow(positions, np.vstack([rates, 0 * held]))
        else:
            q = self._servo_response(simulation, positions, move, share)
        return q, len(share)

    def _servo_response(self, simulation, positions, move, share):
        """Coordinates (k, n) of an arm with a servo and gravity feed-forward."""
        start, end = (rest.effort for rest in move.rests)
        stiffness, damping = servo_gains(move.arm, self._gains)
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


def _rest(arm, position):
    """Return the Equilibrium at joint positions (joints,); passive joints follow the drives."""
    return equilibrium(arm, pose_of_drives(arm, position))


def _shortest_trapezoid(arm, distance, slowest, acceleration=np.inf):
    """
    Duration of a trapezoid within the limits of the joints, and the time over which it is rounded.

    :param distance: of the joints (joints,) [rad, m]; slowest: frequency of the first mode [Hz].
    :param acceleration: limit of that of the path parameter [1/s2].
    """
    length, velocities = np.abs(distance), rate_limits(arm)
    accelerations = np.minimum(acceleration_limits(arm), deceleration_limits(arm))
    duration = max(
        PEAK_TO_MEAN_VELOCITY / MAX_SPEED_SHARE * float((length / velocities).max()),
        MIN_PERIODS / slowest,
        float(np.sqrt(PEAK_ACCELERATION * length / accelerations).max()),
        float(np.sqrt(PEAK_ACCELERATION / acceleration)),
        # rounded over a third of the duration at most, so that no two steps of acceleration add up
        float(np.cbrt(3 * PEAK_ACCELERATION * length / jerk_limits(arm)).max()),
    )
    if not np.isfinite(velocities).any():
        duration = max(duration, PERIODS_WITHOUT_LIMITS / slowest)
    jerk = PEAK_ACCELERATION * length / duration**2 / jerk_limits(arm)
    return duration, float(jerk.max())


def _path_error(path, q, share):
    """Largest distance of the tool from the path of the arm at rest [m], to first order."""
    places = np.clip(share, 0.0, 1.0) * (len(path.rests) - 1)
    low = np.minimum(places.astype(int), len(path.rests) - 2)
    part = (places - low)[:, None]
    rests = (1 - part) * path.rests[low] + part * path.rests[low + 1]
    nearest = np.round(places).astype(int)
    errors = np.einsum('kij,kj->ki', path.sideways[nearest], q - rests)
    return float(np.linalg.norm(errors, axis=1).max())


def pairs_in_range(arm: ArmModel, number: int = MIN_MOVES) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs of poses in the joint range, with at most MAX_JOINT_TRAVEL between them."""
    poses = poses_within(arm, number + 1)[-number - 1 :]
    pairs = []
    for start, end in zip(poses, poses[1:]):
        travel = np.abs(end - start).max()
        pairs.append((start, start + (end - start) * min(1.0, MAX_JOINT_TRAVEL / travel)))
    return pairs


def pairs_between(poses: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs of given poses."""
    poses = np.asarray(poses, float)
    pairs = [(a, b) for a in poses for b in poses if (a != b).any()]
    # shuffled: neighbours in the list differ in all conditions
    order = np.random.default_rng(0).permutation(len(pairs))
    return [pairs[k] for k in order]
