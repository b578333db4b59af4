"""Quaternions, judged by scipy's."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from flex_robot_sim.display.turns import quaternions

RNG = np.random.default_rng(17)
AXES = np.vstack([np.eye(3), -np.eye(3), RNG.normal(size=(500, 3))])
AXES /= np.linalg.norm(AXES, axis=1)[:, None]


@pytest.mark.parametrize('angle', [0.0, 1e-9, 1e-4, 1.0, 3.0, np.pi - 1e-7, np.pi])
def test_quaternions_are_those_of_scipy_at_any_angle_about_any_axis(angle):
    turns = Rotation.from_rotvec(angle * AXES)
    found, expected = quaternions(turns.as_matrix()), turns.as_quat()
    # q and -q are one turn
    signs = np.sign(np.einsum('ka,ka->k', found, expected))
    assert signs[:, None] * found == pytest.approx(expected, abs=1e-14)


def test_none_is_none():
    assert quaternions(np.zeros((0, 3, 3))).shape == (0, 4)
