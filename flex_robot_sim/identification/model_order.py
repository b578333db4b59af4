"""
How fine the model has to be for a log: shapes of bending, and the step of time.

A model with too few shapes, or too many, reads other curvatures than the arm and rings elsewhere;
a step that is too long makes it ring slower. Both end in the numbers. What they do to these is
seen without another fit: a finer model is simulated once where the fit is, and the difference
projected on the slopes (I12), (I13).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from flex_robot_sim.identification.fit import Fit, Problem, processors
from flex_robot_sim.util.exceptions import FlexRobotSimError

MOST_FINER = 3          # modes of bending beyond those described, that are tried
BETTER = 2e-3           # share of the squares that more or fewer shapes must save
LEAST_STEP = 2.5e-4     # [s]
MOST_HALVINGS = 3       # of a step
MOVED = 0.5             # deviations by which a step may move a number
FINEST = 1e-3           # deviation below which no number is of interest, in z


def best_order(problem: Problem, fit: Fit) -> int:
    """Return the modes of bending, beyond those described, that the log of a Fit asks for."""
    if problem.setup.finer is not None:
        return problem.setup.finer
    orders = [k for k in range(MOST_FINER + 1) if k != problem.finer]
    others = [replace(problem.setup, finer=k, time_step=problem.step) for k in orders]

    def residuals(other):
        finer = Problem(other, problem.unknowns, problem.servo, problem.sequences)
        try:
            return finer.residuals(fit.z, fit.deviations) if finer.size == problem.size else None
        except FlexRobotSimError:
            return None

    with ThreadPoolExecutor(processors()) as pool:
        found = list(pool.map(residuals, others))
    order, least = problem.finer, (1 - BETTER) * _left(fit, fit.residuals)
    for k, r in zip(orders, found):
        if r is not None and np.isfinite(r).all() and _left(fit, r) < least:
            order, least = k, (1 - BETTER) * _left(fit, r)
    return order


def fine_enough(problem: Problem, fit: Fit) -> Problem:
    """Return the Problem with the step that its log asks for; its slopes are the coarse ones."""
    period = min(row.period for row in problem.sequences)
    first = period / np.ceil(period / problem.step - 1e-6)
    steps = [first / 2**k for k in range(1, MOST_HALVINGS + 1) if first / 2**k >= LEAST_STEP]
    setup = replace(problem.setup, finer=problem.finer, time_step=problem.step)
    if problem.setup.time_step is not None or not steps:
        return Problem(setup, problem.unknowns, problem.servo, problem.sequences, quick=problem)

    def finer(step):
        return Problem(replace(setup, time_step=float(step)), problem.unknowns, problem.servo,
                       problem.sequences, quick=problem)

    tried = steps[:2][-1]
    found = finer(tried)
    residuals = found.residuals(fit.z, fit.deviations)
    step = problem.step
    if np.isfinite(residuals).all():
        # of second order, so that a step four times as short shows nearly all of it
        off = _moved(fit, residuals - fit.residuals)
        rough = _left(fit, fit.residuals) / _left(fit, residuals) - 1
        while steps and (off > MOVED or rough > BETTER):
            step = steps.pop(0)
            # what makes the sum rough falls more slowly than its square
            off, rough = off / 4, rough / 4 if step > tried else 0.0
    return found if step == tried else finer(step)


def _weighed(fit, values):
    root = np.sqrt(fit.weights)
    J = (fit.jacobian * root[:, :, None]).reshape(-1, fit.z.size)
    return J, (values * root).ravel()


def _left(fit, residuals):
    """Squares that are left after the step of least squares."""
    J, r = _weighed(fit, residuals)
    # a number without effect takes no part
    moved = np.linalg.lstsq(J.T @ J, J.T @ r, rcond=1e-12)[0]
    return float(r @ r - moved @ (J.T @ r))


def _moved(fit, change):
    """Deviations, as of white residuals, by which a change of what is simulated moves numbers."""
    J, r = _weighed(fit, change)
    normal = J.T @ J
    moved = np.linalg.lstsq(normal, J.T @ r, rcond=1e-12)[0]
    sizes = np.sqrt(np.maximum(np.diag(np.linalg.pinv(normal, rcond=1e-12, hermitian=True)), 0))
    seen = sizes > 0
    return float(np.max(np.abs(moved[seen]) / np.maximum(sizes[seen], FINEST), initial=0.0))
