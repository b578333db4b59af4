"""Properties of input shapers: sum, signs, range, limits, end, delay, linearity, resets."""

import numpy as np
import pytest

pytest.importorskip('hypothesis')

from hypothesis import assume, given
from hypothesis import strategies as st
from random_cases import cases

import flex_robot_sim as frs
from flex_robot_sim.analysis.mode_table import ModeTable
from flex_robot_sim.motion.joint_motion import Motion, quintic, rest
from flex_robot_sim.motion.trajectory import Trajectory
from flex_robot_sim.shaping.impulses import KINDS, convolved, kinds_for, of_kind
from flex_robot_sim.shaping.online_shaper import SPARE_SAMPLES, OnlineShaper
from flex_robot_sim.shaping.shaped_samples import sampled, shaped_motion, shaped_samples
from flex_robot_sim.shaping.shaper_stages import stages_of
from flex_robot_sim.shaping.specified_insensitivity import Band, si
from flex_robot_sim.shaping.trajectory_shaper import TrajectoryShaper

seeds = st.integers(0, 2**32 - 1)
frequencies = st.floats(-1.0, 2.0).map(lambda power: float(10.0**power))


@st.composite
def modes(draw):
    """Draw a kind, a frequency [Hz] and a damping ratio for which the kind exists."""
    ratio = draw(st.just(0.0) | st.floats(0.0, 0.9))
    return draw(st.sampled_from(kinds_for(ratio))), draw(frequencies), ratio


shapers = st.lists(modes(), min_size=1, max_size=3).map(
    lambda drawn: convolved([of_kind(*mode) for mode in drawn])
)


@st.composite
def sampled_shapers(draw):
    """Draw a shaper and a period [s] that samples its modes finely enough."""
    shaper = draw(shapers)
    fastest = max(frequency for frequency, _ in shaper.modes)
    slowest = min(frequency for frequency, _ in shaper.modes)
    assume(fastest < 100 * slowest)
    return shaper, draw(st.floats(0.005, 0.2)) / fastest


def random_samples(seed, joints=2, count=120):
    """Return set points (count, joints) that jump, rest and run."""
    rng = np.random.default_rng(seed)
    steps = rng.normal(size=(count, joints)) * (rng.random((count, joints)) < rng.random())
    return np.cumsum(steps, axis=0)


def assert_shaper(times, amplitudes):
    assert (amplitudes > 0.0).all()
    assert amplitudes.sum() == pytest.approx(1.0, abs=1e-12)
    assert times[0] >= 0.0 and (np.diff(times) > 0.0).all()


@cases(100)
@given(shapers)
def test_impulses_are_positive_rise_in_time_and_add_up_to_one(shaper):
    assert_shaper(shaper.times, shaper.amplitudes)
    assert shaper.times[0] == 0.0
    for frequency, ratio in shaper.modes:
        # of a kind with a tolerance, the other factors only lower it
        assert shaper.vibration(frequency, ratio) < 0.05 + 1e-9


@pytest.mark.slow
@cases(60)
@given(sampled_shapers())
def test_samples_of_a_shaper_are_positive_and_add_up_to_one(drawn):
    shaper, period = drawn
    delays, weights = shaper.fir(period)
    assert_shaper(delays, weights)
    assert delays[-1] * period <= shaper.duration + 4 * period


def test_a_mode_that_decays_within_the_shaper_of_a_slow_one_is_shaped_exactly():
    modes = [(75.0, 0.6), (23.2, 0.67), (1.0, 0.38)]  # exponents of 300, which overflow if squared
    shaper = convolved([of_kind('zvd', *mode) for mode in modes])
    delays, weights = shaper.fir(1e-3)
    assert_shaper(delays, weights)
    taps = frs.shaping.Shaper('taps', delays * 1e-3, weights)
    for mode in modes:
        assert taps.vibration(*mode) < 1e-10
    slow = of_kind('zv', 0.05)
    assert np.isfinite(slow.vibration([0.05, 1.0, 500.0], [0.0, 0.5, 0.9])).all()


