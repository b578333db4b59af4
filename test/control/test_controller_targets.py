"""Commands of the joint controller: targets, trajectories and profiles, and refused ones."""

from dataclasses import replace

import numpy as np
import pytest
from controlled import NOTHING, POSE, SWING, see, started
from refusals import refusal
from scipy.interpolate import BPoly

import flex_robot_sim as frs
from flex_robot_sim.control.joint_controller import JointController
from flex_robot_sim.motion.profile_settings import ProfileSettings
from flex_robot_sim.motion.trajectory import Trajectory
from flex_robot_sim.util.exceptions import SettingError

pytestmark = pytest.mark.slow

THREE = 'position must be 3 finite numbers, in this order: waist, shoulder, elbow'


@pytest.fixture(scope='module')
def two_link():
    return frs.load('two_link')


def test_a_target_moves_the_named_joints(two_link):
    controller = started(two_link, position=POSE)
    controller.set_target([0.1], names=['elbow'])
    np.testing.assert_array_equal(controller.target, [0.5, 0.8, 0.1])


def test_the_velocity_of_a_target_does_not_outlive_it(two_link):
    controller = started(two_link)
    controller.set_target([0.1], [0.7], ['elbow'])
    see(controller, 0.5)
    np.testing.assert_array_equal(controller.target_velocity, [0.0, 0.0, 0.7])
    see(controller, 0.501)
    np.testing.assert_array_equal(controller.target_velocity, np.zeros(3))


@pytest.mark.parametrize(
    'arguments, message',
    [
        (([0.1, 0.2],), THREE),
        (([0.1, 0.2, np.nan],), THREE),
        (([0.1], [np.inf], ['elbow']), 'velocity must be 1 finite numbers, in this order: elbow'),
        (([0.1], None, ['hip']), 'no joint "hip". Known: waist, shoulder, elbow'),
        (([0.1, 0.2], None, ['elbow', 'elbow']), 'each joint must be named once'),
        (([], None, []), 'it names no joint'),
        (
            ([3.5], None, ['shoulder']),
            'target 3.5 of "shoulder" is beyond its stops at -0.5 and 3 rad',
        ),
    ],
)
def test_a_target_that_cannot_be_is_refused(two_link, arguments, message):
    controller = started(two_link, position=POSE)
    assert refusal(SettingError, controller.set_target, *arguments) == message
    assert controller.refused == 1
    np.testing.assert_array_equal(controller.target, POSE)


def test_an_arm_that_leans_on_its_stops_may_stay_there(two_link):
    started(two_link, position=POSE).set_target([3.0009], names=['shoulder'])


def test_hold_ends_every_motion_where_the_arm_is(two_link):
    controller = started(two_link, NOTHING, SWING)
    see(controller, 0.05, POSE)
    assert controller.is_moving
    controller.hold()
    see(controller, 0.1, POSE)
    assert not controller.is_moving
    np.testing.assert_array_equal(controller.target, POSE)
    np.testing.assert_array_equal(controller.target_velocity, np.zeros(3))
    controller.hold(POSE / 2)
    np.testing.assert_array_equal(controller.target, POSE / 2)


def track(controller, times, position=None):
    """Send a joint state at each time; return targets and target velocities."""
    rows = []
    for t in times:
        see(controller, t, position)
        rows.append([controller.target, controller.target_velocity])
    return np.array(rows).swapaxes(0, 1)


def test_a_trajectory_replaces_another_without_a_jump(two_link):
    controller = started(two_link, now=10.0)
    still, names = np.zeros(3), controller.joint_names
    controller.follow(Trajectory(names, [1.0], [POSE], [still], [still]), 10.0)
    track(controller, np.arange(10.0, 10.5, 0.01))
    here, speed = controller.target, controller.target_velocity
    assert np.abs(speed).min() > 0.5
    now = 10.49
    controller.follow(Trajectory(names, [0.8], [-POSE * [1, 0, 1]], [still], [still]), now)
    places, velocities = track(controller, now + np.arange(0.0, 1.0, 1e-3))
    np.testing.assert_allclose(places[0], here, atol=1e-12)
    np.testing.assert_allclose(velocities[0], speed, atol=1e-12)
    assert np.abs(np.diff(places, axis=0)).max() < 5e-3  # 1 ms at less than 5 rad/s
    np.testing.assert_allclose(places[-1], -POSE * [1, 0, 1], atol=1e-12)
    assert not controller.is_moving


