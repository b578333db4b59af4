"""Fits of sensor and drive terms, to logs of finite elements that a formula changes."""

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from hub_beam import EI
from hub_beam_log import hub_beam_signals, with_noise

import flex_robot_sim as frs
from flex_robot_sim.identification import identify_parameters, make_log

pytestmark = pytest.mark.slow

SECONDS, PERIOD, STEP = 6.0, 4e-3, 2e-3  # of a log; of its samples; of the fit [s]
ROOT, TIP = 'arm/root', 'arm/tip'


class Case(NamedTuple):
    """A term: the group of `--free`, its values by path, and how it changes the signals."""

    group: str
    values: dict[str, float]
    change: object = lambda signals: signals
    load: object = lambda angle: 0.0


def with_gauges(change):
    """Return a function that changes both gauges of signals."""

    def changed(signals):
        rates = np.sign(signals['velocity/motor'])
        return {**signals, **dict(zip((ROOT, TIP), change(signals[ROOT], signals[TIP], rates)))}

    return changed


CASES = [
    Case(
        'gains',
        {f'{ROOT}.gain': 1.3, f'{TIP}.gain': 0.75},
        with_gauges(lambda root, tip, sign: (1.3 * root, 0.75 * tip)),
    ),
    Case(
        'crosstalk',
        {f'{ROOT}.crosstalk': 0.6, f'{TIP}.crosstalk': -0.08},
        with_gauges(lambda root, tip, sign: (root + 0.6 * tip, tip - 0.08 * root)),
    ),
    Case(
        'rate_sign',
        {f'{ROOT}.rate_sign': 0.004, f'{TIP}.rate_sign': -0.002},
        with_gauges(lambda root, tip, sign: (root + 0.004 * sign, tip - 0.002 * sign)),
    ),
    Case(
        'torque_constants',
        {'motor.torque_constant': 0.5},
        lambda signals: {**signals, 'effort/motor': signals['effort/motor'] / 0.5},
    ),
    Case(
        'cable',
        {'motor.cable_torque': 0.01, 'motor.cable_stiffness': 1.2},
        load=lambda angle: 0.01 + 1.2 * angle,
    ),
]


@cache
def arm():
    text = frs.read_description('single_link').text
    text = text.replace('E="206e9"', 'E="190e9"')
    return frs.load(text)


@cache
def clean_signals():
    return hub_beam_signals(SECONDS, PERIOD)


def recorded(case, seed=1):
    """Return the Log of a case."""
    has_load = case.load(1.0) != 0.0
    times, signals = hub_beam_signals(SECONDS, PERIOD, case.load) if has_load else clean_signals()
    return make_log(times, with_noise(case.change(signals), seed))


@pytest.mark.long(after=1)
@pytest.mark.parametrize('case', CASES, ids=lambda case: case.group)
def test_a_fit_finds_the_values_of_a_term_and_EI(case):
    free = ['arm.EIz', case.group]
    found = identify_parameters(arm(), recorded(case), free=free, time_step=STEP)
    assert found.is_good
    assert found.values['arm.EIz'] == pytest.approx(EI, rel=2e-3)
    for one in found.estimates:
        if one.path == 'arm.EIz':
            continue
        value, (low, high) = case.values[one.path], one.interval
        assert one.is_identifiable and one.value == pytest.approx(value, rel=0.03)
        assert low <= value <= high and high - low < 0.1 * abs(value)


@pytest.mark.long
@pytest.mark.parametrize('case', CASES, ids=lambda case: case.group)
def test_a_fit_without_the_term_is_not_good(case):
    found = identify_parameters(arm(), recorded(case), free=['arm.EIz'], time_step=STEP)
    assert not found.is_good
