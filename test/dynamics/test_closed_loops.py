"""
Closed loops: they stay closed, gain no energy, and move as other formulations say.

References: Pinocchio's constraint dynamics; Lagrange multipliers of the tree, with Jacobians by
differences of poses.
"""

import copy

import numpy as np
import pytest
from closed_loops import (
    ONE_LOOP,
    energy_rise,
    moving_loop,
    opening,
    opening_rates,
    pinocchio_accelerations,
    without_loops,
)
from scipy.integrate import solve_ivp

import flex_robot_sim as frs
from flex_robot_sim.analysis.constraint_terms import gaps_and_jacobian
from flex_robot_sim.simulation import queries

pytestmark = pytest.mark.slow

LINKAGE = ('revolute', 'prismatic')


def accelerations(simulation):
    return queries.accelerations(simulation._simulated)


@pytest.mark.parametrize('kind', ['spherical', 'fixed'])
@pytest.mark.parametrize('seed', range(3))
def test_accelerations_of_rigid_loops_are_those_of_pinocchio(kind, seed):
    pytest.importorskip('pinocchio')
    simulation = moving_loop(seed, kind, kinds=('rigid',), gears=False, links=8, joints=LINKAGE)
    accelerate, order = pinocchio_accelerations(simulation.arm)
    theirs = accelerate(simulation.q[order], simulation.v[order])
    ours = accelerations(simulation)[order]
    assert ours == pytest.approx(theirs, abs=1e-8 * np.abs(theirs).max())


def test_a_rigid_loop_moves_as_pinocchio_integrates_it():
    pytest.importorskip('pinocchio')
    simulation = moving_loop(
        1, 'spherical', 2e-4, kinds=('rigid',), gears=False, links=8, joints=LINKAGE
    )
    accelerate, order = pinocchio_accelerations(simulation.arm)
    n = order.size
    result = solve_ivp(
        lambda _, x: np.concatenate([x[n:], accelerate(x[:n], x[n:])]),
        (0.0, 0.2),
        np.concatenate([simulation.q[order], simulation.v[order]]),
        'DOP853',
        rtol=1e-10,
        atol=1e-11,
    )
    simulation.advance_to(0.2)
    assert simulation.q[order] == pytest.approx(result.y[:n, -1], abs=1e-5)


