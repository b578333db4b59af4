"""Shapers of Klipper: properties of their definitions, and the choice for bands of frequencies."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from flex_robot_sim.export.klipper import (
    NAMES,
    klipper_impulses,
    klipper_shapers,
    klipper_text,
    nearest,
)
from flex_robot_sim.shaping.shaper_specification import CoveredBand, ShaperSpecification
from flex_robot_sim.shaping.textbook_shapers import zv

# number of impulses, periods from the first to the last one, and residual vibration at the mode
DEFINITIONS = {
    'zv': (2, 0.5, 0.0),
    'mzv': (3, 0.75, 0.0),
    'zvd': (3, 1.0, 0.0),
    'ei': (3, 1.0, 0.05),
    '2hump_ei': (4, 1.5, 0.0),
    '3hump_ei': (5, 2.0, 0.05),
}


def vibration(times, amplitudes, frequency, ratio):
    """Residual vibration (Singer and Seering 1990, equation 3), over that of one impulse."""
    rate = 2 * np.pi * frequency
    damped = rate * np.sqrt(1 - ratio**2)
    weights = amplitudes * np.exp(ratio * rate * times)
    sums = (weights * np.cos(damped * times)).sum(), (weights * np.sin(damped * times)).sum()
    return np.exp(-ratio * rate * times[-1]) * np.hypot(*sums)


@pytest.mark.parametrize('ratio', [0.0, 0.05, 0.1])
@pytest.mark.parametrize('name', NAMES)
def test_shapers_leave_at_their_mode_what_their_definition_says(name, ratio):
    count, periods, left = DEFINITIONS[name]
    shaper = klipper_impulses(name, ratio)
    assert shaper.times.size == count and (shaper.amplitudes > 0.0).all()
    assert shaper.amplitudes.sum() == pytest.approx(1.0)
    # damping lengthens the period, and shortens the insensitive ones by up to 4 %
    assert shaper.duration == pytest.approx(periods, rel=0.04)
    assert vibration(shaper.times, shaper.amplitudes, 1.0, ratio) == pytest.approx(left, abs=1e-8)


@pytest.mark.parametrize('name, humps', [('2hump_ei', 2), ('3hump_ei', 3)])
@pytest.mark.parametrize('ratio', [0.0, 0.05])
def test_all_humps_have_the_tolerance(name, humps, ratio):
    shaper = klipper_impulses(name, ratio)
    f = np.linspace(0.6, 1.5, 2001)
    left = np.array([vibration(shaper.times, shaper.amplitudes, one, ratio) for one in f])
    tops = np.flatnonzero((left[1:-1] > left[:-2]) & (left[1:-1] > left[2:])) + 1
    inner = [k for k in tops if left[k] < 0.1]
    assert len(inner) == humps
    assert left[inner] == pytest.approx(0.05, abs=1e-4)


def test_the_frequency_leaves_least_in_the_worst_case_of_the_bands():
    bands = [CoveredBand(38.0, 43.0, 0.05), CoveredBand(55.0, 61.0, 0.03)]
    points = [(f, band.ratio) for band in bands for f in np.linspace(band.low, band.high, 21)]
    for found in klipper_shapers(bands):
        unit = klipper_impulses(found.name, found.ratio)

        def worst(frequency, unit=unit):
            times = unit.times / frequency
            return max(vibration(times, unit.amplitudes, *point) for point in points)

        assert found.vibration == pytest.approx(worst(found.frequency), rel=1e-9)
        near = minimize_scalar(
            worst, bounds=(0.9 * found.frequency, 1.1 * found.frequency), method='bounded'
        )
        assert found.vibration <= near.fun * (1 + 1e-3)


def test_the_nearest_shaper_is_the_shortest_that_leaves_little():
    shapers = klipper_shapers([CoveredBand(47.0, 53.0, 0.05)])
    by_name = {one.name: one for one in shapers}
    best = nearest(shapers, 0.05)
    assert best.vibration <= 0.05
    assert all(one.duration >= best.duration for one in by_name.values() if one.vibration <= 0.05)
    # no single shaper reaches this: the least vibration counts
    far = klipper_shapers([CoveredBand(20.0, 90.0, 0.02)])
    assert nearest(far, 0.001) == min(far, key=lambda one: one.vibration)


def test_the_section_has_one_shaper_for_each_axis():
    bands = (CoveredBand(39.0, 41.0, 0.05), CoveredBand(60.0, 62.0, 0.05))
    design = ShaperSpecification('zv', zv([40.0, 61.0], damping_ratios=[0.05, 0.05]), bands=bands)
    text, best = klipper_text(design, ('x', 'y'), 'a log\n[printer]', 'By a test')
    lines = [line for line in text.splitlines() if line and line[0] != '#']
    assert lines == [
        '[input_shaper]',
        *(
            f'{key}_{axis}: {value}'
            for axis in 'xy'
            for key, value in (
                ('shaper_type', best.name),
                ('shaper_freq', f'{best.frequency:.2f}'),
                ('damping_ratio', '0.0500'),
            )
        ),
    ]
