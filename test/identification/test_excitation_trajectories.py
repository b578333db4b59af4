"""Excitation trajectories, checked by differences and spectra."""

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim.identification.excitation_trajectories import (
    KINDS,
    excitation_trajectory,
    fourier_series,
    line_frequencies,
    multisine_coefficients,
)
from flex_robot_sim.identification.simulated_experiment import scaled_to_limits

pytestmark = pytest.mark.slow

POSE = np.array([0.2, -0.4])
BAND, RESONANCES = (0.2, 6.0), (1.3, 4.1)


def make_trajectory(kind, period=2e-3):
    return excitation_trajectory(kind, POSE, 10.0, BAND, period, resonances=RESONANCES)


@pytest.mark.parametrize('kind', KINDS)
def test_a_trajectory_begins_and_ends_at_rest(kind):
    plan = make_trajectory(kind)
    assert np.array_equal(plan.position[0], POSE)
    still = plan.time < 0.5
    assert (plan.position[still] == POSE).all() and (plan.velocity[still] == 0).all()
    # the last tenth is reserved for residual vibration
    assert (plan.velocity[plan.time > 9.0] == 0).all()


@pytest.mark.parametrize('kind', KINDS)
def test_velocities_are_the_derivatives_of_positions(kind):
    plan = make_trajectory(kind)
    slopes = np.gradient(plan.position, plan.time, axis=0)
    # second order: h^2 / 6 of the third derivative, (2 pi 6)^2 h^2 / 6 of the velocity
    assert np.abs(slopes - plan.velocity)[1:-1].max() < 5e-3 * np.abs(plan.velocity).max()


@pytest.mark.parametrize('kind', KINDS)
def test_a_trajectory_has_unit_size_and_scales(kind):
    plan = make_trajectory(kind)
    assert np.abs(plan.position - POSE).max() == pytest.approx(1.0)
    half = plan.scaled(0.5)
    assert np.allclose(half.position - POSE, 0.5 * (plan.position - POSE))
    assert np.allclose(half.velocity, 0.5 * plan.velocity)


def test_a_fourier_series_has_two_periods():
    frequencies = line_frequencies(8.0, BAND, RESONANCES)
    t = np.linspace(0.0, 4.0, 57)
    first, second = (
        fourier_series(t + begin, frequencies, multisine_coefficients(frequencies, 2))[0]
        for begin in (0.0, 4.0)
    )
    assert np.allclose(first, second)


def test_spectral_lines_are_in_the_band_and_around_resonances():
    frequencies = line_frequencies(8.0, BAND, RESONANCES)
    assert frequencies.max() <= BAND[1] + 0.25 and (np.diff(frequencies) > 0).all()
    for resonance in RESONANCES:  # the spacing of the lines is a quarter of a hertz
        assert np.abs(frequencies - resonance).min() <= 0.25


def test_a_sweep_covers_its_band():
    plan = make_trajectory('sweep')
    turns = np.flatnonzero(np.diff(np.sign(plan.velocity[:, 0])) != 0) * 2e-3
    gaps = np.diff(turns[turns > 1.5])
    # two zero crossings per period; the frequency grows from 0.2 to 6 Hz
    assert gaps[:2].max() > 0.5 and gaps.min() < 0.6 / BAND[1]


def test_interpolated_samples_lie_on_the_trajectory():
    coarse, fine = make_trajectory('fourier', 4e-3), make_trajectory('fourier', 1e-3)
    # cubic interpolation: h^4 / 384 of the fourth derivative
    assert np.abs(coarse.sampled(1e-3).position - fine.position).max() < 1e-5


@pytest.mark.parametrize('kind', ['decay', 'sweep', 'multisine'])
@pytest.mark.parametrize('seed', range(2))
def test_an_experiment_keeps_limits_of_velocity_acceleration_and_jerk(kind, seed):
    rng = np.random.default_rng(seed)
    limits = {
        'velocity': rng.uniform(0.2, 1.0),
        'acceleration': rng.uniform(0.3, 3.0),
        'deceleration': rng.uniform(0.3, 3.0),
        'jerk': rng.uniform(2.0, 60.0),
    }
    builder = frs.ArmBuilder().add_rigid('link', mass=1.0, centre=(0.1, 0, 0))
    arm = builder.add_joint('a', parent='base', child='link', axis='z', **limits).build()
    trajectory = excitation_trajectory(kind, np.zeros(1), 4.0, (0.5, 4.0), 4e-3)
    found = scaled_to_limits(arm, trajectory)
    position = found.trajectory.position[:, 0]
    step, shares = found.trajectory.time[1], []
    for order, limit in (
        (1, limits['velocity']),
        (2, min(limits['acceleration'], limits['deceleration'])),
        (3, limits['jerk']),
    ):
        shares.append(np.abs(np.diff(position, order)).max() / step**order / limit)
    # differences of samples are means of the rates
    assert max(shares) <= 0.9 * 1.02
    assert max(shares) >= 0.8 or np.abs(position).max() >= 0.99
