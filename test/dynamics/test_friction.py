"""Dry friction: sticking, slipping and stopping with any time step."""

import numpy as np
import pytest
from arms import beam, flexibility, joint, link, robot

from flex_robot_sim import read_description
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.settings import SimulationSettings

pytestmark = pytest.mark.slow

INERTIA = 1 / 6 + 2 * 0.25  # link of arms.py about the hinge                       [kg m2]
FRICTION = 1.5
STEPS = [1e-4, 1e-3, 5e-3]


def hinge(inside='', friction=FRICTION, kind='continuous', **settings):
    losses = f'<dynamics friction="{friction}"/>'
    arm = build_arm(
        read_description(
            robot(
                joint(kind=kind, inside=f'<axis xyz="0 0 1"/>{losses}'),
                link(),
                *([flexibility(inside)] if inside else []),
            )
        ),
        gravity=(0.0, 0.0, 0.0),
    )
    return Simulation(arm, SimulationSettings(**settings))


@pytest.mark.parametrize('step', STEPS)
def test_a_joint_holds_against_less_than_its_friction(step):
    simulation = hinge(time_step=step)
    simulation.effort = [0.98 * FRICTION]
    simulation.advance_to(4.0)
    assert abs(simulation.position[0]) < 1e-8  # its damper of 1e9 inertias creeps
    assert abs(simulation.velocity[0]) < 1e-8


@pytest.mark.parametrize('step', STEPS)
def test_a_joint_slips_with_the_excess_over_its_friction(step):
    simulation = hinge(time_step=step)
    simulation.effort = [1.2 * FRICTION]
    simulation.advance_to(1.0)
    assert simulation.velocity[0] == pytest.approx(0.2 * FRICTION / INERTIA, rel=1e-9)
    assert simulation.position[0] == pytest.approx(0.1 * FRICTION / INERTIA, rel=1e-9)


@pytest.mark.parametrize('step', STEPS)
def test_a_joint_stops_where_friction_has_dissipated_its_energy(step):
    simulation = hinge(time_step=step)
    simulation.set_state(v=[2.0])
    simulation.advance_to(2.0)
    stop = 0.5 * INERTIA * 2.0**2 / FRICTION
    # it stops within the last step, so v h / 2 is undetermined; 5 ms take v = 0.011 rad/s
    assert simulation.position[0] == pytest.approx(stop, abs=FRICTION / INERTIA * step**2)
    assert abs(simulation.velocity[0]) < 1e-8
    energy = simulation.energy()
    assert energy.dissipated == pytest.approx(2.0 * INERTIA, rel=1e-6)
    assert abs(energy.balance) < 1e-9


def test_static_friction_holds_a_joint_without_kinetic_friction():
    simulation = hinge(f'<joint name="hinge" static_friction="{FRICTION}"/>', friction=0.0)
    simulation.effort = [0.9 * FRICTION]
    simulation.advance_to(1.0)
    assert abs(simulation.position[0]) < 1e-8
    simulation.effort = [1.2 * FRICTION]
    simulation.advance_to(2.0)
    assert simulation.position[0] > 0.1


def test_static_friction_acts_until_it_is_overcome():
    words = f'<joint name="hinge" static_friction="{1.4 * FRICTION}" stribeck_rate="0.02"/>'
    simulation = hinge(words)
    simulation.effort = [1.35 * FRICTION]
    simulation.advance_to(1.0)
    assert abs(simulation.position[0]) < 1e-8
    simulation.effort = [1.45 * FRICTION]
    simulation.advance_to(1.2)
    simulation.effort = [1.2 * FRICTION]  # less than static friction
    before = simulation.velocity[0]
    simulation.advance_to(1.7)
    assert simulation.velocity[0] - before == pytest.approx(0.1 * FRICTION / INERTIA, rel=1e-6)


@pytest.mark.parametrize('step', [2e-4, 1e-3])
def test_a_slowly_pulled_spring_causes_stick_slip(step):
    # the servo is the spring: sticking until k x = static, then oscillation about k x = kinetic
    k, static, speed = 60.0, 1.3 * FRICTION, 0.05
    words = f'<joint name="hinge" static_friction="{static}" stribeck_rate="1e-3"/>'
    simulation = hinge(words, time_step=step)
    places, times = [], []
    while simulation.time < 4.0:
        simulation.hold([speed * simulation.time], k, 0.0, [speed])
        simulation.step()
        places.append(simulation.position[0])
        times.append(simulation.time)
    places, moving = np.array(places), np.diff(places) > 1e-7
    starts = np.flatnonzero(moving[1:] & ~moving[:-1])
    assert len(starts) >= 2
    pull = k * (speed * np.array(times)[starts] - places[starts])
    # a slip becomes visible after 15 ms, and the spring force grows by 3 N m/s
    assert pull == pytest.approx(np.full(pull.size, static), abs=0.05)
    # a slip oscillates about the moving equilibrium: x = v t + (D / k) (1 - cos w t) +
    # v / w sin w t from the start of the slip, until its rate is zero
    rate, excess = np.sqrt(k / INERTIA), (static - FRICTION) / k
    lasts = 2 / rate * (np.pi - np.arctan(excess * rate / speed))
    jump = 2 * excess + speed * lasts
    ends = np.flatnonzero(~moving[1:] & moving[:-1])
    slips = places[ends[ends > starts[0]][: len(starts) - 1]] - places[starts[:-1]]
    # the Stribeck rate is 2 % of the largest rate of the slip
    assert slips == pytest.approx(np.full(slips.size, jump), rel=0.05)


def test_many_joints_with_friction_never_gain_energy():
    rng = np.random.default_rng(0)
    for seed in range(6):
        parts = [
            joint(inside='<axis xyz="0 1 0"/><dynamics damping="0.1" friction="0.4"/>'),
            link(),
        ]
        for k in range(int(rng.integers(1, 4))):
            parts += [
                joint(
                    f'j{k}',
                    'continuous',
                    'arm' if k == 0 else f'l{k - 1}',
                    f'l{k}',
                    '<origin xyz="1 0 0"/><axis xyz="0 1 1"/><dynamics friction="0.3"/>',
                ),
                link(f'l{k}'),
            ]
        arm = build_arm(
            read_description(
                robot(*parts, flexibility(beam('<section EIy="60" EIz="90" GJ="10"/>')))
            )
        )
        step = 10.0 ** rng.uniform(-4, -2.3)
        simulation = Simulation(arm, SimulationSettings(time_step=step))
        simulation.set_state(
            rng.uniform(-2, 2, len(arm.joint_names)), rng.normal(size=len(arm.joint_names))
        )
        last = sum(simulation.energy()[:3])
        first = abs(last) + 10.0
        for _ in range(int(2.0 / step / 10)):
            simulation.step(10)
            now = sum(simulation.energy()[:3])
            assert now <= last + 1e-9 * first, (seed, simulation.time)
            last = now


def test_the_wrench_of_a_sticking_joint_equals_the_static_one():
    # horizontal under gravity; only friction holds it
    arm = build_arm(
        read_description(
            robot(joint(inside='<axis xyz="0 1 0"/><dynamics friction="20"/>'), link())
        )
    )
    simulation = Simulation(arm)
    simulation.step(50)
    moment = simulation.wrench('hinge')[1]
    assert moment == pytest.approx(-2 * 9.81 * 0.5, rel=1e-5)  # over an instant of 1e-6 s
