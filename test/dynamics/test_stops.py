"""Joints that hit their stops: energy never increases, for any step, pose and load."""

import functools

import numpy as np
import pytest
from arms import beam, flexibility, joint, link, robot
from random_arms import random_robot

import flex_robot_sim as frs
from flex_robot_sim import read_description
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.settings import SimulationSettings
from flex_robot_sim.util.share import shipped_robots

pytestmark = pytest.mark.slow

STEPS = [1e-4, 5e-4, 1e-3, 2e-3, 5e-3]


def assert_energy_never_rises(simulation, seconds):
    step = simulation.settings.time_step
    count = max(1, round(2e-3 / step))
    last = sum(simulation.energy()[:3])
    scale = 1.0 + abs(last)
    for _ in range(int(seconds / (count * step))):
        simulation.step(count)
        energy = simulation.energy()
        now = sum(energy[:3])
        # rounding of potential energies of some kJ
        assert now <= last + 1e-10 * scale, simulation.time
        # at a turning point there is no motion to return lost energy to
        assert -1e-3 * scale < energy.balance < 1e-9 * scale
        last = now


@pytest.mark.parametrize('step', STEPS)
@pytest.mark.parametrize(
    'name',
    [
        'curved_arm',
        'printed_arm',
        'tapered_boom',
        'telescopic_boom',
        'two_link',
        'dual_screw_arm',
        'ella',
        'rcm',
        'canadarm2',
        'four_bar',
    ],
)
def test_a_released_shipped_arm_gains_no_energy(name, step):
    arm = frs.load(name)
    rng = np.random.default_rng(int(1e5 * step))
    simulation = Simulation(arm, SimulationSettings(time_step=step))
    simulation.set_state(
        rng.uniform(np.maximum(arm.arrays.lower, -1.5), np.minimum(arm.arrays.upper, 1.5))
    )
    if rng.random() < 0.5:
        simulation.set_payload('tool', rng.uniform(0.1, 2.0))
    # ten times longer steps cover ten times as much of the fall at the same cost
    assert_energy_never_rises(simulation, 0.3 if step < 5e-4 else 1.5)


@pytest.mark.long(after=2)
@pytest.mark.parametrize('start', range(0, 200, 25))
def test_random_trees_gain_no_energy_at_their_stops(start):
    for seed in range(start, start + 25):
        rng = np.random.default_rng(seed)
        text = random_robot(seed, links=int(rng.integers(1, 7)), damping=bool(rng.integers(2)))
        arm = build_arm(
            read_description(text.replace('lower="-20" upper="20"', 'lower="-0.3" upper="0.4"'))
        )
        simulation = Simulation(arm, SimulationSettings(time_step=10.0 ** rng.uniform(-3.5, -2.3)))
        simulation.set_state(v=rng.normal(size=len(arm.joint_names)))
        assert_energy_never_rises(simulation, 0.4)


def test_all_shipped_robots_are_listed_here():
    # in test_gear_laws.py: harmonic_drive
    still = {
        'element_sum_arm_1',
        'harmonic_drive',
        'element_sum_arm_2',
        'rig',
        'single_link',
        'spin_up_8m',
    }
    # in test_parallel_robots.py
    parallel = {'delta', 'delta_flexible', 'palletiser', 'slide_four_bar', 'stewart'}
    assert {*shipped_robots()} == still | parallel | {
        'curved_arm',
        'printed_arm',
        'two_link',
        'dual_screw_arm',
        'ella',
        'rcm',
        'canadarm2',
        'four_bar',
        'tapered_boom',
        'ship_boom',  # in test_moved_base.py
        'space_station',  # in test_space_station.py
        'telescopic_boom',
    }


def falling(step, scheme='implicit_midpoint'):
    arm = build_arm(
        read_description(
            robot(
                joint(
                    kind='revolute',
                    inside='<axis xyz="0 1 0"/><limit lower="-9" upper="0.5" '
                    'effort="1" velocity="1"/>',
                ),
                link(),
                joint('mount', 'fixed', 'arm', 'tool', '<origin xyz="1 0 0"/>'),
                link('tool', 1.0, '0.05 0 0.02', (2e-3, 3e-3, 4e-3)),
                flexibility(
                    beam(
                        '<section EIy="60" EIz="90" GJ="10"/>'
                        '<modes bending_y="2" bending_z="2" torsion="1"/>'
                    )
                ),
            )
        )
    )
    return Simulation(arm, SimulationSettings(time_step=step, scheme=scheme))


@functools.cache
def fastest_way_back(step, scheme):
    simulation = falling(step, scheme)
    speeds = []
    while simulation.time < 0.9:
        simulation.advance_to(simulation.time + 1e-3)
        speeds.append(simulation.velocity[0])
    return min(speeds)


@pytest.mark.long
@pytest.mark.parametrize('step, tolerance', [(1e-4, 0.02), (1e-3, 0.2)])
def test_an_arm_rebounds_from_its_stop_as_in_the_reference(step, tolerance):
    # contact lasts 10 ms; its damping is of first order in the step
    assert fastest_way_back(step, 'implicit_midpoint') == pytest.approx(
        fastest_way_back(1e-3, 'reference'), rel=tolerance
    )


def test_a_joint_rests_near_its_stop_with_any_load():
    # at zero the arm is upright: the waist inertia is a thousandth of that with the arm extended
    arm = frs.load('dual_screw_arm', gravity=(9.81, 0.0, 0.0))
    simulation = Simulation(arm)
    pose = np.zeros(len(arm.joint_names))
    pose[1] = 0.5 * np.pi
    simulation.set_state(np.clip(pose, arm.arrays.lower, arm.arrays.upper))
    simulation.set_payload('tool', 3.0)
    simulation.advance_to(3.0)
    beyond = np.maximum(
        simulation.position - arm.arrays.upper, arm.arrays.lower - simulation.position
    )
    assert beyond.max() < 0.01  # several times gravity over the stiffness of 40 Hz


@pytest.mark.parametrize('scheme', ['rk4', 'semi_implicit_euler'])
def test_explicit_schemes_are_stable_at_a_stop_with_permitted_steps(scheme):
    simulation = falling(2e-5, scheme)
    start = sum(simulation.energy()[:3])
    simulation.advance_to(0.9)
    energy = simulation.energy()
    assert np.isfinite(simulation.v).all()
    assert sum(energy[:3]) < start + abs(energy.balance) + 1e-6
    assert abs(energy.balance) < 0.05 * abs(energy.gravity)


def test_the_linear_model_includes_a_stop_in_contact():
    simulation = falling(1e-3)
    simulation.advance_to(4.0)
    q, qd = simulation.q, simulation.v
    linear = frs.linearise(simulation.arm, q, qd)
    arm = simulation.arm

    def accelerations(t, k, of_rate):
        from flex_robot_sim.dynamics.forward_dynamics import forward_dynamics
        from flex_robot_sim.model.workspace import make_workspace

        state = [q.copy(), qd.copy()]
        state[of_rate][k] += t
        qdd = np.zeros(arm.size)
        forward_dynamics(arm.arrays, *state, linear.effort, make_workspace(arm.arrays), qdd)
        return qdd

    for of_rate in (0, 1):
        slope = (accelerations(1e-7, 0, of_rate) - accelerations(-1e-7, 0, of_rate)) / 2e-7
        column = linear.A[arm.size :, of_rate * arm.size]
        np.testing.assert_allclose(slope, column, atol=1e-5 * np.abs(column).max())
