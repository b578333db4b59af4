"""
Limits of acceleration, deceleration and jerk, against dense samples and closed forms.

The samples are derivatives of SciPy's piecewise polynomials through the points of a trajectory.
"""

from typing import Any

import numpy as np
import pytest
from project_files import ROOT
from scipy.interpolate import BPoly

import flex_robot_sim as frs
from flex_robot_sim.motion.acceleration_extremes import signed_extremes
from flex_robot_sim.motion.bumpless_transfer import return_motion
from flex_robot_sim.motion.joint_motion import minimum_jerk_motion
from flex_robot_sim.motion.limits import ACCELERATION_MARGIN, shortest_durations
from flex_robot_sim.motion.profile_settings import ProfileSettings
from flex_robot_sim.motion.reference import Reference
from flex_robot_sim.motion.trajectory import Trajectory
from flex_robot_sim.shaping.impulses import NONE
from flex_robot_sim.shaping.trajectory_shaper import TrajectoryShaper

SHARES = np.linspace(0.0, 1.0, 20_001)


def arm(**limits):
    """Return an arm of one joint."""
    builder = frs.ArmBuilder().add_rigid('link', mass=1.0, centre=(0.1, 0, 0))
    return builder.add_joint('a', parent='base', child='link', axis='y', **limits).build()


def refusal(one, *rows, present=0.0):
    """Return the message about a trajectory (times, positions, ...), or ''."""
    reference = Reference(one)
    reference.position[:] = present
    times, *tables = (np.array(row, float) for row in rows)
    trajectory = Trajectory(['a'], times, *(table[:, None] for table in tables))
    try:
        reference.follow(reference.plan(trajectory, 0.0), 0.0)
    except frs.SettingError as error:
        assert not reference.is_moving
        return str(error)
    return ''


@pytest.mark.parametrize(
    'limits, power, peak',
    [
        ({'velocity': 0.7}, 1, 15 / 8 / 0.7),
        ({'acceleration': 0.9}, 2, 10 / np.sqrt(3) / 0.9),
        ({'acceleration': 9.0, 'deceleration': 0.9}, 2, 10 / np.sqrt(3) / 0.9),
        ({'acceleration': 0.9, 'deceleration': 9.0}, 2, 10 / np.sqrt(3) / 0.9),
        ({'velocity': 7.0, 'acceleration': 5.0, 'jerk': 1.7}, 3, 60 / 1.7),
    ],
)
def test_the_shortest_move_reaches_the_limit_that_binds(limits, power, peak):
    one, distance = arm(**limits), 0.6
    duration = shortest_durations(one, np.array([-distance]))[0]
    assert duration == pytest.approx((peak * distance) ** (1 / power), rel=1e-14)
    motion = minimum_jerk_motion([0.0], [distance], duration=duration)
    samples = motion.samples(duration * SHARES[:-1])[:, :, 0]
    rates = [samples[:, 1], samples[:, 2], np.gradient(samples[:, 2], samples[1, 0] * 0 + 1)]
    rates[2] = np.diff(samples[:, 2]) / (duration * SHARES[1])
    limit = min(value for name, value in limits.items() if name in NAMES[power])
    assert np.abs(rates[power - 1]).max() == pytest.approx(limit, rel=2e-4)


@pytest.mark.parametrize('seed', range(8))
def test_profiles_keep_limits_of_velocity_acceleration_and_jerk(seed):
    rng = np.random.default_rng(seed)
    limits = {
        'velocity': rng.uniform(0.2, 1.0),
        'acceleration': rng.uniform(0.5, 5.0),
        'jerk': rng.uniform(1.0, 50.0),
    }
    reference, distance = Reference(arm(**limits)), rng.uniform(-1.0, 1.0)
    # closed forms of the peaks of minimum jerk
    shortest = max(
        15 / 8 * abs(distance) / limits['velocity'],
        np.sqrt(10 / np.sqrt(3) * abs(distance) / limits['acceleration']),
        np.cbrt(60 * abs(distance) / limits['jerk']),
    )
    move = {'profile': 'minimum_jerk', 'profile_displacement': (distance,)}
    swing = {'profile': 'swing', 'profile_poses': (distance, 0.0)}
    for profile in (move, swing):
        for start in (np.zeros(1), None):
            settings = ProfileSettings(**profile, profile_duration=shortest * 1.001)
            assert reference.planned(settings, start)[0] is not None
            settings = ProfileSettings(**profile, profile_duration=shortest * 0.99)
            with pytest.raises(frs.SettingError, match='is too short for the limits of vel'):
                reference.planned(settings, start)


NAMES = {1: ('velocity',), 2: ('acceleration', 'deceleration'), 3: ('jerk',)}


