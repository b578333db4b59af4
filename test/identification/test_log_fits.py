"""Fits to each log alone, against finite elements whose stiffness changes, and against scipy."""

import hub_beam
import numpy as np
import pytest
from hub_beam_log import chirp_log
from scipy.stats import ttest_ind

import flex_robot_sim as frs
from flex_robot_sim.identification import make_log
from flex_robot_sim.identification.arm_identification import logs_of
from flex_robot_sim.identification.identify import identify
from flex_robot_sim.identification.log_fits import (
    LogFit,
    chance,
    excess_variance,
    scatter,
    with_scatter,
)
from flex_robot_sim.identification.prediction import Setup
from flex_robot_sim.identification.sequences import make_data_set
from flex_robot_sim.identification.uncertainty import Uncertainty

TRIALS = 2000


def test_chance_is_that_of_welchs_t_test():
    random = np.random.default_rng(4)
    for sizes in ((5, 30), (12, 8), (3, 3)):
        samples = [random.normal(0.3 * k, 1 + k, size) for k, size in enumerate(sizes)]
        found = chance(
            np.array([row.mean() for row in samples]),
            np.array([row.std(ddof=1) / np.sqrt(len(row)) for row in samples]),
            np.array(sizes) - 1.0,
        )
        assert found == pytest.approx(ttest_ind(*samples, equal_var=False).pvalue, rel=1e-9)


def test_equal_logs_seldom_differ_significantly():
    random = np.random.default_rng(5)
    true, freedom = np.array([1.0, 2.0, 0.5, 1.0]), np.array([6.0, 12.0, 8.0, 20.0])
    values = true * random.normal(size=(TRIALS, 4))
    deviations = true * np.sqrt(random.chisquare(freedom, (TRIALS, 4)) / freedom)
    found = np.array([chance(*row, freedom) for row in zip(values, deviations)])
    for level in (0.05, 0.2, 0.5):
        assert (found < level).mean() == pytest.approx(level, abs=0.2 * level + 0.01)


def test_variance_between_logs_is_found():
    random, deviations = np.random.default_rng(6), np.array([1.0, 0.3, 0.6, 0.4, 0.8, 0.5])
    values = random.normal(0, np.hypot(2.0, deviations), (TRIALS, 6))
    assert np.mean([excess_variance(row, deviations) for row in values]) == pytest.approx(
        4.0, rel=0.05
    )


@pytest.mark.slow
def test_interval_with_scatter_contains_the_mean_of_all_logs():
    random, own = np.random.default_rng(7), np.full(5, 0.1)
    joint = Uncertainty(np.array([[0.1**2 / 5]]), np.array([2.0]), 12, np.array([20.0]))
    held = 0
    for values in random.normal(0, np.hypot(1.0, own), (TRIALS, 5)):
        fits = [LogFit('', np.array([z]), own[:1], np.full(1, 20.0)) for z in values]
        found = with_scatter(joint, scatter(fits))
        held += abs(values.mean()) <= found.factor[0] * found.deviations[0]
    # Student's interval of five values
    assert held / TRIALS == pytest.approx(0.95, abs=0.015)


@pytest.fixture(scope='module', params=[(1.0, 1000), (1.05, 60_000)])
def two_logs(request):
    """Fit two logs; the second is that of a beam whose stiffness differs by a factor."""
    factor, long_rows = request.param
    first = chirp_log('first')
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hub_beam, 'EI', factor * hub_beam.EI)
        second = chirp_log('second', 2, 0.13)
    arm = frs.load('single_link')
    setup = Setup(arm.description, make_data_set([first, second], arm, True))
    return factor, identify(setup, ['arm.EIz', 'arm.damping_ratio'], long_rows=long_rows)


@pytest.mark.long
def test_each_log_alone_gives_its_own_stiffness(two_logs):
    factor, found = two_logs
    for name, value in (('first', hub_beam.EI), ('second', factor * hub_beam.EI)):
        one = found.log_estimates[name]['arm.EIz']
        # logs that differ disturb the choice of the number of modes, which is the same for both
        assert one.value == pytest.approx(value, rel=0.01)
        assert one.difference == pytest.approx(
            (np.log(one.value) - np.log(found.values['arm.EIz']))
            / (one.standard_deviation / one.value)
        )


@pytest.mark.long
def test_logs_that_differ_are_reported_and_their_scatter_is_in_the_interval(two_logs):
    factor, found = two_logs
    (number,) = (one for one in found.estimates if one.path == 'arm.EIz')
    notes = [note for note in found.notes if note.startswith('logs differ')]
    assert bool(notes) == (factor != 1.0)
    if factor == 1.0:
        assert number.interval[1] / number.interval[0] < 1.02
        assert abs(found.log_estimates['second']['arm.EIz'].difference) < 4
    else:
        assert 'arm.EIz' in notes[0]
        assert number.interval[0] < hub_beam.EI < factor * hub_beam.EI < number.interval[1]


def test_two_logs_of_one_name_are_two_logs():
    log = make_log([0.0, 0.1], {'effort/motor': [1, 2]})
    assert [one.path for one in logs_of('logs', [log, log, log])] == ['log', 'log (2)', 'log (3)']
