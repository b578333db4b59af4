"""Experiment logs: writing and reading are inverse, and errors name the line."""

import json
import os
import re
import zlib

import numpy as np
import pytest
from refusals import refusal
from rig_lockstep import Lab

import flex_robot_sim as frs
from flex_robot_sim.cli import main
from flex_robot_sim.rig.bridge.bridge import BridgeSettings, calibration_of
from flex_robot_sim.rig.bridge.experiment_log import (
    COLUMNS,
    FORMAT,
    ExperimentLog,
    durations,
    read_experiment,
)
from flex_robot_sim.rig.bridge.experiment_recording import ExperimentRecording, read_recording
from flex_robot_sim.rig.calibration.file import write_calibration
from flex_robot_sim.rig.wire.profile import segment
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.share import shipped_robots

pytestmark = pytest.mark.slow

# hash of the columns of a log, by format; a new hash needs a new format
COLUMNS_OF_LOGS = {1: '6b6862a8'}


@pytest.fixture(scope='module')
def arm():
    return frs.load('rig')


@pytest.fixture(scope='module')
def readings(arm):
    lab = Lab(arm)
    lab.play([segment(0.2, 0.5, 500.0), segment(0.2, -0.5, -500.0)], 500)
    return lab.readings


@pytest.fixture(params=['csv', 'mcap'])
def any_path(request, tmp_path, arm, readings):
    return written(tmp_path / f'run.{request.param}', arm, readings)


@pytest.fixture
def path(tmp_path, arm, readings):
    return written(tmp_path / 'run.csv', arm, readings)


def new_log(path, arm):
    return ExperimentLog(path, arm, calibration_of(BridgeSettings(), arm))


def written(path, arm, readings):
    log = new_log(path, arm)
    for reading in readings:
        log.put(reading)
    log.close()
    assert log.rows == len(readings) and not log.failure
    return path


def test_a_written_log_is_read_back(any_path, arm, readings):
    run = read_experiment(any_path)
    assert [reading.message for reading in run.readings] == [r.message for r in readings]
    assert run.readings[0].message.state is readings[0].message.state
    assert run.calibration == calibration_of(BridgeSettings(), arm)
    assert run.arm.joint_names == arm.joint_names and run.arm.size == arm.size