@pytest.mark.parametrize('seed', range(40))
def test_largest_acceleration_and_deceleration_are_those_of_dense_samples(seed):
    velocity = np.random.default_rng(seed).normal(size=5) * [0.3, 1, 3, 3, 2]
    acceleration = np.arange(1.0, 5.0) * velocity[1:]
    found = signed_extremes(velocity, acceleration)
    v, a = (np.polyval(row[::-1], SHARES) for row in (velocity, acceleration))
    speeds_up = a * np.sign(v)
    expected = np.array([max(speeds_up.max(), 0.0), max(-speeds_up.min(), 0.0)])
    size = np.abs(a).max()
    # samples miss an extreme at a change of the sign of v by less than a step
    assert found == pytest.approx(expected, abs=2e-3 * size)
    assert (np.array(found) >= expected - 1e-12 * size).all()


@pytest.mark.parametrize('seed', range(30))
def test_a_trajectory_is_refused_exactly_if_a_sample_is_beyond_a_limit(seed):
    rng = np.random.default_rng(seed)
    times = np.cumsum([0.0, *rng.uniform(0.3, 1.0, 4)])
    rows = rng.normal(size=(3, 5))
    rows[:, 0] = rows[1:, -1] = 0.0
    curve = BPoly.from_derivatives(times, rows.T)
    t = np.linspace(0.0, times[-1], 40_000, endpoint=False)
    v, a, j = (curve.derivative(order)(t) for order in (1, 2, 3))
    # the limits are scaled so that about half of the trajectories keep them
    peaks = np.array([(a * np.sign(v)).max(), (-a * np.sign(v)).max(), np.abs(j).max()])
    limits = peaks * rng.uniform(0.85, 1.4, 3) / ACCELERATION_MARGIN
    share = (peaks / limits).max()
    message = refusal(
        arm(acceleration=limits[0], deceleration=limits[1], jerk=limits[2]),
        times[1:],
        *rows[:, 1:],
    )
    if abs(share - ACCELERATION_MARGIN) > 4e-3:
        assert bool(message) == (share > ACCELERATION_MARGIN), (share, message)
    assert '\n' not in message


def test_messages_name_joint_value_and_limit():
    quintic = [1.0], [1.0], [0.0], [0.0]
    peak = 10 / np.sqrt(3)
    assert refusal(arm(acceleration=2.5), *quintic) == (
        f'the trajectory accelerates "a" at {peak:.6g} up to 1 s, more than its 2.5 rad/s2: give '
        'it more time'
    )
    assert refusal(arm(deceleration=2.5), *quintic) == (
        f'the trajectory decelerates "a" at {peak:.6g} up to 1 s, more than its 2.5 rad/s2: give '
        'it more time'
    )
    assert refusal(arm(acceleration=2.5, deceleration=9.0), *quintic) != ''
    assert refusal(arm(acceleration=2.9, deceleration=2.9, jerk=31.0), *quintic) == ''
    assert refusal(arm(jerk=25.0), *quintic) == (
        'the trajectory moves "a" with a jerk of 60 up to 1 s, more than its 25 rad/s3: give it '
        'more time'
    )


def test_a_step_of_the_velocity_or_the_acceleration_is_refused():
    assert refusal(arm(acceleration=5.0), [1.0], [1.0]) == (
        'at 0 s the trajectory changes the velocity of "a" by 1 rad/s, which is 50 rad/s2 even '
        'over 0.02 s, more than its 5: give velocities to its points, or more time'
    )
    # a cubic from rest begins with 6 d / T^2
    assert refusal(arm(jerk=140.0), [1.0], [1.0], [0.0]) == (
        'at 0 s the trajectory changes the acceleration of "a" by 6 rad/s2, which is 300 rad/s3 '
        'even over 0.02 s, more than its 140: give velocities and accelerations to its points, or '
        'more time'
    )
    assert refusal(arm(velocity=2.0), [1.0], [1.0]) == ''


@pytest.mark.parametrize('order', [0, 1])
def test_dense_points_are_judged_by_their_finite_differences(order):
    # minimum jerk over 0.5 rad in 1 s, sampled at 200 Hz, without velocities or accelerations
    times = np.arange(1, 201) / 200
    motion = minimum_jerk_motion([0.0], [0.5], duration=1.0)
    rows = motion.samples(times)[:, : order + 1, 0].T.copy()
    rows[1:, -1] = 0.0
    peaks = np.array([10 / np.sqrt(3), 60.0]) / 2
    names = ('acceleration', 'jerk')[: order + 1]
    for factor, is_refused in ((1.05, False), (0.9, True)):
        limits = dict(zip(names, factor * peaks / ACCELERATION_MARGIN))
        assert bool(refusal(arm(**limits), times, *rows)) == is_refused, limits


