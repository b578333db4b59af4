"""Fits from other starts, where a first fit is not good or ends far from its start."""

from collections.abc import Callable

import numpy as np

from flex_robot_sim.identification.bench_parameters import is_gauge
from flex_robot_sim.identification.fit import COARSE_TOLERANCE, Fit, Problem, solve
from flex_robot_sim.identification.identifiability import robust_cost
from flex_robot_sim.identification.identification import min_explained_variance
from flex_robot_sim.identification.model_order import MAX_EXTRA_MODES, with_order
from flex_robot_sim.identification.sequences import noise_of
from flex_robot_sim.identification.validation import explained
from flex_robot_sim.util.exceptions import FlexRobotSimError

MIN_BEST_EXPLAINED = 0.8  # of the best channel of a fit that is not poor
MAX_NOISE_RATIO = 0.03  # noise of a clear channel, over its standard deviation
BOUND_DISTANCE = 0.05  # in z: a parameter this close to a bound has diverged
RESTART_STIFFNESS_FACTORS = 0.6, 0.8, 1.0, 1.25, 1.6
FAR_FACTOR = 2.0  # of a stiffness that ends far from its start
FAR_ROUNDS = 3
MAX_FAR_COST = 0.98  # of a better fit, over the cost before
MAX_RESTART_COST = 0.8  # of a better start, over the cost before: other modes may fit noise


def with_restarts(
    problem: Problem, fit: Fit, watch: Callable[[str], object]
) -> tuple[Problem, Fit]:
    """
    Return Problem and Fit, or better ones from other starts if the fit is not good.

    A poor fit, or one that has diverged, starts from other stiffnesses. The wrong number of modes
    may lead to a minimum far from the described values: any other fit that is not good starts
    again from these, with each number of modes.
    """
    low, high = problem.bounds()
    is_at_bound = any(
        min(fit.z[k] - low[k], high[k] - fit.z[k]) < BOUND_DISTANCE
        for k, unknown in enumerate(problem.unknowns)
        if unknown.scale == 0.0
    )
    stiff_rows = [
        k
        for k, unknown in enumerate(problem.unknowns)
        if unknown.kind == 'stiffness' and unknown.scale == 0.0
    ]
    predicted = problem.read(problem.simulated(fit.z), fit.z)
    starts: list[tuple[int, float]] = []
    worst_ratio = 1.0
    if is_at_bound or explained(problem.measured, predicted).max() <= MIN_BEST_EXPLAINED:
        starts = [(problem.finer, factor) for factor in RESTART_STIFFNESS_FACTORS if stiff_rows]
    elif problem.setup.finer is None and not _explains_all(problem, predicted):
        starts = [(order, 1.0) for order in range(MAX_EXTRA_MODES + 1)]
        worst_ratio = MAX_RESTART_COST
    deviations = fit.deviations
    best_cost = worst_ratio * robust_cost(problem, fit.z, deviations)
    best = problem, fit
    for order, factor in starts:
        watch(f'fitting again with {factor:g} of the stiffness and {order} more modes')
        trial, z = with_order(problem, problem.initial_point(), order)
        z[stiff_rows] += np.log(factor)
        try:
            restarted = solve(trial, z, deviations, rounds=1, tolerance=COARSE_TOLERANCE)
            # compare with the same weights
            new_cost = robust_cost(trial, restarted.z, deviations)
        except (FlexRobotSimError, np.linalg.LinAlgError):
            continue
        if new_cost < best_cost:
            best, best_cost = (trial, restarted), new_cost
    return best


def _explains_all(problem, predicted):
    """
    Whether the model explains as much of each clear gauge of each sequence as a good one.

    Logs that begin in motion do not count: there, other modes may fit noise by their amplitudes.
    """
    if problem.size > len(problem.unknowns):
        return True
    names = problem.setup.data.channels
    is_bent = np.array([is_gauge(name) or name.startswith('tip/') for name in names])
    least = np.array([min_explained_variance(name) for name in names])
    ends = np.cumsum([len(row.time) for row in problem.sequences])[:-1]
    for row, table in zip(problem.sequences, np.split(predicted, ends)):
        is_clear = noise_of(row.measured) < MAX_NOISE_RATIO * row.measured.std(axis=0)
        if (explained(row.measured, table) < least)[is_clear & is_bent].any():
            return False
    return True


def from_fitted_stiffness(problem: Problem, fit: Fit, watch: Callable[[str], object]) -> Fit:
    """
    Return the Fit, or a better one from the fitted stiffness if that is far from its start.

    Such a fit has fitted masses, dampings and delay along with wrong stiffnesses, and may stop
    where these suit each other. They start again from the description.
    """
    for _ in range(FAR_ROUNDS):
        if not _is_far(problem, fit):
            break
        watch('fitting again, as a stiffness has changed much')
        z = problem.initial_point()
        for k, unknown in enumerate(problem.unknowns):
            if unknown.kind == 'stiffness':
                z[k] = fit.z[k]
        best_cost = MAX_FAR_COST * robust_cost(problem, fit.z, fit.deviations)
        again = solve(problem, z, fit.deviations, rounds=1, tolerance=COARSE_TOLERANCE)
        if robust_cost(problem, again.z, fit.deviations) > best_cost:
            break
        fit = again
    return fit


def _is_far(problem, fit):
    """Whether a stiffness ends farther from its start than FAR_FACTOR."""
    return any(
        unknown.kind == 'stiffness' and unknown.scale == 0.0 and abs(z) > np.log(FAR_FACTOR)
        for unknown, z in zip(problem.unknowns, fit.z)
    )
