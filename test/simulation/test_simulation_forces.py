"""Pushes, servos and payloads of a simulated arm, against closed forms and `statics`."""

from math import cos, sin, sqrt

import numpy as np
import pytest
from moving_arms import BEAM, EI, ROD, WEIGHTLESS, clamped_arm, rigid_arm, swinging_arm

from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.dynamics.loads import Push
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.settings import SimulationSettings

DAMPED = BEAM + '<modes bending_y="3" bending_z="3" torsion="0"/><damping ratio="0.5"/>'


def at_rest(**options):
    """Return a Simulation of the swinging arm in the equilibrium of a pose, held by its motors."""
    arm, pose = swinging_arm(**options), [0.4, -0.3]
    rest = equilibrium(arm, pose)
    simulation = Simulation(arm)
    simulation.set_state(q=rest.q)
    simulation.effort = rest.effort
    return simulation


def settled(arm, *pushes, seconds=8.0):
    """Return a Simulation of a damped arm after a while under loads."""
    simulation = Simulation(arm, SimulationSettings(time_step=2e-3))
    for push in pushes:
        simulation.push(*push)
    simulation.advance_to(seconds)
    return simulation


def test_an_arm_in_equilibrium_stays_there():
    simulation = at_rest()
    before = simulation.q
    simulation.step(200)
    # the search stops at about 1e-10; 0.2 s of unstable balance increase that only a little
    np.testing.assert_allclose(simulation.q, before, atol=1e-8)


def test_a_damped_beam_comes_to_rest_in_the_equilibrium():
    arm = clamped_arm(DAMPED, gravity=(1.0, -2.0, -9.81), tip_mass=0.3)
    push = Push('tool', (0.0, 0.5, 0.2))
    simulation = settled(arm, push)
    rest = equilibrium(arm, pushes=[push])
    # after 8 s of damping at half the critical one (first rate 8 rad/s) e^-30 is left
    np.testing.assert_allclose(simulation.q, rest.q, atol=1e-10)


def test_a_dead_load_bends_a_beam_by_F_L3_over_3EI():
    force = 0.03  # slope 5e-4 at the end, so third-order terms are below 1e-6
    tip = settled(clamped_arm(DAMPED), Push('tool', (0.0, force, -2 * force))).deflection['arm']
    expected = [force / (3 * EI), -2 * force / (3 * EI), force / EI, force / (2 * EI)]
    np.testing.assert_allclose(tip[[1, 2, 4, 5]], expected, rtol=1e-6)


def test_a_moment_bends_a_beam_by_M_L2_over_2EI():
    moment = 0.03
    tip = settled(clamped_arm(DAMPED), Push('tool', moment=(0, 0, moment))).deflection['arm']
    np.testing.assert_allclose(tip[[1, 5]], [moment / (2 * EI), moment / EI], rtol=1e-6)


def test_a_follower_turns_with_its_link():
    # always across the rod, so the acceleration F L / I is constant, and the midpoint exact
    simulation = Simulation(rigid_arm(gravity=WEIGHTLESS))
    simulation.push('tool', force=(0.0, 3.0, 0.0), follows=True)
    simulation.advance_to(2.0)
    assert simulation.position == pytest.approx([0.5 * 3.0 / ROD * 2.0**2], rel=1e-12)


def test_a_dead_load_is_a_pendulum():
    # I w^2 / 2 = F L sin(angle), with the force along y and the rod along x at first
    simulation = Simulation(rigid_arm(gravity=WEIGHTLESS), SimulationSettings(scheme='rk4'))
    simulation.push('arm', force=(0.0, 3.0, 0.0), point=(1.0, 0.0, 0.0))
    simulation.advance_to(0.7)
    angle, rate = simulation.position[0], simulation.velocity[0]
    assert angle > 0.5
    assert rate == pytest.approx(sqrt(2 * 3.0 * sin(angle) / ROD), rel=1e-10)
    assert simulation.energy().work == pytest.approx(3.0 * sin(angle), rel=1e-10)


def test_pushes_add_up_and_can_be_removed():
    simulation = Simulation(rigid_arm(gravity=WEIGHTLESS))
    simulation.push('tool', force=(0.0, 3.0, 0.0), follows=True)
    simulation.push('arm', moment=(0.0, 0.0, -1.0))
    simulation.advance_to(1.0)
    assert simulation.velocity == pytest.approx([(3.0 - 1.0) / ROD], rel=1e-12)
    simulation.push('tool')
    simulation.advance_to(2.0)
    assert simulation.velocity == pytest.approx([(2.0 - 1.0) / ROD], rel=1e-12)
    simulation.push('arm')
    simulation.advance_to(3.0)
    assert simulation.velocity == pytest.approx([1.0 / ROD], rel=1e-12)


