"""Tips of bent links at many states at once, compared with the poses of the dynamics."""

import numpy as np
import pytest
from random_arms import random_robot, random_state
from refusals import refusal
from scipy.spatial.transform import Rotation

import flex_robot_sim as frs
from flex_robot_sim.analysis.deflection import tip_translations


@pytest.mark.parametrize('robot', ['two_link', 'spin_up_8m', 'ella'])
def test_tips_of_many_states_agree_with_the_poses(robot):
    arm = frs.load(robot)
    joints = len(arm.joint_names)
    q = 0.02 * np.random.default_rng(1).normal(size=(7, arm.size))
    q[:, :joints] *= 50.0
    for link in arm.tips:
        beam, found = arm.description.beam(link), tip_translations(arm, link, q)
        for row, tip in zip(q, found):
            root, end = frs.pose(arm, row, link=link), frs.pose(arm, row, link=link, station='tip')
            place = root[:3, :3].T @ (end[:3, 3] - root[:3, 3])  # in the link frame
            # sums of a few numbers of the length of the link
            assert tip == pytest.approx(beam.axes.T @ (place - beam.end), abs=1e-13 * beam.length)
        assert np.abs(found).max() > 1e-3


@pytest.mark.parametrize(
    'source',
    [
        'two_link',
        'spin_up_8m',
        'ella',
        *(random_robot(seed, kinds=('modes', 'segments')) for seed in range(3)),
    ],
)
def test_deflections_lead_from_the_undeformed_tip_to_its_pose(source):
    arm = frs.load(source)
    states = np.array([random_state(arm, seed, turn=1.0)[0] for seed in range(5)])
    states[0, arm.elastic_q] = 0.0
    found = frs.deflection(arm, states)
    assert [*found] == [*arm.tips] and found
    for link, rows in found.items():
        beam = arm.description.beam(link)
        assert rows.shape == (5, 6)
        assert np.abs(rows[0]).max() < 1e-15 and np.abs(rows[1:]).max() > 1e-4
        for q, row in zip(states, rows):
            # matrix products of one state round differently
            np.testing.assert_allclose(frs.deflection(arm, q)[link], row, rtol=0, atol=1e-14)
            straight = frs.pose(arm, q, link=link)
            straight[:3] = straight[:3] @ np.vstack(
                [np.column_stack([beam.axes, beam.end]), [0.0, 0.0, 0.0, 1.0]]
            )
            change = np.linalg.inv(straight) @ frs.pose(arm, q, link=link, station='tip')
            turn = Rotation.from_matrix(change[:3, :3]).as_rotvec()
            np.testing.assert_allclose(row, [*change[:3, 3], *turn], rtol=0, atol=1e-12)


@pytest.mark.parametrize('q', [np.zeros(3), np.zeros((2, 2, 16)), [np.nan] * 16, 'q', None])
def test_wrong_coordinates_are_one_line(q):
    assert refusal(frs.SettingError, frs.deflection, frs.load('two_link'), q).startswith(
        'q must be 16 finite numbers or rows of them, in this order: waist, shoulder, elbow, '
    )
