"""
Least squares of what a model says to a log, against what was measured; see (I5) to (I8).

Every unknown that needs a simulation has a column of differences of its own; they are found side
by side, in threads, because a simulation holds no lock of Python.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from collections.abc import Sequence as Rows
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares

from flex_robot_sim.identification.parameters import Unknown
from flex_robot_sim.identification.prediction import (
    FINER,
    LONGEST_STEP,
    Motion,
    Setup,
    SoftServo,
    initial_shapes,
    move,
    seen_of,
    soft_servo,
)
from flex_robot_sim.identification.sequences import Sequence, noise_of
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import FlexRobotSimError, UsageError
from flex_robot_sim.util.summary import summarized

STEP = 1e-4             # of the differences, in z
ROBUST = 3.0            # deviations from which a residual counts less
FIRST_SHARE = 0.02      # of what a channel moves, that its residual is taken for at first
LEAST_SHARE = 1e-6      # likewise, that it is at least
ROUNDS = 2              # of finding the weights of channels
MOST_EVALUATIONS = 25
ONE_STEP = 2            # evaluations, which are enough for weights
TOLERANCE = 1e-7        # of the sum of squares, that a last step would save
LOOSE = 1e-3            # likewise, where weights change afterwards
MARGIN = 1e-9           # from the bounds, at which a fit begins
WITHOUT_SIMULATION = ('gain', 'offset')
PARTS = 24              # of a log, whose residuals are looked at by themselves
KEPT = 4                # points whose simulations are kept
KEPT_SLOPES = 2         # likewise, whose slopes
NEAR = 0.01             # of what channels do, by which the model may change and slopes stay
LITTLE = 0.05           # likewise, of a number: one without effect is not near for that


@summarized
class Fit(NamedTuple):
    """Where the least squares are."""

    z: np.ndarray               # (p,)          of unknowns, then of initial states
    residuals: np.ndarray       # (r, c)        over the deviations of the channels
    jacobian: np.ndarray        # (r, c, p)     of these
    weights: np.ndarray         # (r, c)        of the robust loss
    deviations: np.ndarray      # (c,)          of the channels
    cost: float
    evaluations: int


class Problem:
    """Unknowns, sequences, and what the one says to the other."""

    def __init__(self, setup: Setup, unknowns: Rows[Unknown], servo: SoftServo | None = None,
                 sequences: Rows[Sequence] | None = None,
                 starts: Rows[np.ndarray] | None = None, quick: Problem | None = None) -> None:
        """
        Take a Setup and its Unknowns.

        :param sequences: default: all of the setup.
        :param starts: shapes in which each may begin, see `initial_shapes`; default: those.
        :param quick: the same problem with a coarser model, whose slopes will do.
        """
        self.setup, self.unknowns = setup, list(unknowns)
        self.servo = servo or soft_servo(setup)
        self.sequences = list(setup.data.sequences if sequences is None else sequences)
        self.starts = [initial_shapes(setup, sequence) for sequence in self.sequences
                       ] if starts is None else list(starts)
        self.size = len(self.unknowns) + sum(shapes.shape[1] for shapes in self.starts)
        self._simulated = [k for k, one in enumerate(self.unknowns)
                           if one.kind not in WITHOUT_SIMULATION]
        # where the models differ in how a motion may begin, each has slopes of its own
        self._quick = quick if quick is not None and quick.size == self.size else None
        # a servo pulls along what was measured, and so late
        seen_only = (*WITHOUT_SIMULATION, 'delay') if setup.leads else WITHOUT_SIMULATION
        self._is_seen_only = np.array([one.kind in seen_only for one in self.unknowns]
                                      + [False] * (self.size - len(self.unknowns)))
        self._motions: dict[bytes, tuple[ArmModel, list[Motion]]] = {}
        self._slopes: list[tuple[np.ndarray, np.ndarray]] = []      # where, and what
        self._is_relative = np.array([one.scale == 0.0 for one in self.unknowns]
                                     + [False] * (self.size - len(self.unknowns)))
        self._is_linear = np.array([one.kind == 'offset' for one in self.unknowns]
                                   + [False] * (self.size - len(self.unknowns)))

    @property
    def finer(self) -> int:
        """Modes of bending that the model has beyond those described."""
        return FINER if self.setup.finer is None else self.setup.finer

    @property
    def step(self) -> float:
        """Longest step of its simulation [s]."""
        return LONGEST_STEP if self.setup.time_step is None else self.setup.time_step

    def residuals(self, z: np.ndarray, deviations: np.ndarray) -> np.ndarray:
        """Return what the model says less what was logged, over deviations (c,), as (r, c)."""
        return (self.read(self.simulated(z), z) - self.measured) / deviations

    def first(self) -> np.ndarray:
        """Return the z (p,) of the description, with sequences that begin at rest."""
        return np.array([one.place(one.start) for one in self.unknowns]
                        + [0.0] * (self.size - len(self.unknowns)))

    def values(self, z: np.ndarray) -> dict[str, float]:
        """Return all numbers that z means, by path."""
        return {one.path: one.value(x) for one, x in zip(self.unknowns, z)}

    def simulated(self, z: np.ndarray) -> list[np.ndarray]:
        """Return what the model says, a table (k, c) for each sequence, before gains and zeros."""
        arm, motions = self._moved(z)
        return [seen_of(self.setup, arm, sequence, motion, self._delay(z))
                for sequence, motion in zip(self.sequences, motions)]

    def _moved(self, z):
        """The arm that z means, and its Motion on each sequence."""
        moving = z.copy()
        moving[self._is_seen_only] = 0.0        # the motion is the same
        return _kept(self._motions, moving, lambda: self._move(z))

    def _move(self, z):
        arm = self._arm(z)
        return arm, [self._motion(arm, z, row) for row in range(len(self.sequences))]

    def _motion(self, arm, z, row):
        return move(self.setup, self.servo, arm, self.sequences[row], self._delay(z),
                    self._start(z, row))

    def _arm(self, z):
        return self.setup.arm({one.path: one.value(x) for one, x in zip(self.unknowns, z)
                               if one.kind not in (*WITHOUT_SIMULATION, 'delay')})

    def _delay(self, z):
        return next((one.value(x) for one, x in zip(self.unknowns, z) if one.kind == 'delay'), 0.0)

    def _start(self, z, row):
        first = len(self.unknowns) + sum(shapes.shape[1] for shapes in self.starts[:row])
        shapes = self.starts[row]
        return shapes @ z[first:first + shapes.shape[1]]

    def read(self, tables: Rows[np.ndarray], z: np.ndarray) -> np.ndarray:
        """Return what would have been logged of simulated tables, all sequences, (r, c)."""
        all_rows = np.concatenate(tables)
        gain, offset = np.ones(all_rows.shape[1]), np.zeros(all_rows.shape[1])
        for one, x in zip(self.unknowns, z):
            if one.kind == 'gain':
                gain[one.channel] = one.value(x)
            elif one.kind == 'offset':
                offset[one.channel] = one.value(x)
        return all_rows * gain + offset

    @property
    def measured(self) -> np.ndarray:
        """What was logged, all sequences, (r, c)."""
        return np.concatenate([sequence.measured for sequence in self.sequences])

    def slopes(self, z: np.ndarray) -> np.ndarray:
        """Return the slopes (r, c, p) of `read` with z, or those of a place near it (I8)."""
        if self._quick is not None:
            return self._quick.slopes(z)
        for place, slopes in self._slopes:
            if self._is_near(slopes, z - place):
                return slopes
        self._slopes = [(z.copy(), self._slopes_at(z)), *self._slopes][:KEPT_SLOPES]
        return self._slopes[0][1]

    def _is_near(self, slopes, step):
        """Whether a step changes little: numbers themselves, and what channels do."""
        if (np.abs(step[self._is_relative]) > LITTLE).any():
            return False
        step = np.where(self._is_linear, 0.0, step)
        change = slopes @ step
        return bool((change.std(axis=0) <= NEAR * self.measured.std(axis=0)).all())

    def _slopes_at(self, z):
        base, motions = self._moved(z)
        tables = self.simulated(z)
        here = np.concatenate(tables)
        out = np.zeros((*here.shape, z.size))
        gain = np.ones(here.shape[1])
        for k, (one, x) in enumerate(zip(self.unknowns, z)):
            if one.kind == 'gain':
                gain[one.channel] = one.value(x)
                out[:, one.channel, k] = one.value(x) * here[:, one.channel]
            elif one.kind == 'offset':
                out[:, one.channel, k] = one.scale
        starts = np.cumsum([0, *(len(table) for table in tables)])
        jobs = [(k, range(len(tables))) for k in self._simulated]
        k = len(self.unknowns)
        for row, shapes in enumerate(self.starts):
            jobs += [(k + m, range(row, row + 1)) for m in range(shapes.shape[1])]
            k += shapes.shape[1]

        def column(job):
            k, rows = job
            high = self.unknowns[k].bounds[1] if k < len(self.unknowns) else np.inf
            step = STEP if z[k] + STEP <= high else -STEP
            near = z.copy()
            near[k] += step
            is_arm = k < len(self.unknowns) and self.unknowns[k].kind != 'delay'
            arm = self._arm(near) if is_arm else base
            for row in rows:
                place = slice(starts[row], starts[row + 1])
                motion = motions[row] if self._is_seen_only[k] else self._motion(arm, near, row)
                seen = seen_of(self.setup, arm, self.sequences[row], motion, self._delay(near))
                out[place, :, k] = (seen - here[place]) / step * gain

        with ThreadPoolExecutor(processors()) as pool:
            list(pool.map(column, jobs))
        return out

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Return least and largest z (p,) each."""
        low, high = np.full(self.size, -np.inf), np.full(self.size, np.inf)
        for k, one in enumerate(self.unknowns):
            low[k], high[k] = one.bounds
        return low, high


