"""Ideal IMUs, against finite differences of the poses of a reference, and against MuJoCo."""

import numpy as np
import pytest
from compare import GRAVITY, arm_of
from mujoco_robot import MujocoRobot
from public_robots import public_robot
from random_arms import every_feature, random_robot, random_state
from reference import Reference, along
from refusals import refusal
from sensor_robots import add_imus

import flex_robot_sim as frs
from flex_robot_sim.analysis.imu_kinematics import imu_motion, imu_mounts
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.exceptions import SettingError

pytestmark = pytest.mark.slow


def second(function, h=2e-3):
    """Second derivative of a function of one number at 0, to the sixth power of the step."""
    weights = {0: -49 / 18, 1: 3 / 2, 2: -3 / 20, 3: 1 / 90}
    return sum(
        weight * (function(sign * k * h) / (2 if k == 0 else 1)) / h**2
        for k, weight in weights.items()
        for sign in (-1, 1)
    )


@pytest.mark.long(after=3)
@pytest.mark.parametrize('seed', range(12))
def test_an_imu_measures_what_differences_of_its_pose_give(seed):
    text = every_feature() if seed == 0 else random_robot(seed)
    arm = arm_of(add_imus(text, np.random.default_rng(seed)))
    framed = arm_of(add_imus(text, np.random.default_rng(seed), as_links=True))
    assert arm.coordinate_names == framed.coordinate_names
    reference, rng = Reference(framed, GRAVITY), np.random.default_rng([seed, 1])
    q, v = random_state(arm, seed)
    a = 3.0 * rng.normal(size=arm.size)

    def pose(name, time):
        return reference.place(q + v * time + a * time**2 / 2)[0][name]

    for name in rng.permutation([*imu_mounts(arm)])[:4]:
        R = pose(name, 0.0)[0]
        turning = R.T @ along(lambda time, name=name: pose(name, time)[0])
        moving = second(lambda time, name=name: pose(name, time)[1])
        found = imu_motion(arm, q, v, a, name)
        wanted = [turning[2, 1], turning[0, 2], turning[1, 0]]
        np.testing.assert_allclose(found.angular_velocity, wanted, atol=1e-8)
        np.testing.assert_allclose(
            found.specific_force, R.T @ (moving - GRAVITY), atol=1e-6 * abs(moving).max() + 1e-6
        )


ROBOTS = [
    'ur_description/urdf/ur10_robot.urdf',
    'kinova_description/robots/kinova.urdf',
    'xarm_description/urdf/xarm7.urdf',
    'solo_description/robots/solo12.urdf',
]


@pytest.mark.parametrize('path', ROBOTS)
def test_imus_of_a_public_robot_measure_as_those_of_mujoco(path):
    text, rng = public_robot(path).read_text('utf-8'), np.random.default_rng(3)
    plain = frs.load(text, gravity=GRAVITY)
    links = [joint.child for joint in plain.description.joints if joint.moves]
    poses = {name: (rng.uniform(-0.1, 0.1, 3), rng.uniform(-3, 3, 3)) for name in links}
    arm = frs.load(with_words(text, poses), gravity=GRAVITY)
    peer = MujocoRobot(text, arm.joint_names, GRAVITY)
    model, data = with_sensors(peer, poses)
    for _ in range(3):
        q, v = rng.uniform(-1.0, 1.0, arm.size), rng.normal(size=arm.size)
        data.qpos[peer.rows], data.qvel[peer.rows] = q, v
        data.qfrc_applied[peer.rows] = rng.normal(size=arm.size)
        peer.library.mj_forward(model, data)
        a = data.qacc[peer.rows]
        for name in links:
            found = imu_motion(arm, q, v, a, f'imu_{name}')
            for values, kind in zip(found, ('gyro', 'accelerometer')):
                wanted = data.sensor(f'{kind}_{name}').data
                np.testing.assert_allclose(values, wanted, atol=1e-8 * (1 + abs(wanted).max()))


def with_words(text, poses):
    """Return a URDF with an IMU on some links, by name."""
    inside = ''.join(
        f'<link name="{name}"><imu name="imu_{name}" '
        f'xyz="{" ".join(map(repr, xyz.tolist()))}" rpy="{" ".join(map(repr, rpy.tolist()))}"/>'
        '</link>'
        for name, (xyz, rpy) in poses.items()
    )
    return text.replace('</robot>', f'<flexibility>{inside}</flexibility></robot>')


def with_sensors(peer, poses):
    """Return model and data of a robot in MuJoCo with an accelerometer and a gyro per pose."""
    mujoco = peer.library
    spec = mujoco.MjSpec.from_string(peer.text)
    for name, (xyz, (roll, pitch, yaw)) in poses.items():
        # MuJoCo turns about moving axes
        quaternion = np.zeros(4)
        mujoco.mju_euler2Quat(quaternion, [yaw, pitch, roll], 'zyx')
        spec.body(name).add_site(name=f'imu_{name}', pos=xyz, quat=quaternion)
        for kind, number in (
            ('gyro', mujoco.mjtSensor.mjSENS_GYRO),
            ('accelerometer', mujoco.mjtSensor.mjSENS_ACCELEROMETER),
        ):
            spec.add_sensor(
                name=f'{kind}_{name}',
                type=number,
                objtype=mujoco.mjtObj.mjOBJ_SITE,
                objname=f'imu_{name}',
            )
    spec.option.gravity[:] = GRAVITY
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    model = spec.compile()
    return model, mujoco.MjData(model)


def arm_with_imu(**options):
    builder = frs.ArmBuilder()
    builder.add_rigid('arm', mass=1.0, centre=(0.2, 0.0, 0.0))
    builder.add_joint('hinge', parent='base', child='arm', axis='y')
    return builder.add_imu('arm', 'imu', **options).add_imu('base', 'fixed')


def test_a_falling_pendulum_has_no_weight_across_its_arm_at_its_centre_of_oscillation():
    """A point mass falls freely from the horizontal: its accelerometer reads zero."""
    simulation = Simulation(arm_with_imu(xyz=(0.2, 0.0, 0.0)).build())
    np.testing.assert_allclose(simulation.imu('imu').specific_force, 0.0, atol=1e-9)


def test_an_imu_on_the_base_measures_gravity():
    found = Simulation(arm_with_imu().build()).imu('fixed')
    assert found.angular_velocity.tolist() == [0.0, 0.0, 0.0]
    np.testing.assert_allclose(found.specific_force, [0.0, 0.0, 9.81], rtol=1e-12)


def test_an_unknown_imu_is_refused_with_the_known_ones():
    simulation = Simulation(arm_with_imu().build())
    assert refusal(SettingError, simulation.imu, 'wrist') == (
        'the arm has no IMU "wrist". Known: fixed, imu'
    )
    assert refusal(SettingError, simulation.imu) == 'name an IMU. Known: fixed, imu'
    assert refusal(SettingError, Simulation(frs.load('two_link')).imu) == (
        'name an IMU. Give a link of <flexibility> an <imu>, or call ArmBuilder.add_imu'
    )
