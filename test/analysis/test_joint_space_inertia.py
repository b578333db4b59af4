"""Joint-space inertia, against kinetic energy and closed forms."""

import numpy as np
import pytest
from arms import joint, link, robot
from closed_loops import TREES

import flex_robot_sim as frs
from flex_robot_sim.analysis.joint_space_inertia import (
    joint_space_inertia,
    poses_within,
    rigid_inertia,
)
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.model.composite_inertia import moments_beyond


@pytest.mark.parametrize('name', TREES)
def test_kinetic_energy_of_the_stiff_arm_is_half_its_rigid_inertia_times_squared_rates(name):
    arm, random = frs.load(name), np.random.default_rng(3)
    simulation, n = frs.Simulation(arm), len(arm.joint_names)
    for pose in poses_within(arm, 3):
        rates = random.normal(size=n)
        # both sides of a gear rotate at the joint rate
        simulation.set_state(q=pose, v=rates)
        kinetic = rates @ rigid_inertia(arm, pose) @ rates / 2
        expected = simulation.energy().kinetic
        if arm.has_free_base:  # it moves so that the momentum is zero
            M, base = frs.mass_matrix(arm, simulation.q), arm.base_q
            momentum = (M @ simulation.v)[base]
            expected -= momentum @ np.linalg.solve(M[base, base], momentum) / 2
        assert kinetic == pytest.approx(expected, rel=1e-9)  # rounding


def test_joint_inertia_ranges_from_zero_to_m_r2_of_the_extended_arm():
    # a mass of 2 kg on a rod of 0.5 m that tilts from vertical to horizontal, on a vertical axis
    arm = build_arm(
        frs.read_description(
            robot(
                joint('waist', parent='base', child='column', inside='<axis xyz="0 0 1"/>'),
                link('column', 1.0, '0 0 0', (0.01,) * 3),
                joint(
                    'tilt',
                    'revolute',
                    'column',
                    'rod',
                    '<axis xyz="0 1 0"/>'
                    '<limit lower="0" upper="1.5707963" effort="0" velocity="0"/>',
                ),
                link('rod', 2.0, '0 0 0.5', (1e-9,) * 3),
            )
        )
    )
    found = joint_space_inertia(arm)
    for tilt in (0.0, 0.4, 1.2):
        expected = 0.01 + 2.0 * (0.5 * np.sin(tilt)) ** 2
        assert rigid_inertia(arm, [0.0, tilt])[0, 0] == pytest.approx(expected, rel=1e-6)
    # the poses are a sample and come close to the ends of the range
    assert 0.01 <= found.least[0] < 0.03
    assert 0.45 < found.largest[0] <= 0.51
    np.testing.assert_allclose([found.least[1], found.largest[1]], 0.5, rtol=1e-6)


@pytest.mark.parametrize('name', TREES)
def test_poses_lie_within_the_limits_and_are_the_same_for_every_call(name):
    arm = frs.load(name)
    poses = poses_within(arm)
    assert np.all(poses > arm.arrays.lower) and np.all(poses < arm.arrays.upper)
    assert np.isfinite(poses).all()
    np.testing.assert_array_equal(poses, poses_within(arm))


@pytest.mark.parametrize('upper', [2.0, 3.0])
def test_poses_are_unique_in_a_range_symmetric_about_zero(upper):
    arm = build_arm(
        frs.read_description(
            robot(
                joint(
                    'hinge',
                    'revolute',
                    child='rod',
                    inside='<axis xyz="0 0 1"/>'
                    f'<limit lower="-2" upper="{upper}" effort="0" velocity="0"/>',
                ),
                link('rod', 1.0, '0.1 0 0', (0.01,) * 3),
            )
        )
    )
    poses = poses_within(arm, 5)
    assert len(np.unique(poses)) == len(poses) == (6 if upper == 2.0 else 7)


@pytest.mark.parametrize('name', [name for name in TREES if name != 'space_station'])
def test_vectorised_joint_inertias_equal_those_of_the_dynamics(name):
    arm = frs.load(name)
    poses = poses_within(arm, 3)
    _, moved = moments_beyond(arm.description, dict(zip(arm.joint_names, poses.T)))
    found = np.array([np.diag(rigid_inertia(arm, pose)) for pose in poses])
    for k, moving in enumerate(each for each in arm.description.joints if each.moves):
        moments = moved[moving.child]
        across = (
            moments.mass
            if moving.kind == 'prismatic'
            else np.einsum('...ii', moments.second)
            - np.einsum('i,...ij,j', moving.axis, moments.second, moving.axis)
        )
        # the dynamics models a flexible link as uniform, independent of its <inertial>: 1 %
        np.testing.assert_allclose(across + moving.reflected_inertia, found[:, k], rtol=0.01)
