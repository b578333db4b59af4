"""Identifiability: parameters that a log determines, by covariance and by refits without them."""

from collections.abc import Callable

import numpy as np

from flex_robot_sim.identification import uncertainty
from flex_robot_sim.identification.fit import ROBUST_THRESHOLD, Fit, Problem, solve
from flex_robot_sim.identification.long_fit import LongFit
from flex_robot_sim.identification.uncertainty import Uncertainty

MAX_RELATIVE_STD_ROUGH = 0.7  # above it not even the order of magnitude is identified
MIN_CHANGE_STDS = 2.0  # change from the start value, in standard deviations
MIN_REFIT_RELATIVE_STD = 0.05  # above it the interval may be asymmetric: refit to check
MIN_REFIT_STDS = 3.0  # evidence of a refit against the start value, in std


def robust_cost(problem: Problem, z: np.ndarray, deviations: np.ndarray) -> float:
    """Return twice the sum of (I5); it equals the sum of squares of small residuals."""
    r = problem.residuals(z, deviations) / ROBUST_THRESHOLD
    return float(2 * ROBUST_THRESHOLD**2 * np.sum(np.sqrt(1 + r**2) - 1))


def identifiable_from_covariance(
    problem: Problem | LongFit, fit: Fit, uncertainties: Uncertainty
) -> list[bool]:
    """Return whether the log determines each unknown, by its standard deviation at the optimum."""
    is_identifiable = []
    for k, unknown in enumerate(problem.unknowns):
        std, (low, high) = uncertainties.deviations[k], unknown.bounds
        is_at_bound = min(fit.z[k] - low, high - fit.z[k]) < 1e-6
        if unknown.scale == 0.0:
            # roughly identified, if the start value lies outside the uncertainty
            has_changed = std < MAX_RELATIVE_STD_ROUGH and abs(fit.z[k]) > MIN_CHANGE_STDS * std
            is_identifiable.append(
                bool((std < uncertainty.MAX_RELATIVE_STD or has_changed) and not is_at_bound)
            )
        else:  # it may be zero: then the bound on its distance from zero counts
            size = max(abs(unknown.value(fit.z[k])), abs(unknown.scale))
            is_identifiable.append(
                bool(
                    std * unknown.scale
                    < max(uncertainty.MAX_RELATIVE_STD * size, 3 * unknown.scale)
                )
            )
    return is_identifiable


def identifiable_from_refit(
    problem: Problem | LongFit,
    fit: Fit,
    uncertainties: Uncertainty,
    is_identifiable: list[bool],
    watch: Callable[[str], object] = lambda line: None,
) -> list[bool]:
    """
    Return whether the log determines each unknown, and a refit without it is worse (I24).

    Standard deviations follow from the slopes at the optimum. A stiffness without effect at its
    start value may have an effect at an optimum that is caused by noise.

    :param watch: receives a line before each refit.
    """
    result = list(is_identifiable)
    for k, unknown in enumerate(problem.unknowns):
        std = uncertainties.deviations[k]
        if not (
            result[k]
            and unknown.scale == 0.0
            and MIN_REFIT_RELATIVE_STD < std < uncertainty.MAX_RELATIVE_STD
            and abs(fit.z[k]) > MIN_REFIT_STDS * std
        ):
            continue
        watch(f'fitting without {unknown.path}, to compare')
        result[k] = bool(
            _cost_increase(problem, fit, k)
            > (MIN_REFIT_STDS * std / uncertainty.white_deviations(fit)[k]) ** 2
        )
    return result


def _cost_increase(problem, fit, k):
    """Return the increase of twice the sum of (I5) if an unknown keeps its start value."""
    rows = [row for row in range(problem.size) if row != k]
    remaining = [row for row in rows if row < len(problem.unknowns)]
    if isinstance(problem, LongFit):
        return 2 * (problem.without(remaining).solve(fit.z[rows])[0].cost - fit.cost)
    unknowns = [problem.unknowns[row] for row in remaining]
    reduced = Problem(problem.setup, unknowns, problem.servo, problem.sequences)
    refit = solve(reduced, fit.z[rows], fit.deviations, rounds=1)
    return robust_cost(reduced, refit.z, fit.deviations) - robust_cost(
        problem, fit.z, fit.deviations
    )
