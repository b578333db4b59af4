"""Time to rest against exact exponentials, and superposition of modes against ODE solvers."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from flex_robot_sim.shaping.time_to_rest import envelope_rest_time, modal_vibration, rest_time


def test_one_mode_rests_after_the_logarithm_of_its_excess():
    assert envelope_rest_time([4e-3], [0.8], 5e-4) == pytest.approx(np.log(8.0) / 0.8)


def test_two_modes_with_decays_of_one_to_two_rest_at_the_root_of_a_quadratic():
    # 3 x + 2 x^2 = 1 with x = exp(-d t)
    root = (-3 + np.sqrt(17.0)) / 4
    assert envelope_rest_time([3.0, 2.0], [0.5, 1.0], 1.0) == pytest.approx(-np.log(root) / 0.5)


@pytest.mark.parametrize(
    'amplitudes, decays, expected',
    [([2e-4, 2e-4], [1.0, 1.0], 0.0), ([1e-3], [0.0], np.inf), ([], [], 0.0)],
)
def test_small_and_undamped_vibration_have_their_limits(amplitudes, decays, expected):
    assert envelope_rest_time(amplitudes, decays, 5e-4) == expected


def test_an_undamped_mode_below_the_allowance_only_delays_the_rest():
    found = envelope_rest_time([1e-3, 2e-4], [1.0, 0.0], 5e-4)
    assert found == pytest.approx(np.log(1e-3 / 3e-4))


def test_the_last_crossing_of_the_samples_counts():
    distances = np.array([1.0, 0.2, 0.8, 0.4, 0.1, 0.0])
    assert rest_time(distances, 0.1, 0.5, [0.0], [1.0]) == pytest.approx(0.275)
    assert rest_time(distances, 0.1, 2.0, [0.0], [1.0]) == 0.0
    assert rest_time(distances, 0.1, 0.5, [1.0], [2.0]) == pytest.approx(0.5 + np.log(2.0) / 2)


@pytest.mark.parametrize('ratio', [0.0, 0.03, 0.2])
def test_vibration_after_a_minimum_jerk_move_is_that_of_an_ode_solver(ratio):
    duration, frequency, step = 0.4, 2.3, 5e-4
    rate = 2 * np.pi * frequency
    u = np.clip(np.arange(0.0, duration + step / 2, step) / duration, 0.0, 1.0)
    path = 10 * u**3 - 15 * u**4 + 6 * u**5

    def slope(t, x):
        s = t / duration
        acceleration = (60 * s - 180 * s**2 + 120 * s**3) / duration**2
        return [x[1], -acceleration - 2 * ratio * rate * x[1] - rate**2 * x[0]]

    x, v = solve_ivp(slope, (0.0, duration), [0.0, 0.0], rtol=1e-10, atol=1e-14).y[:, -1]
    damped = np.sqrt(1 - ratio**2)
    amplitude = np.hypot(x, (v / rate + ratio * x) / damped)
    found = modal_vibration(path, step, np.array([frequency]), np.array([ratio]))
    assert found[0, -1] == pytest.approx(amplitude, rel=1e-4)
