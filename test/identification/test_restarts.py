"""Fits that end in a wrong minimum, and start again."""

import numpy as np
import pytest
from test_identify import STEP, TRUE, record_log

import flex_robot_sim as frs
from flex_robot_sim.description.robot_parameters import with_parameters
from flex_robot_sim.identification.fit import COARSE_TOLERANCE, Problem, solve
from flex_robot_sim.identification.identifiability import robust_cost
from flex_robot_sim.identification.identify import identify
from flex_robot_sim.identification.log_file import Column, Log
from flex_robot_sim.identification.parameters import unknowns_of
from flex_robot_sim.identification.prediction import Setup
from flex_robot_sim.identification.restarts import from_fitted_stiffness, with_restarts
from flex_robot_sim.identification.sequences import make_data_set
from flex_robot_sim.model.assembly import build_arm

pytestmark = pytest.mark.slow

MASS_FREE = ['arm.stiffness', 'arm.damping_ratio', 'tip_mass.mass', 'delay']
MASS_KNOWN = ['arm.stiffness', 'arm.damping_ratio', 'delay']
TRUE_STIFFNESS = TRUE['arm.stiffness']


def setup_of(log, factor, **values):
    """Return a Setup by motion of a description that is stiffer by a factor."""
    values = {'arm.stiffness': factor} | values
    description = with_parameters(frs.read_description('single_link'), values)
    data = make_data_set([log], build_arm(description), True)
    return Setup(description, data, time_step=STEP)


def ignore(line):
    """Discard a progress message."""


def test_masses_that_suit_a_wrong_stiffness_start_again():
    setup = setup_of(record_log(), 3.0)
    problem = Problem(setup, unknowns_of(setup.arm(), setup.data, MASS_FREE))
    # from spectra and short parts of this log, a stiffness that is 22 % too large
    z = np.log([0.36, 2.2, 1.46])
    fit = solve(problem, [*z, *np.zeros(problem.size - 3)], tolerance=COARSE_TOLERANCE)
    again = from_fitted_stiffness(problem, fit, ignore)
    before, after = (robust_cost(problem, one.z, fit.deviations) for one in (fit, again))
    assert after < 0.8 * before
    stiffness = [3.0 * np.exp(one.z[0]) for one in (fit, again)]
    assert stiffness[0] > 1.1 * TRUE_STIFFNESS
    assert stiffness[1] == pytest.approx(TRUE_STIFFNESS, rel=0.03)


def test_a_fit_near_its_start_does_not_start_again():
    setup = setup_of(record_log(), 1.0)
    problem = Problem(setup, unknowns_of(setup.arm(), setup.data, MASS_FREE))
    fit = solve(problem, problem.initial_point(), tolerance=COARSE_TOLERANCE)
    assert from_fitted_stiffness(problem, fit, ignore) is fit


@pytest.mark.long
@pytest.mark.parametrize('factor', [0.1, 3.0, 10.0])
def test_a_description_off_by_a_large_factor_gives_the_true_stiffness(factor):
    found = identify(setup_of(record_log(), factor), MASS_FREE)
    assert found.is_good
    assert factor * found.values['arm.stiffness'] == pytest.approx(TRUE_STIFFNESS, rel=0.02)


def short_log():
    """Return 1.4 s of one noisy gauge, in motion from the first sample on."""
    random, columns = np.random.default_rng(1), {}
    for name, (time, values) in record_log().columns.items():
        if name == 'arm/tip':
            continue
        is_used = (time >= 2.0) & (time < 3.4)
        noise = 0.05 * random.standard_normal(is_used.sum()) * name.startswith('arm/')
        columns[name] = Column(time[is_used], values[is_used] + noise)
    return Log('short', columns, [])


@pytest.mark.long
def test_a_fit_that_ends_at_a_bound_starts_again():
    setup = setup_of(short_log(), 2.53, **{'tip_mass.mass': TRUE['tip_mass.mass']})
    problem = Problem(setup, unknowns_of(setup.arm(), setup.data, MASS_KNOWN))
    # a stiff arm has no vibration: no slope leads back
    z = problem.initial_point()
    z[0] = np.log(50.0)
    fit = solve(problem, z, tolerance=COARSE_TOLERANCE)
    assert 2.53 * np.exp(fit.z[0]) > 10 * TRUE_STIFFNESS
    best, again = with_restarts(problem, fit, ignore)
    assert best.setup.description is setup.description
    assert 2.53 * np.exp(again.z[0]) == pytest.approx(TRUE_STIFFNESS, rel=0.05)
