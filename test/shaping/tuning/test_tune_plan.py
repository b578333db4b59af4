"""Plans of poses and short moves: within their corners, speeds and accelerations."""

import numpy as np
import pytest

from flex_robot_sim.shaping.tuning.tune_plan import (
    TuneSettings,
    make_plan,
    smooth_move,
    trapezoid_move,
)
from flex_robot_sim.util.exceptions import SettingError, UsageError

JOINTS = ('a', 'b', 'c')


@pytest.mark.parametrize('seed', range(20))
def test_moves_keep_speed_and_acceleration_and_end_in_their_poses(seed):
    rng = np.random.default_rng(seed)
    start, end = rng.uniform(-1.0, 1.0, (2, 3)) * rng.choice([0.01, 0.3, 2.0])
    speed, acceleration = rng.uniform(0.1, 2.0), rng.uniform(0.5, 20.0)
    for move in (
        trapezoid_move(start, end, speed, acceleration),
        smooth_move(start, end, speed, acceleration),
    ):
        rates = np.diff(move.positions, axis=0) / np.diff(move.times)[:, None]
        assert np.abs(rates).max() <= speed * (1 + 1e-9)
        steps = np.diff(rates, axis=0, prepend=0 * rates[:1], append=0 * rates[:1])
        assert np.abs(steps).max() <= acceleration * move.times[1] * (1 + 1e-6)
        np.testing.assert_allclose(move.positions[[0, -1]], [start, end], atol=1e-12)


@pytest.mark.parametrize('seed', range(20))
def test_poses_and_moves_stay_between_the_corners_of_varied_joints(seed):
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 8)
    names = [f'joint_{k}' for k in range(size)]
    corners = rng.uniform(-2.0, 2.0, (2, size))
    fixed = rng.random(size) < 0.3
    fixed[rng.integers(size)] = False
    corners[1, fixed] = corners[0, fixed]
    corners[1, ~fixed] += np.where(corners[1, ~fixed] > corners[0, ~fixed], 0.5, -0.5)
    plan = make_plan(names, corners[0], corners[1], TuneSettings(poses=int(rng.integers(5, 10))))
    low, high = corners.min(axis=0), corners.max(axis=0)
    for rows in (plan.poses, plan.starts[:, ~fixed]):
        keep = slice(None) if rows is plan.poses else ~fixed
        assert (rows >= low[keep] - 1e-9).all() and (rows <= high[keep] + 1e-9).all()
    assert len(np.unique(plan.poses, axis=0)) == len(plan.poses)
    np.testing.assert_allclose(np.abs(plan.starts - plan.poses), 0.15)


def test_more_poses_follow_the_first_ones():
    few, many = (
        make_plan(JOINTS, [0, -1, 0], [0, 1, 2], TuneSettings(poses=count)) for count in (5, 9)
    )
    np.testing.assert_array_equal(many.poses[:5], few.poses)
    assert few.poses[0].tolist() == [0.0, 0.0, 1.0]
    assert {tuple(np.abs(pose - [0, 0, 1])) for pose in few.poses[1:]} == {(0.0, 1.0, 1.0)}


def test_a_further_pose_has_the_moves_of_the_others():
    plan = make_plan(JOINTS, [-1.0, 0.0, 0.2], [1.0, 0.0, 2.0], TuneSettings(), JOINTS[1:])
    more = plan.with_pose(np.array([0.9, 0.0, 0.4]))
    assert more.poses[:-1].tolist() == plan.poses.tolist()
    assert more.starts[-1] == pytest.approx([0.9, 0.15, 0.55])
    assert more.short_move(9).positions[-1] == pytest.approx([0.9, 0.0, 0.4])


def test_named_joints_alone_make_short_moves():
    plan = make_plan(JOINTS, [0, -1, 0], [0, 1, 2], TuneSettings(), moving=['b'])
    assert (plan.starts != plan.poses).any(axis=0).tolist() == [False, True, False]


def test_bad_input_is_one_line():
    with pytest.raises(UsageError, match='--from and --to need 3 finite numbers each'):
        make_plan(JOINTS, [0, 1], [0, 2], TuneSettings())
    with pytest.raises(UsageError, match='differ by less than 0.05 in all joints'):
        make_plan(JOINTS, [0, 1, 2], [0, 1, 2.01], TuneSettings())
    with pytest.raises(UsageError, match='--moving: there is no joint "d". Known: a, b, c'):
        make_plan(JOINTS, [0, 1, 2], [0, 2, 2], TuneSettings(), ['d'])
    with pytest.raises(SettingError, match='poses = 4 must be >= 5'):
        TuneSettings(poses=4)
