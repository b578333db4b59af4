"""Profiles of the same time: limits, ends, and closed forms of their peaks."""

import numpy as np
import pytest
from scipy.signal import lfilter

from flex_robot_sim.shaping.motion_profiles import PROFILES, peaks, quintic, trapezoid
from flex_robot_sim.util.exceptions import SettingError

STEP = 1e-3
PLAIN = trapezoid(900)


def path(name, added=0.3):
    if name == 'ruckig':
        pytest.importorskip('ruckig')
    return PROFILES[name](PLAIN, STEP, added, 1e-3)


@pytest.mark.parametrize('name', PROFILES)
def test_each_profile_takes_the_time_and_keeps_the_peaks(name):
    found = path(name)
    assert (found[0], found[-1]) == (pytest.approx(0.0, abs=1e-3), pytest.approx(1.0))
    assert np.flatnonzero(found < 1 - 1.01e-3)[-1] * STEP <= 1.2 + 2 * STEP
    velocity, acceleration = peaks(PLAIN, STEP)
    assert peaks(found, STEP)[0] <= 1.001 * velocity
    assert np.abs(np.diff(found, 2)).max() / STEP**2 <= 1.01 * acceleration


def test_peaks_are_those_of_a_trapezoid_of_three_equal_parts():
    velocity, acceleration = peaks(PLAIN, STEP)
    assert velocity == pytest.approx(1.5 / 0.9, rel=1e-3)
    assert acceleration == pytest.approx(4.5 / 0.81, rel=1e-2)


def test_a_quintic_takes_longer_rather_than_exceed_the_velocity():
    found = quintic(PLAIN, STEP, 0.0, 1e-3)
    assert STEP * (len(found) - 1) == pytest.approx(1.25 * 0.9, abs=2 * STEP)


def test_the_s_curve_limits_the_jerk_to_the_acceleration_over_the_added_time():
    jerk = np.abs(np.diff(path('s-curve', 0.2), 3)).max() / STEP**3
    assert jerk == pytest.approx(4.5 / 0.81 / 0.2, rel=0.02)


def test_the_low_pass_is_the_filter_of_first_order_of_scipy():
    found = path('low-pass', 0.2)
    decay = np.exp(-STEP * np.log(1e3) / 0.2)  # within 1e-3 after 0.2 s
    inputs = np.append(PLAIN, np.ones(len(found) - len(PLAIN)))
    expected = lfilter([1 - decay], [1.0, -decay], inputs)
    assert found[:-1] == pytest.approx(expected[:-1], abs=1e-12)


def test_without_ruckig_the_message_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(__import__('sys').modules, 'ruckig', None)
    with pytest.raises(SettingError) as caught:
        PROFILES['ruckig'](PLAIN, STEP, 0.3, 1e-3)
    assert str(caught.value) == 'ruckig is not installed: pip install ruckig'
