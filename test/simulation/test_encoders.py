"""Simulated encoders: steps, noise and delay against closed forms, and both sides of a gear."""

import numpy as np
import pytest
from refusals import refusal

import flex_robot_sim as frs
from flex_robot_sim.simulation.encoders import Encoders
from flex_robot_sim.util.exceptions import SettingError

RANGE = {'lower': -9.0, 'upper': 9.0}


def swing(stiffness=20.0**2, **encoder):
    """Return a point mass of 1 kg on a spring, which swings by cos(20 t)."""
    builder = frs.ArmBuilder().add_rigid('cart', mass=1.0)
    builder.add_joint(
        'slide',
        parent='base',
        child='cart',
        type='prismatic',
        axis='x',
        spring_stiffness=stiffness,
        **RANGE,
    )
    builder.add_rigid('hand', mass=1e-6)
    builder.add_joint('wrist', parent='cart', child='hand', type='prismatic', axis='y', **RANGE)
    if encoder:
        builder.add_encoder('slide', **encoder)
    simulation = frs.Simulation(builder.build(gravity=(0.0, 0.0, 0.0)))
    simulation.set_state(q=[1.0, 0.25])
    return simulation


def samples(simulation, count=1000, steps=1, seed=0):
    """Return times (k,), measured positions and velocities (k,) of the slide."""
    encoders, rows = Encoders(simulation, seed=seed), []
    for _ in range(count):
        q, v = encoders.sample(simulation)
        rows.append((simulation.time, q[0], v[0]))
        simulation.step(steps)
    return np.array(rows).T


def test_a_joint_without_encoder_is_exact():
    for simulation in (swing(), swing(resolution=0.1)):
        q, v = Encoders(simulation).sample(simulation)
        assert (q[1], v[1]) == (0.25, 0.0)
    simulation = swing()
    simulation.step(10)
    q, v = Encoders(simulation).sample(simulation)
    assert (q == simulation.q).all()
    assert (v == simulation.v).all()


def test_the_position_is_the_nearest_step():
    simulation = swing(resolution=0.03)
    exact = [simulation.position[0]]
    _, position, _ = samples(simulation, 400)
    repeat = swing()
    for _ in range(399):
        repeat.step()
        exact.append(repeat.position[0])
    error = position - exact
    assert abs(error).max() <= 0.015 + 1e-12
    np.testing.assert_allclose(position / 0.03, np.round(position / 0.03), atol=1e-9)


@pytest.mark.parametrize('delay', [5e-4, 3e-3, 0.0171])
@pytest.mark.parametrize('steps', [1, 5])
def test_a_delay_shows_an_earlier_position(delay, steps):
    times, position, velocity = samples(swing(delay=delay), 200 // steps, steps)
    # steps of 1 ms have a relative phase error of (20 h)^2 / 12; before, the arm is at rest
    wanted = np.cos(20.0 * np.maximum(times - delay, 0.0))
    np.testing.assert_allclose(position, wanted, atol=3e-4)
    period = times[1]
    np.testing.assert_allclose(velocity[1:], np.diff(wanted) / period, atol=2e-4 * 20 + 1e-9)


def test_velocity_is_the_difference_of_measured_positions():
    times, position, velocity = samples(swing(resolution=1e-2, noise=1e-3), 100, 3)
    np.testing.assert_allclose(velocity[1:], np.diff(position) / np.diff(times), rtol=1e-12)
    assert velocity[0] == 0.0  # the arm starts at rest


def test_noise_has_its_standard_deviation_and_repeats_by_seed():
    still = {'stiffness': None}
    _, position, _ = samples(swing(noise=1e-3, **still), 4000)
    assert position.mean() == pytest.approx(1.0, abs=4e-3 / np.sqrt(4000))
    assert position.std() == pytest.approx(1e-3, rel=4 / np.sqrt(8000))
    assert (samples(swing(noise=1e-3, **still), 50)[1] == position[:50]).all()
    assert (samples(swing(noise=1e-3, **still), 50, seed=1)[1] != position[:50]).all()


def test_a_repeated_sample_is_the_same():
    simulation = swing(noise=1e-3, delay=2e-3, resolution=1e-4)
    encoders = Encoders(simulation)
    for _ in range(5):
        first, second = encoders.sample(simulation), encoders.sample(simulation)
        assert (first[0] == second[0]).all()
        assert (first[1] == second[1]).all()
        simulation.step()


def test_both_sides_of_an_elastic_gear_have_an_encoder():
    builder = frs.ArmBuilder().add_rigid('arm', mass=1.0, centre=(0.2, 0.0, 0.0))
    builder.add_joint('hinge', parent='base', child='arm', axis='y')
    builder.add_gear('hinge', stiffness=100.0, rotor_inertia=1e-2)
    builder.add_encoder('hinge', resolution=0.05)
    simulation = frs.Simulation(builder.build())
    simulation.set_state(q=[0.33, 0.48])
    position, velocity, motor_position, motor_velocity = Encoders(simulation).joints(simulation)
    assert [*position, *motor_position] == pytest.approx([0.35, 0.5])
    assert [*velocity, *motor_velocity] == [0.0, 0.0]


def test_a_restored_state_forgets_the_later_past():
    simulation = swing(delay=5e-3)
    state, encoders = simulation.save_state(), Encoders(simulation)
    for _ in range(30):
        encoders.sample(simulation)
        simulation.step()
    encoders.sample(simulation)
    simulation.restore_state(state)
    q, v = encoders.sample(simulation)
    assert (q[0], v[0]) == (1.0, 0.0)


def test_anything_but_a_simulation_is_refused():
    assert refusal(SettingError, Encoders, 3) == 'simulation = 3 must be a Simulation(arm)'
