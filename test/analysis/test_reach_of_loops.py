"""Inverse kinematics of closed loops: motors bring the tool to a pose, passive joints follow."""

import numpy as np
import pytest
from refusals import refusal
from scipy.spatial.transform import Rotation
from stewart_legs import leg_points

import flex_robot_sim as frs

pytestmark = pytest.mark.slow


def test_the_legs_of_a_stewart_platform_get_the_distances_of_their_ends():
    arm, (base, platform) = frs.load('stewart'), leg_points()
    T = np.eye(4)
    T[:3, :3] = Rotation.from_rotvec([0.05, -0.1, 0.1]).as_matrix()
    place = np.array([0.02, 0.03, 0.72])
    T[:3, 3] = place + T[:3, 2] * 0.04
    found = frs.inverse_kinematics(arm, T)
    assert found.is_reached
    lengths = np.linalg.norm(place + platform @ T[:3, :3].T - base, axis=1)
    zero = np.linalg.norm([0.0, 0.0, 0.7] + platform - base, axis=1)
    assert found.joints[arm.actuated] == pytest.approx(lengths - zero, abs=1e-9)


def test_a_palletiser_that_sags_reaches_a_place_at_which_a_simulation_holds_its_tool():
    arm, place = frs.load('palletiser'), [1.0, 0.2, 1.0]
    found = frs.inverse_kinematics(arm, place)
    simulation = frs.Simulation(arm)
    simulation.set_state(found.q)
    driven = np.where(arm.actuated, 1.0, 0.0)
    simulation.effort = frs.equilibrium(arm, found.joints).effort
    simulation.hold(found.joints, 1e4 * driven, 1e3 * driven)
    simulation.advance_to(0.5)
    assert simulation.pose('tool')[:3, 3] == pytest.approx(place, abs=1e-6)
    straight = frs.inverse_kinematics(arm, place, straight=True)
    assert np.abs(straight.joints - found.joints).max() > 1e-3


def parallelogram(lower, upper):
    """Return a crank of 0.3 m, a coupler and a rocker, whose passive joint has limits [rad]."""
    builder = frs.ArmBuilder('parallelogram')
    for name in ('crank', 'coupler', 'rocker'):
        builder.add_rigid(name, mass=1.0, inertia=(1e-3, 1e-2, 1e-2))
    builder.add_joint('drive', parent='base', child='crank', axis='-y', lower=-1.5, upper=1.5)
    place = {'axis': '-y', 'effort': 0}
    builder.add_joint('pin', parent='crank', child='coupler', xyz=(0.3, 0, 0), **place)
    place |= {'lower': lower, 'upper': upper}
    builder.add_joint('pivot', parent='base', child='rocker', xyz=(0.5, 0, 0), **place)
    ends = {'parent_xyz': (0.5, 0, 0), 'child_xyz': (0.3, 0, 0)}
    axes = {'parent_axis': 'y', 'child_axis': 'y'}
    builder.add_constraint(
        'loop', type='revolute', parent='coupler', child='rocker', **ends, **axes
    )
    return builder.build(tool='coupler')


@pytest.mark.parametrize('start', [[0.0], [1.0], [2.0], [2.0, -2.0, 2.0]])
@pytest.mark.parametrize(('limit', 'nearest'), [(3.0, 1.5), (0.4, 0.4)])
def test_limits_of_drives_and_of_passive_joints_hold_from_every_start(start, limit, nearest):
    arm, angle = parallelogram(-limit, limit), 2.0
    target = 0.3 * np.array([np.cos(angle), 0.0, np.sin(angle)])
    found = frs.inverse_kinematics(arm, target, start, nearest=True, searches=20)
    np.testing.assert_allclose(found.joints, nearest * np.array([1, -1, 1]), atol=1e-9)
    assert found.distance == pytest.approx(0.6 * np.sin((angle - nearest) / 2.0), abs=1e-9)


def test_a_place_out_of_reach_is_one_line():
    line = refusal(
        frs.SettingError, frs.inverse_kinematics, frs.load('delta'), [0, 0, -2.0], searches=2
    )
    assert line.startswith('the target is out of reach: "tool" comes as near as ')
