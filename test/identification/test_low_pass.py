"""Low-pass filters of sensors, compared with scipy and closed forms."""

import numpy as np
import pytest
from refusals import refusal
from scipy.signal import butter, lfilter, lsim

from flex_robot_sim.identification.low_pass import parse_filters
from flex_robot_sim.util.exceptions import UsageError

PERIOD = 0.002
TIME = PERIOD * np.arange(1500)
WAVE = np.sin(20 * TIME) * (1 - np.exp(-TIME))


def parsed(text):
    return parse_filters([f'arm/root={text}'], ['arm/root'], PERIOD)['arm/root']


def test_a_frequency_is_a_butterworth_filter():
    b, a = butter(2, 30.0, fs=1 / PERIOD)
    np.testing.assert_allclose(parsed('30').filtered(WAVE, PERIOD), lfilter(b, a, WAVE), atol=1e-9)


def test_a_frequency_and_a_damping_ratio_are_an_oscillator():
    rate = 2 * np.pi * 12.0
    _, response, _ = lsim(([rate**2], [1.0, 0.6 * rate, rate**2]), WAVE, TIME)
    np.testing.assert_allclose(parsed('12,0.3').filtered(WAVE, PERIOD), response, atol=2e-3)


def test_five_numbers_are_coefficients():
    b, a = butter(2, 30.0, fs=1 / PERIOD)
    low_pass = parsed(','.join(map(repr, [*b.tolist(), *a[1:].tolist()])))
    np.testing.assert_allclose(low_pass.filtered(WAVE, PERIOD), lfilter(b, a, WAVE), atol=1e-9)
    coarse = low_pass.filtered(WAVE[::4], 4 * PERIOD)
    np.testing.assert_allclose(coarse, lfilter(b, a, WAVE)[:1497:4][: len(coarse)], atol=1e-4)


@pytest.mark.parametrize('text', ['30', '30,0.2', '0.05,0.1,0.05,-1.2,0.4'])
def test_the_power_that_passes_is_that_of_a_sine(text):
    low_pass, frequency = parsed(text), 25.0
    sine = np.sin(2 * np.pi * frequency * TIME)
    ratio = low_pass.filtered(sine, PERIOD)[500:].var() / sine[500:].var()
    assert low_pass.passes(np.array([frequency]))[0] == pytest.approx(ratio, rel=0.02)


FORMS = 'SIGNAL=HZ, SIGNAL=HZ,ZETA or SIGNAL=b0,b1,b2,a1,a2'


@pytest.mark.parametrize(
    'text, problem',
    {
        'x': f'write {FORMS}.',
        '1,2,3': f'write {FORMS}.',
        'nan': f'write {FORMS}.',
        '300': 'must be above 0 and below 250 Hz, half the rate of the log.',
        '30,0': 'the damping ratio must be above 0 and at most 100.',
        '1,0,0,-2.1,1': 'is not stable. Give b0,b1,b2,a1,a2 of '
        'y_k = b0 u_k + b1 u_k-1 + b2 u_k-2 - a1 y_k-1 - a2 y_k-2.',
        '1,-2,1,0,0': 'b0 + b1 + b2 must be above 0, as it is a low-pass.',
    }.items(),
)
def test_an_invalid_filter_is_one_line(text, problem):
    assert refusal(UsageError, parsed, text) == f'--filter arm/root={text}: {problem}'
