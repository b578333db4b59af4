"""Properties of trajectories: points, continuity, time scaling, and limits between the points."""

import numpy as np
import pytest

pytest.importorskip('hypothesis')

from hypothesis import assume, given
from hypothesis import strategies as st
from random_cases import cases

import flex_robot_sim as frs
from flex_robot_sim.motion.limits import STOP_MARGIN, VELOCITY_MARGIN, rate_limits
from flex_robot_sim.motion.profile_settings import ProfileSettings
from flex_robot_sim.motion.profiles import motion_of_profile
from flex_robot_sim.motion.reference import Reference
from flex_robot_sim.motion.trajectory import Interpolation, Trajectory

NAMES = ('a', 'b', 'c')
seeds = st.integers(0, 2**32 - 1)


def random_points(seed, size=1.0):
    """Return times (k,), and tables of positions, velocities and accelerations (3, k, 3)."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 7))
    times = np.cumsum(10.0 ** rng.uniform(-2, 1, k))
    tables = size * rng.normal(size=(3, k, len(NAMES)))
    tables[1, -1] = 0.0
    return times, tables


def motion_of(times, tables, order, present=None, elapsed=0.0):
    pieces = Interpolation(Trajectory(NAMES, times, *tables[:order]), NAMES)
    return pieces.motion(np.zeros((3, 3)) if present is None else present, elapsed)


@cases(60)
@given(seeds, st.integers(1, 3))
def test_all_points_are_met_and_the_end_is_exact(seed, order):
    times, tables = random_points(seed)
    motion = motion_of(times, tables, order)
    size = 10.0 * sum(np.abs(t).max() * times[-1] ** p for p, t in enumerate(tables))
    for k, time in enumerate(times):
        assert motion.sample(time)[0] == pytest.approx(tables[0, k], abs=1e-13 * size)
    for later in (0.0, 1e-9, 1.0, 1e6):
        found = motion.sample(times[-1] + later)
        assert (found[0] == tables[0, -1]).all() and not found[1:].any()


@cases(60)
@given(seeds, st.integers(2, 3))
def test_positions_and_given_rates_are_continuous(seed, order):
    times, tables = random_points(seed)
    motion = motion_of(times, tables, order)
    shortest = np.diff(times, prepend=0.0).min()
    for time in motion.knots[1:-1]:
        before, after = motion.sample(np.nextafter(time, 0.0)), motion.sample(time)
        for rate in range(order):
            size = np.abs(tables).max() * (1 + times[-1] ** 2) / shortest**rate
            np.testing.assert_allclose(before[rate], after[rate], atol=1e-12 * size)


@cases(60)
@given(seeds, st.integers(1, 3), st.floats(0.1, 10.0))
def test_a_slower_trajectory_is_the_same_motion(seed, order, slowness):
    times, tables = random_points(seed)
    motion = motion_of(times, tables, order)
    slower = [table / slowness**power for power, table in enumerate(tables)]
    slow = motion_of(slowness * times, slower, order)
    samples = np.random.default_rng(seed).uniform(0.0, times[-1], 30)
    found, expected = slow.samples(slowness * samples), motion.samples(samples)
    for power in range(3):
        size = 1.0 + np.abs(expected[:, power]).max()
        np.testing.assert_allclose(
            slowness**power * found[:, power], expected[:, power], atol=1e-9 * size
        )


@cases(60)
@given(seeds, st.integers(1, 3))
def test_stated_extremes_are_those_of_dense_samples(seed, order):
    times, tables = random_points(seed)
    motion = motion_of(times, tables, order)
    lowest, highest, knots = motion.extremes()
    fastest = motion.max_speeds()
    for k, (start, end) in enumerate(zip(knots, knots[1:])):
        samples = motion.samples(np.linspace(start, np.nextafter(end, 0.0), 400))
        position, speed = samples[:, 0], np.abs(samples[:, 1])
        span, quick = 1.0 + np.ptp(position, axis=0), 1.0 + speed.max(axis=0)
        assert (position.max(axis=0) <= highest[k] + 1e-10 * span).all()
        assert (position.min(axis=0) >= lowest[k] - 1e-10 * span).all()
        assert (speed.max(axis=0) <= fastest[k] + 1e-10 * quick).all()
        # and no farther than a step between two samples
        assert (highest[k] <= position.max(axis=0) + 1e-3 * span).all()
        assert (lowest[k] >= position.min(axis=0) - 1e-3 * span).all()


@pytest.fixture(scope='module')
def arm():
    """An arm with stops and velocity limits."""
    builder = frs.ArmBuilder()
    for name, parent in zip(NAMES, ('base', *(f'link_{name}' for name in NAMES))):
        builder.add_rigid(f'link_{name}', mass=1.0, centre=(0.1, 0, 0))
        builder.add_joint(
            name,
            parent=parent,
            child=f'link_{name}',
            axis='y',
            lower=-2.0,
            upper=1.5,
            velocity=3.0,
        )
    return builder.build()


@pytest.mark.slow
@cases(100)
@given(seed=seeds, order=st.integers(1, 3), size=st.floats(0.1, 1.5))
def test_a_trajectory_is_refused_exactly_if_a_sample_is_beyond_the_limits(arm, seed, order, size):
    times, tables = random_points(seed, size)
    reference = Reference(arm)
    reference.move(0.0, np.zeros(3))
    motion = motion_of(times, tables, order)
    samples = np.concatenate(
        [
            motion.samples(np.linspace(start, np.nextafter(end, 0.0), 500))
            for start, end in zip([0.0, *times], times)
        ]
    )
    beyond = max(
        (samples[:, 0] - arm.arrays.upper).max() - STOP_MARGIN,
        (arm.arrays.lower - samples[:, 0]).max() - STOP_MARGIN,
        (np.abs(samples[:, 1]) / rate_limits(arm)).max() - VELOCITY_MARGIN,
    )
    assume(abs(beyond) > 1e-3)  # samples miss the peak by less
    try:
        reference.follow(reference.plan(Trajectory(NAMES, times, *tables[:order]), 0.0), 0.0)
    except frs.SettingError as error:
        assert beyond > 0.0, error
        assert '\n' not in str(error)
        assert not reference.is_moving
        return
    assert beyond < 0.0
    for now in np.linspace(0.0, times[-1] + 0.1, 50):
        reference.move(now, np.zeros(3))
        np.testing.assert_allclose(reference.position, motion.sample(now)[0], atol=1e-9)
    assert (reference.position == tables[0, -1]).all() and not reference.is_moving


@cases(60)
@given(seeds, st.integers(1, 3), st.floats(0.0, 0.99))
def test_a_trajectory_that_is_joined_late_passes_the_remaining_points(seed, order, share):
    times, tables = random_points(seed)
    elapsed = share * times[-1]
    present = np.random.default_rng(seed + 1).normal(size=(3, 3))
    whole, late = (
        motion_of(times, tables, order),
        motion_of(times, tables, order, present, elapsed),
    )
    np.testing.assert_allclose(late.sample(elapsed)[0], present[0], atol=1e-12)
    after = times[np.searchsorted(times, elapsed, side='right')]
    for time in np.linspace(after, times[-1] + 1.0, 20):
        np.testing.assert_array_equal(late.sample(time), whole.sample(time))


@cases(40)
@given(seeds, st.sampled_from(['step', 'minimum_jerk', 'swing']), st.floats(0.05, 5.0))
def test_a_profile_starts_and_ends_at_its_positions(seed, kind, duration):
    rng = np.random.default_rng(seed)
    start, goal = rng.normal(size=(2, 3))
    settings = ProfileSettings(
        profile=kind,
        profile_displacement=tuple(goal - start),
        profile_poses=(*start, *goal) if kind == 'swing' else (),
        profile_duration=duration,
    )
    motion = motion_of_profile(settings, NAMES, start)
    assert (motion.sample(-1.0)[0] == start).all()
    samples = motion.samples(np.linspace(0.0, 1.0 + 10 * duration, 300))[:, 0]
    low, high = np.minimum(start, goal), np.maximum(start, goal)
    assert (samples >= low - 1e-12).all() and (samples <= high + 1e-12).all()
    if kind != 'swing':
        np.testing.assert_allclose(samples[-1], goal, atol=1e-15)
