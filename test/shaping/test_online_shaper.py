"""Online shaper, against the sampled shaper and oscillators whose frequency changes (scipy)."""

import copy
import gc
import pickle
import tracemalloc

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from flex_robot_sim.analysis.mode_table import ModeTable
from flex_robot_sim.shaping.impulses import of_kind
from flex_robot_sim.shaping.online_shaper import OnlineShaper
from flex_robot_sim.shaping.shaped_samples import shaped_samples
from flex_robot_sim.shaping.shaper_stages import stages_of
from flex_robot_sim.util.exceptions import SettingError

pytestmark = pytest.mark.slow

SLOW, FAST, RATIO = 2.0, 4.0, 0.01
OF_THIRD = ModeTable((2,), (np.linspace(0.0, 1.0, 5),), np.full((5, 1), 2.0), np.zeros((5, 1)))


def table(count=33):
    """Modes whose frequency goes from SLOW to FAST while joint 0 goes from 0 to 1."""
    axis = np.linspace(0.0, 1.0, count)
    return ModeTable((0,), (axis,), frequency_at(axis)[:, None], np.full((count, 1), RATIO))


def frequency_at(position):
    return SLOW + (FAST - SLOW) * np.clip(position, 0.0, 1.0)


def move(period, duration, forward=True):
    u = np.clip(np.arange(0.0, duration + period, period) / duration, 0.0, 1.0)
    s = 10 * u**3 - 15 * u**4 + 6 * u**5
    s = s if forward else 1.0 - s
    return np.column_stack([s, 0.3 * s])


def ring_after(samples, period):
    """
    Final amplitude of an oscillator on a base that interpolates samples linearly.

    Its frequency depends on the position of the base.
    """
    times = period * np.arange(len(samples))

    def slope(t, state):
        base = np.interp(t, times, samples[:, 0])
        rate = 2 * np.pi * frequency_at(base)
        x, v = state
        return [v, rate**2 * (base - x) - 2 * RATIO * rate * v]

    found = solve_ivp(
        slope, (0.0, times[-1]), [samples[0, 0], 0.0], rtol=1e-8, atol=1e-10, max_step=0.02
    )
    x, v = found.y[:, -1]
    return np.hypot(x - samples[-1, 0], v / (2 * np.pi * frequency_at(samples[-1, 0])))


