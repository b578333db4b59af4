"""Step, minimum jerk, bang-bang and swing, against their definitions."""

import numpy as np
import pytest

from flex_robot_sim.motion.profile_settings import ProfileSettings
from flex_robot_sim.motion.profiles import doublet_of_profile, motion_of_profile
from flex_robot_sim.util.exceptions import SettingError

NAMES = ('waist', 'elbow')
START = np.array([0.3, -0.2])
FAR = (0.8, -1.4)
POSES = (1.0, 0.0, -0.5, 0.7, 0.2, 0.2)


def motion(profile, **values):
    return motion_of_profile(ProfileSettings(profile=profile, **values), NAMES, START)


def test_a_step_is_taken_at_its_start():
    step = motion('step', profile_start=0.5, profile_displacement=FAR)
    np.testing.assert_array_equal(step.sample(np.nextafter(0.5, 0.0))[0], START)
    for t in (0.5, 7.0):
        np.testing.assert_array_equal(step.sample(t), [START + FAR, [0, 0], [0, 0]])


def test_minimum_jerk_goes_from_rest_to_rest():
    move = motion(
        'minimum_jerk', profile_start=0.5, profile_duration=2.0, profile_displacement=FAR
    )
    for t, place in ((-1.0, START), (0.5, START), (2.5, START + FAR), (9.0, START + FAR)):
        # velocities and accelerations at the ends cancel to rounding
        np.testing.assert_allclose(move.sample(t), [place, [0, 0], [0, 0]], atol=1e-14)
    assert move.end == 2.5


def test_minimum_jerk_peaks_half_way_at_15_8_of_the_mean_velocity():
    T = 2.0
    move = motion('minimum_jerk', profile_start=0.0, profile_duration=T, profile_displacement=FAR)
    velocities = np.array([move.sample(t)[1] for t in np.linspace(0.0, T, 401)])
    largest = velocities[np.abs(velocities).argmax(axis=0), [0, 1]]
    np.testing.assert_allclose(largest, 15 / 8 * np.array(FAR) / T, rtol=1e-14)
    np.testing.assert_allclose(move.sample(T / 2)[0], START + np.array(FAR) / 2, rtol=1e-14)


def test_minimum_jerk_has_no_sixth_derivative():
    # Euler and Poisson: the path of least mean square jerk is a polynomial of fifth degree
    move = motion('minimum_jerk', profile_start=0.0, profile_displacement=FAR)
    places = np.array([move.sample(t)[0] for t in np.linspace(0.0, 1.0, 9)])
    np.testing.assert_allclose(np.diff(places, 6, axis=0), 0.0, atol=1e-13)  # rounding x 20
    assert np.abs(np.diff(places, 5, axis=0)).min() > 1e-3


@pytest.mark.parametrize('profile', ['minimum_jerk', 'swing'])
def test_velocities_and_accelerations_are_slopes(profile):
    move = motion(
        profile,
        profile_displacement=FAR,
        profile_poses=POSES,
        profile_duration=0.7,
        profile_dwell=0.2,
    )
    h = 1e-4
    for t in (1.01, 1.3, 1.65, 2.0, 2.2, 4.1):
        before, here, after = (move.sample(t + k * h) for k in (-1, 0, 1))
        # central difference: h^2/6 of the third derivative, at most 60 d/T^3 = 350 rad/s3
        np.testing.assert_allclose((after - before)[:2] / (2 * h), here[1:], atol=1e-6 * 40)


def test_a_swing_rests_in_every_pose_and_goes_on_for_ever():
    swing = motion(
        'swing', profile_start=0.25, profile_duration=1.5, profile_dwell=0.5, profile_poses=POSES
    )
    assert swing.end == np.inf
    poses = np.reshape(POSES, (3, 2))
    for visit in (*range(7), 1000):
        for part in (0.0, 0.3, 0.4999):
            t = 0.25 + 1.5 + visit * 2.0 + part
            # a thousand rounds leave some 1e-13 s of rounding in time
            np.testing.assert_allclose(
                swing.sample(t), [poses[visit % 3], [0, 0], [0, 0]], atol=1e-9
            )


@pytest.mark.parametrize('dwell', [0.0, 0.5])
@pytest.mark.parametrize('poses', [POSES, POSES[:4], POSES[:2]])
def test_a_swing_never_jumps(dwell, poses):
    swing = motion('swing', profile_start=0.0, profile_dwell=dwell, profile_poses=poses)
    times = np.arange(0.0, 12.0, 1e-3)
    places = np.array([swing.sample(t)[0] for t in times])
    # the peak velocity of a joint is 15/8 of its mean, at most 1.5 rad in 1 s
    assert np.abs(np.diff(places, axis=0)).max() < 15 / 8 * 1.5 * 1e-3 * 1.001
    assert np.abs(places[0] - START).max() == 0.0


def test_a_doublet_pushes_one_way_as_long_as_the_other():
    doublet = doublet_of_profile(
        ProfileSettings(
            profile='bang_bang', profile_start=1.0, profile_duration=0.5, profile_effort=(2.0, 0.0)
        ),
        NAMES,
    )
    for t, share in ((0.99, 0), (1.0, 1), (1.2499, 1), (1.25, -1), (1.4999, -1), (1.5, 0)):
        np.testing.assert_array_equal(doublet.effort(t), [2.0 * share, 0.0])
    assert doublet.driven.tolist() == [True, False]


def test_a_profile_is_a_motion_or_a_doublet():
    none, bang = ProfileSettings(), ProfileSettings(profile='bang_bang', profile_effort=(1.0, 0.0))
    for settings in (none, bang):
        assert motion_of_profile(settings, NAMES, START) is None
    assert doublet_of_profile(none, NAMES) is None


@pytest.mark.parametrize(
    'values, message',
    [
        (
            {'profile': 'step', 'profile_displacement': (1.0,)},
            'profile_displacement must be 2 finite numbers, in this order: waist, elbow',
        ),
        (
            {'profile': 'minimum_jerk'},
            'profile_displacement must be 2 finite numbers, in this order: waist, elbow',
        ),
        (
            {'profile': 'bang_bang'},
            'profile_effort must be 2 finite numbers, in this order: waist, elbow',
        ),
        (
            {'profile': 'swing'},
            'profile_poses has 0 numbers: give poses of 2 each, in this order: waist, elbow',
        ),
        (
            {'profile': 'swing', 'profile_poses': (1.0, 2.0, 3.0)},
            'profile_poses has 3 numbers: give poses of 2 each, in this order: waist, elbow',
        ),
    ],
)
def test_lists_that_do_not_fit_the_joints_are_refused(values, message):
    settings = ProfileSettings(**values)
    with pytest.raises(SettingError) as caught:
        motion_of_profile(settings, NAMES, START)
        doublet_of_profile(settings, NAMES)
    assert str(caught.value) == message
