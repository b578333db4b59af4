"""Weighted shapers against nonlinear programming, and exact steps of oscillators."""

import numpy as np
import pytest
from scipy.linalg import expm

from flex_robot_sim.shaping.specified_insensitivity import Band, si
from flex_robot_sim.shaping.weighted_insensitivity import (
    WeightedDesigns,
    WeightedModes,
    weighted_shaper,
)
from flex_robot_sim.util.exceptions import SettingError

pytestmark = pytest.mark.slow


def modes(frequencies, amplitudes, ratio=0.01):
    frequencies = np.array(frequencies, float)
    return WeightedModes(
        frequencies, np.full(frequencies.size, ratio), np.array(amplitudes, float)
    )


def left_by(shaper, frequency, ratio):
    """Vibration of an oscillator after impulses, over that of one at time 0, by its exact step."""
    rate = 2 * np.pi * frequency
    A = np.array([[0.0, 1.0], [-(rate**2), -2 * ratio * rate]])
    state = np.zeros(2)
    for step, amplitude in zip(np.diff(shaper.times, append=shaper.duration), shaper.amplitudes):
        state = expm(A * step) @ (state + [0.0, amplitude])
    damped = np.sqrt(1 - ratio**2)
    return float(np.hypot(rate * state[0], (state[1] + ratio * rate * state[0]) / damped) * damped)


def test_one_mode_gets_the_shaper_of_nonlinear_programming():
    found = weighted_shaper([modes([2.0], [1.0])], 0.05, 0.1)
    other = si([Band(1.8, 2.2, 0.01, 0.05)])
    assert found.duration == pytest.approx(other.duration, rel=0.02)


def test_the_sum_of_all_modes_keeps_the_allowance_over_the_band():
    one = modes([2.0, 5.3], [20e-3, 3e-3])
    found = weighted_shaper([one], 5e-4, 0.1)
    assert found.amplitudes.min() > 0.0 and found.amplitudes.sum() == pytest.approx(1.0)
    for error in np.linspace(-0.1, 0.1, 21):
        left = [
            V * left_by(found, (1 + error) * f, r)
            for f, r, V in zip(one.frequencies, one.ratios, one.amplitudes)
        ]
        assert sum(left) <= 1.02 * 5e-4


def test_frequencies_without_error_keep_a_share_of_the_allowance():
    one, share = modes([2.0, 5.3], [20e-3, 3e-3]), 0.3
    found = weighted_shaper([one], 5e-4, 0.1, nominal_share=share)
    assert found.duration <= 1.1 * weighted_shaper([one], 5e-4, 0.1).duration
    for error in np.linspace(-0.1, 0.1, 21):
        left = sum(
            V * left_by(found, (1 + error) * f, r)
            for f, r, V in zip(one.frequencies, one.ratios, one.amplitudes)
        )
        assert left <= 1.05 * 5e-4 * (share + (1 - share) * abs(error) / 0.1)


@pytest.mark.long(after=1)
@pytest.mark.parametrize('seed', range(3))
def test_a_search_from_another_aim_finds_the_shaper_of_a_new_search(seed):
    rng = np.random.default_rng(seed)
    ones = [modes(rng.uniform(2.0, 6.0, 2), rng.uniform(1e-3, 2e-2, 2)) for _ in range(2)]
    designs = WeightedDesigns(ones, 5e-4, 0.1)
    for allowed in (5e-4, 3e-4, 1.2e-3):
        found, fresh = designs.shaper(allowed), weighted_shaper(ones, allowed, 0.1)
        assert found.duration == pytest.approx(fresh.duration, rel=0.04)


def test_a_weak_mode_costs_less_time_than_a_stage_of_its_own():
    found = weighted_shaper([modes([2.0, 3.1], [20e-3, 6e-4])], 5e-4, 0.1)
    alone = weighted_shaper([modes([2.0], [20e-3])], 5e-4, 0.1)
    weak = weighted_shaper([modes([3.1], [20e-3])], 5e-4, 0.1)
    assert alone.duration <= 1.02 * found.duration
    assert found.duration < alone.duration + 0.5 * weak.duration


def test_modes_below_the_allowance_need_no_shaper():
    assert weighted_shaper([modes([2.0, 3.0], [2e-4, 2e-4])], 5e-4, 0.1).duration == 0.0


def test_an_infeasible_condition_is_one_line():
    with pytest.raises(SettingError, match='no shaper leaves 0.0005 mm of these modes: take a'):
        weighted_shaper([modes(np.geomspace(1, 9, 9), np.ones(9))], 5e-7, 0.3)
