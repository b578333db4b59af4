"""
Gauss-Newton steps with fixed slopes, up to the root of J^T W r = 0.

A trust-region method takes no step that raises the cost. The slopes of a coarse model point to a
root next to the minimum. So such a method stops anywhere between the two.
"""

import numpy as np

from flex_robot_sim.identification.fit import BOUND_MARGIN, ROBUST_THRESHOLD, Fit, Problem
from flex_robot_sim.identification.uncertainty import inverse_information
from flex_robot_sim.util.exceptions import FlexRobotSimError

MAX_STEPS = 4
MIN_STEP_STDS = 0.03  # of white residuals
MAX_RATIO = 0.7  # of the sizes of two steps, of an iteration that converges


def at_root(problem: Problem, fit: Fit) -> Fit:
    """Return a Fit moved to the root of J^T W r = 0 with its slopes, if steps become smaller."""
    low, high = problem.bounds()
    step, size = _step(fit)
    for _ in range(MAX_STEPS):
        if size < MIN_STEP_STDS:
            break
        z = np.clip(fit.z + step, low + BOUND_MARGIN, high - BOUND_MARGIN)
        try:
            residuals = problem.residuals(z, fit.deviations)
        except FlexRobotSimError:  # no such arm, or it buckles
            break
        root = np.sqrt(1 + (residuals / ROBUST_THRESHOLD) ** 2)
        cost = ROBUST_THRESHOLD**2 * float((root - 1).sum())
        moved = fit._replace(z=z, residuals=residuals, weights=1 / root, cost=cost)
        step, next_size = _step(moved)
        if not next_size < MAX_RATIO * size:  # nan: its state is lost on the way
            break
        fit, size = moved, next_size
    return fit


def _step(fit):
    """Return the step (p,), and its size in standard deviations for white residuals."""
    if not np.isfinite(fit.residuals).all():
        return np.zeros(fit.z.size), np.nan
    inverse, _ = inverse_information(fit)
    step = -inverse @ np.einsum('tcp,tc->p', fit.jacobian, fit.weights * fit.residuals)
    deviations = np.sqrt(np.diag(inverse))
    return step, float((np.abs(step) / np.maximum(deviations, 1e-300)).max())
