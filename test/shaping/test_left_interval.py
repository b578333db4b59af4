"""Interval of the vibration that a shaper leaves, compared with oscillators in the time domain."""

import numpy as np
import pytest
from scipy.signal import lsim

from flex_robot_sim.analysis.resonance import Resonance
from flex_robot_sim.shaping import impulses
from flex_robot_sim.shaping.left_interval import left_interval


def mode(frequency, ratio, size, frequency_deviation=0.0, ratio_deviation=0.0, way='decay'):
    return Resonance(frequency, frequency_deviation, ratio, ratio_deviation, size, way)


def amplitude_after(shaper, frequency, ratio):
    """Amplitude at the end of a shaper of an oscillator that follows a shaped step, by lsim."""
    rate = 2 * np.pi * frequency
    times = np.linspace(0.0, shaper.duration + 1e-9, 40001)
    rows = np.searchsorted(shaper.times, times, side='right')
    base = np.concatenate([[0.0], np.cumsum(shaper.amplitudes)])[rows]
    system = ([rate**2], [1.0, 2 * ratio * rate, rate**2])
    _, place, _ = lsim(system, base, times, interp=False)
    speed = np.gradient(place, times)[-2]
    offset = place[-1] - 1.0
    quadrature = (speed + ratio * rate * offset) / (rate * np.sqrt(1 - ratio**2))
    return np.hypot(offset, quadrature)


def test_the_nominal_value_is_that_of_oscillators_in_the_time_domain():
    modes = [mode(3.0, 0.02, 1.0), mode(7.0, 0.04, 0.8)]
    shaper = impulses.of_kind('zv', 3.4, 0.02)
    weights = np.array([one.size / one.frequency**2 for one in modes])
    left = np.array([amplitude_after(shaper, one.frequency, one.ratio) for one in modes])
    # the amplitude without a shaper is 1 / sqrt(1 - ratio^2)
    left *= np.sqrt([1 - one.ratio**2 for one in modes])
    expected = float(weights @ left / weights.sum())
    assert left_interval(shaper, modes).nominal == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize('kind', ['zv', 'zvd', 'ei'])
def test_the_interval_holds_for_frequencies_and_ratios_within_two_deviations(kind):
    rng = np.random.default_rng(1)
    modes = [mode(3.0, 0.02, 1.0, 0.05, 0.004), mode(9.0, 0.05, 2.0, 0.2, 0.01)]
    shaper = impulses.of_kind(kind, 3.1, 0.02)
    stated = left_interval(shaper, modes)
    weights = np.array([one.size / one.frequency**2 for one in modes])
    for _ in range(200):
        turns = rng.uniform(-2, 2, (2, 2))
        left = [
            shaper.vibration(
                one.frequency + a * one.frequency_deviation, one.ratio + b * one.ratio_deviation
            )
            for one, (a, b) in zip(modes, turns)
        ]
        assert stated.low - 1e-3 <= weights @ left / weights.sum() <= stated.high


def test_doubt_widens_the_interval_and_never_narrows_it():
    shaper = impulses.of_kind('zvd', 4.0, 0.01)
    sure = left_interval(shaper, [mode(4.0, 0.01, 1.0)])
    for doubtful in (
        left_interval(shaper, [mode(4.0, 0.01, 1.0, 0.3)]),
        left_interval(shaper, [mode(4.0, 0.01, 1.0, 0.0, 0.01)]),
        left_interval(shaper, [mode(4.0, 0.01, 1.0)], unseen=0.2),
        left_interval(shaper, [mode(4.0, 0.01, 1.0, way='spectrum')]),
    ):
        assert doubtful.high >= sure.high and doubtful.low <= sure.low
        assert doubtful.nominal == sure.nominal
    assert left_interval(shaper, [mode(4.0, 0.01, 1.0)], unseen=0.2).high > sure.high + 0.1
