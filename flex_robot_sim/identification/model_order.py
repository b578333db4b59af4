"""
Model order for a log: number of bending modes, and the time step.

A wrong number of modes biases curvatures and frequencies; a long step lowers frequencies. Both
bias the parameters. No further fit is necessary to estimate the bias: a finer model is simulated
once at the optimum, and the output difference is projected on the slopes (I12), (I13).
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from flex_robot_sim.identification.fit import Fit, Problem, processors
from flex_robot_sim.util.exceptions import FlexRobotSimError

MAX_EXTRA_MODES = 3  # candidates of bending modes in addition to those described
MIN_COST_REDUCTION = 2e-3  # relative, by another number of modes
MIN_STEP_S = 2.5e-4
MAX_STEP_HALVINGS = 3
MAX_SHIFT_STDS = 0.5  # bias of a parameter by the step [standard deviations]
MIN_STD = 1e-3  # smaller standard deviations of z do not matter


def best_order(problem: Problem, fit: Fit) -> int:
    """Return the number of additional bending modes that fits the log best."""
    if problem.setup.finer is not None:
        return problem.setup.finer
    orders = [k for k in range(MAX_EXTRA_MODES + 1) if k != problem.finer]
    setups = [replace(problem.setup, finer=k, time_step=problem.step) for k in orders]

    def residuals(setup):
        finer = Problem(setup, problem.unknowns, problem.servo, problem.sequences)
        try:
            return finer.residuals(fit.z, fit.deviations) if finer.size == problem.size else None
        except FlexRobotSimError:
            return None

    with ThreadPoolExecutor(processors()) as pool:
        candidates = list(pool.map(residuals, setups))
    order = problem.finer
    cost_limit = (1 - MIN_COST_REDUCTION) * remaining_cost(fit, fit.residuals)
    for k, r in zip(orders, candidates):
        if r is not None and np.isfinite(r).all() and remaining_cost(fit, r) < cost_limit:
            order, cost_limit = k, (1 - MIN_COST_REDUCTION) * remaining_cost(fit, r)
    return order


def with_order(problem: Problem, z: np.ndarray, finer: int) -> tuple[Problem, np.ndarray]:
    """Return the problem with another number of modes, and its z; initial states may restart."""
    if finer == problem.finer:
        return problem, z
    refined = Problem(
        replace(problem.setup, finer=finer), problem.unknowns, problem.servo, problem.sequences
    )
    start = refined.initial_point()
    start[: len(problem.unknowns)] = z[: len(problem.unknowns)]
    return refined, z if refined.size == problem.size else start


def with_sufficient_step(problem: Problem, fit: Fit) -> Problem:
    """Return the Problem with a sufficiently small step; the slopes are those of the given one."""
    period = min(row.period for row in problem.sequences)
    longest = period / np.ceil(period / problem.step - 1e-6)
    steps = [
        longest / 2**k for k in range(1, MAX_STEP_HALVINGS + 1) if longest / 2**k >= MIN_STEP_S
    ]
    setup = replace(problem.setup, finer=problem.finer, time_step=problem.step)
    if problem.setup.time_step is not None or not steps:
        return Problem(setup, problem.unknowns, problem.servo, problem.sequences, coarse=problem)

    def with_step(step):
        return Problem(
            replace(setup, time_step=float(step)),
            problem.unknowns,
            problem.servo,
            problem.sequences,
            coarse=problem,
        )

    trial_step = steps[:2][-1]
    trial = with_step(trial_step)
    residuals = trial.residuals(fit.z, fit.deviations)
    step = problem.step
    if np.isfinite(residuals).all():
        # second order: a step four times as short reveals nearly all of the bias
        shift = _largest_shift(fit, residuals - fit.residuals)
        cost_change = remaining_cost(fit, fit.residuals) / remaining_cost(fit, residuals) - 1
        while steps and (shift > MAX_SHIFT_STDS or cost_change > MIN_COST_REDUCTION):
            step = steps.pop(0)
            # the cost change falls more slowly than the square of the step error
            shift, cost_change = shift / 4, cost_change / 4 if step > trial_step else 0.0
    return trial if step == trial_step else with_step(step)


def _weighted(fit, values):
    root = np.sqrt(fit.weights)
    J = (fit.jacobian * root[:, :, None]).reshape(-1, fit.z.size)
    return J, (values * root).ravel()


def remaining_cost(fit: Fit, residuals: np.ndarray) -> float:
    """Return the sum of squares after one least squares step."""
    J, r = _weighted(fit, residuals)
    # rcond excludes unknowns without effect
    step = np.linalg.lstsq(J.T @ J, J.T @ r, rcond=1e-12)[0]
    return float(r @ r - step @ (J.T @ r))


def _largest_shift(fit, output_change):
    """Return the largest shift of z by a change of the outputs, in its standard deviations."""
    J, r = _weighted(fit, output_change)
    normal = J.T @ J
    shift = np.linalg.lstsq(normal, J.T @ r, rcond=1e-12)[0]
    stds = np.sqrt(np.maximum(np.diag(np.linalg.pinv(normal, rcond=1e-12, hermitian=True)), 0))
    has_effect = stds > 0
    return float(
        np.max(np.abs(shift[has_effect]) / np.maximum(stds[has_effect], MIN_STD), initial=0.0)
    )
