"""Equilibria, modes, derivatives, loops and batches of planar joints, against closed forms."""

import numpy as np
import pytest
from arms import flexibility, joint, link, robot
from refusals import refusal

import flex_robot_sim as frs
from flex_robot_sim.util.exceptions import SettingError

G, MASS, TURN = 9.81, 2.0, 0.03  # of the puck: mass, and inertia about the normal
NORMAL = '<axis xyz="0 0 1"/>'


def carried(axis, slide='', elements=''):
    """Return a puck on an arm of 1 m, whose hinge has an `axis`."""
    return robot(
        link(inertia=(0.1, 0.1, 0.1)),
        link('puck', MASS, '0 0 0', (0.02, 0.02, TURN)),
        joint(inside=f'<axis xyz="{axis}"/>'),
        joint('slide', 'planar', 'arm', 'puck', f'<origin xyz="1 0 0"{slide}/>{NORMAL}'),
        *([flexibility(elements)] if elements else []),
    )


def mount(x, y, theta):
    """Return springs of the coordinates."""
    values = {'x': x, 'y': y, 'theta': theta}
    return ''.join(
        f'<joint name="slide_{axis}" spring_stiffness="{value}"/>'
        for axis, value in values.items()
    )


def test_a_puck_on_springs_sags_and_vibrates_as_in_closed_form():
    # the plane is upright: its x points down
    arm = frs.load(carried('0 0 1', ' rpy="0 1.5707963267948966 0"', mount(800.0, 300.0, 12.0)))
    rest = frs.equilibrium(arm)
    np.testing.assert_allclose(rest.q, [0, MASS * G / 800.0, 0, 0], rtol=0, atol=1e-12)
    expected = np.sort(np.sqrt([800.0 / MASS, 300.0 / MASS, 12.0 / TURN])) / (2 * np.pi)
    np.testing.assert_allclose(frs.modes(arm).frequencies, expected, rtol=1e-10)
    # the drives of a linear model are free: the arm gives way to the motion across it
    about_hinge = 0.1 + 2.0 * 0.5**2 + 0.02 + MASS
    across = 300.0 / (MASS - MASS**2 / about_hinge)
    expected = np.sqrt([12.0 / TURN, 800.0 / MASS, across])
    found = np.linalg.eigvals(frs.linearise(arm).A).imag
    np.testing.assert_allclose(np.sort(found)[-3:], expected, rtol=1e-8)


def test_a_free_puck_rests_anywhere_on_a_level_table():
    arm = frs.load(carried('0 0 1'))
    rest = frs.equilibrium(arm, [0.3, 0.1, -0.2, 0.4])
    assert rest.q.tolist() == [0.3, 0.1, -0.2, 0.4] and not rest.effort.any()
    # nothing moves the puck on the table: it turns with the arm
    np.testing.assert_allclose(
        frs.static_jacobian(arm, rest.q)[:, 0], frs.jacobian(arm, rest.q)[:, 0], atol=1e-15
    )


def test_a_free_puck_on_a_slope_has_no_equilibrium():
    assert refusal(SettingError, frs.equilibrium, frs.load(carried('0 1 0')), [0.3, 0, 0, 0]) == (
        'the free drives find no stable equilibrium from here: start from another q, or lock the '
        'joints that nothing holds'
    )


def test_an_equilibrium_from_rest_stays():
    arm = frs.load(carried('0 1 0', elements=mount(800.0, 300.0, 12.0)))
    q = frs.equilibrium(arm, [0.4, 0, 0, 0]).q
    np.testing.assert_allclose(q[1], MASS * G * np.sin(0.4) / 800.0, rtol=1e-12)
    for _ in range(3):
        np.testing.assert_allclose(frs.equilibrium(arm, q).q, q, rtol=0, atol=1e-14)


