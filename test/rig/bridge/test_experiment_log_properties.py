"""Logs of an experiment with any telemetry: read as written, and a cut costs only the end."""

import pytest

pytest.importorskip('mcap')
pytest.importorskip('hypothesis')

from hypothesis import given
from hypothesis import strategies as st
from random_cases import cases
from wire_messages import messages

import flex_robot_sim as frs
from flex_robot_sim.rig.bridge.bridge import BridgeSettings, calibration_of
from flex_robot_sim.rig.bridge.experiment_log import ExperimentLog, read_experiment
from flex_robot_sim.rig.host.link_session import Reading
from flex_robot_sim.rig.wire.frames import encode
from flex_robot_sim.rig.wire.protocol import Telemetry
from flex_robot_sim.rig.wire.vocabulary import Fault
from flex_robot_sim.util.exceptions import UsageError

times = st.floats(0.0, 1e9).map(lambda time: round(time, 6))
readings = st.lists(st.builds(Reading, messages(Telemetry), times, times), min_size=2, max_size=8)
forms = st.sampled_from(['csv', 'mcap'])


@pytest.fixture(scope='module')
def arm():
    return frs.load('rig')


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp('experiments')


def write(path, arm, sent):
    path.unlink(missing_ok=True)
    log = ExperimentLog(path, arm, calibration_of(BridgeSettings(), arm))
    log.put_all(sent)
    log.close()
    assert log.rows == len(sent) and not log.failure


def on_the_wire(sent):
    """Return what a board would have to send, and the two times of each reading."""
    return [(encode(one.message), one.stamp, one.arrived) for one in sent]


@pytest.mark.slow
@cases(20)
@given(sent=readings, form=forms)
def test_any_telemetry_is_read_as_it_was_written(folder, arm, sent, form):
    path = folder / f'run.{form}'
    write(path, arm, sent)
    assert on_the_wire(read_experiment(path).readings) == on_the_wire(sent)


@pytest.mark.parametrize('form', ['csv', 'mcap'])
def test_a_state_of_newer_firmware_stays_a_number_in_a_log(tmp_path, arm, form):
    message = Telemetry._make([*[0] * 3, *[1] * 2, 0.0, 0, 0.0, 174, 0, Fault(0), 0, 0.0])
    write(tmp_path / f'run.{form}', arm, [Reading(message, 1.0, 1.0)] * 2)
    found = read_experiment(tmp_path / f'run.{form}').readings
    assert [reading.message.state for reading in found] == [174, 174]


@pytest.mark.slow
@cases(20)
@given(sent=readings, form=forms, share=st.floats(0.0, 1.0))
def test_a_log_that_is_cut_off_keeps_its_beginning(folder, arm, sent, form, share):
    path = folder / f'cut.{form}'
    write(path, arm, sent)
    whole = path.read_bytes()
    path.write_bytes(whole[: round(share * len(whole))])
    try:
        found = on_the_wire(read_experiment(path).readings)
    except UsageError as error:
        assert '\n' not in str(error)
        return
    assert found == on_the_wire(sent)[: len(found)]
