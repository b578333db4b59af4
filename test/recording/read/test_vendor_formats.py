"""Files of Klipper, phone apps, LeRobot and ROS bags: the numbers, and the true frequency."""

import json
import zipfile

import numpy as np
import pytest
from project_files import ROOT
from refusals import refusal
from vendor_logs import VENDORS, phyphox_text, write_lerobot, write_sqlite_bag

from flex_robot_sim.cli import main
from flex_robot_sim.recording.read.reader import read_recording
from flex_robot_sim.util.exceptions import UsageError

pytestmark = pytest.mark.slow

PERIOD, COUNT = 5e-3, 800  # [s]
FREQUENCY, RATIO = 4.0, 0.01
TIMES = PERIOD * np.arange(COUNT)
RATE = 2 * np.pi * FREQUENCY
DECAY = np.exp(-RATIO * RATE * TIMES) * np.sin(RATE * np.sqrt(1 - RATIO**2) * TIMES)
NOISE = 1e-3 * np.random.default_rng(0).normal(size=(COUNT, 3))
SAMPLES = DECAY[:, None] * [1.0, 0.3, 0.0] + NOISE + [0.0, 0.0, 0.2]


@pytest.fixture(params=VENDORS)
def log(request, tmp_path):
    """Return the path of a log, and the names of its accelerations."""
    write, names = VENDORS[request.param]
    return write(tmp_path, TIMES, SAMPLES), names