def test_a_servo_pulls_as_its_gains_say():
    # I x'' + d x' + k (x - 1) = 0, damped at 0.3 of the critical one, from rest
    rate, ratio = 5.0, 0.3
    simulation = Simulation(rigid_arm(gravity=WEIGHTLESS), SimulationSettings(scheme='rk4'))
    simulation.hold([1.0], ROD * rate**2, 2 * ratio * rate * ROD)
    simulation.advance_to(0.8)
    swing, t = rate * sqrt(1 - ratio**2), simulation.time
    fade = np.exp(-ratio * rate * t)
    expected = 1 - fade * (cos(swing * t) + ratio * rate / swing * sin(swing * t))
    assert simulation.position == pytest.approx([expected], rel=1e-9)
    rest = 1 - simulation.position[0] - 2 * ratio / rate * simulation.velocity[0]
    assert simulation.applied_effort == pytest.approx([ROD * rate**2 * rest], rel=1e-12)
    simulation.hold([0.0], 0.0, 0.0)
    speed = simulation.velocity
    simulation.step(1000)
    assert simulation.velocity == pytest.approx(speed, rel=1e-12)


@pytest.mark.long
def test_the_wrench_at_rest_balances_the_weight():
    simulation = at_rest()
    moment, force = np.split(simulation.wrench('waist'), 2)
    np.testing.assert_allclose(force, [0, 0, 5 * 9.81], atol=1e-7)
    # about the waist: links of 2 kg with their mass along the bent axis, and the tool
    tool = simulation.pose('tool')
    weights = [(1.0, (tool @ [0.05, 0.0, 0.02, 1.0])[:3])]
    for name in ('arm', 'forearm'):
        weights += [(2 / 4000, at) for at in _axis(simulation, name, 4000)]
    R = simulation.pose('arm')[:3, :3]
    expected = sum(m * np.cross(at, [0, 0, 9.81]) for m, at in weights)
    np.testing.assert_allclose(R @ moment, expected, rtol=1e-6, atol=1e-6)
    assert simulation.wrench('waist')[2] == pytest.approx(simulation.effort[0], abs=1e-8)
    assert simulation.wrench('elbow')[1] == pytest.approx(simulation.effort[1], abs=1e-8)


def _axis(simulation, name, count):
    """Midpoints of `count` equal parts of the bent axis of a link, in the base frame."""
    arm, root = simulation.arm, simulation.pose(name)
    (body,) = arm.segments[name]
    piece, first = arm.beams[body], arm.arrays.first[body]
    e = simulation.q[first : first + piece.size]
    for x in (np.arange(count) + 0.5) / count:
        at = piece.shape(x) @ e + [x, 0.0, 0.0]
        at[0] -= 0.5 * e @ piece.shortening(x) @ e
        yield root[:3, :3] @ at + root[:3, 3]


def test_a_wrench_counts_a_push_from_the_moment_it_is_given():
    simulation = at_rest()
    before = simulation.wrench('waist')
    simulation.push('arm', force=(0.0, 0.0, 7.0))  # at the hinge, so it has no other effect
    np.testing.assert_allclose(simulation.wrench('waist') - before, [0, 0, 0, 0, 0, -7], atol=1e-9)
    simulation.push('arm')
    np.testing.assert_allclose(simulation.wrench('waist'), before, atol=1e-12)


def test_energy_adds_up_with_all_kinds_of_loads():
    arm = swinging_arm(
        damping='0.02',
        friction='0.3',
        gear='stiffness="400" damping="3" rotor_inertia="1" gear_ratio="1"',
    )
    simulation = Simulation(arm, SimulationSettings(time_step=5e-4, scheme='rk4'))
    simulation.set_state(q=[0.3, -0.2], v=[1.0, 0.5])
    changes = (
        lambda: simulation.push('tool', force=(2.0, 5.0, 1.0), point=(0.1, 0.0, 0.0)),
        lambda: simulation.hold([0.5, 0.1], 50.0, 5.0),
        lambda: simulation.set_payload('tool', 0.7, (0.0, 0.1, 0.0), np.eye(3) * 1e-2),
        lambda: simulation.push('forearm', moment=(0.5, 0.0, 1.0), follows=True),
        lambda: simulation.push('tool'),
        lambda: simulation.set_payload('tool', 0.0),
    )
    scale = 0.0
    for change in changes:
        simulation.effort[:] += [1.0, -0.5]
        change()
        simulation.step(400)
        energy = simulation.energy()
        scale = max(scale, energy.kinetic + energy.strain)
        # the fourth-order scheme at a tenth of its longest step
        assert abs(energy.balance) < 1e-8 * scale
    assert energy.dissipated > 0.01 * scale
    assert abs(energy.work) > 0.1 * scale
    simulation.set_state(v=[2.0, 0.0])
    assert simulation.energy()[3:] == (0.0, 0.0, 0.0)