def from_read_only_memory(thing):
    buffers: list = []
    data = pickle.dumps(thing, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(data, buffers=[bytes(buffer.raw()) for buffer in buffers])


@pytest.mark.parametrize(
    'way',
    [
        copy.copy,
        copy.deepcopy,
        from_read_only_memory,
        lambda shaper: pickle.loads(pickle.dumps(shaper)),
    ],
)
def test_a_copy_continues_from_the_same_sample_and_independently(way):
    samples, shaper = (
        move(1e-3, 0.5),
        OnlineShaper(2, 1e-3, table=table(), stages=stages_of(table(), 'zvd', 0.02)),
    )
    for sample in samples[:200]:
        shaper.step(sample)
    before, other = shaper.position.copy(), way(shaper)
    found = [other.step(sample).copy() for sample in samples[200:]]
    np.testing.assert_array_equal(shaper.position, before)
    np.testing.assert_array_equal(found, [shaper.step(sample).copy() for sample in samples[200:]])
    np.testing.assert_array_equal(other.velocity, shaper.velocity)


@pytest.mark.long(after=4)
@pytest.mark.parametrize('forward', [True, False])
@pytest.mark.parametrize('duration', [0.3, 0.5, 0.8])
@pytest.mark.parametrize('kind', ['zvd', 'zvdd', 'ei'])
def test_delays_that_follow_the_pose_still_a_mode_that_doubles(kind, duration, forward):
    samples, period = move(1e-3, duration, forward), 1e-3
    shaper = OnlineShaper(2, period, table=table(), stages=stages_of(table(), kind, 0.02))
    shaped = shaper.run(samples)
    # relative to the largest possible amplitude: some durations leave little by chance
    worst = max(ring_after(move(period, d, forward), period) for d in (0.3, 0.4, 0.5))
    assert ring_after(shaped, period) < 0.05 * worst
    assert (shaped[-1] == samples[-1]).all()


def test_a_velocity_limit_below_the_peak_adds_little_vibration():
    samples, period = move(1e-3, 0.8), 1e-3
    worst = max(ring_after(move(period, d), period) for d in (0.3, 0.4, 0.5))
    limits = 0.9 * np.abs(np.diff(samples, axis=0)).max(axis=0) / period
    left = [
        ring_after(
            OnlineShaper(
                2, period, table=table(), stages=stages_of(table(), 'zvd'), velocity_limits=one
            ).run(samples),
            period,
        )
        / worst
        for one in (None, limits)
    ]
    assert left[0] < 0.015 and 0.02 < left[1] < 0.04


@pytest.mark.parametrize('forward', [True, False])
def test_delays_that_follow_the_pose_make_no_jump(forward):
    steps = []
    for period in (2e-3, 1e-3, 0.5e-3):
        samples = move(period, 0.5, forward)
        shaper = OnlineShaper(2, period, table=table(), stages=stages_of(table(), 'zvd'))
        shaped = np.vstack([samples[:1], shaper.run(samples)])
        speed = np.abs(np.diff(samples, axis=0)).max(axis=0)
        # where the frequency rises, the delay shrinks and the impulse moves faster
        assert (np.abs(np.diff(shaped, axis=0)).max(axis=0) < 1.6 * speed).all()
        steps.append(np.abs(np.diff(shaped, 2, axis=0)).max(axis=0) / period)
    # the velocity change per sample goes to zero with the period, so there is no jump
    assert (steps[1] < 0.6 * steps[0]).all() and (steps[2] < 0.6 * steps[1]).all()


def test_shaped_set_points_stay_within_those_that_came_in():
    rng = np.random.default_rng(2)
    samples = np.clip(np.cumsum(rng.normal(size=(1500, 2)) * 0.02, axis=0), 0.0, 1.0)
    shaper = OnlineShaper(
        2, 1e-3, shaper=of_kind('ei', 3.3), table=table(), stages=stages_of(table(), 'zvd')
    )
    shaped = shaper.run(samples)
    assert shaped.min() >= 0.0 and shaped.max() <= 1.0
    assert (shaped[-1] == samples[-1]).all()
    assert shaper.is_settled


def test_stage_at_a_fixed_frequency_is_the_fixed_shaper():
    still = ModeTable((), (), np.array([[2.5]]), np.array([[0.01]]))
    samples = move(1e-3, 0.5)
    by_phase = OnlineShaper(2, 1e-3, table=still, stages=stages_of(still, 'zvd')).run(samples)
    fixed = shaped_samples(of_kind('zvd', 2.5, 0.01), samples, 1e-3)
    # cubic interpolation here, weights in the kernel
    assert by_phase == pytest.approx(fixed[: len(by_phase)], abs=1e-5)


def test_velocity_is_the_rate_of_the_shaped_set_points():
    samples = move(1e-3, 0.4)
    shaper = OnlineShaper(2, 1e-3, shaper=of_kind('zv', 3.0))
    for k, sample in enumerate(samples):
        before = shaper.position.copy()
        shaper.step(sample)
        if k:
            assert shaper.velocity == pytest.approx((shaper.position - before) / 1e-3, abs=1e-12)


def test_shaper_that_takes_over_begins_where_the_arm_is():
    shaper = OnlineShaper(
        2, 1e-3, shaper=of_kind('zv', 3.0), table=table(), stages=stages_of(table(), 'ei')
    )
    shaper.run(move(1e-3, 0.3))
    shaper.reset([0.7, -0.2])
    assert (shaper.step([0.7, -0.2]) == [0.7, -0.2]).all()
    assert (shaper.velocity == 0.0).all()
    # the reset clears its history
    assert (shaper.run([[0.7, -0.2]] * 50) == [0.7, -0.2]).all()


def test_set_point_that_is_no_number_is_refused_and_the_one_before_stands():
    shaper = OnlineShaper(2, 1e-3, shaper=of_kind('zv', 3.0))
    shaper.reset([0.5, 0.5])
    for bad in ([np.nan, 0.0], [np.inf, 0.0], [1e12, 0.0]):
        assert (shaper.step(np.array(bad)) == 0.5).all()
    assert shaper.refused == 3


def test_tick_allocates_nothing():
    shaper = OnlineShaper(
        7, 1e-3, shaper=of_kind('zv', 3.0), table=table(), stages=stages_of(table(), 'zvd')
    )
    samples = np.random.default_rng(0).uniform(size=(50, 7))
    shaper.reset(samples[0])
    for sample in samples:
        shaper.step(sample)
    grown = []
    gc.disable()
    tracemalloc.start()
    try:
        for _ in range(5):
            before = tracemalloc.get_traced_memory()[0]
            for _ in range(20):
                for sample in samples:
                    shaper.step(sample)
            grown.append(tracemalloc.get_traced_memory()[0] - before)
    finally:
        tracemalloc.stop()
        gc.enable()
    # of each thousand ticks; the interpreter's own counters and caches grow in one and not in all
    assert min(grown) < 1000


@pytest.mark.parametrize(
    'call, message',
    [
        (
            lambda: OnlineShaper(2, 0.0),
            'period = 0.0 of set points must be above 0 and finite [s]',
        ),
        (
            lambda: OnlineShaper(2, '1'),
            "period = '1' of set points must be above 0 and finite [s]",
        ),
        (
            lambda: OnlineShaper(3, 1e-3).step([0.0, 0.0]),
            'a set point of 2 numbers goes to a shaper of 3: give one per joint',
        ),
        (
            lambda: OnlineShaper(1, 1e-3).step(5.0),
            'a set point of 5.0 goes to a shaper of 1: give a sequence, one number per joint',
        ),
        (
            lambda: OnlineShaper(2, 1e-3, table=OF_THIRD, stages=stages_of(OF_THIRD, 'zv')),
            'joints = 2 of a shaper are too few for its table, which looks at joint 3: give the '
            'number of joints of the arm that the table is of',
        ),
        (
            lambda: OnlineShaper(2, 0.2, table=table(), stages=stages_of(table(), 'zv')),
            'frequency = 3.9998 Hz of a mode is not below half of the 5 set points per second: '
            'send them more often, or leave this mode out',
        ),
        (
            lambda: OnlineShaper(2, 1e-3).reset([0.0]),
            'a shaper starts at 2 finite positions, one per joint',
        ),
        (
            lambda: OnlineShaper(2, 1e-3).step([np.nan, 0.0]),
            'the first set point of a shaper must be finite: reset it to where the arm is',
        ),
        (
            lambda: OnlineShaper(2, 1e-9, shaper=of_kind('zv', 1.0)),
            'a shaper of 500000008 samples is too long: send set points less often, or leave slow '
            'modes out',
        ),
    ],
)
def test_what_is_no_online_shaper_is_refused(call, message):
    with pytest.raises(SettingError) as caught:
        call()
    assert str(caught.value) == message


@pytest.mark.parametrize('has_history', [False, True])
def test_run_equals_steps_until_the_output_rests(has_history):
    rng = np.random.default_rng(7)
    for period in (2e-3, 5e-3):
        samples = move(period, 0.5) + rng.uniform(-0.01, 0.01, 2)
        ran, stepped = (
            OnlineShaper(
                2,
                period,
                shaper=of_kind('zv', 6.0, RATIO),
                table=table(),
                stages=stages_of(table(), 'ei'),
            )
            for _ in range(2)
        )
        if has_history:
            for shaper in (ran, stepped):
                shaper.reset(np.array([0.2, -0.1]))
        found = ran.run(samples)
        rows: list = []
        while len(rows) < len(samples) or not stepped.is_settled:
            rows.append(stepped.step(samples[min(len(rows), len(samples) - 1)]).copy())
        assert (found == np.array(rows)).all() and ran.is_settled
        # the next set points continue from the same state
        for target in rng.uniform(-0.1, 0.1, (20, 2)).cumsum(axis=0):
            assert (ran.step(target) == stepped.step(target)).all()
            assert (ran.velocity == stepped.velocity).all()


def test_run_refuses_what_a_step_refuses():
    shaper = OnlineShaper(2, 2e-3, shaper=of_kind('zv', 6.0, RATIO))
    with pytest.raises(SettingError, match='a set point of 3 numbers goes to a shaper of 2'):
        shaper.run(np.zeros((4, 3)))
    with pytest.raises(SettingError, match='the first set point of a shaper must be finite'):
        shaper.run(np.full((4, 2), 1e10))
    assert (shaper.run([[0.1, 0.2]]) == [[0.1, 0.2]]).all()
