"""Identification in one call, from the log of finite elements."""

import numpy as np
import pytest
from hub_beam import EI, HubBeam
from refusals import refusal

import flex_robot_sim as frs
from flex_robot_sim.identification import Log, identify_parameters, make_log

pytestmark = pytest.mark.slow

SERVO = 20.0, 0.3


@pytest.fixture(scope='module')
def log():
    """A small chirp of finite elements on a servo, with noise."""
    plant, rows, random = HubBeam(1e-3), [], np.random.default_rng(1)
    for k in range(8000):
        t = k * 1e-3
        target = 0.01 * np.sin(2 * np.pi * (0.4 + 0.15 * t) * t)
        effort = SERVO[0] * (target - plant.position[0]) - SERVO[1] * plant.velocity[0]
        if k % 5 == 0:
            rows.append((t, plant.position[0], *plant.curvature))
        plant.step(effort)
    times, position, root, tip = np.array(rows).T
    noise = 2e-5 * random.standard_normal((2, times.size))
    return make_log(
        times, {'position/motor': position, 'arm/root': root + noise[0], 'arm/tip': tip + noise[1]}
    )


def test_stiffness_of_finite_elements_lies_in_its_interval(log):
    text = frs.read_description('single_link').text
    wrong = text.replace('E="206e9"', 'E="180e9"')
    assert wrong != text
    arm = frs.load(wrong)
    found = identify_parameters(arm, log, free=['arm.EIz'], by_motion=True)
    (number,) = (one for one in found.estimates if one.path == 'arm.EIz')
    assert number.is_identifiable and found.is_good
    assert number.value == pytest.approx(EI, rel=0.01)
    assert number.interval[0] < number.value < number.interval[1]
    assert found.values['arm.EIz'] == number.value


def test_payload_that_is_not_described_is_refused(log):
    loaded = frs.with_payload(frs.load('single_link'), 'tool', 0.02)
    with pytest.raises(frs.SettingError, match='^arm carries a payload that its description '):
        identify_parameters(loaded, log, free=['arm.EIz'], by_motion=True)


@pytest.mark.parametrize(
    'line, act',
    {
        'logs = [] must have one log at least': lambda arm: identify_parameters(arm, []),
        'logs = 3 must be logs: paths of files, or make_log(times, signals)': lambda arm: (
            identify_parameters(arm, 3)
        ),
        'times must be finite and rise, one number per sample [s]': lambda arm: make_log(
            [0.0, 0.0], {}
        ),
        'signals["position/motor"] must be 2 finite numbers, one per time': lambda arm: make_log(
            [0.0, 1.0], {'position/motor': [1.0]}
        ),
        "signals = [1.0] must be values by name: {'position/elbow': values}": lambda arm: make_log(
            [0.0, 1.0], [1.0]
        ),
    }.items(),
)
def test_mistake_is_one_line(act, line):
    assert refusal(frs.SettingError, act, frs.load('single_link')) == line


def test_made_log_is_a_log():
    log = make_log([0.0, 0.1], {'effort/motor': [1, 2]}, name='mine')
    assert isinstance(log, Log) and log.path == 'mine'
    assert log.columns['effort/motor'].values.dtype == float