def test_the_reader_finds_the_accelerations_and_their_times(log):
    path, names = log
    recording = read_recording(path)
    for name, values in zip(names, SAMPLES.T):
        time, found = recording.columns[name]
        np.testing.assert_allclose(found, values, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(time - time[0], TIMES, atol=2e-6)
    assert not recording.default_columns or {*names} <= {*recording.default_columns}


@pytest.mark.long(after=3)
def test_shape_takes_the_accelerometer_without_an_option(log, capsys):
    assert main(['shape', '--log', str(log[0]), '--json']) == 0
    summary = json.loads(capsys.readouterr().out)
    first = summary['resonances'][0]
    assert first['frequency'] == pytest.approx(FREQUENCY, rel=2e-3)
    assert {*log[1]} <= {*summary['columns']} and len(summary['columns']) in (3, 6)


@pytest.mark.parametrize(
    'separator, point', [(',', '.'), (';', '.'), ('\t', '.'), (';', ','), ('\t', ',')]
)
def test_each_csv_format_of_phyphox_has_the_same_numbers(tmp_path, separator, point):
    path = tmp_path / 'Raw Data.csv'
    path.write_text(phyphox_text(TIMES, SAMPLES, separator, point))
    columns = read_recording(path).columns
    x = columns['Acceleration x (m/s^2)']
    np.testing.assert_allclose(x.values, SAMPLES[:, 0], rtol=1e-8)
    np.testing.assert_allclose(x.time, TIMES, rtol=1e-8)


@pytest.mark.parametrize('form', ['csv', 'numpy', 'parquet'])
def test_an_exported_recording_has_the_columns_of_the_recording(tmp_path, form, capsys):
    if form == 'parquet':
        pytest.importorskip('pyarrow')
    path = tmp_path / 'run.mcap'
    simulate = ['simulate', 'two_link', '--seconds', '0.4', '--rate', '200', '--to', '0.1,0.1,0']
    assert main([*simulate, '--output', str(path)]) == 0
    output = tmp_path / ('run.npz' if form == 'numpy' else 'run')
    assert main(['export', str(path), '--format', form, '--output', str(output)]) == 0
    capsys.readouterr()
    recorded, exported = read_recording(path).columns, read_recording(output).columns
    names = [name for name in recorded if ':' not in name]
    assert 'position/shoulder' in names or len(names) > 5
    for name in names:
        np.testing.assert_allclose(exported[name].values, recorded[name].values, atol=1e-12)
        np.testing.assert_allclose(exported[name].time, recorded[name].time, atol=1e-9)
    if form == 'csv':
        states = read_recording(output / 'joint_states.csv').columns
        assert 'stamp' not in states
        position = next(name for name in names if name.startswith('position/'))
        np.testing.assert_array_equal(states[position].values, exported[position].values)


def test_topics_without_a_definition_are_left_out_with_a_note(tmp_path):
    recording = read_recording(write_sqlite_bag(tmp_path, TIMES, SAMPLES))
    (note,) = recording.notes
    assert note.endswith(
        'has no definition of geometry_msgs/msg/Point, so /clicked is left out. Convert the bag '
        'to MCAP by ros2 bag convert'
    )


def test_what_is_no_recording_is_one_line(tmp_path):
    lines = {}
    for name, text in {
        'README.md': (ROOT / 'README.md').read_text(),
        'NOTICE': 'name\nCopyright 2026\nNo warranty\n',
        'resonances_x.csv': 'freq,psd_x,psd_y,psd_z,psd_xyz\n5.0,1.0,2.0,3.0,6.0\n',
        'broken.zip': 'PK\x03\x04 and no more',
        'broken.csv.gz': b'\x1f\x8b\x08\x00 and no more',
        'broken.parquet': 'PAR1 and no more',
        'broken.db3': 'SQLite format 3\0 and no more',
    }.items():
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        lines[name] = refusal(UsageError, read_recording, path).removeprefix(str(path))
    for name, member in {'sheet.zip': '[Content_Types].xml', 'empty.zip': 'a.png'}.items():
        path = tmp_path / name
        with zipfile.ZipFile(path, 'w') as file:
            file.writestr(member, 'x')
        lines[name] = refusal(UsageError, read_recording, path).removeprefix(str(path))
    beginnings = {
        'README.md': ': is no recording, as few of its lines are numbers. Give a file of',
        'NOTICE': ': is no recording, as none of its columns are numbers. Give a file of',
        'resonances_x.csv': ': holds spectra of a resonance test, and no samples. Record them by',
        'broken.zip': ': is an archive that is damaged or encrypted: ',
        'broken.csv.gz': ': is cut off or damaged: ',
        'broken.parquet': ': cannot be read as Parquet: ',
        'broken.db3': ': is a database, and no bag of ROS 2. Export it as CSV.',
        'sheet.zip': ': is a spreadsheet. Export it as CSV.',
        'empty.zip': ': has no table with times and numbers. Give a CSV or MCAP file.',
    }
    for name, beginning in beginnings.items():
        assert lines[name].startswith(beginning) and '\n' not in lines[name], lines[name]


def test_an_archive_that_unpacks_beyond_the_limit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv('FLEX_ROBOT_SIM_MAX_CHUNK_MB', '0.1')
    path = tmp_path / 'large.zip'
    with zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED) as file:
        file.writestr('a.csv', 'time,a\n' + '0,0\n' * 2_000_000)
    assert ': unpacks to more than ' in refusal(UsageError, read_recording, path)


def test_an_episode_of_lerobot_is_named_by_its_number(tmp_path, capsys):
    path = write_lerobot(tmp_path, TIMES, SAMPLES)
    first, second = (read_recording(f'{path}#{number}') for number in (0, 1))
    for recording, count in ((first, COUNT), (second, 20)):
        column = recording.columns['observation.state/ax']
        np.testing.assert_allclose(column.values, SAMPLES[:count, 0], rtol=1e-6, atol=1e-6)
        assert not any('several episodes' in note for note in recording.notes)
    (note,) = [note for note in read_recording(path).notes if 'several episodes' in note]
    assert note.endswith(f'Name another one by its number, such as {path}#1')
    with pytest.raises(UsageError) as caught:
        read_recording(f'{path}#2')
    assert str(caught.value) == f'{path}: has no episode 2. The first one has the number 0.'
    assert main(['shape', '--log', f'{path}#0', '--json']) == 0
    found = json.loads(capsys.readouterr().out)['resonances'][0]['frequency']
    assert found == pytest.approx(FREQUENCY, rel=1e-3)