def test_a_refused_trajectory_leaves_the_running_one_unchanged():
    reference, twin = (Reference(arm(acceleration=20.0)) for _ in range(2))
    good = Trajectory(['a'], [1.0], [[1.0]], [[0.0]], [[0.0]])
    for one in (reference, twin):
        one.follow(one.plan(good, 0.0), 0.0)
        one.move(0.3, np.zeros(1))
    with pytest.raises(frs.SettingError, match='accelerates "a"|changes the velocity'):
        reference.follow(reference.plan(Trajectory(['a'], [0.1], [[-3.0]]), 0.3), 0.3)
    for now in (0.5, 0.8, 1.1):
        for one in (reference, twin):
            one.move(now, np.zeros(1))
        assert reference.position == twin.position and reference.velocity == twin.velocity


def test_a_return_keeps_the_limits():
    one = arm(velocity=100.0, acceleration=0.3, jerk=0.8)
    motion = return_motion(one, np.array([0.0]), np.array([2.0]))
    samples = motion.samples(np.linspace(0.0, motion.duration, 10_000))[:, 2, 0]
    assert np.abs(samples).max() <= 0.3 * (1 + 1e-9)
    assert np.abs(np.gradient(samples, motion.duration / 9999)).max() <= 0.8 * (1 + 1e-3)


def test_a_stop_decelerates_within_the_limit():
    one = arm(acceleration=7.0, deceleration=2.0, jerk=1e3)
    shaper = TrajectoryShaper(lambda end: NONE, 0.01, one)
    shaper.measured = {'a': 0.0}
    still = [[0.0], [0.0]]
    points = Trajectory(['a'], [0.7, 1.2], [[0.5], [1.0]], [[1.9], [0.0]], still)
    with pytest.raises(frs.SettingError, match='decelerates "a"'):
        shaper.shaped(points, 0.0)
    points = Trajectory(['a'], [0.7, 1.9], [[0.4], [1.0]], [[1.0], [0.0]], still)
    shaper.keep(shaper.shaped(points, 0.0))
    stop: Any = shaper.stopped(0.7)
    assert stop.times[-1] == pytest.approx(1.0 / 2.0)  # instead of 0.25 s
    slopes = np.diff(stop.velocities[:, 0]) / np.diff(stop.times)
    np.testing.assert_allclose(slopes, -2.0, rtol=1e-9)


@pytest.mark.parametrize(
    'name, power, peak', [('acceleration', 2, 10 / np.sqrt(3)), ('jerk', 3, 60)]
)
def test_a_public_robot_with_a_limit_refuses_a_faster_move(name, power, peak):
    text = (ROOT / 'test/data/robots/ur5e.urdf').read_text('utf-8')
    one = frs.load(text.replace('<limit ', f'<limit {name}="9.0" '))
    goal, still = [0.1, 0.2, 0.3, 0.2, 0.5, 0.1], [[0.0] * 6]
    fastest = 1.001 * (peak * 0.5 / (ACCELERATION_MARGIN * 9.0)) ** (1 / power)
    for factor in (1.0, 0.98):
        reference = Reference(one)
        points = Trajectory(one.joint_names, [factor * fastest], [goal], still, still)
        if factor == 1.0:
            reference.follow(reference.plan(points, 0.0), 0.0)
            continue
        with pytest.raises(frs.SettingError, match=r'"wrist_2_joint" .* more than its 9 rad/s'):
            reference.follow(reference.plan(points, 0.0), 0.0)


@pytest.mark.parametrize('phase', np.linspace(0.0, 0.9, 10))
def test_points_of_a_time_optimal_move_are_accepted(phase):
    # 1 rad at 4 rad/s2 either way; acceleration and velocity are sampled as a planner samples them
    limit, half, period = 4.0, 0.5, 0.1
    times = np.unique(np.append(np.arange(phase * period, 2 * half, period), [2 * half]))
    times = times[times > 1e-9]
    rest = 2 * half - times
    is_first = times < half
    accelerations = np.where(is_first, limit, -limit)
    velocities = limit * np.where(is_first, times, rest)
    positions = np.where(is_first, limit * times**2 / 2, 1.0 - limit * rest**2 / 2)
    message = refusal(arm(acceleration=limit), times, positions, velocities, accelerations)
    assert message == ''
    table = np.array([positions, velocities, accelerations]).T
    curve = BPoly.from_derivatives(times, table).derivative(2)
    peak = np.abs(curve(np.linspace(times[0], times[-1], 100_000))).max()
    assert peak < 1.8 * limit
