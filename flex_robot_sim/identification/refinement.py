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

from flex_robot_sim.exceptions import FlexRobotSimError
from flex_robot_sim.identification.fit import Fit, Problem, processors
from flex_robot_sim.identification.prediction import Setup

MOST_FINER = 3          # modes of bending beyond those described, that are tried
BETTER = 2e-3           # share of the squares that more or fewer shapes must save
LEAST_STEP = 2.5e-4     # [s]
MOVED = 0.5             # deviations by which a step may move a number
FINEST = 1e-3           # deviation below which no number is of interest, in z


def fine_enough(problem: Problem, fit: Fit) -> Setup:
    """Return the Setup of a Problem with the shapes and the step that its log asks for."""
    setup = problem.setup
    orders = [k for k in range(MOST_FINER + 1) if setup.finer is None and k != problem.finer]
    steps: list[float] = []
    if setup.time_step is None:
        period = min(row.period for row in problem.sequences)
        step = period / np.ceil(period / problem.step - 1e-6)
        while step / 2 >= LEAST_STEP and len(steps) < 3:
            step = step / 2
            steps.append(step)
    others = [replace(setup, finer=k, time_step=problem.step) for k in orders]
    others += [replace(setup, finer=problem.finer, time_step=step) for step in steps[-1:]]

    def residuals(other):
        finer = Problem(other, problem.unknowns, problem.servo, problem.sequences)
        try:
            return finer.residuals(fit.z, fit.deviations) if finer.size == problem.size else None
        except FlexRobotSimError:
            return None

    with ThreadPoolExecutor(processors()) as pool:
        found = list(pool.map(residuals, others))
    order = problem.finer
    least = (1 - BETTER) * _left(fit, fit.residuals)
    for k, r in zip(orders, found):
        if r is not None and np.isfinite(r).all() and _left(fit, r) < least:
            order, least = k, (1 - BETTER) * _left(fit, r)
    step = problem.step
    if steps and found[-1] is not None and np.isfinite(found[-1]).all():
        off = _moved(fit, found[-1] - fit.residuals)
        while steps and off > MOVED:        # of second order
            step, off = steps.pop(0), off / 4
    return replace(setup, finer=order, time_step=float(step))


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
