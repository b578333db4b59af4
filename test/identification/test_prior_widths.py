"""Uncertainty by the guess of a parameter that is not fitted, against fits of many guesses."""

from types import SimpleNamespace

import numpy as np
import pytest

from flex_robot_sim.identification.fit import Fit
from flex_robot_sim.identification.parameters import Unknown
from flex_robot_sim.identification.prior_widths import prior_deviation, with_prior_widths
from flex_robot_sim.identification.uncertainty import Uncertainty


def test_a_wrong_guess_widens_the_intervals_of_the_fitted_parameters():
    random = np.random.default_rng(2)
    slopes = random.normal(size=(600, 1, 3))
    slopes[:, :, 2] += 0.5 * slopes[:, :, 0]
    unknowns = [Unknown(path, '', 1.0, 0.1, 10.0, 0.0, 'stiffness') for path in 'abc']
    whole = SimpleNamespace(
        unknowns=unknowns, initial_point=lambda: np.zeros(3), slopes=lambda z: slopes
    )
    part = SimpleNamespace(unknowns=unknowns[:2])
    ones = np.ones((600, 1))
    fit = Fit(np.zeros(2), 0 * ones, slopes[:, :, :2], ones, np.ones(1), 0.0, 0)
    spread = Uncertainty(np.diag([1e-6, 1e-6]), np.full(2, 2.0), 24, np.full(2, 20.0))
    found = with_prior_widths(whole, unknowns[2:], part, fit, spread).covariance
    # the true log is that of c = e^z; its fit has c = 1
    guesses = random.normal(0, np.log(1.5), 4000)
    fits = np.linalg.lstsq(slopes[:, 0, :2], np.outer(slopes[:, 0, 2], guesses), rcond=None)[0]
    assert found - spread.covariance == pytest.approx(np.cov(fits), rel=0.1, abs=1e-4)


@pytest.mark.parametrize(
    'kind, scale, start, width', [('damping', 0.0, 0.1, np.log(3)), ('friction', 0.1, 0.5, 5.0)]
)
def test_widths_of_guesses_are_factors_of_their_values(kind, scale, start, width):
    unknown = Unknown('x', '', start, 0.01, 10.0, scale, kind)
    assert prior_deviation(unknown) == pytest.approx(width)
