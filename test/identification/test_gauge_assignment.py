"""Gauges that are swapped, have the wrong sign or are in microunits, found with a model."""

import numpy as np
import pytest

from flex_robot_sim.identification.gauge_assignment import GaugeColumn, assign_gauges

TIME = np.arange(0.0, 4.0, 0.01)
NOISE = np.random.default_rng(3).normal(0.0, 0.02, (TIME.size, 2))
MODEL = np.column_stack([np.sin(7 * TIME), 0.3 * np.sin(7 * TIME) + 0.1 * np.sin(31 * TIME)])


@pytest.mark.parametrize('swapped', [False, True])
@pytest.mark.parametrize('factors', [(1, 1), (-1, 1), (-1, -1), (1e-6, 1e-6), (-1e-6, 1)])
def test_the_column_and_factor_of_each_gauge_are_found(swapped, factors):
    order = [1, 0] if swapped else [0, 1]
    columns = (1.2 * MODEL + NOISE)[:, order] / np.array(factors)[order]
    found = assign_gauges(columns, MODEL)
    assert found == [GaugeColumn(order[k], factors[k]) for k in range(2)]


def test_a_model_that_explains_nothing_changes_nothing():
    columns = np.random.default_rng(0).normal(size=(TIME.size, 2))
    assert assign_gauges(columns, MODEL) == [GaugeColumn(0, 1.0), GaugeColumn(1, 1.0)]


@pytest.mark.slow
@pytest.mark.parametrize(
    'factors, order', [((1.0, 1.0), (0, 1)), ((-1.0, 1e6), (0, 1)), ((1.0, 1.0), (1, 0))]
)
def test_the_trial_finds_the_gauges_of_a_simulated_arm(factors, order):
    from test_identify import record_log, setup_of

    from flex_robot_sim.identification.gauge_trial import with_plausible_gauges
    from flex_robot_sim.identification.log_file import Column

    log, names = record_log(), ('arm/root', 'arm/tip')
    columns = {
        names[k]: Column(log.columns[names[j]].time, factors[k] * log.columns[names[j]].values)
        for k, j in enumerate(order)
    }
    setup = setup_of(log._replace(columns={**log.columns, **columns}), **{'arm.stiffness': 0.7})
    setup, _, notes = with_plausible_gauges(setup, ())
    measured, true = setup.data.sequences[0].measured, setup_of().data.sequences[0].measured
    np.testing.assert_allclose(measured, true, rtol=1e-9)
    assert bool(notes) == ((factors, order) != ((1.0, 1.0), (0, 1)))


@pytest.mark.long(after=2)
@pytest.mark.slow
@pytest.mark.parametrize(
    'factors, order',
    [
        ((1.0, 1.0), (0, 1)),
        ((-1.0, 1.0), (0, 1)),
        ((1e6, 1e6), (0, 1)),
        ((1.0, 1.0), (1, 0)),
        ((-1e6, -1e6), (1, 0)),
    ],
)
def test_the_trial_finds_the_gauges_of_finite_elements(factors, order):
    from hub_beam_log import hub_beam_signals, with_noise

    import flex_robot_sim as frs
    from flex_robot_sim.identification.gauge_trial import with_plausible_gauges
    from flex_robot_sim.identification.log_file import make_log
    from flex_robot_sim.identification.prediction import Setup
    from flex_robot_sim.identification.sequences import make_data_set

    times, signals = hub_beam_signals(4.0, 4e-3)
    signals, names = with_noise(signals, 2), ('arm/root', 'arm/tip')
    gauges = {names[k]: factors[k] * signals[names[j]] for k, j in enumerate(order)}
    arm = frs.load('single_link')
    data = make_data_set([make_log(times, {**signals, **gauges})], arm)
    setup, _, notes = with_plausible_gauges(Setup(arm.description, data, time_step=4e-3), ())
    true = np.column_stack([signals[name] for name in names])
    channels = [setup.data.channels.index(name) for name in names]
    np.testing.assert_allclose(setup.data.sequences[0].measured[:, channels], true, rtol=1e-9)
    changed = sum(factors[k] != 1.0 or order[k] != k for k in range(2))
    assert sum('the column' in note for note in notes) == changed