@pytest.mark.parametrize('coupling', ['shortening', 'zero_order'])
@pytest.mark.parametrize('kind', ONE_LOOP)
def test_accelerations_obey_lagrange_multipliers(kind, coupling):
    simulation = moving_loop(4, kind, coupling=coupling)
    simulation.step(50)
    arm, q, v = simulation.arm, simulation.q, simulation.v
    tree = without_loops(arm, coupling)
    free, M = frs.forward_dynamics(tree, q, v), frs.mass_matrix(tree, q)
    residuals = [
        lambda s, d=d: np.array(opening(arm, q + s * d, 'loop')) for d in (*np.eye(q.size), v)
    ]
    J = np.array([(one(1e-5) - one(-1e-5)) / 2e-5 for one in residuals[:-1]]).T
    along, h = residuals[-1], 1e-3
    second = (  # of fourth order
        -along(2 * h) + 16 * along(h) - 30 * along(0) + 16 * along(-h) - along(-2 * h)
    ) / (12 * h * h)
    response = np.linalg.solve(M, J.T)
    force = np.linalg.lstsq(J @ response, -(J @ free + second), rcond=1e-8)[0]
    expected = free + response @ force
    assert accelerations(simulation) == pytest.approx(expected, abs=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize('kind', ONE_LOOP)
def test_a_loop_stays_closed_and_gains_no_energy(kind):
    for seed, step in ((0, 1e-3), (1, 5e-3), (2, 1e-4)):
        simulation = moving_loop(seed, kind, step, damping=bool(seed % 2))
        assert energy_rise(simulation, 150) < 1e-10
        assert np.abs(opening(simulation.arm, simulation.q, 'loop')).max() < 1e-12
        assert np.abs(opening_rates(simulation)).max() < 1e-7


def test_a_restored_loop_continues_bit_for_bit():
    simulation = frs.Simulation(frs.load('four_bar'))
    simulation.step(20)
    other = copy.deepcopy(simulation)
    for one in (simulation, other):
        one.step(20)
    assert np.array_equal(simulation.q, other.q) and np.array_equal(simulation.v, other.v)


def test_gaps_and_closing_rates_do_not_grow_in_1e5_steps():
    simulation = frs.Simulation(frs.load('four_bar'))
    simulation.effort = [0.3, 0.0, 0.0]
    for _ in range(10):
        simulation.step(10_000)
        assert np.abs(opening(simulation.arm, simulation.q, 'coupler_end')).max() < 1e-12
        W = closing_jacobian(simulation)
        assert np.abs(W @ simulation.v).max() < 1e-12 * np.abs(simulation.v).max()
    assert simulation.hard_steps == (0, 0)


def closing_jacobian(simulation):
    """Jacobian of the gap between the tips of coupler and rocker, from Jacobians of links."""
    tip, rocker = (
        simulation.jacobian(link, representation='mixed') for link in ('tool', 'rocker')
    )
    arm = simulation.pose('rocker')[:3, :3] @ [0.0, 0.0, 0.4]
    return tip[3:] - rocker[3:] - np.cross(rocker[:3].T, arm).T


def test_constraints_that_are_written_twice_share_the_force_and_change_nothing():
    text = frs.read_description('four_bar').text
    start, end = text.index('<constraint name'), text.index('</constraint>') + len('</constraint>')
    again = text[start:end].replace('coupler_end', 'again')
    once, twice = (
        frs.Simulation(frs.load(one)) for one in (text, text[:end] + again + text[end:])
    )
    for simulation in (once, twice):
        simulation.set_state(v=[2.0, 0.0, 0.0])
        simulation.step(200)
    assert twice.q == pytest.approx(once.q, abs=1e-10)
    force = once.constraint_force('coupler_end')
    for name in ('coupler_end', 'again'):
        assert twice.constraint_force(name) == pytest.approx(force / 2, abs=1e-4)


def test_the_wrenches_of_a_loop_balance_the_momentum_of_its_links():
    simulation = frs.Simulation(frs.load('four_bar', gravity=(0.0, 0.0, 0.0)))
    simulation.set_state(v=[3.0, 0.0, 0.0])
    simulation.step(20)
    # Newton's law of the rocker, about its pivot: the force at its tip and its own joint
    at_tip = simulation.constraint_force('coupler_end')[3:]
    R = simulation.pose('coupler')[:3, :3]
    offset = simulation.pose('rocker')[:3, :3] @ [0.0, 0.0, 0.4]
    acceleration = simulation.twist_rate('rocker', representation='mixed')[1]
    inertia = 2.8818e-3 + 0.216 * 0.2**2
    friction = 0.0005 * simulation.velocity[2]
    assert inertia * acceleration == pytest.approx(
        np.cross(offset, -R @ at_tip)[1] + friction, rel=1e-6
    )


def test_a_servo_turns_the_crank_and_the_loop_follows():
    simulation = frs.Simulation(frs.load('four_bar'))
    simulation.hold([1.0, 0.0, 0.0], [40.0, 0.0, 0.0], [2.0, 0.0, 0.0])
    simulation.advance_to(3.0)
    crank, coupler, rocker = simulation.position
    assert crank == pytest.approx(1.0, abs=0.05)
    assert np.abs(simulation.velocity).max() < 0.01
    # the rigid four-bar: distance from the crank tip to the tip of the rocker
    tip = 0.2 * np.array([np.cos(crank), np.sin(crank)])
    end = [0.5, 0.0] + 0.4 * np.array([-np.sin(rocker), np.cos(rocker)])
    assert np.linalg.norm(end - tip) == pytest.approx(0.5, abs=1e-4)


def test_newton_closes_a_loop_on_the_branch_next_to_the_position():
    arm = frs.load('four_bar')
    simulation = frs.Simulation(arm)
    for turn in (0.4, -0.4):
        simulation.set_state([turn, 0.0, 0.0])
        assert simulation.position[0] == turn
        assert np.abs(opening(arm, simulation.q, 'coupler_end')).max() < 1e-12
        assert abs(simulation.position[2]) < 0.5
    simulation.set_state([0.0, -1.8, 3.0])  # the other assembly is the image below the frame
    assert simulation.position == pytest.approx([0.0, -2 * np.arctan2(4, 3), np.pi], abs=1e-9)
    assert np.abs(opening(arm, simulation.q, 'coupler_end')).max() < 1e-12


def test_a_loop_that_cannot_close_is_reported_with_its_gap():
    text = frs.read_description('four_bar').text
    far = text.replace('<origin xyz="0.5 0 0"/>', '<origin xyz="1.2 0 0"/>')
    line = far[: far.index('<constraint name')].count('\n') + 1
    with pytest.raises(frs.DescriptionError) as caught:
        frs.Simulation(frs.load(far))
    # the links in a line
    assert str(caught.value).startswith(
        f'<text>:{line}: constraint "coupler_end" does not close: 0.1 m are left, with '
        'coupler_joint, rocker_joint free to move. '
    )


def test_a_loop_that_is_open_by_its_motor_is_reported_with_a_position_that_closes_it():
    text = frs.read_description('four_bar').text.replace('"0.5 0 0"', '"1.05 0 0"')
    simulation = frs.Simulation(frs.load(text))
    with pytest.raises(frs.SettingError) as caught:
        simulation.set_state([2.0, 0.0, 0.0])
    distance = np.sqrt(0.2**2 + 1.05**2 - 2 * 0.2 * 1.05 * np.cos([2.0, 0.0]))
    problem, _, value = str(caught.value).partition(
        ' free to move. It closes with "crank_joint" at '
    )
    assert problem.startswith(
        f'constraint "coupler_end" does not close: {distance[0] - 0.9:.3g} m are left'
    )
    simulation.set_state([float(value.removesuffix(' rad')), 0.0, 0.0])
    assert np.abs(opening(simulation.arm, simulation.q, 'coupler_end')).max() < 1e-9


def test_a_constraint_is_fixed_to_a_link_at_its_station():
    text = frs.read_description('four_bar').text
    tip = '<origin xyz="0.3 0 0.4"/>\n    <parent link="coupler"/>'
    assert tip in text
    tool = tip.replace('xyz="0.3 0 0.4"', 'xyz="0.3 0.02 0.4" rpy="0.3 -0.2 0.5"')
    arm = frs.load(text.replace(tip, tool))
    assert arm.closed_loops['coupler_end'].child.body == arm.frames['tool'].body
    q = np.random.default_rng(0).normal(scale=0.1, size=arm.size)
    gaps = gaps_and_jacobian(arm, q)[0]
    assert gaps[:3] == pytest.approx(opening(arm, q, 'coupler_end')[:3], abs=1e-14)
