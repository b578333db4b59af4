"""Gauss-Newton steps with fixed slopes, against a general solver of equations."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import fsolve

from flex_robot_sim.identification.fit import Fit
from flex_robot_sim.identification.gauss_newton import at_root

SAMPLES, CHANNELS, UNKNOWNS = 400, 2, 3


def linear_problem(slope_error, step=0.3):
    """Return a linear problem, a Fit near its root, and J^T W r as a function of z."""
    random = np.random.default_rng(4)
    matrix, error = random.normal(size=(2, SAMPLES, CHANNELS, UNKNOWNS))
    noise, slopes = random.normal(size=(SAMPLES, CHANNELS)), matrix + slope_error * error

    def residuals(z, _deviations=None):
        return matrix @ z + noise

    def gradient(z):
        r = residuals(z)
        return np.einsum('tcp,tc->p', slopes, r / np.sqrt(1 + (r / 3) ** 2))

    problem = SimpleNamespace(
        residuals=residuals, bounds=lambda: (np.full(UNKNOWNS, -9.0), np.full(UNKNOWNS, 9.0))
    )
    z = step * np.ones(UNKNOWNS)
    weights = 1 / np.sqrt(1 + (residuals(z) / 3) ** 2)
    fit = Fit(z, residuals(z), slopes, weights, np.ones(CHANNELS), 0.0, 1)
    return problem, fit, gradient


@pytest.mark.parametrize('slope_error', [0.0, 0.2])
def test_steps_end_at_the_root_with_the_given_slopes(slope_error):
    problem, fit, gradient = linear_problem(slope_error)
    found = at_root(problem, fit)
    deviation = 1 / np.sqrt(SAMPLES * CHANNELS)
    np.testing.assert_allclose(found.z, fsolve(gradient, fit.z), atol=0.03 * deviation)
    np.testing.assert_allclose(found.residuals, problem.residuals(found.z))
    np.testing.assert_allclose(found.weights, 1 / np.sqrt(1 + (found.residuals / 3) ** 2))


def test_a_fit_stays_where_its_steps_do_not_become_smaller():
    problem, fit, _ = linear_problem(0.0)
    wrong = fit._replace(jacobian=-fit.jacobian)
    assert at_root(problem, wrong) is wrong
