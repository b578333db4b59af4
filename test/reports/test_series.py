"""Curves with fewer points, and series between their samples."""

import itertools

import numpy as np
import pytest

from flex_robot_sim.reports.series import Series, SeriesBuilder, decimate, to_json_value
from flex_robot_sim.reports.tip_vibration import amplitude_spectrum

pytestmark = pytest.mark.slow


def test_a_thinned_curve_keeps_its_ends_and_its_peaks():
    time = np.linspace(0.0, 10.0, 100_001)
    values = np.sin(time)
    values[61_803], values[12_345] = 9.0, -7.0
    fewer, values_left = decimate(time, values, 1000)
    assert len(fewer) <= 1002 and fewer[0] == 0.0 and fewer[-1] == 10.0
    assert values_left.max() == 9.0 and values_left.min() == -7.0
    assert set(zip(fewer, values_left)) <= set(zip(time, values))


@pytest.mark.parametrize('hole', [np.nan, np.inf, -np.inf])
def test_a_thinned_curve_keeps_the_peaks_of_each_stretch_and_its_gaps(hole):
    random = np.random.default_rng(4)
    time, values = np.arange(1009.0), random.normal(size=1009).round(1)  # some are equal
    stretches = [*itertools.pairwise(np.linspace(0, 1009, 51).astype(int).tolist())]
    values[random.random(1009) < 0.3], values[slice(*stretches[7])] = np.nan, hole
    rows = {0, 1008}
    for begin, end in stretches:
        known = [row for row in range(begin, end) if np.isfinite(values[row])]
        rows |= {pick(known, key=values.__getitem__) for pick in (min, max)} if known else {begin}
    fewer, values_left = decimate(time, values, 100)
    assert fewer.tolist() == sorted(rows)
    np.testing.assert_array_equal(values_left, values[sorted(rows)])


def test_a_steady_swing_has_a_peak_of_its_amplitude_at_its_frequency():
    # 50 whole periods: nothing leaks beyond the width of the window
    time = np.arange(0.0, 20.0, 0.01)
    samples = 3.0 + 0.2 * time + 0.7 * np.sin(2 * np.pi * 2.5 * time)
    frequencies, amplitudes = amplitude_spectrum(100.0, samples[:, None])
    # the trend is removed between the first and last sample, which is not a whole period
    assert amplitudes.max() == pytest.approx(0.7, rel=0.01)
    assert frequencies[amplitudes.argmax()] == pytest.approx(2.5, abs=0.05)  # 1 / 20 s


def test_rows_in_another_order_are_put_in_that_of_the_first():
    rows = SeriesBuilder(['a', 'b'])
    rows.add(1, 1, ['a', 'b'], [1.0, 2.0])
    rows.add(2, 2, ['b', 'a'], [4.0, 3.0])
    rows.add(3, 3, ['a'], [5.0])
    rows.add(4, 4, ['a', 'b'], [5.0])
    series = rows.series(rows.stamps * 1.0)
    assert series.values.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_a_series_is_held_beyond_its_ends():
    series = Series(np.array([1.0, 2.0]), np.array([[0.0], [1.0]]), ('x',))
    assert series.at(np.array([0.0, 1.25, 5.0])).ravel().tolist() == [0.0, 0.25, 1.0]


def test_what_json_cannot_hold_is_none():
    assert to_json_value({'a': np.nan, 'b': [np.float64(1.0), np.inf], 'c': np.int64(3)}) == {
        'a': None,
        'b': [1.0, None],
        'c': 3,
    }
