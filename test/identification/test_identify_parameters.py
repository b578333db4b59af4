"""Identification in one call, from the log of finite elements."""

import pytest
from hub_beam import EI
from hub_beam_log import chirp_log
from refusals import refusal

import flex_robot_sim as frs
from flex_robot_sim.identification import Log, identify_parameters, make_log

pytestmark = pytest.mark.slow


@pytest.fixture(scope='module')
def log():
    return chirp_log()


@pytest.mark.long
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
