"""Quaternions, compared with those of scipy."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from flex_robot_sim.description.orientation import roll_pitch_yaw, turned_by
from flex_robot_sim.spatial.turns import (
    angle_between,
    continuous_signs,
    quaternion,
    quaternion_about,
    quaternions,
    rotation,
)

RNG = np.random.default_rng(17)
AXES = np.vstack([np.eye(3), -np.eye(3), RNG.normal(size=(500, 3))])
AXES /= np.linalg.norm(AXES, axis=1)[:, None]


@pytest.mark.parametrize('angle', [0.0, 1e-9, 1e-4, 1.0, 3.0, np.pi - 1e-7, np.pi])
def test_quaternions_are_those_of_scipy_at_any_angle_about_any_axis(angle):
    turns = Rotation.from_rotvec(angle * AXES)
    found, expected = quaternions(turns.as_matrix()), turns.as_quat()
    # q and -q are the same rotation
    signs = np.sign(np.einsum('ka,ka->k', found, expected))
    assert signs[:, None] * found == pytest.approx(expected, abs=1e-14)


def test_none_is_none():
    assert quaternions(np.zeros((0, 3, 3))).shape == (0, 4)


@pytest.mark.parametrize('angle', [0.0, 1e-9, 1.0, np.pi, 4.0])
def test_one_turn_is_that_of_scipy_as_matrix_quaternion_and_rotation_vector(angle):
    for axis in AXES[:20]:
        turn = Rotation.from_rotvec(angle * axis)
        R = turn.as_matrix()
        for found in (quaternion(R), quaternion_about(angle * axis)):
            assert abs(found @ turn.as_quat()) == pytest.approx(1.0, abs=1e-14)
            assert rotation(found) == pytest.approx(R, abs=1e-14)


@pytest.mark.parametrize(
    'pitch', [-np.pi / 2, -1.0, 0.0, 0.3, *(np.pi / 2 - np.array([1e-4, 1e-7, 1e-9, 1e-12, 0.0]))]
)
def test_roll_pitch_and_yaw_are_about_fixed_axes_straight_up_too(pitch):
    for roll, yaw in RNG.uniform(-np.pi, np.pi, (20, 2)):
        R = Rotation.from_euler('xyz', [roll, pitch, yaw]).as_matrix()
        assert turned_by([roll, pitch, yaw]) == pytest.approx(R, abs=1e-14)
        found = roll_pitch_yaw(R)
        assert Rotation.from_euler('xyz', found).as_matrix() == pytest.approx(R, abs=1e-14)
        if abs(pitch) < 1.5:
            assert found == pytest.approx([roll, pitch, yaw], abs=1e-13)


def test_signs_make_quaternions_of_a_motion_continuous():
    turns = Rotation.from_rotvec(np.linspace(0.0, 9.0, 40)[:, None] * AXES[3])
    jumping = turns.as_quat() * RNG.choice([-1.0, 1.0], (40, 1))
    smooth = jumping * continuous_signs(jumping)
    assert (smooth[0] == jumping[0]).all()
    assert np.abs(np.diff(smooth, axis=0)).max() < 0.5 * 9.0 / 39


def test_the_angle_between_orientations_is_that_of_scipy():
    first, second = Rotation.random(50, random_state=1), Rotation.random(50, random_state=2)
    expected = (first.inv() * second).magnitude()
    found = [angle_between(a, -b) for a, b in zip(first.as_quat(), second.as_quat())]
    assert found == pytest.approx(expected, abs=1e-7)  # near 0, arccos has half of the digits
