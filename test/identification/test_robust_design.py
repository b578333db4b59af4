"""The best experiment of all kinds for uncertain stiffness and friction."""

from functools import cache

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim.identification.excitation_trajectories import KINDS, excitation_trajectory
from flex_robot_sim.identification.experiment_design import design_experiment, information
from flex_robot_sim.identification.robust_design import best_experiment, guesses_of
from flex_robot_sim.identification.simulated_experiment import simulate_experiment

WORDS = {'duration': 4.0, 'period': 5e-3, 'pose': np.zeros(1), 'phase_sets': 1}


def test_guesses_have_friction_and_other_stiffnesses():
    arm = frs.load('single_link')
    described, soft, stiff = guesses_of(arm)
    assert described is arm
    frequencies = [
        frs.frequencies(guess, [0.0], joints='locked')[0] for guess in (soft, described, stiff)
    ]
    assert frequencies[0] < frequencies[1] < frequencies[2]
    assert frequencies[0] / frequencies[2] == pytest.approx(np.sqrt(0.8 / 1.25), rel=0.02)
    limit = arm.description.joint('motor').effort
    for guess in (soft, stiff):
        values = frs.parameters(guess)
        assert values['motor.coulomb'].value == pytest.approx(0.03 * limit)
        assert values['motor.presliding'].value > 0.0


def test_friction_that_is_described_stays():
    arm = frs.with_parameters(frs.load('single_link'), {'motor.coulomb': 0.07})
    assert all(frs.parameters(guess)['motor.coulomb'].value == 0.07 for guess in guesses_of(arm))


def test_a_chirp_goes_from_three_tenths_to_ten_hertz_at_equal_speed():
    period = 1e-3
    chirp = excitation_trajectory('chirp', np.zeros(1), 40.0, (1.0, 2.0), period)
    moving = chirp.position[5000:-9000, 0]  # without the ends, where the size changes
    crossings = np.flatnonzero(np.diff(np.sign(moving))) * period
    frequencies = 0.5 / np.diff(crossings)
    assert (np.diff(frequencies) > -0.05 * frequencies[1:]).all()
    ratio = 10.0 / 0.3  # closed form: the frequency grows by the same factor in equal times
    span = 40.0 * 0.85 - 0.5
    growth = np.log(frequencies[-10:].mean() / frequencies[:10].mean()) / (
        crossings[-10:].mean() - crossings[:10].mean()
    )
    assert growth == pytest.approx(np.log(ratio) / span, rel=0.03)
    speeds = np.abs(chirp.velocity[5000:-9000, 0])
    peaks = [part.max() for part in np.array_split(speeds, 6)]
    assert np.ptp(peaks) < 0.05 * max(peaks)


@cache
def found():
    return best_experiment(frs.load('single_link'), **WORDS)


@pytest.mark.long
def test_no_kind_is_better_in_its_worst_guess():
    arm = frs.load('single_link')

    def rank(design):
        trajectory = design.experiment.trajectory
        return max(
            design._replace(
                information=information(guess, simulate_experiment(guess, trajectory))
            ).rank()
            for guess in guesses_of(arm)
        )

    best = rank(found())
    assert all(best <= rank(design_experiment(arm, kind=kind, **WORDS)) for kind in KINDS)


@pytest.mark.long
def test_stated_deviations_are_the_largest_of_all_guesses():
    arm, stated = frs.load('single_link'), found().information
    for guess in guesses_of(arm):
        trial = simulate_experiment(guess, found().experiment.trajectory)
        assert (information(guess, trial).deviations <= stated.deviations * (1 + 1e-9)).all()
    assert found().experiment.worst[1] <= 0.9
