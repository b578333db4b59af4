"""
Least squares fit of the outputs of a model to a log; see (I5) to (I8).

Finite differences yield one column of the Jacobian for each unknown that needs a simulation.
Threads compute the columns in parallel, because a simulation releases the GIL.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from collections.abc import Sequence as Rows
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares

from flex_robot_sim.identification.drive_terms import DRIVE_KINDS, driven
from flex_robot_sim.identification.log_simulation import SimulatedMotion, channels_of, move
from flex_robot_sim.identification.prediction import (
    DEFAULT_EXTRA_MODES,
    MAX_STEP_S,
    Setup,
    SoftServo,
    initial_shapes,
    soft_servo,
)
from flex_robot_sim.identification.sensor_terms import (
    LINEAR_KINDS,
    SENSOR_KINDS,
    rate_signs,
    read,
    reading_matrix,
    slope,
)
from flex_robot_sim.identification.sequences import Sequence, noise_of
from flex_robot_sim.identification.time_left import TimeLeft
from flex_robot_sim.identification.unknown import DIFFERENCE_STEP, Unknown
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import FlexRobotSimError, UsageError
from flex_robot_sim.util.summary import summarized

COARSE_TOLERANCE = 1e-3  # relative, of the sum of squares, with the coarse model
ROBUST_THRESHOLD = 3.0  # weight of larger residuals decreases [standard deviations]
INITIAL_RESIDUAL_RATIO = 0.02  # initial residual of a channel, over its standard deviation
MIN_RESIDUAL_RATIO = 1e-6  # least residual of a channel, over its standard deviation
WEIGHTING_ROUNDS = 2  # iterations of the channel weights
MAX_EVALUATIONS = 25
WEIGHTING_EVALUATIONS = 2  # evaluations per iteration of the weights
TOLERANCE = 1e-7  # relative reduction of the cost in the last step
WEIGHTING_TOLERANCE = 1e-3  # the same, while the weights still change
BOUND_MARGIN = 1e-9  # distance of the start point from the bounds
WITHOUT_SIMULATION = SENSOR_KINDS
LOG_PARTS = 24  # parts of a log with separate residual levels
MOTION_CACHE_SIZE = 4  # points with cached simulations
SLOPE_CACHE_SIZE = 2  # points with cached slopes
MAX_OUTPUT_CHANGE = 0.01  # relative change of the outputs that keeps cached slopes valid
MAX_PARAMETER_CHANGE = 0.05  # the same in z, also for parameters without effect


@summarized
class Fit(NamedTuple):
    """Solution of the least squares problem."""

    z: np.ndarray  # (p,)          of unknowns, then of initial states
    residuals: np.ndarray  # (r, c)        over the standard deviations of the channels
    jacobian: np.ndarray  # (r, c, p)     of the residuals
    weights: np.ndarray  # (r, c)        of the robust loss
    deviations: np.ndarray  # (c,)          standard deviations of the channels
    cost: float
    evaluations: int


class Problem:
    """Least squares problem: unknowns, sequences, and the residuals of a model."""

    has_cached_motion = True  # of the latest points

    def __init__(
        self,
        setup: Setup,
        unknowns: Rows[Unknown],
        servo: SoftServo | None = None,
        sequences: Rows[Sequence] | None = None,
        starts: Rows[np.ndarray] | None = None,
        coarse: Problem | None = None,
    ) -> None:
        """
        Store a Setup and its Unknowns.

        :param sequences: default: all of the setup.
        :param starts: initial shapes of each sequence; default: those of `initial_shapes`.
        :param coarse: the same problem with a coarser model, which provides the slopes.
        """
        self.setup, self.unknowns = setup, list(unknowns)
        self.servo = servo or soft_servo(setup)
        self.sequences = list(setup.data.sequences if sequences is None else sequences)
        self.starts = (
            [initial_shapes(setup, sequence) for sequence in self.sequences]
            if starts is None
            else list(starts)
        )
        self.size = len(self.unknowns) + sum(shapes.shape[1] for shapes in self.starts)
        self._simulated = [
            k for k, unknown in enumerate(self.unknowns) if unknown.kind not in WITHOUT_SIMULATION
        ]
        # models with different initial shapes do not share slopes
        self.coarse = coarse if coarse is not None and coarse.size == self.size else None
        # the soft servo acts on the measured, delayed motion
        output_only = (
            (*WITHOUT_SIMULATION, 'delay') if setup.has_prescribed_motion else WITHOUT_SIMULATION
        )
        self._is_output_only = np.array(
            [unknown.kind in output_only for unknown in self.unknowns]
            + [False] * (self.size - len(self.unknowns))
        )
        self._signs = rate_signs(self.sequences)
        self._motions: dict[bytes, tuple[ArmModel, list[SimulatedMotion]]] = {}
        self._slopes: list[tuple[np.ndarray, np.ndarray]] = []  # points and slopes
        self._is_relative = np.array(
            [unknown.scale == 0.0 for unknown in self.unknowns]
            + [False] * (self.size - len(self.unknowns))
        )
        self._is_linear = np.array(
            [unknown.kind in LINEAR_KINDS for unknown in self.unknowns]
            + [False] * (self.size - len(self.unknowns))
        )

    @property
    def finer(self) -> int:
        """Bending modes of the model in addition to those described."""
        return DEFAULT_EXTRA_MODES if self.setup.finer is None else self.setup.finer

    @property
    def step(self) -> float:
        """Largest step of the simulation [s]."""
        return MAX_STEP_S if self.setup.time_step is None else self.setup.time_step

    def residuals(self, z: np.ndarray, deviations: np.ndarray) -> np.ndarray:
        """Return predicted minus measured outputs, over standard deviations (c,), as (r, c)."""
        return (self.read(self.simulated(z), z) - self.measured) / deviations

    def initial_point(self) -> np.ndarray:
        """Return the z (p,) of the description; all sequences begin at rest."""
        return np.array(
            [unknown.normalized(unknown.start) for unknown in self.unknowns]
            + [0.0] * (self.size - len(self.unknowns))
        )

    def values(self, z: np.ndarray) -> dict[str, float]:
        """Return the parameter values of z, by path."""
        return {unknown.path: unknown.value(x) for unknown, x in zip(self.unknowns, z)}

    def arm_values(self, z: np.ndarray) -> dict[str, float]:
        """Return the parameter values of the arm and its tilt, by path."""
        return {
            unknown.path: unknown.value(x)
            for unknown, x in zip(self.unknowns, z)
            if unknown.kind not in (*SENSOR_KINDS, *DRIVE_KINDS, 'delay')
        }

    def simulated(self, z: np.ndarray) -> list[np.ndarray]:
        """Return the model outputs, a table (k, c) per sequence, without gains and offsets."""
        arm, motions = self._simulation(z)
        return [
            channels_of(self.setup, arm, sequence, motion, self._delay(z))
            for sequence, motion in zip(self.sequences, motions)
        ]

    def motions(self, z: np.ndarray) -> list[SimulatedMotion]:
        """Return the SimulatedMotion along each sequence."""
        return self._simulation(z)[1]

    def _outputs(self, arm, z, row, motion=None):
        """Return the outputs (k, c) of an arm along one sequence."""
        motion = self._motion(arm, z, row) if motion is None else motion
        return channels_of(self.setup, arm, self.sequences[row], motion, self._delay(z))

    def _simulation(self, z):
        """Return the arm with the parameters z, and its Motion on each sequence."""
        key_point = z.copy()
        key_point[self._is_output_only] = 0.0  # the motion is the same
        key = key_point.tobytes()
        if key not in self._motions:
            simulation = self._simulate(z)
            while len(self._motions) >= MOTION_CACHE_SIZE:
                del self._motions[next(iter(self._motions))]
            self._motions[key] = simulation
        return self._motions[key]

    def _simulate(self, z):
        arm = self._arm(z)
        return arm, [self._motion(arm, z, row) for row in range(len(self.sequences))]

    def _motion(self, arm, z, row):
        sequence = driven(self.sequences[row], self.unknowns, z)
        return move(self.setup, self.servo, arm, sequence, self._delay(z), self._start(z, row))

    def _arm(self, z):
        return self.setup.arm(self.arm_values(z))

    def _delay(self, z):
        return next(
            (unknown.value(x) for unknown, x in zip(self.unknowns, z) if unknown.kind == 'delay'),
            0.0,
        )

    def _start(self, z, row):
        column = len(self.unknowns) + sum(shapes.shape[1] for shapes in self.starts[:row])
        shapes = self.starts[row]
        return shapes @ z[column : column + shapes.shape[1]]

    def read(self, tables: Rows[np.ndarray], z: np.ndarray) -> np.ndarray:
        """Return the predicted log of simulated tables, all sequences, (r, c)."""
        return read(np.concatenate(tables), self._signs, self.unknowns, z)

    @property
    def measured(self) -> np.ndarray:
        """Measured outputs, all sequences, (r, c)."""
        return np.concatenate([sequence.measured for sequence in self.sequences])

    def slopes(self, z: np.ndarray) -> np.ndarray:
        """Return the derivatives (r, c, p) of `read` by z, or those of a point near it (I8)."""
        if self.coarse is not None:
            return self.coarse.slopes(z)
        for point, slopes in self._slopes:
            if self._is_near(slopes, z - point):
                return slopes
        self._slopes = [(z.copy(), self._slopes_at(z)), *self._slopes][:SLOPE_CACHE_SIZE]
        return self._slopes[0][1]

    def _is_near(self, slopes, change):
        """Whether a change of z is small, both in the parameters and in the outputs."""
        if (np.abs(change[self._is_relative]) > MAX_PARAMETER_CHANGE).any():
            return False
        change = np.where(self._is_linear, 0.0, change)
        output_change = slopes @ change
        return bool(
            (output_change.std(axis=0) <= MAX_OUTPUT_CHANGE * self.measured.std(axis=0)).all()
        )

    def reduced(self, table: np.ndarray) -> np.ndarray:
        """Return the rows (k', c) of slopes (k, c) of a sequence that the fit uses: all."""
        return table

    def reduced_length(self, count: int) -> int:
        """Return the number of rows that `reduced` returns of so many."""
        return count

    def _slopes_at(self, z):
        base, tables = self._arm(z), self.simulated(z)
        ends = np.cumsum([len(table) for table in tables])[:-1]
        nominal = np.concatenate(tables)
        tables = np.split(nominal, ends)  # views: tables of long logs are large
        starts = np.cumsum([0, *(self.reduced_length(len(table)) for table in tables)])
        out = np.zeros((starts[-1], nominal.shape[1], z.size))
        readings = reading_matrix(self.unknowns, z, nominal.shape[1])
        for k, (unknown, x) in enumerate(zip(self.unknowns, z)):
            if unknown.kind in SENSOR_KINDS:
                slopes = slope(unknown, x, nominal, self._signs)[:, None]
                parts = [self.reduced(part) for part in np.split(slopes, ends)]
                out[:, unknown.channel, k] = np.concatenate(parts)[:, 0]
        jobs = [(k, range(len(tables))) for k in self._simulated]
        k = len(self.unknowns)
        for row, shapes in enumerate(self.starts):
            jobs += [(k + m, range(row, row + 1)) for m in range(shapes.shape[1])]
            k += shapes.shape[1]

        def column(job):
            k, rows = job
            is_initial = k >= len(self.unknowns)
            step = DIFFERENCE_STEP if is_initial else self.unknowns[k].difference_step(z[k])
            shifted = z.copy()
            shifted[k] += step
            is_arm = k < len(self.unknowns) and self.unknowns[k].kind not in (
                *DRIVE_KINDS,
                'delay',
            )
            arm = self._arm(shifted) if is_arm else base
            for row in rows:
                block = slice(starts[row], starts[row + 1])
                has_motion = self.has_cached_motion and self._is_output_only[k]
                motion = self._simulation(z)[1][row] if has_motion else None
                change = self._outputs(arm, shifted, row, motion)
                change -= tables[row]
                out[block, :, k] = self.reduced(change) @ (readings.T / step)

        with ThreadPoolExecutor(processors()) as pool:
            list(pool.map(column, jobs))
        return out

    def forget(self, motions: bool = True) -> None:
        """Drop cached slopes, so that the next ones are those of the next point, and motions."""
        for problem in filter(None, (self, self.coarse)):
            problem._slopes.clear()
            if motions:
                problem._motions.clear()

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the lower and the upper bounds of z, (p,) each."""
        low, high = np.full(self.size, -np.inf), np.full(self.size, np.inf)
        for k, unknown in enumerate(self.unknowns):
            low[k], high[k] = unknown.bounds
        return low, high


def processors() -> int:
    """Return the number of processors available to this process."""
    return max(1, len(os.sched_getaffinity(0)))


def initial_deviations(problem: Problem) -> np.ndarray:
    """Return initial standard deviations of the residuals, (c,)."""
    data = problem.measured
    return (
        np.maximum(
            INITIAL_RESIDUAL_RATIO * data.std(axis=0),
            np.max([noise_of(sequence.measured) for sequence in problem.sequences], axis=0),
        )
        + 1e-12
    )


def robust_deviations(rows: np.ndarray) -> np.ndarray:
    """
    Return a robust standard deviation (c,) of residuals (r, c).

    It averages the median absolute deviations of parts of the log. So neither outliers nor a quiet
    end of the log distort it.
    """
    parts = [
        1.4826 * np.median(np.abs(part), axis=0)
        for part in np.array_split(rows, min(LOG_PARTS, len(rows)))
    ]
    deviation = np.sqrt(np.mean(np.square(parts), axis=0))
    return np.where(deviation > 0, deviation, rows.std(axis=0))


def _reason_of_loss(problem, z):
    """Why a Problem has no residuals at z."""
    try:
        motions = problem.motions(z)
    except FlexRobotSimError as error:
        return str(error).rstrip('.')
    for sequence, motion in zip(problem.sequences, motions):
        if motion.reached < len(sequence.time):
            seconds = sequence.time[motion.reached] - sequence.time[0]
            return (
                f'its state is lost after {seconds:.3g} s, where links bend beyond the theory '
                'or the log is too violent'
            )
    return 'its state is lost on the way'


def solve(
    problem: Problem,
    z: np.ndarray,
    deviations: np.ndarray | None = None,
    rounds: int = WEIGHTING_ROUNDS,
    max_evaluations: int = MAX_EVALUATIONS,
    tolerance: float = TOLERANCE,
    watch: Callable[[str], object] = lambda line: None,
) -> Fit:
    """
    Return the Fit from a start point z.

    :param deviations: initial standard deviations of the channels (c,), which weight them.
    :param rounds: iterations of the weights; tolerance: relative, of the sum of squares.
    :param watch: receives the time that is left of the last one.
    """
    if deviations is None:
        deviations = initial_deviations(problem)
    measured = problem.measured
    scale, evaluations = np.maximum(measured.std(axis=0), 1e-300), 0
    for round_ in range(rounds):
        is_last = round_ == rounds - 1
        step_tolerance = tolerance if is_last else max(tolerance, WEIGHTING_TOLERANCE)
        left = TimeLeft(step_tolerance, max_evaluations, watch if is_last else lambda line: None)

        def residual(z, deviations=deviations, left=left):
            nonlocal evaluations
            evaluations += 1
            try:
                r = problem.residuals(z, deviations).ravel()
            except FlexRobotSimError:  # no such arm, or it buckles
                return np.full(measured.size, np.nan)
            left.note_cost(float((np.sqrt(1 + (r / ROBUST_THRESHOLD) ** 2) - 1).sum()))
            return r

        def slopes_of(z, deviations=deviations):
            return (problem.slopes(z) / deviations[:, None]).reshape(-1, z.size)

        low, high = problem.bounds()
        z = np.clip(z, low + BOUND_MARGIN, high - BOUND_MARGIN)
        if not np.isfinite(residual(z)).all():
            raise UsageError(
                f'{problem.sequences[0].name}: the arm as described cannot follow this log: '
                f'{_reason_of_loss(problem, z)}. Check its masses and stiffnesses, units of the '
                'log, and --time-step.'
            )
        result = least_squares(
            residual,
            z,
            slopes_of,
            (low, high),
            loss='soft_l1',
            f_scale=ROBUST_THRESHOLD,
            ftol=step_tolerance,
            xtol=step_tolerance,
            gtol=1e-10,
            max_nfev=max_evaluations if is_last else WEIGHTING_EVALUATIONS,
        )
        z = result.x
        residuals_by_channel = result.fun.reshape(measured.shape) * deviations
        deviations = np.maximum(
            robust_deviations(residuals_by_channel), MIN_RESIDUAL_RATIO * scale
        )
    residuals = problem.residuals(z, deviations)
    slopes = problem.slopes(z) / deviations[:, None]
    weights = 1 / np.sqrt(1 + (residuals / ROBUST_THRESHOLD) ** 2)  # of soft_l1
    return Fit(z, residuals, slopes, weights, deviations, float(result.cost), evaluations)
