"""The reference integrator against closed forms, the energy balance, and the limit of rk4."""

from math import asin, sin, sqrt

import numpy as np
import pytest
from arms import joint, link, robot
from moving_arms import ROD, WEIGHTLESS, clamped_arm, rigid_arm, swinging_arm
from refusals import refusal
from scipy.special import ellipj, ellipk

from flex_robot_sim import read_description
from flex_robot_sim.dynamics import adaptive
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.exceptions import SimulationError
from flex_robot_sim.util.settings import SimulationSettings

pytestmark = pytest.mark.slow

BEAM = '<section EIz="30"/><modes bending_y="{}" bending_z="0" torsion="0" boundary="free"/>'
LOSSES = {
    'damping': '0.02',
    'friction': '0.3',
    'gear': 'stiffness="400" damping="3" rotor_inertia="1" gear_ratio="1"',
}


def reference_simulation(arm, step=1e-3):
    """Return a Simulation with the reference integrator."""
    return Simulation(arm, SimulationSettings(time_step=step, scheme='reference'))


def set_in_motion(simulation):
    """Set a swinging arm in motion, with an effort and a push; return its Simulation."""
    simulation.set_state(q=[0.3, -0.2], v=[1.0, 0.5])
    simulation.effort = [1.0, -0.5]
    simulation.push('tool', force=(2.0, 5.0, 1.0), point=(0.1, 0.0, 0.0))
    return simulation


@pytest.mark.long
@pytest.mark.parametrize('step', [1e-3, 0.05, 1.0])
def test_a_pendulum_follows_the_elliptic_functions(step):
    # released 2 rad from its rest position: sin(angle / 2) = k cn(w t) / dn(w t), k = sin(1)
    arm, start, rate = rigid_arm(gravity=(9.81, 0.0, 0.0)), 2.0, sqrt(2.0 * 9.81 * 0.5 / ROD)
    simulation = reference_simulation(arm, step)
    simulation.set_state(q=[start])
    simulation.advance_to(3.0)
    assert simulation.time == pytest.approx(3.0, rel=1e-12)
    k = sin(start / 2)
    _, cn, dn, _ = ellipj(rate * 3.0, k**2)
    assert 4 * ellipk(k**2) / rate < 3.0  # more than one period
    # error of some hundred steps of 1e-10 each
    assert simulation.position[0] == pytest.approx(2 * asin(k * cn / dn), abs=3e-9)


def test_a_free_beam_oscillates_at_its_frequency():
    # without gravity and shortening, one mode is a linear oscillator
    simulation = reference_simulation(clamped_arm(BEAM.format(1), coupling='zero_order'))
    simulation.set_state(q=[0.01])
    simulation.advance_to(1.0)
    rate = 1.8751040687119611**2 * sqrt(30 / 2.0)
    assert simulation.q == pytest.approx([0.01 * np.cos(rate)], abs=1e-9 * 0.01 * rate)


def test_energy_adds_up_to_the_tolerance():
    simulation, scale = set_in_motion(reference_simulation(swinging_arm(**LOSSES))), 0.0
    for target in ([0.5, 0.1], [-0.4, 0.6]):
        simulation.hold(target, 50.0, 5.0)
        simulation.step(400)
        energy = simulation.energy()
        scale = max(scale, energy.kinetic + energy.strain)
        # some 1e4 adaptive steps with errors of 1e-10 each; most of them cancel
        assert abs(energy.balance) < 1e-9 * scale
    assert energy.dissipated > 0.01 * scale
    assert abs(energy.work) > 0.05 * scale


def test_energy_adds_up_when_a_stop_is_hit():
    # the force of a stop has corners, at which the adaptive steps become short
    inside = '<axis xyz="0 0 1"/><limit lower="-0.3" upper="0.3" effort="9" velocity="9"/>'
    simulation = reference_simulation(
        build_arm(
            read_description(robot(link(), joint(kind='revolute', inside=inside))),
            gravity=WEIGHTLESS,
        )
    )
    simulation.set_state(v=[2.0])
    simulation.advance_to(0.5)
    energy = simulation.energy()
    assert simulation.velocity[0] < 0.0  # it has rebounded
    assert energy.dissipated > 0.1 * ROD * 2.0**2 / 2
    assert abs(energy.balance) < 1e-9 * energy.dissipated


