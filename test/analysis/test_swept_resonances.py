"""Sweeps of a resonance test, on pairs of oscillators by their exact response."""

import numpy as np
import pytest
from scipy.signal import chirp, cont2discrete, lfilter

from flex_robot_sim.analysis.recorded_vibration import resonances
from flex_robot_sim.analysis.swept_resonances import find_sweep

pytestmark = pytest.mark.slow

RATE = 800.0
TIMES = np.arange(0.0, 128.0, 1 / RATE)


def response(modes, shares, base):
    """Acceleration of a tool on oscillators in parallel, by their exact discrete model."""
    total = 0.0
    for (frequency, ratio), share in zip(modes, shares):
        w = 2 * np.pi * frequency
        system = [2 * ratio * w, w * w], [1.0, 2 * ratio * w, w * w]
        b, a, _ = cont2discrete(system, 1 / RATE, 'foh')
        total = total + share * lfilter(b.ravel(), a, base)
    noise = 0.05 * total.std() * np.random.default_rng(0).normal(size=total.size)
    return (total + noise)[:, None]


@pytest.mark.long(after=3)
@pytest.mark.parametrize('frequencies', [(42.0, 71.0), (28.0, 33.0)])
@pytest.mark.parametrize('ratios', [(0.05, 0.05), (0.1, 0.06)])
@pytest.mark.parametrize('is_square', [False, True])
def test_a_sweep_gives_both_modes(frequencies, ratios, is_square):
    base = chirp(TIMES, 5.0, 128.0, 133.0, phi=-90.0)
    base = np.sign(base) if is_square else base
    found, _ = resonances(RATE, response([*zip(frequencies, ratios)], (0.6, 0.4), base))
    found.sort(key=lambda mode: mode.frequency)
    assert [mode.way for mode in found] == ['sweep', 'sweep']
    assert [mode.frequency for mode in found] == pytest.approx(frequencies, rel=0.01)
    assert [mode.ratio for mode in found] == pytest.approx(ratios, rel=0.1)
    low, high = (mode.size for mode in found)
    assert low / high == pytest.approx(0.6 / 0.4, rel=0.3)


def test_noise_tones_and_decays_are_no_sweeps():
    rng = np.random.default_rng(0)
    t = TIMES[:20000]
    for samples in (
        rng.normal(size=t.size),
        np.sin(100.0 * t),
        np.exp(-0.5 * t) * np.sin(50.0 * t) + 0.01 * rng.normal(size=t.size),
        np.cumsum(rng.normal(size=t.size)),
    ):
        assert find_sweep(RATE, samples[:, None]) is None