@cases(8)
@given(frequencies, st.floats(1.0, 1.4), st.floats(0.0, 0.1), st.floats(0.02, 0.2))
def test_a_shaper_of_a_band_keeps_its_tolerance(low, width, ratio, tolerance):
    shaper = si([Band(low, low * width, ratio, tolerance)])
    assert_shaper(shaper.times, shaper.amplitudes)
    left = [shaper.vibration(f, ratio) for f in np.linspace(low, low * width, 60)]
    assert max(left) < tolerance + 1e-3  # the search uses a grid of times


@pytest.mark.slow
@cases(60)
@given(sampled_shapers(), seeds, st.floats(-3.0, 3.0), st.floats(-3.0, 3.0))
def test_shaping_is_linear_keeps_the_range_and_ends_at_the_end(drawn, seed, a, b):
    shaper, period = drawn
    times = np.arange(120) * period
    x, y = random_samples(seed), random_samples(seed + 1)
    shaped, other, both = (shaper.shape(times, one) for one in (x, y, a * x + b * y))
    np.testing.assert_allclose(
        both.positions, a * shaped.positions + b * other.positions, atol=1e-11 * 40
    )
    assert (shaped.positions <= x.max(axis=0) + 1e-12).all()
    assert (shaped.positions >= x.min(axis=0) - 1e-12).all()
    np.testing.assert_allclose(shaped.positions[-1], x[-1], atol=1e-12)
    assert shaped.times[-1] - times[-1] <= shaper.duration + 5 * period
    for order in (1, 2, 3):  # velocity, acceleration and jerk
        before, after = (
            np.abs(np.diff(np.vstack([one[:1]] * order + [one] + [one[-1:]] * order), order, 0))
            for one in (x, shaped.positions)
        )
        assert (after.max(axis=0) <= before.max(axis=0) * (1 + 1e-9) + 1e-12).all()


@pytest.mark.slow
@cases(60)
@given(sampled_shapers(), seeds, st.integers(0, 100))
def test_an_online_shaper_is_the_shaper_and_a_reset_forgets_the_past(drawn, seed, before):
    shaper, period = drawn
    samples = random_samples(seed)
    online = OnlineShaper(2, period, shaper=shaper)
    for sample in random_samples(seed + 1)[:before]:
        online.step(sample)
    online.reset(samples[0])
    assert (online.position == samples[0]).all() and not online.velocity.any()
    shaped = online.run(samples[1:])
    expected = shaped_samples(shaper, samples, period)[1:]
    count = min(len(shaped), len(expected))
    np.testing.assert_allclose(shaped[:count], expected[:count], atol=1e-11)
    assert (shaped[-1] == samples[-1]).all() and online.is_settled


def test_a_run_reaches_its_end_if_the_samples_of_the_shaper_end_after_its_last_impulse():
    modes = [('zvdd', 10.0, 0.704237205864702)] * 2 + [('ei', 0.11360853929142573, 0.0)]
    shaper, period = convolved([of_kind(*mode) for mode in modes]), 0.017710865113408865
    # except in the oldest versions of NumPy, the last impulse is sampled after the shaper's end
    samples = random_samples(1)
    online = OnlineShaper(2, period, shaper=shaper)
    assert (online.run(samples)[-1] == samples[-1]).all() and online.is_settled


@pytest.mark.slow
@cases(60)
@given(modes(), seeds, st.floats(0.005, 0.1), st.integers(2, 9))
def test_delays_that_follow_the_pose_keep_the_range_the_end_and_the_promised_delay(
    mode, seed, share, rows
):
    kind, _, ratio = mode
    rng = np.random.default_rng(seed)
    samples = random_samples(seed)
    axis = np.linspace(samples[:, 0].min() - 1e-3, samples[:, 0].max() + 1e-3, rows)
    table = ModeTable((0,), (axis,), rng.uniform(1.0, 3.0, (rows, 1)), np.full((rows, 1), ratio))
    period = share / 3.0
    online = OnlineShaper(2, period, table=table, stages=stages_of(table, kind))
    shaped = online.run(samples)
    assert (shaped <= samples.max(axis=0) + 1e-12).all()
    assert (shaped >= samples.min(axis=0) - 1e-12).all()
    assert (shaped[-1] == samples[-1]).all() and online.is_settled
    assert len(shaped) <= len(samples) + online.duration / period + SPARE_SAMPLES + 1