def test_what_goes_on_goes_on_until_a_trajectory_starts(two_link):
    controller = started(two_link)
    names = controller.joint_names
    controller.follow(Trajectory(names, [1.0], [POSE]), 0.0)
    controller.follow(Trajectory(names, [1.0], [0 * POSE]), 0.0, start=0.5)
    places, _ = track(controller, [0.09, 0.18, 0.27, 0.36, 0.45, 0.5, 0.59])
    np.testing.assert_allclose(places[4], 0.45 * POSE)
    np.testing.assert_allclose(places[5], 0.5 * POSE)  # where the other trajectory begins
    np.testing.assert_allclose(places[6], 0.5 * POSE * 0.91)


def test_a_trajectory_that_started_in_the_past_is_joined(two_link):
    controller = started(two_link, now=5.0)
    controller.follow(Trajectory(['waist'], [1.0, 2.0], [[9e-1], [0.5]]), 5.0, start=3.8)
    places, _ = track(controller, 5.0 + np.arange(0.0, 1.0, 0.05))
    np.testing.assert_allclose(places[8, 0], 0.25)  # half of the remaining 0.8 s
    np.testing.assert_allclose(places[-1], [0.5, 0, 0])


@pytest.mark.parametrize(
    'names, times, positions, start, message',
    [
        (['hip'], [1.0], [[0.1]], None, 'no joint "hip". Known: waist, shoulder, elbow'),
        (
            ['waist'],
            [1.0, 2.0],
            [[0.1], [-7.0]],
            None,
            'target -7 of "waist" is beyond its stops at -2.9 and 2.9 rad',
        ),
        (
            ['waist'],
            [1.0],
            [[0.1]],
            -3.0,
            'the trajectory is over: its last point is at 1 s, and 3 s have passed',
        ),
        (['waist'], [1.0], [[0.1]], np.nan, 'the start of a trajectory must be finite [s]'),
    ],
)
def test_a_trajectory_that_cannot_be_leaves_what_goes_on(
    two_link, names, times, positions, start, message
):
    controller = started(two_link, NOTHING, SWING)
    trajectory = Trajectory(names, times, positions)
    assert refusal(SettingError, controller.follow, trajectory, 0.0, start) == message
    assert (controller.refused, controller.is_moving) == (1, True)


@pytest.mark.parametrize('start', [None, 0.3], ids=['at once', 'later'])
@pytest.mark.parametrize(
    'trajectory, message',
    [
        # the cubic from 2.8 at 3 rad/s to rest at 2.8 a second later peaks at 2.8 + 4/27 3
        (
            Trajectory(['waist'], [1.0, 2.0], [[2.8], [2.8]], [[3.0], [0.0]]),
            'leads "waist" to 3.24444, beyond its stops at -2.9 and 2.9 rad, between 1 and 2 s. '
            'Give points with smaller velocities there',
        ),
        # the peak velocity of a cubic from rest to rest is 1.5 times its mean
        (
            Trajectory(['elbow', 'waist'], [0.5, 1.0], [[0.3, 0.0], [0.3, 2.0]], [[0.0, 0.0]] * 2),
            'moves "waist" at 6 up to 1 s, faster than its 3 rad/s: give it more time from its '
            'present target',
        ),
    ],
    ids=['beyond a stop between two points', 'faster than a joint'],
)
def test_a_curve_beyond_a_limit_is_refused(two_link, trajectory, message, start):
    controller = started(two_link)
    said = refusal(SettingError, controller.follow, trajectory, 0.0, start)
    assert said == f'the trajectory {message}'
    assert (controller.refused, controller.is_moving) == (1, False)