def test_rk4_converges_to_the_reference_integrator():
    truth, errors = set_in_motion(reference_simulation(swinging_arm(**LOSSES))), []
    truth.advance_to(0.5)
    for step in (5e-4, 2.5e-4):
        simulation = set_in_motion(
            Simulation(swinging_arm(**LOSSES), SimulationSettings(time_step=step, scheme='rk4'))
        )
        simulation.advance_to(0.5)
        errors.append(simulation.q - truth.q)
    sizes = [np.abs(error).max() for error in errors]
    # fourth order; the fifth-order term is a few per cent of it at these steps
    assert sizes[0] / sizes[1] == pytest.approx(16.0, rel=0.1)
    # Richardson extrapolation removes the fourth order; a hundredth of it remains
    assert np.abs(errors[1] + (errors[1] - errors[0]) / 15).max() < 0.02 * sizes[1]


def test_the_result_is_independent_of_the_simulation_step():
    runs = [
        set_in_motion(reference_simulation(swinging_arm(**LOSSES), step)) for step in (1e-3, 0.1)
    ]
    for run in runs:
        run.advance_to(0.4)
    # both are exact to 1e-10 times the number of adaptive steps
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=0.0, atol=1e-9)
    assert runs[0].energy().work == pytest.approx(runs[1].energy().work, rel=1e-8)


def test_one_call_of_many_steps_equals_many_calls_of_one_step():
    runs = [set_in_motion(reference_simulation(swinging_arm(**LOSSES))) for _ in range(2)]
    runs[0].step(50)
    for _ in range(50):
        runs[1].step()
    np.testing.assert_array_equal(runs[0].q, runs[1].q)
    assert runs[0].energy() == runs[1].energy()


def test_the_state_of_an_interrupted_run_matches_its_time(monkeypatch):
    simulation, fresh = (
        set_in_motion(reference_simulation(swinging_arm())),
        set_in_motion(reference_simulation(swinging_arm())),
    )
    whole, calls = adaptive.set_slopes, iter(range(1000))

    def interrupted(*arguments):
        if next(calls) == 500:
            raise KeyboardInterrupt
        whole(*arguments)

    monkeypatch.setattr(adaptive, 'set_slopes', interrupted)
    with pytest.raises(KeyboardInterrupt):
        simulation.step(200)
    monkeypatch.undo()
    assert 0.0 < simulation.time < 0.2
    fresh.advance_to(simulation.time)
    np.testing.assert_array_equal(simulation.q, fresh.q)
    assert simulation.energy() == fresh.energy()


def test_stretch_at_kilohertz_does_not_limit_the_step():
    # stretch at 18 kHz: rk4 would need steps of 25 us
    simulation = reference_simulation(
        swinging_arm(
            modes='<modes bending_y="1" bending_z="1" torsion="1" stretch="1"/>',
            section='EA="2e8" GJ="9e3"',
        ),
        0.02,
    )
    simulation.set_state(q=[0.3, 0.2], v=[0.5, 0.2])
    simulation.step()
    energy = simulation.energy()
    assert abs(energy.balance) < 1e-9 * energy.kinetic


def test_a_beam_bent_too_far_is_reported_when_it_happens():
    # beyond the deflection limit and back within one simulation step
    simulation = reference_simulation(clamped_arm(BEAM.format(1)), 0.05)
    simulation.set_state(q=[0.0], v=[3.0])
    simulation.step(2)
    assert simulation.reports == [
        'link "arm" bends by more than 10 % of its length at 0.05 s. Give it more segments'
    ]


@pytest.mark.parametrize('effort', [1e30, 1e200, 1e308])
def test_a_diverging_state_is_detected_early(effort):
    simulation = reference_simulation(swinging_arm())
    simulation.set_state(v=[1.0, 0.0])
    simulation.step(10)
    coordinates, energy = simulation.q, simulation.energy()
    simulation.effort = [effort, 0.0]
    assert refusal(SimulationError, simulation.step, 3) == (
        'the state is not finite after 0.01 s; the last good one is kept. Take a shorter '
        'time_step or smaller efforts'
    )
    np.testing.assert_array_equal(simulation.q, coordinates)
    assert simulation.energy() == energy
