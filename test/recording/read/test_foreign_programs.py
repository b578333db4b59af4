"""Logs that pandas, numpy, csv and mcap_ros2 write, through the reader and three commands."""

import json

import numpy as np
import pytest
from foreign_logs import TABLES, by_pandas, write_joint_states
from hub_beam import EI
from hub_beam_log import hub_beam_signals, with_noise

from flex_robot_sim.cli import main
from flex_robot_sim.identification import log_file
from flex_robot_sim.recording.read.reader import read_recording

pytestmark = pytest.mark.slow

PERIOD, COUNT = 5e-3, 1000  # [s]
FREQUENCY, RATIO = 4.0, 0.01
TIMES = PERIOD * np.arange(COUNT)
RATE = 2 * np.pi * FREQUENCY
DECAY = np.exp(-RATIO * RATE * TIMES) * np.sin(RATE * np.sqrt(1 - RATIO**2) * TIMES)
COLUMNS = {'ax': DECAY, 'ay': -1234.5 + 0.3 * DECAY}


@pytest.fixture(params=TABLES)
def foreign(request, tmp_path):
    """Return the path of a file, and what the note about it says."""
    write, note = TABLES[request.param]
    path = tmp_path / 'run.csv'
    write(path, TIMES, COLUMNS)
    return path, note


def test_the_reader_finds_the_numbers_of_a_program(foreign):
    path, note = foreign
    recording = read_recording(path)
    for name, values in COLUMNS.items():
        column = recording.columns[name]
        np.testing.assert_allclose(column.values, values, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(column.time, TIMES, rtol=1e-12)
    assert recording.notes == ([f'{path}: {note}'] if note else [])


def test_a_log_takes_the_signals_of_a_program(foreign):
    log = log_file.read_log(foreign[0], ['position/motor=ay*deg', 'arm/root=ax'])
    np.testing.assert_allclose(
        log.columns['position/motor'].values, np.radians(COLUMNS['ay']), rtol=1e-12
    )
    np.testing.assert_allclose(log.columns['arm/root'].values, DECAY, rtol=1e-12, atol=1e-15)


@pytest.mark.long(after=4)
def test_a_shaper_finds_the_frequency_in_a_file_of_a_program(foreign, capsys):
    assert main(['shape', '--log', str(foreign[0]), '--column', 'ax', '--json']) == 0
    mode = json.loads(capsys.readouterr().out)['resonances'][0]
    assert mode['frequency'] == pytest.approx(FREQUENCY, rel=1e-3)
    assert mode['ratio'] == pytest.approx(RATIO, rel=0.05)


@pytest.mark.long(after=4)
def test_a_report_has_the_extremes_of_a_file_of_a_program(foreign, capsys):
    path = foreign[0]
    assert main(['report', str(path), '--output', str(path.with_suffix('.html')), '--json']) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts['rows'], facts['rate']) == (COUNT, pytest.approx(1 / PERIOD))
    column = facts['columns']['ay']
    values = COLUMNS['ay']
    assert column['least'] == pytest.approx(values.min(), rel=1e-9)
    assert column['largest'] == pytest.approx(values.max(), rel=1e-9)


@pytest.mark.parametrize(
    'command', [['identify', 'PATH', 'single_link'], ['shape', '--log', 'PATH']]
)
def test_dates_instead_of_times_are_one_clear_line(command, tmp_path, capsys):
    pandas = pytest.importorskip('pandas')
    path = tmp_path / 'run.csv'
    dates = pandas.date_range('2026-11-27 09:00', periods=COUNT, freq='5ms')
    by_pandas()(path, dates, COLUMNS)
    assert main([str(path) if word == 'PATH' else word for word in command]) == 2
    said = capsys.readouterr().err
    line = (
        f'flexsim {command[0]}: {path}: the times in "time" are text, such as dates. Write seconds'
    )
    assert said.startswith(line) and said.count('\n') == 1


def beam_signals():
    """Return times and measured signals of finite elements."""
    times, signals = hub_beam_signals(6.0, 4e-3)
    return times, with_noise(signals, 3)


def write_mcap(path, times, signals):
    """Write signals of `single_link` as its topics."""
    joints = {field: {'motor': signals[f'{field}/motor']} for field in ('position', 'effort')}
    strain = {'position': {name: signals[name] for name in ('arm/root', 'arm/tip')}}
    write_joint_states(path, times, {'/joint_states': joints, '/strain': strain})


@pytest.mark.long(after=1)
@pytest.mark.parametrize('name', ['run.csv', 'run.mcap'])
def test_a_fit_to_a_file_of_a_program_finds_EI(name, tmp_path, capsys):
    path, (times, signals) = tmp_path / name, beam_signals()
    if name == 'run.csv':
        by_pandas(sep=';', decimal=',')(path, times, signals)
    else:
        write_mcap(path, times, signals)
    words = ['--free', 'arm.EIz', '--time-step', '2e-3', '--json']
    assert main(['identify', str(path), 'single_link', *words]) == 0
    found = json.loads(capsys.readouterr().out)['estimates']['arm.EIz']
    assert found['value'] == pytest.approx(EI, rel=5e-3)


def test_messages_of_mcap_ros2_have_the_numbers_that_were_written(tmp_path):
    path = tmp_path / 'run.mcap'
    strain = {'position': {'arm/root': DECAY}}
    joints = {'position': {'a': DECAY, 'b': COLUMNS['ay']}, 'effort': {'a': TIMES, 'b': -TIMES}}
    write_joint_states(path, TIMES, {'/joint_states': joints, '/strain': strain})
    columns = read_recording(path).columns
    for name, values in {
        'position/a': DECAY,
        'position/b': COLUMNS['ay'],
        'effort/b': -TIMES,
        'arm/root': DECAY,
    }.items():
        np.testing.assert_array_equal(columns[name].values, values)
        np.testing.assert_allclose(np.diff(columns[name].time), PERIOD, atol=1e-6)
