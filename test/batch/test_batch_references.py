"""Queries of a batch, against closed forms and Pinocchio."""

import numpy as np
import pytest
from beam_arms import EI, LENGTH, beam_arm, with_modes
from public_robots import public_robot

import flex_robot_sim as frs
from flex_robot_sim.model.arm_model import with_stiffness

SPANS = {'root': (0.0, 0.2), 'middle': (0.2, 0.5), 'end': (0.4, LENGTH)}
SENSORS = ''.join(
    f'<flex_sensor name="{name}" from="{start}" to="{end}" plane="xy"/>'
    for name, (start, end) in SPANS.items()
)
PUBLIC = [
    'ur_description/urdf/ur10_robot.urdf',
    'xarm_description/urdf/xarm7.urdf',
    'z1_description/urdf/z1.urdf',
]


def test_curvatures_are_moment_over_stiffness_of_each_member():
    arm, factors = beam_arm(with_modes(bending_y=2, bending_z=2) + SENSORS), (0.5, 1.0, 3.0)
    arms = [with_stiffness(arm, factor) for factor in factors]
    forces = 1e-5 * EI / LENGTH**2 * np.array([1.0, -2.0, 4.0])
    batch = frs.Batch(arms)
    batch.set_state(
        q=[
            frs.equilibrium(one, pushes=[frs.Push('tool', (0.0, force, 0.0))]).q
            for one, force in zip(arms, forces)
        ]
    )
    curvature = batch.curvature
    assert len(curvature) == len(SPANS)
    for name, values in curvature.items():
        start, end = SPANS[name.rpartition('/')[2]]
        lever = LENGTH - 0.5 * (start + end)  # the mean of a linear moment is that in the middle
        # static shapes are exact for a tip force; large bending adds 1e-9
        np.testing.assert_allclose(
            values, forces * lever / (EI * np.array(factors)), rtol=1e-6, err_msg=name
        )


def test_the_wrench_of_a_held_pendulum_is_its_weight_and_the_moment_of_its_weight():
    builder = frs.ArmBuilder('pendulum')
    builder.add_rigid('bob', mass=2.0, centre=(0.5, 0.0, 0.0), inertia=np.eye(3) * 1e-3)
    builder.add_joint('pivot', parent='base', child='bob', axis=(0.0, 1.0, 0.0))
    angles, weight = np.array([0.0, 0.7, -1.2, 2.5]), 2.0 * 9.81
    batch = frs.Batch(builder.build(), len(angles))
    batch.set_state(angles[:, None])
    batch.effort[:, 0] = -0.5 * weight * np.cos(angles)  # a positive angle lowers the bob
    nothing = np.zeros_like(angles)
    moments = [nothing, batch.effort[:, 0], nothing]
    forces = [-weight * np.sin(angles), nothing, weight * np.cos(angles)]  # in the turned link
    np.testing.assert_allclose(batch.wrench('pivot'), np.vstack([moments, forces]).T, atol=1e-9)


@pytest.mark.parametrize('path', PUBLIC)
def test_wrenches_of_moving_public_robots_are_those_of_pinocchio(path):
    pin = pytest.importorskip('pinocchio')
    file = str(public_robot(path))
    arm, model = frs.load(file), pin.buildModelFromUrdf(file)
    arm = frs.with_parameters(
        arm, {'*.viscous': 0.0, '*.coulomb': 0.0, '*.static_friction': 0.0}
    )  # of which Pinocchio has none
    assert [*model.names][1:] == [*arm.joint_names]
    data, rng, count = model.createData(), np.random.default_rng(3), 4
    batch = frs.Batch(arm, count)
    middle, half = 0.5 * (arm.arrays.upper + arm.arrays.lower), 0.3
    q = middle + half * rng.uniform(-1.0, 1.0, (count, arm.nq))
    v, effort = rng.standard_normal((2, count, arm.nq))
    batch.set_state(q, v)
    batch.effort[:] = effort
    wrenches = {joint: batch.wrench(joint) for joint in arm.joint_names}
    for k in range(count):
        acceleration = pin.aba(model, data, q[k], v[k], effort[k])
        pin.rnea(model, data, q[k], v[k], acceleration)
        for joint, found in wrenches.items():
            expected = data.f[model.getJointId(joint)]
            expected = np.concatenate([expected.angular, expected.linear])
            # rounding of accelerations of light links
            np.testing.assert_allclose(
                found[k], expected, atol=1e-8 * max(1.0, np.abs(expected).max()), err_msg=joint
            )
