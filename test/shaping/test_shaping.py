"""Shaped motions, against sampled oscillators (matrix exponential) and sums of delayed motions."""

import numpy as np
import pytest
from scipy.linalg import expm

from flex_robot_sim.motion.joint_motion import Motion, minimum_jerk, rest
from flex_robot_sim.shaping.impulses import KINDS, NONE, convolved, of_kind
from flex_robot_sim.shaping.shaped_samples import shaped_motion, shaped_samples
from flex_robot_sim.shaping.specified_insensitivity import Band, for_modes, si
from flex_robot_sim.util.exceptions import SettingError

MODES = [(2.7, 0.006), (3.1, 0.007), (11.0, 0.02)]
SHAPERS = {
    **{kind: of_kind(kind, 2.7, 0.01) for kind in KINDS},
    'damped': of_kind('zv', 2.7, 0.3),
    'joint': for_modes('zv', MODES),
    'product': for_modes('zvd', MODES),
    'bands': si([Band(2.5, 3.5, 0.005), Band(11.0, 11.0, 0.02, 0.0)]),
}


def ring_after(samples, period, frequency, ratio, length):
    """
    Amplitude of an oscillator at a time; its base follows held samples (k,).

    :param length: samples until then; the last one is held.
    """
    rate = 2 * np.pi * frequency
    step = np.zeros((3, 3))
    step[:2] = [[0.0, 1.0, 0.0], [-(rate**2), -2 * ratio * rate, rate**2]]
    step = expm(step * period)
    state = np.array([samples[0], 0.0])
    for k in range(length):
        state = step[:2, :2] @ state + step[:2, 2] * samples[min(k, len(samples) - 1)]
    x, v = state - [samples[-1], 0.0]
    return np.hypot(x, (v + ratio * rate * x) / (rate * np.sqrt(1 - ratio**2)))


def move(period, duration=0.4, size=1.0):
    u = np.clip(np.arange(0.0, duration + period, period) / duration, 0.0, 1.0)
    return size * (3 * u**2 - 2 * u**3)


@pytest.mark.parametrize('name', SHAPERS)
@pytest.mark.parametrize('period', [1e-3, 0.0041, 0.0237])  # two samples in T/2 of 11 Hz
def test_sampled_shaper_leaves_at_its_modes_what_the_impulses_leave(name, period):
    shaper, samples = SHAPERS[name], move(period)
    shaped = shaped_samples(shaper, samples[:, None], period)[:, 0]
    for frequency, ratio in shaper.modes:
        left = ring_after(shaped, period, frequency, ratio, len(shaped))
        # the unshaped motion, plus the time in which its vibration decays equally
        before = ring_after(samples, period, frequency, ratio, len(samples))
        s = 2 * np.pi * frequency * (-ratio + 1j * np.sqrt(1 - ratio**2))
        fade = np.exp(s.real * period * (len(shaped) - len(samples)))
        assert left == pytest.approx(before * abs(shaper.response(s)) * fade, abs=1e-9 * before)


@pytest.mark.parametrize('period', [1e-3, 0.0041, 0.0237])
@pytest.mark.parametrize('name', SHAPERS)
def test_weights_of_samples_are_positive_and_add_up_to_one(name, period):
    delays, weights = SHAPERS[name].fir(period)
    assert weights.min() > 0.0
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert (np.diff(delays) > 0).all()
    # no later than a few samples
    assert delays[-1] <= SHAPERS[name].duration / period + 5


def test_weights_between_samples_keep_the_insensitivity():
    shaper, period = of_kind('ei', 3.0, 0.01), 0.02
    delays, weights = shaper.fir(period)
    for f in np.linspace(2.5, 3.5, 21):
        s = 2 * np.pi * f * (-0.01 + 1j * np.sqrt(1 - 1e-4))
        sampled = abs(np.exp(-s * period * delays) @ weights)
        # sampling changes the curve by some (omega T)^2 / 8 of the distance from the design
        assert sampled == pytest.approx(abs(shaper.response(s)), abs=0.02)


@pytest.mark.parametrize('name', SHAPERS)
def test_samples_end_exactly_where_the_motion_ends(name):
    rng = np.random.default_rng(1)
    samples = rng.normal(size=(40, 3)) / 3
    shaped = shaped_samples(SHAPERS[name], samples, 0.0031)
    assert (shaped[-1] == samples[-1]).all()
    assert (shaped <= samples.max(axis=0) + 1e-12).all()
    assert (shaped >= samples.min(axis=0) - 1e-12).all()


def test_no_shaper_leaves_samples_alone():
    samples = np.random.default_rng(1).normal(size=(40, 3))
    assert (shaped_samples(NONE, samples, 1e-3) == samples).all()


def test_shaped_motion_that_repeats_goes_on_repeating():
    a, b, c = np.random.default_rng(5).normal(size=(3, 2))
    motion = Motion(
        [0.0, 0.5, 0.7, 1.2],
        [rest(c), minimum_jerk(c, a), rest(a) * 1.0, minimum_jerk(a, b) + 0.0, rest(b)],
        repeats_from=1,
    )
    shaper = convolved([of_kind('zvd', 1.3), of_kind('zv', 0.4)])
    shaped = shaped_motion(shaper, motion)
    assert shaped.end == np.inf
    for t in np.random.default_rng(2).uniform(0.0, 9.0, 100):
        wanted = sum(
            w * motion.sample(t - tau)[0] for w, tau in zip(shaper.amplitudes, shaper.times)
        )
        assert shaped.sample(t)[0] == pytest.approx(wanted, abs=1e-9)


ZVD = of_kind('zvd', 2.7, 0.006)
SAMPLES = np.zeros((5, 2))


@pytest.mark.parametrize(
    'act, line',
    [
        *(
            (
                lambda period=period: shaped_samples(ZVD, SAMPLES, period),
                f'period = {period!r} of set points must be above 0 and finite [s]',
            )
            for period in (0, -1e-3, np.nan, '1')
        ),
        (
            lambda: shaped_samples(NONE, [], 1e-3),
            'set points must be finite numbers in rows, one row per sample and one column per '
            'joint',
        ),
        (lambda: si([]), 'bands = [] must name what is to be kept still: give [Band(low, high)]'),
        (
            lambda: si(Band(2.0, 3.0)),
            'bands = Band(low=2.0, high=3.0, ratio=0.0, tolerance=0.05) must be a list of Bands: '
            'write [Band(2.5, 3.3)] for one',
        ),
        (
            lambda: for_modes('zv', (2.7, 0.006)),
            'modes = (2.7, 0.006) must be pairs of a frequency [Hz] and a damping ratio: write '
            '[(2.7, 0.006)] for one',
        ),
        (
            lambda: of_kind('zvd', '2.7', 0.006),
            "frequency = '2.7' of a mode must be a number: give the frequency [Hz] and the "
            'damping '
            'ratio',
        ),
        (
            lambda: shaped_motion(ZVD, np.zeros(2)),
            'array([0., 0.]) is no Motion: set points in an array are shaped by '
            'shaper.shape(times, positions)',
        ),
    ],
)
def test_what_shapers_cannot_take_is_one_line(act, line):
    with pytest.raises(SettingError) as caught:
        act()
    assert str(caught.value) == line