def test_a_recorded_experiment_is_readable_by_others_and_if_truncated(tmp_path, arm, readings):
    path = written(tmp_path / 'run.mcap', arm, readings)
    read = pytest.importorskip('mcap_ros2.reader').read_ros2_messages
    rows = [item.ros_msg for item in read(str(path), topics=['/telemetry'])]
    assert [row.slide_counts for row in rows] == [r.message.slide_counts for r in readings]
    assert [row.stamp for row in rows] == [reading.stamp for reading in readings]
    # in two parts: bytes of one write are lost together
    about, _ = read_recording(path)
    short = ExperimentRecording(tmp_path / 'short.mcap', about)
    for k in range(0, len(readings), 20):
        short.write(readings[k : k + 20])
    short.close()
    data = (tmp_path / 'short.mcap').read_bytes()
    path.write_bytes(data[: len(data) // 2])
    run = read_experiment(path)
    assert 20 <= len(run.readings) < len(readings)
    assert [reading.message for reading in run.readings] == [
        reading.message for reading in readings[: len(run.readings)]
    ]


def test_another_recording_is_not_an_experiment(tmp_path):
    from flex_robot_sim.recording.mcap_file import RecordingWriter

    path = tmp_path / 'x.mcap'
    RecordingWriter(path, {}).close()
    line = f'{path}: this is no log of an experiment of this version.'
    assert refusal(UsageError, read_experiment, path) == line


def test_the_arm_of_a_log_is_the_driven_arm(tmp_path, readings):
    file = tmp_path / 'bench.urdf.xacro'
    text = shipped_robots()['rig'].read_text('utf-8')
    heavier, count = re.subn(
        r'(<link name="(?:carriage|tool)">.*?<mass value=")([\d.]+)',
        r'\1${\2*factor}',
        text,
        flags=re.DOTALL,
    )
    assert count
    file.write_text(
        heavier.replace(
            '<robot name="rig">',
            '<robot name="rig" xmlns:xacro="http://www.ros.org/wiki/xacro">'
            '<xacro:arg name="factor" default="1.0"/>'
            '<xacro:property name="factor" value="$(arg factor)"/>',
        ),
        'utf-8',
    )
    driven = frs.load(
        file, coupling='zero_order', gravity=(0.0, 0.0, 0.0), xacro_arguments={'factor': '1.25'}
    )
    path = written(tmp_path / 'run.csv', driven, readings[:5])
    file.unlink()  # the log is self-contained
    found = read_experiment(path).arm
    for name in ('inertia', 'base_acceleration', 'home_p', 'point_mass', 'stiffness'):
        assert np.array_equal(getattr(found.arrays, name), getattr(driven.arrays, name))
    assert found.coupling == 'zero_order'
    plain = frs.load('rig')
    assert not np.allclose(found.arrays.inertia, plain.arrays.inertia)
    # another robot gets the gravity of the log
    assert not read_experiment(path, 'rig').arm.arrays.base_acceleration.any()


def test_a_log_without_gravity_is_still_readable(path):
    head, _, rest = path.read_text().partition('\n')
    about = json.loads(head[1:])
    del about['gravity'], about['coupling']
    path.write_text(f'# {json.dumps(about)}\n{rest}')
    arm = read_experiment(path).arm
    assert arm.coupling == 'shortening' and arm.arrays.base_acceleration[5] == 9.81


def test_raw_counts_are_integers_in_the_file(path, readings):
    lines = path.read_text().splitlines()
    row = dict(zip(lines[1].split(','), lines[2].split(',')))
    assert lines[1] == ','.join(COLUMNS)
    assert row['adc_root'] == str(readings[0].message.adc_root)
    assert row['slide_counts'] == '45000'


def test_durations_are_correct_across_the_wrap_of_the_board_clock(readings):
    wrap = 1 << 32
    ticks = [wrap - 3000, wrap - 1000, 1000, 5000]
    moved = [
        reading._replace(message=reading.message._replace(time=tick))
        for reading, tick in zip(readings, ticks)
    ]
    assert durations(moved).tolist() == pytest.approx([0.0, 0.002, 0.002, 0.004])


def test_the_log_of_a_killed_writer_ends_with_its_last_complete_row(path, readings):
    text = path.read_text()
    path.write_text(text[:-20])
    assert len(read_experiment(path).readings) == len(readings) - 1


def test_an_existing_file_is_not_overwritten(path, arm):
    line = f'log file {path}: File exists. Name a new file in a folder that exists.'
    assert refusal(UsageError, new_log, path, arm) == line


@pytest.mark.parametrize(
    'number, change, message',
    [
        (1, lambda line: 'hello', ':1: this is no log of an experiment of this version.'),
        (
            1,
            lambda line: line.replace(f'"format": {FORMAT}', '"format": 99'),
            ':1: this is no log of an experiment of this version.',
        ),
        (
            1,
            lambda line: line.replace('"scale"', '"skale"'),
            ':1: calibration: slide: no setting "skale". Known: scale, zero, deviation, '
            'scale_deviation',
        ),
        (
            2,
            lambda line: line.replace('duty', 'dutty'),
            f':2: the columns must be {",".join(COLUMNS)}.',
        ),
        (5, lambda line: line.replace(',', ';'), ':5: this is no row of telemetry.'),
        (5, lambda line: line + ',7', ':5: this is no row of telemetry.'),
    ],
)
def test_a_damaged_log_is_rejected_with_its_line(path, number, change, message):
    lines = path.read_text().splitlines()
    lines[number - 1] = change(lines[number - 1])
    path.write_text('\n'.join(lines) + '\n')
    assert refusal(UsageError, read_experiment, path) == f'{path}{message}'


def test_a_log_with_other_columns_has_another_format():
    found = f'{zlib.crc32(",".join(COLUMNS).encode()):08x}'
    assert COLUMNS_OF_LOGS[FORMAT] == found, (
        'logs have other columns: raise FORMAT in experiment_log.py, and note its hash here'
    )


def test_a_log_without_a_robot_requires_one(path):
    head, _, rest = path.read_text().partition('\n')
    about = json.loads(head[1:])
    path.write_text(f'# {json.dumps({**about, "robot": ""})}\n{rest}')
    line = f'{path}:1: the log does not hold the robot. Name it.'
    assert refusal(UsageError, read_experiment, path) == line
    assert read_experiment(path, 'rig').arm.description.name == 'rig'


@pytest.mark.parametrize(
    'lost, parts',
    [
        (0, ('with the motors on', 'strip/root')),
        (100, ('0.20 s of telemetry are missing while the motors were on.',)),  # at 500 Hz
    ],
)
def test_compare_prints_a_table_and_the_missing_part_of_a_log(path, capsys, lost, parts):
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(''.join([*lines[:200], *lines[200 + lost :]]))
    assert main(['rig', 'compare', str(path)]) == 0
    out = capsys.readouterr().out
    assert all(part in out for part in parts)
    assert all(len(line) < 100 for line in out.splitlines())


def test_a_log_on_a_full_disk_reports_it_and_closes(path, tmp_path, arm, readings):
    log = new_log(tmp_path / 'full.csv', arm)
    full = os.open('/dev/full', os.O_WRONLY)
    os.dup2(full, log._file.fileno())
    os.close(full)
    log.put(readings[0])
    log.close()
    assert log.failure == f'log file {log.path}: No space left on device'


def test_compare_prints_one_json_object_and_a_figure(path, tmp_path, capsys):
    figure = tmp_path / 'run.png'
    assert main(['rig', 'compare', str(path), '--json', '--plot', str(figure)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts['quantities']['slide']['unit'] == 'm' and facts['runs'] == 1
    assert figure.read_bytes().startswith(b'\x89PNG')


def test_compare_reads_the_log_with_another_calibration(path, tmp_path, arm, capsys):
    file = tmp_path / 'bench.yaml'
    calibration = calibration_of(BridgeSettings(), arm)
    write_calibration(file, calibration)
    printed = []
    for words in (['--calibration', str(file)], []):
        assert main(['rig', 'compare', str(path), '--json', *words]) == 0
        printed.append(json.loads(capsys.readouterr().out))
    assert printed[0] == printed[1]


@pytest.mark.parametrize(
    'words, message',
    [
        (['nowhere.csv'], 'nowhere.csv: cannot be read: No such file or directory.'),
        (['LOG', '--plot', 'x.txt'], 'x.txt: a figure ends in one of .png, .pdf, .svg'),
        (['LOG', '--robot', 'two_link'], 'is no bench: it needs a prismatic joint'),
    ],
)
def test_compare_reports_an_error_in_one_line(path, words, message, capsys):
    words = [str(path) if word == 'LOG' else word for word in words]
    assert main(['rig', 'compare', *words]) == 2
    said = capsys.readouterr().err
    assert message in said and said.count('\n') == 1


def test_compare_reports_a_bench_that_never_moved(tmp_path, arm, capsys):
    lab = Lab(arm)
    lab.wait(20)
    path = written(tmp_path / 'still.csv', arm, lab.readings)
    assert main(['rig', 'compare', str(path)]) == 2
    assert 'the motors were never on' in capsys.readouterr().err


@pytest.mark.parametrize('kind', ['csv', 'mcap'])
def test_an_arm_with_other_parameters_than_its_urdf_is_not_logged(tmp_path, arm, kind):
    other = frs.with_parameters(arm, {'strip.EIz': ('*', 1.1)})
    with pytest.raises(UsageError, match='parameters differ from those of its URDF'):
        new_log(tmp_path / f'run.{kind}', other)
    assert not [*tmp_path.iterdir()]
