"""Trajectories of all joints as functions of time: values, differences and pickles."""

import pickle

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim.motion.joint_trajectory import JointTrajectory

GOAL = np.array([0.4, -0.3, 0.7])


def sines(time):
    """Return positions, velocities and accelerations of all joints."""
    angle = np.array([2.0, 3.0, 5.0]) * time
    rates = np.array([2.0, 3.0, 5.0])
    return np.array([np.sin(angle), rates * np.cos(angle), -(rates**2) * np.sin(angle)])


def trajectory(form, start=0.0):
    return JointTrajectory(frs.load('two_link'), form, np.zeros(3), start)


@pytest.mark.parametrize(
    'count, errors', [(1, (0.0, 1e-6, 1e-5)), (2, (0.0, 0.0, 1e-5)), (3, (0.0, 0.0, 0.0))]
)
def test_what_a_function_leaves_out_is_a_difference(count, errors):
    points = trajectory(lambda time: sines(time)[:count])
    for time in np.random.default_rng(0).uniform(-3.0, 3.0, 20):
        for value, expected, error in zip(points(time), sines(time), errors):
            np.testing.assert_allclose(value, expected, rtol=0, atol=error)


def test_positions_may_be_one_row():
    np.testing.assert_array_equal(trajectory(lambda time: GOAL)(0.3).position, GOAL)


def test_a_spline_passes_through_its_positions_and_rests_at_both_ends():
    times, positions = np.linspace(0.2, 1.0, 9), sines(np.linspace(0.2, 1.0, 9)[:, None])[0]
    points = trajectory((times, positions), start=2.0)
    for time, position in zip(times, positions):
        np.testing.assert_allclose(points(2.0 + time).position, position, rtol=0, atol=1e-12)
    for time, row in ((-1.0, 0), (0.0, 0), (9.0, -1)):
        point = points(2.0 + time)
        np.testing.assert_array_equal(point.position, positions[row])
        assert not point.velocity.any() and not point.acceleration.any()
    h = 1e-5
    before, here, after = (points(2.5 + k * h) for k in (-1, 0, 1))
    np.testing.assert_allclose(
        (after.position - before.position) / (2 * h), here.velocity, rtol=0, atol=1e-8
    )
    np.testing.assert_allclose(
        (after.velocity - before.velocity) / (2 * h), here.acceleration, rtol=0, atol=1e-3
    )


def test_a_function_is_called_once_for_each_time():
    calls = []

    def moved(time):
        calls.append(time)
        return [GOAL] * 3

    points = trajectory(moved)
    joints = [points.of_joint(row) for row in range(3)]
    for time in (0.0, 0.1, 0.0, 0.1, 0.2, 0.1):
        assert [joint(time) for joint in joints] == [(value, value) for value in GOAL]
    assert sorted(set(calls)) == [0.0, 0.1, 0.2] and len(calls) == 3


def test_a_joint_of_a_trajectory_of_a_module_can_be_pickled():
    joint = pickle.loads(pickle.dumps(trajectory(sines).of_joint(1)))
    assert joint(0.7) == pytest.approx((np.sin(2.1), 3.0 * np.cos(2.1)), rel=1e-14)


def test_one_joint_takes_one_column_of_positions():
    arm = frs.load('single_link')
    points = JointTrajectory(arm, ([0.0, 1.0], [0.0, 0.5]), np.zeros(1), 0.0)
    np.testing.assert_allclose(points(0.5).position, [0.25], rtol=1e-12)
