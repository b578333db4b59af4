"""Gauges that are swapped and in another unit: the remedy names the right column and factor."""

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim.identification.gauge_unit import refuse_other_units
from flex_robot_sim.util.exceptions import UsageError

NAMES = 'forearm/root', 'forearm/tip'
HALF_THICKNESS = 0.003  # of the forearm in the plane of its gauges                    [m]


@pytest.mark.parametrize('seed', range(8))
def test_swapped_gauges_in_microstrain_get_the_factor_of_their_own_columns(seed):
    rng = np.random.default_rng(seed)
    description = frs.load('two_link').description
    # the second gauge measures less, and resembles the first one
    common, rest = rng.normal(size=(2, 2000)).cumsum(axis=1)
    predicted = np.column_stack([common, 0.3 * common + 0.1 * rest])
    microstrain = predicted * HALF_THICKNESS / 1e-6
    for columns, line in (
        ([0, 1], r'^log: "forearm/root" is 3e\+03 times the curvature'),
        (
            [1, 0],
            r'^log: the signal of "forearm/tip" is 3e\+03 times .* of "forearm/root": swapped',
        ),
    ):
        measured = microstrain[:, columns] * (1 + 0.001 * rng.normal(size=(2000, 2)))
        with pytest.raises(UsageError, match=line) as error:
            refuse_other_units('log', description, NAMES, measured, predicted)
        assert 'in microstrain? Give --signal forearm/root=COLUMN*0.00033' in str(error.value)
    # neither swapped nor in another unit
    refuse_other_units('log', description, NAMES, predicted, predicted)
