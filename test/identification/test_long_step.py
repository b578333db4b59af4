"""Bias of a long fit by its step, against the values that made the log."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from test_identify import setup_of

from flex_robot_sim.identification import long_step, response
from flex_robot_sim.identification.fit import Problem
from flex_robot_sim.identification.long_fit import make_long_fit
from flex_robot_sim.identification.long_step import step_bias, step_notes
from flex_robot_sim.identification.parameters import unknowns_of

pytestmark = pytest.mark.slow

FREE = 'arm.stiffness', 'tip_mass.mass'
MASS = 1  # its unknown
STEP = 5e-3  # [s]


def problem_of(step, sequences=None):
    setup = replace(setup_of(), time_step=step, finer=1)
    return Problem(setup, unknowns_of(setup.arm(), setup.data, FREE), sequences=sequences)


@cache
def solved():
    """Return a LongFit to a log that the model made with short steps, its Fit and Uncertainty."""
    exact = problem_of(STEP / 8)
    z = exact.initial_point()  # its values are those that made the log
    noise = np.random.default_rng(0).normal(size=exact.measured.shape)
    tables = [exact.read(exact.simulated(z), z) + 1e-4 * exact.measured.std(axis=0) * noise]
    sequences = [row._replace(measured=x) for row, x in zip(exact.sequences, tables)]
    long_fit = make_long_fit(problem_of(STEP, sequences), z, sequences, sequences, 1)
    return long_fit, *long_fit.solve(z)


@pytest.fixture(autouse=True)
def short_parts(monkeypatch):
    monkeypatch.setattr(response, 'PART_SAMPLES', 200)
    monkeypatch.setattr(long_step, 'TRANSIENT_S', 0.2)


@pytest.mark.parametrize('seconds', [4.0, 6.0])  # of a log of 6 s
def test_the_bias_is_the_error_of_a_fit_to_an_exact_log(monkeypatch, seconds):
    monkeypatch.setattr(long_step, 'PART_S', seconds)
    long_fit, fit, _ = solved()
    error = fit.z[MASS] - long_fit.initial_point()[MASS]
    assert abs(error) > 5e-4
    assert step_bias(long_fit, fit)[MASS] == pytest.approx(error, rel=0.2)  # parts are not all


@pytest.mark.parametrize('excess, count', [(0.1, 1), (np.inf, 0)])
def test_a_note_gives_a_shorter_step(monkeypatch, excess, count):
    monkeypatch.setattr(long_step, 'MAX_EXCESS', excess)
    notes = step_notes(*solved())
    assert len(notes) == count
    assert all(
        f'{FREE[MASS]} is off by' in line and f'--time-step {STEP / 2:g}' in line for line in notes
    )
