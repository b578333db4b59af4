"""Fits of long logs with thinned slopes, against closed forms and the fit of all samples."""

import numpy as np
import pytest
from test_identify import FREE, found, setup_of

from flex_robot_sim.identification import long_fit
from flex_robot_sim.identification.identify import identify
from flex_robot_sim.identification.thinning import largest_factor, make_thinning

PERIOD = 2e-3  # [s]
TIME = PERIOD * np.arange(20_000)
WINDOW = np.hanning(TIME.size)[:, None]  # no transient at the ends


@pytest.mark.parametrize('every', [2, 4, 5])
def test_a_sine_in_the_passband_is_unchanged_and_one_beyond_the_rate_is_removed(every):
    thinning = make_thinning(every)
    band, rate = thinning.passband(PERIOD), 1 / (every * PERIOD)
    wave = WINDOW * np.sin(2 * np.pi * 0.95 * band * TIME)[:, None]
    np.testing.assert_allclose(thinning.mean(wave), wave[::every], atol=2e-3)
    alias = WINDOW * np.sin(2 * np.pi * 0.7 * rate * TIME)[:, None]
    assert np.abs(thinning.mean(alias)).max() < 2e-3


def test_sums_of_products_with_noise_stay_the_same():
    thinning = make_thinning(4)
    wave = WINDOW * np.sin(2 * np.pi * 20 * TIME)[:, None]
    noise = np.random.default_rng(0).normal(size=wave.shape)
    full = float((wave * noise).sum())
    thin = float((thinning.apply(wave) * thinning.apply(noise)).sum())
    deviation = np.sqrt(float((wave**2).sum()))
    assert thin == pytest.approx(full, abs=5e-3 * deviation)


def test_the_passband_is_far_above_the_highest_resonance():
    every = largest_factor(PERIOD, 12.0)
    assert every == 4 and make_thinning(every).passband(PERIOD) > 36.0
    assert largest_factor(5e-3, 30.0) == 1


@pytest.mark.slow
def test_a_fit_with_thinned_slopes_equals_that_of_all_samples(monkeypatch):
    monkeypatch.setattr(long_fit, 'START_S', 3.0)
    lines: list[str] = []
    thinned = identify(setup_of(), FREE, watch=lines.append, long_rows=100)
    for one, other in zip(thinned.estimates, found().estimates):
        assert one.value == pytest.approx(other.value, abs=0.1 * other.standard_deviation)
    assert thinned.is_good and any('left' in line for line in lines)
