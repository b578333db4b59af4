"""Arms from the screws of their joints: poses and Jacobians of the arms that the screws are of."""

from pathlib import Path

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim.formulations.screw_kinematics import bodies

ROBOTS = Path(__file__).parents[1] / 'data' / 'robots'


def moving_bodies(arm):
    """Return Y (n, 6), A (n, 4, 4), links and parents of the bodies that joints move."""
    rows = bodies(arm, ignores_bending=True)
    moving = [k for k, row in enumerate(rows) if row.joint >= 0]

    def parent(k):
        k = rows[k].parent
        while k >= 0 and rows[k].joint < 0:
            k = rows[k].parent
        return moving.index(k) if k >= 0 else -1

    return (
        np.array([rows[k].Y for k in moving]),
        np.array([rows[k].A for k in moving]),
        [rows[k].name for k in moving],
        [parent(k) for k in moving],
    )


@pytest.mark.parametrize('name', ['ur5e', 'gen3', 'fr3'])
def test_the_screws_of_a_public_robot_give_its_poses_and_jacobians(name):
    pin = pytest.importorskip('pinocchio')
    text = (ROBOTS / f'{name}.urdf').read_text('utf-8')
    arm = frs.load(text)
    Y, A, links, parents = moving_bodies(arm)
    count = len(links)
    is_slide = ~Y[:, :3].any(axis=1)
    bound = np.where(is_slide, 0.1, np.nan)
    built = frs.ArmBuilder.from_screws(Y, A, parents=parents, lower=-bound, upper=bound).build()
    model = pin.buildModelFromXML(text)
    q = 0.1 * np.random.default_rng(0).normal(size=count)
    theirs = pin.neutral(model)
    for joint, value in zip(arm.joint_names, q):
        number = model.getJointId(joint)
        at = model.joints[number].idx_q
        if model.joints[number].nq == 2:
            theirs[at : at + 2] = np.cos(value), np.sin(value)
        else:
            theirs[at] = value
    data = model.createData()
    pin.computeJointJacobians(model, data, theirs)
    pin.updateFramePlacements(model, data)
    for k, link in enumerate(links):
        frame = model.getFrameId(link)
        expected = data.oMf[frame].homogeneous
        assert np.allclose(frs.pose(built, q, link=f'body_{k + 1}'), expected, atol=1e-12)
        J = pin.getFrameJacobian(model, data, frame, pin.LOCAL)[[3, 4, 5, 0, 1, 2]]
        columns = [model.joints[model.getJointId(one)].idx_v for one in arm.joint_names]
        found = frs.jacobian(built, q, link=f'body_{k + 1}')
        assert np.allclose(found, J[:, columns], atol=1e-12)


def test_any_pitch_is_a_screw_joint():
    axis, point, pitch = np.array([0.6, 0.0, 0.8]), np.array([0.1, 0.2, 0.3]), 0.07
    screw = np.concatenate([axis, np.cross(point, axis) + pitch * axis])
    poses = np.eye(4)[None]
    arm = frs.ArmBuilder.from_screws([screw], poses).build()
    assert arm.description.joint('joint_1').travel_per_radian == pytest.approx(pitch, rel=1e-12)
    (row,) = (one for one in bodies(arm) if one.joint >= 0)
    assert np.allclose(row.Y, screw, atol=1e-12)
    assert np.allclose(frs.pose(arm, [0.0], link='body_1'), poses[0], atol=1e-12)


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        ({'screws': [(0, 0, 2, 0, 0, 0)]}, r'screws\[0\] must have an angular part of length 1'),
        ({'screws': [(0, 0, 0, 0, 0, 1)]}, r'screws\[0\] is a translation: give lower and upper'),
        ({'screws': [(0, 0, 1)]}, r'screws must be finite numbers \(n, 6\)'),
        ({'poses': [np.eye(3)]}, r'poses must be finite numbers \(1, 4, 4\)'),
        ({'poses': [np.diag([1, 1, -1, 1])]}, r'poses\[0\] is no pose'),
        ({'poses': [np.diag([1, 1, 1, 2])]}, r'poses\[0\] is no pose: its last row is not'),
        ({'parents': [0]}, 'parents must be 1 indices'),
        ({'mass': [1, 2]}, r'mass must be a number, or \(1,\), for 1 bodies'),
        ({'mass': None}, r'mass = nan of link "body_1" must be a finite number'),
        ({'centre': [1, 2]}, r'centre must be three numbers, or \(1, 3\), for 1 bodies'),
        (
            {'inertia': np.eye(3)},
            r'inertia must be three numbers, or \(1, 3\) or \(1, 3, 3\), for 1 bodies',
        ),
        ({'lower': [1, 2, 3]}, r'lower must be a number, or \(1,\), for 1 bodies'),
    ],
)
def test_impossible_screws_are_one_line(words, message):
    given = {'screws': [(0, 0, 1, 0, 0, 0)], 'poses': [np.eye(4)], **words}
    with pytest.raises(frs.SettingError, match=message):
        frs.ArmBuilder.from_screws(**given)