def test_derivatives_are_those_of_differences():
    arm = frs.load(carried('0 1 0', ' rpy="0.2 0.3 0"', mount(80.0, 30.0, 1.2)))
    q, v = np.array([0.3, 0.1, -0.2, 0.5]), np.array([1.0, -2.0, 0.5, 3.0])
    found = frs.derivatives(arm, q, v, np.zeros(4))
    h = 1e-6
    for k, unit in enumerate(h * np.eye(4)):
        slope = frs.forward_dynamics(arm, q + unit, v) - frs.forward_dynamics(arm, q - unit, v)
        np.testing.assert_allclose(found.da_dq[:, k], slope / (2 * h), rtol=0, atol=1e-6)


def test_an_inverse_solution_puts_the_hanging_tool_at_its_target():
    arm = frs.load(carried('0 1 0', elements=mount(800.0, 300.0, 12.0)))
    target = frs.pose(arm, frs.equilibrium(arm, [0.7, 0, 0, 0]).q)[:3, 3]
    found = frs.inverse_kinematics(arm, target)
    np.testing.assert_allclose(frs.pose(arm, found.q)[:3, 3], target, rtol=0, atol=1e-6)


def four_bar(is_planar):
    """Return a four-bar whose coupler has a hinge on the crank, or a planar joint on the base."""
    builder = frs.ArmBuilder('loop')
    builder.add_rigid('crank', mass=0.1, centre=(0.1, 0, 0), inertia=(1e-4, 1e-4, 1e-4))
    builder.add_rigid('coupler', mass=0.3, centre=(0.15, 0, 0.2), inertia=(1e-3, 1e-3, 1e-3))
    builder.add_rigid('rocker', mass=0.2, centre=(0, 0, 0.2), inertia=(1e-3, 1e-3, 1e-3))
    builder.add_joint('first', parent='base', child='crank', axis='-y')
    builder.add_joint('last', parent='base', child='rocker', axis='-y', xyz=(0.5, 0, 0), effort=0)
    axes = {'type': 'revolute', 'parent_axis': 'y', 'child_axis': 'y', 'child': 'coupler'}
    if is_planar:
        builder.add_joint('plane', parent='base', child='coupler', axis='-y', type='planar')
        builder.add_constraint('pin', parent='crank', parent_xyz=(0.2, 0, 0), **axes)
    else:
        builder.add_joint(
            'pin', parent='crank', child='coupler', axis='-y', xyz=(0.2, 0, 0), effort=0
        )
    places = {'parent_xyz': (0, 0, 0.4), 'child_xyz': (0.3, 0, 0.4)}
    return builder.add_constraint('end', parent='rocker', **places, **axes).build()


def test_a_loop_with_a_planar_joint_moves_as_that_of_hinges():
    misses = []
    for step in (2e-3, 1e-3):
        poses = []
        for is_planar in (False, True):
            arm = four_bar(is_planar)
            simulation = frs.Simulation(arm, frs.SimulationSettings(time_step=step))
            simulation.effort[0] = 0.2
            simulation.advance_to(0.2)
            poses.append(simulation.pose('coupler'))
        misses.append(np.abs(poses[0] - poses[1]).max())
    # the coordinates differ, so that the schemes agree to second order only
    assert misses[1] < 1e-6 and misses[1] < 0.3 * misses[0]
    for is_planar in (False, True):
        weight = frs.equilibrium(four_bar(is_planar)).effort[0]
        # the crank carries half of itself, and all of the coupler, by the hinge at its tip
        assert weight == pytest.approx(G * (0.1 * 0.1 + 0.3 * 0.1), rel=1e-9)


def test_a_batch_and_a_restored_state_move_as_the_simulation():
    arm = frs.load(carried('0 1 0', elements=mount(80.0, 30.0, 1.2)))
    simulation, batch = frs.Simulation(arm), frs.Batch(arm, 2)
    for one in (simulation, batch):
        one.set_state([0.3, 0.1, -0.2, 0.5], [1.0, -2.0, 0.5, 3.0])
        one.step(20)
    assert (batch.position == simulation.position).all()
    kept = simulation.save_state()
    simulation.step(20)
    after = simulation.position.copy()
    simulation.restore_state(kept)
    simulation.step(20)
    assert (simulation.position == after).all()
