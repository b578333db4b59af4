"""Far-off estimates are identifiable only if the initial value fits worse (I24)."""

from types import SimpleNamespace

import numpy as np
import pytest

from flex_robot_sim.identification import identifiability as telling
from flex_robot_sim.identification.fit import Fit

pytestmark = pytest.mark.slow

ROWS = 10000  # enough that residuals are small and (I5) is their sum of squares


def check_refit(monkeypatch, saved, dispersion=1.0, z=-1.8, scale=0.0, deviation=0.1):
    """Return whether one parameter is identifiable if it saves this sum of squares."""

    class Problem:
        def __init__(self, setup, unknowns, servo, sequences):
            self.setup, self.unknowns, self.servo, self.sequences = (
                setup,
                unknowns,
                servo,
                sequences,
            )
            self.size = len(unknowns)

        def residuals(self, z, deviations):
            return (0.0 if self.size else 1.0) * rows

    rows = np.full((ROWS, 1), np.sqrt(saved / ROWS))
    fit = Fit(
        np.array([z]),
        0 * rows,
        np.full((ROWS, 1, 1), np.sqrt(dispersion / ROWS) / deviation),
        np.ones((ROWS, 1)),
        np.ones(1),
        0.0,
        1,
    )
    monkeypatch.setattr(telling, 'Problem', Problem)
    monkeypatch.setattr(telling, 'solve', lambda problem, z, *_, **__: fit._replace(z=z))
    one = SimpleNamespace(scale=scale, path='arm.GJ')
    problem = Problem(None, [one], None, None)
    spread = SimpleNamespace(deviations=np.array([deviation]))
    return telling.identifiable_from_refit(problem, fit, spread, [True])[0]


@pytest.mark.parametrize(
    'saved, dispersion, is_identifiable',
    [(8.5, 1.0, False), (9.5, 1.0, True), (35.0, 7.0, False), (65.0, 7.0, True)],
)
def test_reduced_squares_decide_identifiability(monkeypatch, saved, dispersion, is_identifiable):
    assert check_refit(monkeypatch, saved, dispersion) is is_identifiable


@pytest.mark.parametrize(
    'more',
    [{'z': -0.25}, {'deviation': 0.04}, {'scale': 0.1}],
    ids=['has not gone far', 'is known well', 'may be zero'],
)
def test_other_parameters_need_no_refit(monkeypatch, more):
    assert check_refit(monkeypatch, 0.0, **more)
