"""
Fit of a long log: Gauss-Newton steps with all samples and thinned slopes (I28).

The estimates are those of the fit of all samples. The slopes have no power above the band of the
arm, so that filtering and thinning change no sum of their products with the residuals. The
simulation with the final step runs once per step of the fit, over all of the log.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Rows
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from time import monotonic

import numpy as np

from flex_robot_sim.identification.drive_terms import driven
from flex_robot_sim.identification.fit import (
    BOUND_MARGIN,
    MIN_RESIDUAL_RATIO,
    ROBUST_THRESHOLD,
    Fit,
    Problem,
    processors,
    robust_deviations,
)
from flex_robot_sim.identification.log_checks import MIN_SAMPLES
from flex_robot_sim.identification.prediction import MAX_STEP_S
from flex_robot_sim.identification.response import Response, middle, respond, respond_in_halves
from flex_robot_sim.identification.sensor_terms import rate_signs, read
from flex_robot_sim.identification.sequences import Sequence
from flex_robot_sim.identification.thinning import Thinning, make_thinning
from flex_robot_sim.identification.time_left import TimeLeft
from flex_robot_sim.identification.uncertainty import Uncertainty, information, uncertainty
from flex_robot_sim.identification.unknown import Unknown
from flex_robot_sim.util.exceptions import UsageError

MAX_STEPS = 6  # of a fit
MAX_STEP_STDS = 0.5  # of the last step: slopes are known to a tenth
MAX_NEXT_STEP_STDS = 0.1  # of the one after it
MAX_COST_RISE = 1e-6  # relative, by a step of the fit
MIN_WEIGHT = 1e-3  # of a thinned sample
MIN_LONG_ROWS = 60_000  # samples of a long log: two minutes at 500 Hz
START_S = 20.0  # of each sequence, for the start of the fit
START_ENERGY_RATIO = 5e-3  # of the signals, before the motion counts as begun


class SlopeProblem(Problem):
    """A problem whose slopes are thinned, and whose motion is not cached."""

    has_cached_motion = False

    def __init__(self, problem: Problem, sequences: Rows[Sequence], thinning: Thinning) -> None:
        """Take setup and unknowns of a problem, with the longest step of the simulation."""
        setup = replace(problem.setup, time_step=max(problem.step, MAX_STEP_S))
        starts = problem.starts
        super().__init__(setup, problem.unknowns, problem.servo, sequences, starts)
        self.thinning = thinning

    def simulated(self, z: np.ndarray) -> list[np.ndarray]:
        """Return the model outputs, a table (k, c) per sequence, without gains and offsets."""
        arm = self._arm(z)
        return [self._outputs(arm, z, row) for row in range(len(self.sequences))]

    def _outputs(self, arm, z, row, _motion=None):
        sequence = driven(self.sequences[row], self.unknowns, z)
        start = self._start(z, row)
        return respond(self.setup, self.servo, arm, sequence, self._delay(z), start).channels

    def reduced(self, table: np.ndarray) -> np.ndarray:
        """Return the thinned slopes (k', c) of a sequence."""
        return self.thinning.apply(table)

    def reduced_length(self, count: int) -> int:
        """Return the number of thinned samples of so many."""
        return self.thinning.length(count)


@dataclass
class LongFit:
    """Slopes of a long log, and the samples that it is fitted to."""

    problem: Problem  # with the final step, of the samples to fit
    whole: list[Sequence]  # sequences with the samples for the validation
    thinning: Thinning
    slope_table: np.ndarray  # (r', c, p)  thinned
    last_responses: list[Response]  # along the whole sequences
    seconds: float = 0.0  # that they took
    reference: np.ndarray | None = None  # (c,)  standard deviations of channels in the cost

    @property
    def unknowns(self) -> list[Unknown]:
        """Unknowns of the fit."""
        return self.problem.unknowns

    @property
    def size(self) -> int:
        """Number of unknowns, with those of initial states."""
        return self.problem.size

    @property
    def lengths(self) -> list[int]:
        """Thinned samples of each sequence."""
        return [self.thinning.length(len(row.time)) for row in self.problem.sequences]

    def initial_point(self) -> np.ndarray:
        """Return the z (p,) of the description."""
        return self.problem.initial_point()

    def slopes(self, _z: np.ndarray) -> np.ndarray:
        """Return the slopes (r', c, p)."""
        return self.slope_table

    def forget(self) -> None:
        """Drop the slopes."""
        self.slope_table = np.zeros((0, 0, 0))

    def without(self, remaining: Rows[int]) -> LongFit:
        """Return the LongFit with some of the unknowns only."""
        problem = self.problem
        unknowns = [problem.unknowns[k] for k in remaining]
        reduced = Problem(
            problem.setup, unknowns, problem.servo, problem.sequences, problem.starts
        )
        rows = [*remaining, *range(len(problem.unknowns), problem.size)]
        return replace(
            self, problem=reduced, slope_table=self.slope_table[:, :, rows], last_responses=[]
        )

    def of_sequences(
        self, rows: Rows[int], is_sample: np.ndarray, columns: Rows[int], is_fixed: np.ndarray
    ) -> LongFit:
        """
        Return the LongFit of some sequences only.

        :param is_sample: flags (r',) of their thinned samples; columns: of z that act on them.
        :param is_fixed: flags of these columns that keep their start value.
        """
        whole = self.problem
        sequences, starts = [whole.sequences[k] for k in rows], [whole.starts[k] for k in rows]
        problem = Problem(whole.setup, whole.unknowns, whole.servo, sequences, starts)
        slopes = np.where(is_fixed, 0.0, self.slope_table[is_sample][:, :, columns])
        return replace(
            self,
            problem=problem,
            whole=sequences,
            slope_table=slopes,
            last_responses=[],
            reference=None,
        )

    def responses(self, z: np.ndarray, deviations: np.ndarray | None = None) -> list[Response]:
        """
        Return the Response of the arm along each whole sequence.

        :param deviations: of the residuals (c,); with those, the last responses give states of
            the arm in the middle of a sequence.
        """
        problem = self.problem
        arm, delay = problem.setup.arm(problem.arm_values(z)), problem.values(z).get('delay', 0.0)
        model = problem.setup, problem.servo, arm

        def respond_to(row):
            sequence = driven(self.whole[row], problem.unknowns, z)
            return respond(*model, sequence, delay, problem._start(z, row))

        if len(self.whole) > 1:
            with ThreadPoolExecutor(processors()) as pool:
                return list(pool.map(respond_to, range(len(self.whole))))
        if deviations is None or processors() == 1:
            return [respond_to(0)]
        sequence, begin = driven(self.whole[0], problem.unknowns, z), problem._start(z, 0)
        state = self.last_responses[0].states[middle(len(sequence.time))]
        return [respond_in_halves(*model, sequence, delay, begin, state, deviations)]

    def solve(
        self, z: np.ndarray, watch: Callable[[str], object] = lambda line: None
    ) -> tuple[Fit, Uncertainty]:
        """
        Return the Fit from a start point z, and its Uncertainty; keep the last responses.

        :param watch: receives lines with the time that is left.
        """
        low, high = self.problem.bounds()
        step, size = np.zeros(z.size), 0.0
        previous, seconds = np.inf, self.seconds
        left = TimeLeft(MAX_STEP_STDS, MAX_STEPS, watch)
        deviations, k = None, 0
        while True:
            if k or not self.last_responses:
                started_at = monotonic()
                known = deviations if self.last_responses else None
                self.last_responses = self.responses(z, known)
                seconds = monotonic() - started_at
            k += 1
            fit = self._fit(z, self.last_responses, k)
            deviations = fit.deviations
            if fit.cost > previous * (1 + MAX_COST_RISE) and k < MAX_STEPS:
                step = 0.5 * step  # it was too far for the slopes
                z = z - step
                continue
            found, previous = uncertainty(fit, self.lengths), fit.cost
            target = np.clip(z + self._step(fit), low + BOUND_MARGIN, high - BOUND_MARGIN)
            step, z = target - z, target
            previous_size, size = size, float((np.abs(step) / found.deviations).max())
            left.note(size, seconds)
            # steps become smaller by the same ratio
            is_small = size <= MAX_STEP_STDS or size**2 <= MAX_NEXT_STEP_STDS * previous_size
            if k == MAX_STEPS or is_small:
                return fit._replace(z=z, residuals=fit.residuals + fit.jacobian @ step), found
            del fit  # its slopes take memory

    def _fit(self, z: np.ndarray, responses: list[Response], evaluations: int) -> Fit:
        """Return the Fit at z, whose tables are thinned."""
        tables = [
            read(response.channels[: len(row.time)], rate_signs([row]), self.unknowns, z)
            - row.measured
            for response, row in zip(responses, self.problem.sequences)
        ]
        residuals = np.concatenate(tables)
        if not np.isfinite(residuals).all():
            raise UsageError(
                f'{self.problem.sequences[0].name}: the fitted arm cannot follow this log: its '
                'state is lost on the way. Check its masses and stiffnesses, and --time-step.'
            )
        scale = self.problem.measured.std(axis=0)
        deviations = np.maximum(robust_deviations(residuals), MIN_RESIDUAL_RATIO * scale)
        if self.reference is None:
            self.reference = deviations
        weights, products = [], []
        for table in tables:
            root = np.sqrt(1 + (table / deviations / ROBUST_THRESHOLD) ** 2)
            weights.append(np.maximum(self.thinning.mean(1 / root), MIN_WEIGHT))
            products.append(self.thinning.apply(table / deviations / root))
        weight = np.concatenate(weights)
        ratio = residuals / (ROBUST_THRESHOLD * self.reference)
        cost = ROBUST_THRESHOLD**2 * float((np.sqrt(1 + ratio**2) - 1).sum())
        return Fit(
            z,
            np.concatenate(products) / weight,
            self.slope_table / deviations[:, None],
            weight,
            deviations,
            cost,
            evaluations,
        )

    @staticmethod
    def _step(fit: Fit) -> np.ndarray:
        """Return the Gauss-Newton step (p,)."""
        matrix = information(fit)
        size = np.sqrt(np.maximum(np.diag(matrix), 1e-300))
        gradient = np.einsum('tcp,tc->p', fit.jacobian, fit.weights * fit.residuals)
        scaled = matrix / np.outer(size, size)
        return -np.linalg.lstsq(scaled, gradient / size, rcond=1e-12)[0] / size


def beginnings(sequences: Rows[Sequence]) -> list[Sequence]:
    """Return the first START_S of the motion in each sequence."""
    parts = []
    for row in sequences:
        energy = (
            ((row.measured - row.measured[0]) / (row.measured.std(axis=0) + 1e-300)) ** 2
        ).sum(axis=1)
        energy = np.cumsum(energy)
        begin = int(np.searchsorted(energy, START_ENERGY_RATIO * energy[-1]))
        parts.append(row.part(0, begin + max(MIN_SAMPLES, round(START_S / row.period))))
    return parts


def make_long_fit(
    problem: Problem, z: np.ndarray, fitted: Rows[Sequence], whole: Rows[Sequence], every: int
) -> LongFit:
    """
    Return the LongFit of a log with slopes and responses at z.

    :param problem: of the beginning of each sequence, with the final model and step.
    :param fitted: all samples to fit; whole: those and the ones for the validation.
    :param every: samples that one replaces.
    """
    full = Problem(problem.setup, problem.unknowns, problem.servo, fitted, problem.starts)
    problem.forget()
    # inputs with a period of at least a step suffice for slopes
    most = max(1, int(MAX_STEP_S / min(row.period for row in fitted) + 1e-6))
    coarse = next(k for k in range(min(most, every), 0, -1) if every % k == 0)
    slope_problem = SlopeProblem(
        problem, [row.thinned(coarse) for row in fitted], make_thinning(every // coarse)
    )
    found = LongFit(full, [*whole], make_thinning(every), np.zeros((0, 0, 0)), [])
    with ThreadPoolExecutor(1) as pool:
        started_at = monotonic()
        responses = pool.submit(found.responses, z)
        found.slope_table = slope_problem.slopes(z)
        found.slope_table *= np.sqrt(coarse)
        found.last_responses = responses.result()
        found.seconds = monotonic() - started_at
    return found


def thinning_line(sequences: Rows[Sequence], every: int) -> str:
    """Return a note on the thinning of the slopes of a long log."""
    rows = sum(len(row.time) for row in sequences)
    if every == 1:
        return f'{rows} samples are fitted in steps with slopes of all samples'
    band = make_thinning(every).passband(max(row.period for row in sequences))
    return (
        f'{rows} samples are thinned to {-(-rows // every)} behind a low-pass of {band:.3g} Hz, '
        'which the model shares'
    )
