"""Statistics of simulated IMUs against closed forms, and that a seed repeats them."""

import copy

import numpy as np
import pytest
from refusals import refusal

import flex_robot_sim as frs
from flex_robot_sim.simulation.imu_sensor import ImuSensor
from flex_robot_sim.simulation.sensor_errors import IndexedNoise, in_steps, limited
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.settings import SimulationSettings

COUNT, RANGE = 4000, {'lower': -9.0, 'upper': 9.0}


def slide(**options):
    """Return a Simulation of a weightless slide at rest, with one IMU."""
    builder = frs.ArmBuilder().add_rigid('cart', mass=1.0)
    builder.add_joint('slide', parent='base', child='cart', type='prismatic', axis='x', **RANGE)
    builder.add_imu('cart', 'imu', **options)
    return frs.Simulation(builder.build(gravity=(0.0, 0.0, 0.0)))


def readings(simulation, seed=0, count=COUNT):
    """Return samples (count, 6): angular velocity and acceleration."""
    sensor, rows = ImuSensor(simulation, seed=seed), []
    for _ in range(count):
        rows.append(np.concatenate(sensor.sample(simulation)[1:]))
        simulation.step(sensor.steps_per_sample)
    return np.array(rows)


def test_noise_has_the_variance_of_its_density_over_half_the_rate():
    found = readings(slide(rate=250.0, gyroscope_noise=2e-3, accelerometer_noise=3e-2))
    wanted = np.repeat([2e-3, 3e-2], 3) * np.sqrt(250.0 / 2)
    # a standard deviation of COUNT samples has a relative error of 1 / sqrt(2 COUNT)
    np.testing.assert_allclose(found.std(axis=0) / wanted, 1.0, atol=4 / np.sqrt(2 * COUNT))
    assert (abs(found.mean(axis=0)) < 4 * wanted / np.sqrt(COUNT)).all()
    correlation = np.corrcoef(np.hstack([found[1:], found[:-1]]).T) - np.eye(12)
    assert abs(correlation).max() < 5 / np.sqrt(COUNT)  # white, and axes are independent


def test_the_density_holds_for_every_rate():
    for rate in (100.0, 1000.0):
        found = readings(slide(rate=rate, accelerometer_noise=1e-2), count=2000)[:, 3:]
        spectrum = 2 / rate * (abs(np.fft.rfft(found, axis=0)) ** 2).mean() / len(found)
        assert spectrum == pytest.approx(1e-4, rel=0.1)  # one-sided power density


def test_bias_range_and_bits():
    options = {'accelerometer_range': 20.0, 'gyroscope_range': 4.0, 'bits': 12}
    simulation = slide(
        accelerometer_bias=(1.0, 30.0, -30.0), gyroscope_bias=(0.1, -9.0, 9.0), **options
    )
    sample = ImuSensor(simulation).sample(simulation)
    step, turn = 40.0 / 4096, 8.0 / 4096
    assert sample.linear_acceleration[0] / step == round(1.0 / step)
    assert sample.linear_acceleration[1:].tolist() == [20.0 - step, -20.0]
    assert sample.angular_velocity.tolist() == [turn * round(0.1 / turn), -4.0, 4.0 - turn]


def test_rounding_to_steps_adds_a_twelfth_of_the_squared_step():
    values = np.random.default_rng(0).uniform(-1.0, 1.0, 100_000)
    error = limited(values, 2.0, 8) - values
    assert error.var() == pytest.approx((4.0 / 256) ** 2 / 12, rel=0.02)
    error = in_steps(values, np.full(values.size, 0.01)) - values
    assert error.var() == pytest.approx(1e-4 / 12, rel=0.02)
    assert abs(error).max() <= 0.005 + 1e-12


def test_the_stated_variance_is_that_of_the_readings():
    options = {'accelerometer_range': 2.0, 'gyroscope_range': 1.0, 'bits': 8}
    noise = {'accelerometer_noise': 2e-3, 'gyroscope_noise': 1e-3}
    simulation = slide(rate=500.0, **options, **noise)
    variances = ImuSensor(simulation).variances
    found = readings(simulation).var(axis=0)
    np.testing.assert_allclose(found, np.repeat(variances, 3), rtol=0.15)


def test_a_range_without_bits_only_limits():
    assert limited(np.array([-3.0, 0.123, 3.0]), 2.0, None).tolist() == [-2.0, 0.123, 2.0]


def test_a_seed_repeats_the_noise_whatever_was_sampled_before():
    simulation = slide(accelerometer_noise=1.0)
    first = readings(simulation, seed=7, count=20)
    again = slide(accelerometer_noise=1.0)
    again.step(50)
    sensor = ImuSensor(again, seed=7)
    late = np.concatenate(sensor.sample(again)[1:])
    assert late.tolist() == first[10].tolist()
    assert (np.concatenate(sensor.sample(again)[1:]) == late).all()
    assert (
        readings(slide(accelerometer_noise=1.0), seed=8, count=20)[:, 3:] != first[:, 3:]
    ).all()


def test_noise_is_independent_between_names_and_blocks():
    rows = [
        np.array([noise.at(k) for k in range(600)])
        for noise in (IndexedNoise(0, 'a', 2), IndexedNoise(0, 'b', 2), IndexedNoise(1, 'a', 2))
    ]
    assert len(np.unique(np.concatenate(rows))) == 3600


@pytest.mark.parametrize('friction', [{}, {'presliding': 1e-3}, {'creep_rate': 1e-2}], ids=repr)
def test_sampling_does_not_change_the_motion(friction):
    builder = frs.ArmBuilder()
    builder.add_beam('strip', length=0.5, material='steel', section=frs.Rectangle(0.002, 0.03))
    builder.add_joint(
        'hinge', parent='base', child='strip', axis='z', coulomb_friction=0.05, **friction
    )
    builder.add_gear('hinge', stiffness=50.0, rotor_inertia=1e-3, slip=[(20.0, 0.02)])
    plain = frs.Simulation(builder.build())
    builder.add_imu('strip', 'imu', xyz=(0.5, 0.0, 0.0)).add_encoder('hinge', resolution=1e-3)
    watched = frs.Simulation(builder.build())
    sensor = ImuSensor(watched)
    for k in range(60):
        for simulation in (plain, watched):
            simulation.effort = [0.2 * (-1) ** (k // 20)]
            simulation.step()
        sensor.sample(watched)
    assert (plain.q == watched.q).all()
    assert (plain.v == watched.v).all()


def test_the_rate_is_rounded_to_whole_steps():
    def steps(rate, step=1e-3):
        simulation = slide(rate=rate)
        return ImuSensor(
            frs.Simulation(simulation.arm, SimulationSettings(time_step=step))
        ).steps_per_sample

    assert [steps(rate) for rate in (1e6, 1000.0, 400.0, 330.0, 1.0)] == [1, 1, 2, 3, 1000]
    assert steps(200.0, 5e-4) == 10


def test_a_sensor_can_be_copied():
    simulation = slide(accelerometer_noise=1.0)
    sensor = ImuSensor(simulation)
    samples = [one.sample(simulation) for one in (sensor, copy.deepcopy(sensor))]
    assert (samples[0].linear_acceleration == samples[1].linear_acceleration).all()


@pytest.mark.parametrize('seed', [-1, 0.5, None, True, 'x'])
def test_a_seed_is_a_whole_number(seed):
    assert refusal(SettingError, ImuSensor, slide(), seed=seed) == (
        f'seed = {seed!r} must be a whole number >= 0: it determines the random numbers'
    )
