"""Uncertainty of fitted parameters by parameters that the log does not determine."""

from collections.abc import Sequence as Rows

import numpy as np

from flex_robot_sim.identification.fit import Fit, Problem
from flex_robot_sim.identification.long_fit import LongFit
from flex_robot_sim.identification.parameters import Unknown
from flex_robot_sim.identification.uncertainty import Uncertainty, inverse_information

PRIOR_FACTORS = {
    'stiffness': 1.5,
    'damping': 3.0,
    'friction': 2.0,
    'hysteresis': 3.0,
    'backlash': 3.0,
    'kinematic_error': 3.0,
    'cogging': 3.0,
    'torque_ripple': 3.0,
    'creep': 3.0,
    'mass': 1.1,
    'gain': 1.1,
    'geometry': 1.02,
}
"""Factor of one standard deviation between a guess and the true value, by kind."""
DEFAULT_PRIOR_FACTOR = 1.5


def prior_deviation(unknown: Unknown) -> float:
    """Return the standard deviation of z of a guess."""
    factor = PRIOR_FACTORS.get(unknown.kind, DEFAULT_PRIOR_FACTOR)
    if unknown.scale == 0.0:
        return float(np.log(factor))
    return max(1.0, (factor - 1) * abs(unknown.start / unknown.scale))


def sensitivity(fit: Fit, column: np.ndarray) -> np.ndarray:
    """
    Return the change of z (p,) of a fit by one unit of another unknown.

    :param column: derivative (r, c) of the residuals by that unknown.
    """
    gradient = np.einsum('tcp,tc->p', fit.jacobian, fit.weights * column, optimize=True)
    return -inverse_information(fit)[0] @ gradient


def with_prior_widths(
    problem: Problem | LongFit,
    removed: Rows[Unknown],
    reduced: Problem | LongFit,
    fit: Fit,
    uncertainties: Uncertainty,
) -> Uncertainty:
    """
    Return the Uncertainty of a fit without some unknowns, whose guesses may be wrong (I27).

    :param problem: with all unknowns; reduced: without those removed, as in the fit.
    """
    if not removed:
        return uncertainties
    z = problem.initial_point()
    rows = {unknown.path: k for k, unknown in enumerate(problem.unknowns)}
    for unknown, x in zip(reduced.unknowns, fit.z):
        z[rows[unknown.path]] = x
    z[len(problem.unknowns) :] = fit.z[len(reduced.unknowns) :]
    slopes = problem.slopes(z) / fit.deviations[:, None]
    covariance = uncertainties.covariance.copy()
    for unknown in removed:
        change = prior_deviation(unknown) * sensitivity(fit, slopes[:, :, rows[unknown.path]])
        covariance += np.outer(change, change)
    return uncertainties._replace(covariance=covariance)