@pytest.mark.parametrize('seed', range(3))
def test_no_trajectory_leads_a_joint_faster_than_its_limit(two_link, seed):
    rng, now, outcomes = np.random.default_rng(seed), 0.0, []
    controller, names = started(two_link), two_link.joint_names
    limits = np.array([two_link.description.joint(name).velocity for name in names])
    for k in range(60):
        order, count = k % 3, rng.integers(1, 5)
        times = np.cumsum(rng.uniform(0.1, 0.8, count))
        rows = [
            rng.uniform([-1.5, 0.0, -1.5], 1.5, (count, 3)),
            rng.uniform(-2.0, 2.0, (count, 3)),
            rng.uniform(-9.0, 9.0, (count, 3)),
        ]
        rows[1][-1] = 0.0
        controller.set_target(np.zeros(3))  # each begins here, at rest
        # reference: polynomials of another library, finely sampled
        points = [np.vstack([np.zeros(3), row]) for row in rows[: order + 1]]
        speeds = BPoly.from_derivatives([0.0, *times], np.stack(points, axis=1)).derivative()(
            np.linspace(0.0, times[-1], 4001, endpoint=False)
        )
        ratio = (np.abs(speeds) / limits).max()
        try:
            controller.follow(Trajectory(names, times, *rows[: order + 1]), now)
        except SettingError as error:
            # a curve may also exceed the stops; samples are at most 1e-6 below the peak
            assert 'stops' in str(error) or ratio > 1.02 * (1 - 1e-5)
            outcomes.append('faster' in str(error))
            continue
        assert ratio <= 1.02 * (1 + 1e-9)
        outcomes.append(None)
        moments = now + np.linspace(0.0, times[-1], 50)
        places, velocities = track(controller, moments)
        now = moments[-1]
        assert (np.abs(velocities) <= 1.02 * limits * (1 + 1e-9)).all()
        assert (
            np.abs(np.diff(places, axis=0)) <= 1.02 * limits * np.diff(moments)[:, None] + 1e-12
        ).all()
    assert outcomes.count(None) > 5 and outcomes.count(True) > 5


def test_a_trajectory_that_waits_is_over_with_the_next_target(two_link):
    controller = started(two_link)
    controller.follow(Trajectory(['waist'], [1.0], [[0.5]]), 0.0, start=0.05)
    controller.set_target([0.1], names=['elbow'])
    np.testing.assert_array_equal(track(controller, [0.05, 0.1, 0.2])[0][-1], [0, 0, 0.1])


def test_a_profile_starts_from_where_the_reference_is(two_link):
    controller = started(two_link, position=POSE)
    controller.run_profile(
        ProfileSettings(
            profile='minimum_jerk',
            profile_start=0.0,
            profile_duration=0.2,
            profile_displacement=(0.1, 0.0, 0.0),
        ),
        0.0,
    )
    places, _ = track(controller, [0.0, 0.1, 0.2], POSE)
    np.testing.assert_allclose(places, POSE + np.outer([0, 0.5, 1], [0.1, 0, 0]), atol=1e-14)
    assert not controller.is_moving


def test_a_profile_beyond_the_stops_is_refused(two_link):
    with pytest.raises(SettingError, match='target 9 of "shoulder" is beyond its stops'):
        JointController(two_link, profile=replace(SWING, profile_poses=(0.0, 9.0, 0.0)))
    far = ProfileSettings(profile='step', profile_displacement=(0.0, 2.5, 0.0))
    controller = started(
        two_link, NOTHING, far, POSE
    )  # only now the controller knows that it is too far
    assert controller.reports == [
        'profile refused: target 3.3 of "shoulder" is beyond its stops at -0.5 and 3 rad'
    ]
    with pytest.raises(SettingError, match='beyond its stops'):
        controller.run_profile(far, 0.0)
    assert not controller.is_moving


def test_no_profile_stands_still(two_link):
    controller = started(two_link, NOTHING, SWING)
    here = track(controller, [0.05, 0.1])[0][-1]
    controller.run_profile(ProfileSettings(), 0.1)
    np.testing.assert_array_equal(track(controller, [0.15, 0.2])[0], [here, here])


def test_a_trajectory_that_passed_between_two_states_is_refused_and_it_is_said(two_link):
    controller = started(two_link)
    controller.follow(Trajectory(['waist'], [0.02], [[0.02]]), 0.0, start=0.01)
    np.testing.assert_array_equal(track(controller, [0.09, 0.1])[0], np.zeros((2, 3)))
    assert controller.reports == [
        'trajectory refused: the trajectory is over: its last point is '
        'at 0.02 s, and 0.08 s have passed'
    ]
    assert (controller.refused, controller.is_moving) == (1, False)
