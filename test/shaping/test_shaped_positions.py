"""Oscillators in closed form are at rest at the end of shaped positions."""

import numpy as np
import pytest
from hub_beam import clamped_frequencies

import flex_robot_sim as frs
from flex_robot_sim.shaping import design_for_arm, design_for_pose, ei, ei2, zv, zvd, zvdd

KINDS = {'zv': zv, 'zvd': zvd, 'zvdd': zvdd, 'ei': ei, 'ei2': ei2}


def left(times, positions, frequency, ratio):
    """Amplitude of x'' + 2 z w x' + w^2 (x - y) = 0 at the end of steps of y, in closed form."""
    w = 2 * np.pi * frequency
    s = w * (-ratio + 1j * np.sqrt(1 - ratio**2))
    steps = np.diff(positions, axis=0, prepend=positions[:1])
    return np.abs(np.exp(s * (times[-1] - times)) @ steps) / np.sqrt(1 - ratio**2)


@pytest.mark.parametrize('name', KINDS)
def test_random_moves_leave_what_the_kind_promises(name):
    random = np.random.default_rng([*KINDS].index(name))
    for _ in range(5):
        frequency, ratio = random.uniform(0.8, 6.0), random.uniform(0.0, 0.1)
        times = np.arange(0.0, random.uniform(0.3, 1.5), 1e-3)
        positions = np.cumsum(np.cumsum(random.standard_normal((times.size, 2)), axis=0), axis=0)
        positions /= np.abs(positions).max()
        shaper = KINDS[name](frequency, damping_ratios=ratio)
        shaped = shaper.shape(times, positions)
        np.testing.assert_allclose(np.diff(shaped.times), 1e-3, rtol=1e-9)
        assert shaped.times[-1] >= times[-1] + shaper.duration - 1e-9
        np.testing.assert_allclose(shaped.positions[-1], positions[-1], atol=1e-12)
        # ei and ei2 leave a share of the residual vibration of the unshaped move
        share = 0.05 if name in ('ei', 'ei2') else 0.0
        assert (
            left(*shaped, frequency, ratio)
            <= 1e-9 + 1.01 * share * left(times, positions, frequency, ratio)
        ).all()
        one = shaper.shape(times, positions[:, 0])
        np.testing.assert_array_equal(one.positions, shaped.positions[:, 0])


def test_several_modes_are_all_left_at_rest():
    frequencies, ratios = [1.9, 7.3], [0.01, 0.03]
    times = np.arange(0.0, 0.5, 1e-3)
    for kind in (zv, zvd):
        shaped = kind(frequencies, damping_ratios=ratios).shape(times, np.minimum(times, 0.3))
        for frequency, ratio in zip(frequencies, ratios):
            assert left(*shaped, frequency, ratio) < 1e-9


@pytest.fixture(scope='module')
def arm():
    return frs.load('single_link')


def test_shaper_of_an_arm_is_that_of_its_finite_elements(arm):
    shaper = design_for_pose(arm, [0.3], kind='zvd')
    first = clamped_frequencies()[0]
    assert shaper.vibration(first, 0.005) < 1e-4 < shaper.vibration(1.1 * first, 0.005)
    by_pose = design_for_arm(arm, kind='zvd')
    times = np.arange(0.0, 0.5, 1e-3)
    fixed, followed = (one.shape(times, times[:, None]) for one in (shaper, by_pose))
    count = min(fixed.times.size, followed.times.size)
    # its frequency is the same in all poses
    np.testing.assert_allclose(followed.positions[:count], fixed.positions[:count], atol=2e-4)


@pytest.mark.parametrize(
    'act, line',
    [
        (
            lambda arm: zvd([]),
            'frequencies must be a number, or one per mode [Hz], such as 2.7 or [2.7, 11.0]',
        ),
        (
            lambda arm: zvd('fast'),
            'frequencies must be a number, or one per mode [Hz], such as 2.7 or [2.7, 11.0]',
        ),
        (
            lambda arm: zvd([2.0, 3.0], damping_ratios=[0.1] * 3),
            'damping_ratios must be a number, or one per mode: 2 here',
        ),
        (
            lambda arm: zv(-1.0),
            'frequency = -1.0 of a mode must be above 0 and finite: give '
            'the natural frequencies of the arm [Hz]',
        ),
        (
            lambda arm: ei(2.0, tolerance=0.7),
            'tolerance = 0.7 of a shaper must lie between 0 and 0.5',
        ),
        (
            lambda arm: zvd(2.0).shape([0.0, 0.1, 0.3], [0.0, 0.1, 0.2]),
            'times must rise in even steps: interpolate the positions, or use the times '
            'numpy.arange(0.0, duration, period)',
        ),
        (
            lambda arm: zvd(2.0).shape([0.0, 0.1], [0.0, 0.1, 0.2]),
            'times must be 2 numbers or more, one per position, and there are 3 positions',
        ),
        (
            lambda arm: zvd(2.0).shape([0.0, 0.1], [0.0, np.nan]),
            'set points must be finite numbers in rows, one row per sample and one column per '
            'joint',
        ),
        (
            lambda arm: zvd(9.0).shape([0.0, 0.1], [0.0, 0.1]),
            'frequency = 9 Hz of a mode is not below half of the 10 set points per second: send '
            'them more often, or leave this mode out',
        ),
        (
            lambda arm: design_for_pose(arm, [0.0, 1.0]),
            'q must be 1 finite numbers, in this order: motor',
        ),
        (
            lambda arm: design_for_pose(arm, [0.0], kind='best'),
            'no shaper "best" of one mode. Known: zv, zvd, zvdd, ei, ei2',
        ),
    ],
)
def test_mistake_is_one_line(arm, act, line):
    with pytest.raises(frs.SettingError) as caught:
        act(arm)
    assert str(caught.value) == line
