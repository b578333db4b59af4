"""Maximum composite inertia of joints, by closed forms and pose by pose."""

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim.model.composite_inertia import RANDOM_POSES, largest_inertias, moments_beyond

ARM = """<robot name="arm"><link name="base"/>
  <link name="upper"><inertial><origin xyz="1 0 0"/><mass value="2"/>
    <inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="fore"><inertial><origin xyz="{reach} 0 0"/><mass value="3"/>
    <inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/>
    <axis xyz="0 0 1"/></joint>
  <joint name="elbow" type="revolute"><origin xyz="1 0 0"/><parent link="upper"/>
    <child link="fore"/><axis xyz="0 0 1"/>
    <limit lower="-3.1" upper="3.1" effort="1" velocity="1"/></joint></robot>"""


@pytest.mark.parametrize('reach, poses_apart', [(0.5, 0.0), (-0.5, 0.1)])
def test_the_inertia_of_a_shoulder_is_largest_with_the_arm_extended(reach, poses_apart):
    shoulder, elbow = largest_inertias(frs.read_description(ARM.format(reach=reach)))
    assert elbow == pytest.approx(3 * 0.5**2)
    # extended at zero, or in a pose that is one of the sampled poses
    assert shoulder == pytest.approx(2 + 3 * 1.5**2, rel=max(poses_apart**2, 1e-12))


@pytest.mark.parametrize('name', ['rig', 'canadarm2', 'element_sum_arm_2'])
def test_the_vectorised_inertia_equals_that_of_single_poses(name):
    description = frs.read_description(name)
    joints = [joint for joint in description.joints if joint.moves]
    low = np.array(
        [
            -1.0
            if joint.kind == 'prismatic' and joint.lower == -np.inf
            else max(joint.lower, -np.pi)
            for joint in joints
        ]
    )
    high = np.array(
        [
            1.0 if joint.kind == 'prismatic' and joint.upper == np.inf else min(joint.upper, np.pi)
            for joint in joints
        ]
    )
    shares, inertias = np.random.default_rng(0).uniform(size=(RANDOM_POSES, len(joints))), []
    for pose in [0.0 * low, *(low + shares * (high - low))]:
        _, moved = moments_beyond(
            description, {joint.name: place for joint, place in zip(joints, pose)}
        )
        inertias.append(
            [
                moved[joint.child].mass
                if joint.kind == 'prismatic'
                else np.trace(moved[joint.child].second)
                - joint.axis @ moved[joint.child].second @ joint.axis
                for joint in joints
            ]
        )
    rotors = [joint.reflected_inertia if np.isinf(joint.stiffness) else 0.0 for joint in joints]
    np.testing.assert_allclose(
        largest_inertias(description), np.max(inertias, axis=0) + rotors, rtol=1e-12
    )