def _kept(memory, z, make):
    """What was made for z before, or is made now."""
    key = z.tobytes()
    if key not in memory:
        made = make()
        while len(memory) >= KEPT:
            del memory[next(iter(memory))]
        memory[key] = made
    return memory[key]


def processors() -> int:
    """Return how many threads are of use."""
    return max(1, len(os.sched_getaffinity(0)))


def first_deviations(problem: Problem) -> np.ndarray:
    """Return what the residual of each channel is taken for before anything is known, (c,)."""
    data = problem.measured
    return np.maximum(FIRST_SHARE * data.std(axis=0), np.max(
        [noise_of(sequence.measured) for sequence in problem.sequences], axis=0)) + 1e-12


def left_over(rows: np.ndarray) -> np.ndarray:
    """
    Return the deviation (c,) of residuals (r, c), outliers apart.

    It is that of most of each part of a log: so it takes no outlier for noise, and no quiet end of
    a log for all of it.
    """
    parts = [1.4826 * np.median(np.abs(part), axis=0)
             for part in np.array_split(rows, min(PARTS, len(rows)))]
    size = np.sqrt(np.mean(np.square(parts), axis=0))
    return np.where(size > 0, size, rows.std(axis=0))


def solve(problem: Problem, z: np.ndarray, deviations: np.ndarray | None = None,
          rounds: int = ROUNDS, most: int = MOST_EVALUATIONS, tolerance: float = TOLERANCE,
          watch: Callable[[int, float], object] | None = None) -> Fit:
    """
    Return the Fit from a start z.

    :param deviations: of the channels (c,), that weigh them at first.
    :param rounds: of weighing them by what is left; tolerance: of the sum of squares.
    """
    if deviations is None:
        deviations = first_deviations(problem)
    measured = problem.measured
    scale, evaluations = np.maximum(measured.std(axis=0), 1e-300), 0
    for round_ in range(rounds):
        def residual(z, deviations=deviations):
            nonlocal evaluations
            evaluations += 1
            try:
                out = problem.residuals(z, deviations).ravel()
            except FlexRobotSimError:       # no such arm, or it buckles
                return np.full(measured.size, np.nan)
            if watch is not None:
                watch(evaluations, float(np.sqrt(np.mean(out**2))))
            return out

        def slopes_of(z, deviations=deviations):
            return (problem.slopes(z) / deviations[:, None]).reshape(-1, z.size)

        low, high = problem.bounds()
        z = np.clip(z, low + MARGIN, high - MARGIN)
        if not np.isfinite(residual(z)).all():
            raise UsageError(f'{problem.sequences[0].name}: the arm as described cannot follow '
                             'this log: its state is lost on the way. Check its masses and '
                             'stiffnesses, units of the log, and --time-step.')
        last = round_ == rounds - 1
        least = tolerance if last else max(tolerance, LOOSE)
        found = least_squares(residual, z, slopes_of, (low, high), loss='soft_l1', f_scale=ROBUST,
                              ftol=least, xtol=least, gtol=1e-10,
                              max_nfev=most if last else ONE_STEP)
        z = found.x
        rows = found.fun.reshape(measured.shape) * deviations
        deviations = np.maximum(left_over(rows), LEAST_SHARE * scale)
    residuals = problem.residuals(z, deviations)
    slopes = problem.slopes(z) / deviations[:, None]
    weights = 1 / np.sqrt(1 + (residuals / ROBUST)**2)      # of soft_l1
    return Fit(z, residuals, slopes, weights, deviations, float(found.cost), evaluations)
