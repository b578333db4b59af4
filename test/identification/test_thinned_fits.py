"""Fits of thinned logs, against the true EI of finite elements."""

from functools import cache

import pytest
from hub_beam import EI
from hub_beam_log import STEP, hub_beam_signals, with_noise

import flex_robot_sim as frs
from flex_robot_sim.identification import long_fit, make_log
from flex_robot_sim.identification.identify import identify
from flex_robot_sim.identification.prediction import Setup
from flex_robot_sim.identification.sequences import make_data_set

pytestmark = pytest.mark.slow

SECONDS = 6.0


@cache
def clean_signals():
    return hub_beam_signals(SECONDS, STEP)  # 2 kHz


@pytest.mark.long
@pytest.mark.parametrize('seed', range(3))
def test_true_EI_lies_in_the_interval_of_a_thinned_fit(seed, monkeypatch):
    monkeypatch.setattr(long_fit, 'START_S', 3.0)
    times, signals = clean_signals()
    log = make_log(times, with_noise(signals, seed))
    text = frs.read_description('single_link').text
    arm = frs.load(text.replace('E="206e9"', 'E="180e9"'))
    setup = Setup(arm.description, make_data_set([log], arm))
    found = identify(setup, ['arm.EIz', 'delay'], long_rows=1000)
    assert found.is_good and any('are thinned to' in note for note in found.notes)
    (stiffness,) = (one for one in found.estimates if one.path == 'arm.EIz')
    assert stiffness.value == pytest.approx(EI, rel=2e-3)
    assert stiffness.interval[0] <= EI <= stiffness.interval[1]
