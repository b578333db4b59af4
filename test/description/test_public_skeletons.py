"""
Skeletons of public robots in `test/data/robots`, compared with published data.

Masses and reaches are from the manufacturers' data sheets, with their rounding.
"""

import numpy as np
import pytest
from arm_elements import poses
from project_files import ROOT

from flex_robot_sim.description import read_description

SKELETONS = {path.stem: path for path in sorted((ROOT / 'test/data/robots').glob('*.urdf'))}


def skeleton(name):
    return read_description(SKELETONS[name])


@pytest.mark.parametrize('name', SKELETONS)
def test_skeleton_causes_only_warnings_about_mimic_joints(name):
    robot = skeleton(name)
    mimics = {joint.name for joint in robot.joints if joint.mimics}
    assert all(
        warning.split('"')[1] in mimics or 'zero is beyond the limits' in warning
        for warning in robot.warnings
    ), robot.warnings


@pytest.mark.parametrize(
    'name, part, mass, tolerance',
    [
        ('fr3', 'fr3_link', 17.8, 0.01),
        ('fr3', 'fr3_hand fr3_left fr3_right', 0.7, 0.02),
        ('lbr_iiwa14', '', 29.9, 0.002),
        ('gen3', 'base shoulder half_arm forearm spherical bracelet', 8.2, 0.01),
        ('gen3', 'robotiq', 0.925, 0.01),
        ('ur20', '', 64.0, 0.02),
        ('ur5e', '', 20.6, 0.06),  # the source contains an estimate of the base mass, 4 kg
    ],
)
def test_mass_of_arm_and_gripper_agrees_with_the_data_sheet(name, part, mass, tolerance):
    starts = tuple(part.split()) or ('',)
    total = sum(
        link.inertial.mass
        for link in skeleton(name).links
        if link.inertial is not None and link.name.startswith(starts)
    )
    assert total == pytest.approx(mass, rel=tolerance)


# Without the UR5e: its data sheet prints 850 mm, less than the length of its links and wrist.
@pytest.mark.parametrize(
    'name, straight, shoulder, end, reach',
    [
        ('fr3', {'fr3_joint4': -0.1518, 'fr3_joint6': 2.5257}, 'fr3_link2', 'fr3_link8', 0.855),
        ('lbr_iiwa14', {}, 'lbr_link_2', 'lbr_link_6', 0.82),
        ('gen3', {}, 'half_arm_1_link', 'end_effector_link', 0.902),
        ('ur20', {'wrist_1_joint': -np.pi / 2}, 'upper_arm_link', 'wrist_2_link', 1.75),
    ],
)
def test_stretched_arm_has_the_reach_of_the_data_sheet(name, straight, shoulder, end, reach):
    links = poses(skeleton(name), straight)
    # 1 %: frames are offset from the joint axes; the elbow of the FR3 stops at 0.15 rad
    assert np.linalg.norm(links[end][1] - links[shoulder][1]) == pytest.approx(reach, rel=0.01)


@pytest.mark.parametrize(
    'name, a2, a3, d1, d4, d5, d6',
    [
        ('ur5e', -0.425, -0.3922, 0.1625, 0.1333, 0.0997, 0.0996),
        ('ur20', -0.862, -0.7287, 0.2363, 0.2010, 0.1593, 0.1543),
    ],
)
def test_flange_follows_the_denavit_hartenberg_table_of_universal_robots(
    name, a2, a3, d1, d4, d5, d6
):
    robot = skeleton(name)
    angles = {
        joint.name: angle
        for joint, angle in zip(
            (joint for joint in robot.joints if joint.moves),
            (0.3, -1.1, 0.9, 0.5, -0.7, 1.3),
            strict=True,
        )
    }
    expected = np.eye(4)
    for theta, a, d, alpha in zip(
        angles.values(),
        (0, a2, a3, 0, 0, 0),
        (d1, 0, 0, d4, d5, d6),
        (np.pi / 2, 0, 0, np.pi / 2, -np.pi / 2, 0),
        strict=True,
    ):
        ct, st, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
        expected = expected @ [
            [ct, -st * ca, st * sa, a * ct],
            [st, ct * ca, -ct * sa, a * st],
            [0, sa, ca, d],
            [0, 0, 0, 1],
        ]
    (base, origin), (tool, position) = (poses(robot, angles)[link] for link in ('base', 'tool0'))
    # 1e-8: the source writes pi / 2 with ten digits
    assert base.T @ tool == pytest.approx(expected[:3, :3], abs=1e-8)
    assert base.T @ (position - origin) == pytest.approx(expected[:3, 3], abs=1e-8)
