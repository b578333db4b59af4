"""Table over poses, against the interpolator of scipy and its own grid values."""

import itertools

import numpy as np
import pytest
from scipy.interpolate import RegularGridInterpolator

from flex_robot_sim.analysis.pose_table import PoseTable

JOINTS = 3, 0, 2  # of the axes, of an arm with 4 joints


def grid(d, even, seed=0):
    """Axes of d joints, and values of 2 quantities at their poses."""
    rng = np.random.default_rng(seed)
    axes = [
        np.linspace(-1.3, 2.1, k) if even else np.sort(rng.uniform(-1.3, 2.1, k))
        for k in (2, 9, 4)[:d]
    ]
    return axes, rng.normal(size=(*(axis.size for axis in axes), 2))


@pytest.mark.parametrize('d, even', [*itertools.product((1, 2, 3), (False, True))])
def test_values_between_poses_are_those_of_scipy(d, even):
    axes, values = grid(d, even)
    table = PoseTable.of(JOINTS[:d], axes, values, even)
    reference = RegularGridInterpolator(axes, values)
    for position in np.random.default_rng(1).uniform(-2.0, 3.0, (200, 4)):
        inside = [np.clip(position[joint], axis[0], axis[-1]) for joint, axis in zip(JOINTS, axes)]
        np.testing.assert_allclose(table.at(position), reference(inside)[0], atol=1e-13)


def test_poses_of_the_grid_have_exactly_its_values():
    axes, values = grid(2, even=False)
    table, position = PoseTable.of((0, 1), axes, values), np.zeros(2)
    for i, j in np.ndindex(values.shape[:2]):
        position[:] = axes[0][i], axes[1][j]
        assert table.at(position).tolist() == values[i, j].tolist()


def test_without_joints_there_is_one_pose():
    assert PoseTable.of((), (), np.array([1.0, 2.0])).at(np.array([7.0])).tolist() == [1.0, 2.0]