def random_motion(rng, joints=2):
    """Return a Motion through random points, with random velocities and accelerations there."""
    count = int(rng.integers(2, 6))
    knots = np.cumsum(rng.uniform(0.05, 1.0, count))
    points = rng.normal(size=(3, count, joints))
    points[1:, [0, -1]] = 0.0
    ends = [
        points[order, k + end] for k in range(count - 1) for order in range(3) for end in (0, 1)
    ]
    pieces = [quintic(*[*ends[6 * k : 6 * k + 6], T]) for k, T in enumerate(np.diff(knots))]
    return Motion(knots, [rest(points[0, 0]), *pieces, rest(points[0, -1])])


@pytest.mark.slow
@cases(25)
@given(shapers, seeds)
def test_a_shaped_motion_is_the_weighted_mean_of_the_delayed_motion(shaper, seed):
    rng = np.random.default_rng(seed)
    motion = random_motion(rng)
    shaped = shaped_motion(shaper, motion)
    assert shaped.end == pytest.approx(motion.end + shaper.duration)
    times = rng.uniform(motion.knots[0] - 0.1, shaped.end + 0.1, 20)
    mean = sum(
        amplitude * motion.samples(times - delay)
        for delay, amplitude in zip(shaper.times, shaper.amplitudes)
    )
    size = np.abs(motion.samples(np.linspace(0.0, motion.end, 200))).max(axis=(0, 2))
    for order, scale in enumerate(1.0 + size):  # rates divide rounding by short pieces
        found, expected = shaped.samples(times)[:, order], mean[:, order]
        np.testing.assert_allclose(found, expected, atol=1e-8 * scale)
    np.testing.assert_allclose(sampled(shaper, motion, times)[0], mean[:, 0], atol=1e-9)
    np.testing.assert_allclose(shaped.sample(shaped.end + 1.0), motion.sample(motion.end + 1.0))


@pytest.mark.slow
@cases(40)
@given(shapers, seeds, st.integers(1, 3))
def test_shaped_trajectories_that_replace_each_other_end_at_the_last_goal(shaper, seed, count):
    assume(shaper.duration < 20.0)
    rng, now = np.random.default_rng(seed), 0.0
    trajectories = TrajectoryShaper(lambda _: shaper, period=max(0.02, shaper.duration / 50))
    trajectories.measured.update(a=0.1, b=-0.2)
    low = high = np.array([0.1, -0.2])
    for _ in range(count):
        points = int(rng.integers(1, 4))
        times = np.cumsum(rng.uniform(0.1, 1.0, points))
        goals = rng.uniform(-1, 1, (points, 2))
        found = trajectories.shaped(Trajectory(['a', 'b'], times, goals), now)
        trajectories.keep(found)
        low, high = np.minimum(low, goals.min(axis=0)), np.maximum(high, goals.max(axis=0))
        assert (np.diff(found.times) > 0.0).all()
        assert (found.positions >= low - 1e-9).all() and (found.positions <= high + 1e-9).all()
        np.testing.assert_allclose(found.positions[-1], goals[-1], atol=1e-12)
        end = found.start + found.times[-1]
        assert end <= now + times[-1] + 2 * shaper.duration + 0.1 + 1e-9
        now += rng.uniform(0.0, end - now + 0.2)


def test_every_kind_of_shaper_is_drawn():
    assert {*kinds_for(0.0)} == {*KINDS}
    assert callable(frs.shaping.zvd)
