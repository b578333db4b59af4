"""Tips of bent links at many states at once, compared with the poses of the dynamics."""

import numpy as np
import pytest

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
            place = root[:3, :3].T @ (end[:3, 3] - root[:3, 3])     # in the link frame
            # sums of a few numbers of the length of the link
            assert tip == pytest.approx(beam.axes.T @ (place - beam.end), abs=1e-13 * beam.length)
        assert np.abs(found).max() > 1e-3
