"""Ring-downs: known oscillators on a base that moves and stops, with the move in the log."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from flex_robot_sim.analysis.damped_sinusoids import covariance, fit_sinusoids
from flex_robot_sim.analysis.realisation import stable_poles
from flex_robot_sim.analysis.recorded_vibration import recorded_modes
from flex_robot_sim.analysis.ring_down import ring_down

RATE = 200.0
BEGIN, DURATION = 0.5, 0.4  # of the move [s]


def pole(frequency, ratio):
    return 2 * np.pi * frequency * (-ratio + 1j * np.sqrt(1 - ratio**2))


def base_acceleration(t):
    """Acceleration of a move of fifth order, 1 m in DURATION."""
    u = np.clip((t - BEGIN) / DURATION, 0.0, 1.0)
    return (60 * u - 180 * u**2 + 120 * u**3) / DURATION**2


def stop(modes, shares, noise=0.02, seed=0, seconds=6.0):
    """Return accelerations (k, 2) of masses on springs, by adaptive integration."""
    times = np.arange(0.0, seconds, 1 / RATE)
    total = np.zeros((times.size, 2))
    for (frequency, ratio), share, direction in zip(modes, shares, ([1.0, 0.3], [-0.4, 1.0])):
        w = 2 * np.pi * frequency

        def slope(t, x, w=w, ratio=ratio):
            return [x[1], -w * w * x[0] - 2 * ratio * w * x[1] - base_acceleration(t)]

        x = solve_ivp(
            slope, (0.0, seconds), [0.0, 0.0], t_eval=times, rtol=1e-9, atol=1e-12, max_step=0.02
        ).y
        relative = -w * w * x[0] - 2 * ratio * w * x[1]
        total += share * relative[:, None] * direction
    size = np.abs(total[times > BEGIN + DURATION]).max()
    return total + noise * size * np.random.default_rng(seed).normal(size=total.shape)


def test_era_finds_poles_of_a_sum_of_exponentials():
    poles = np.array([pole(3.0, 0.02), pole(7.0, 0.05)])
    t = np.arange(400) / RATE
    samples = np.exp(t[:, None] * poles).real @ [[1.0, 0.2], [0.5, -1.0]]
    rng = np.random.default_rng(0)
    found = stable_poles(samples + 1e-4 * rng.normal(size=samples.shape), RATE)
    for one in poles:
        assert np.abs(found - one).min() < 2e-3 * abs(one)


def test_covariance_of_a_sinusoid_equals_the_cramer_rao_bound():
    """Closed form for many cycles: var(sigma) = var(omega) = 16 sigma**3 noise**2 dt / a**2."""
    sigma, omega, noise = 1.0, 40.0, 0.01
    t = np.arange(0.0, 12.0, 1e-2)
    x = np.exp(-sigma * t) * np.cos(omega * t)
    x = (x + noise * np.random.default_rng(0).normal(size=t.size))[:, None]
    fit = fit_sinusoids(t, x, np.array([1.1]), np.array([39.5]))
    expected = 16 * sigma**3 * noise**2 * 1e-2
    assert np.diag(covariance(fit, x)) == pytest.approx([expected] * 2, rel=0.25)


@pytest.mark.slow
def test_a_log_with_the_move_gives_both_modes():
    modes = [(4.0, 0.02), (9.0, 0.03)]
    found = ring_down(RATE, stop(modes, [1.0, 0.6]))
    assert BEGIN + 0.5 * DURATION < found.begin < BEGIN + DURATION + 0.5
    assert len(found.resonances) == 2
    for one, (frequency, ratio) in zip(sorted(found.resonances, key=lambda m: m.frequency), modes):
        assert one.way == 'decay'
        assert one.frequency == pytest.approx(frequency, abs=4 * one.frequency_deviation)
        assert one.ratio == pytest.approx(ratio, abs=4 * one.ratio_deviation)
        assert one.frequency_deviation < 2e-3 * frequency


def test_a_mode_that_drifts_is_reported_and_widens_its_deviation():
    t = np.arange(0.0, 8.0, 1 / RATE)
    phase = 2 * np.pi * (4.0 * t + 0.03 * t**2)  # from 4 to 4.5 Hz
    x = np.exp(-0.3 * t) * np.sin(phase) + 0.001 * np.random.default_rng(0).normal(size=t.size)
    modes = recorded_modes(RATE, x[:, None])
    (first, *_) = modes.resonances
    assert modes.drift is not None and 4.0 < modes.drift.low < modes.drift.high < 4.5
    assert 4.0 < first.frequency < 4.5
    assert first.frequency_deviation > 0.5 * (modes.drift.high - modes.drift.low) * 0.99


@pytest.mark.slow
@pytest.mark.parametrize('seed', range(3))
def test_two_modes_that_overlap_are_separated_by_their_directions(seed):
    modes = [(8.0, 0.02), (8.24, 0.02)]  # closer than their bandwidths
    samples = stop(modes, [1.0, 0.8], noise=0.01, seed=seed)
    both = ring_down(RATE, samples)
    assert len(both.resonances) == 2 and both.drift is None
    for one, (frequency, _) in zip(sorted(both.resonances, key=lambda m: m.frequency), modes):
        assert one.frequency == pytest.approx(frequency, abs=4 * one.frequency_deviation)
        assert one.frequency_deviation < 0.01 * frequency
    # in one direction, the recording does not separate them
    one = ring_down(RATE, samples[:, :1])
    assert len(one.resonances) == 1 and one.drift.may_be_two
    assert one.drift.low == pytest.approx(8.0, rel=0.01)
    assert one.drift.high == pytest.approx(8.24, rel=0.01)
    # one mode moves all axes along one line, whatever its frequency
    t = np.arange(0.0, 6.0, 1 / RATE)
    wave = np.exp(-t) * np.sin(2 * np.pi * (8.0 * t + 0.05 * t**2))
    noise = np.random.default_rng(seed).normal(size=(t.size, 2))
    drifting = ring_down(RATE, wave[:, None] * [1.0, 0.5] + 0.005 * noise)
    assert len(drifting.resonances) == 1 and drifting.drift is not None


def test_steady_vibration_and_noise_are_no_ring_down():
    t = np.arange(2000) / RATE
    rng = np.random.default_rng(0)
    assert ring_down(RATE, rng.normal(size=(2000, 2))) is None
    assert ring_down(RATE, np.sin(30.0 * t)[:, None] + 0.1 * rng.normal(size=(2000, 1))) is None


@pytest.mark.parametrize('is_mode', [False, True])
def test_centripetal_acceleration_is_no_mode(is_mode):
    """A sensor 0.5 m from the pivot of a pendulum; a true mode decays at its own rate."""
    t = np.arange(0.0, 4.0, 1 / RATE)
    angle = 0.15 * np.exp(pole(5.1, 0.0075) * t)
    rate = (pole(5.1, 0.0075) * angle).real
    tangential = 0.5 * (pole(5.1, 0.0075) ** 2 * angle).real
    radial = 0.5 * rate**2
    if is_mode:
        radial = 4.0 * np.exp(pole(10.2, 0.015) * t).real
    samples = np.column_stack([tangential, radial])
    samples += 0.05 * np.random.default_rng(1).normal(size=samples.shape)
    found = recorded_modes(RATE, samples)
    assert len(found.resonances) == 1 + is_mode
    assert len(found.harmonics) == 1 - is_mode
    assert found.resonances[0].frequency == pytest.approx(5.1, rel=1e-3)
