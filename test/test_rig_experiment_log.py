"""Logs of experiments: what is written is what is read, and what is wrong is said by line."""

import json
import os

import pytest
from rig_lockstep import Lab

import flex_robot_sim as frs
from flex_robot_sim.cli import main
from flex_robot_sim.exceptions import UsageError
from flex_robot_sim.rig.bridge import BridgeSettings, calibration_of
from flex_robot_sim.rig.calibration_file import write_calibration
from flex_robot_sim.rig.experiment_log import COLUMNS, ExperimentLog, durations, read_experiment
from flex_robot_sim.rig.profile import segment


@pytest.fixture(scope='module')
def arm():
    return frs.load('rig')


@pytest.fixture(scope='module')
def readings(arm):
    lab = Lab(arm)
    lab.play([segment(0.2, 0.5, 500.0), segment(0.2, -0.5, -500.0)], 500)
    return lab.readings


@pytest.fixture
def path(tmp_path, arm, readings):
    path = tmp_path / 'run.csv'
    log = ExperimentLog(path, 'rig', calibration_of(BridgeSettings(), arm))
    for reading in readings:
        log.put(reading)
    log.close()
    assert log.rows == len(readings) and not log.failure
    return path


def test_what_is_written_is_read_back(path, arm, readings):
    run = read_experiment(path)
    assert [reading.message for reading in run.readings] == [r.message for r in readings]
    assert run.readings[0].message.state is readings[0].message.state
    assert run.calibration == calibration_of(BridgeSettings(), arm)
    assert run.arm.joint_names == arm.joint_names and run.arm.size == arm.size


def test_raw_counts_are_integers_in_the_file(path, readings):
    lines = path.read_text().splitlines()
    row = dict(zip(lines[1].split(','), lines[2].split(',')))
    assert lines[1] == ','.join(COLUMNS)
    assert row['adc_root'] == str(readings[0].message.adc_root)
    assert row['slide_counts'] == '45000'


def test_durations_are_those_of_the_board_across_the_wrap_of_its_clock(readings):
    wrap = 1 << 32
    ticks = [wrap - 3000, wrap - 1000, 1000, 5000]
    moved = [reading._replace(message=reading.message._replace(time=tick))
             for reading, tick in zip(readings, ticks)]
    assert durations(moved).tolist() == pytest.approx([0.0, 0.002, 0.002, 0.004])


def test_log_of_a_writer_that_was_killed_ends_with_its_last_whole_row(path, readings):
    text = path.read_text()
    path.write_text(text[:-20])
    assert len(read_experiment(path).readings) == len(readings) - 1


def test_file_that_is_there_is_not_written_over(path, arm):
    with pytest.raises(UsageError) as error:
        ExperimentLog(path, 'rig', calibration_of(BridgeSettings(), arm))
    assert str(error.value) == \
        f'log file {path}: File exists. Name a new file in a folder that exists.'


def broken(path, number, change):
    lines = path.read_text().splitlines()
    lines[number - 1] = change(lines[number - 1])
    path.write_text('\n'.join(lines) + '\n')


@pytest.mark.parametrize('number, change, message', [
    (1, lambda line: 'hello', ':1: this is no log of an experiment of this version.'),
    (1, lambda line: line.replace('"format": 1', '"format": 9'),
     ':1: this is no log of an experiment of this version.'),
    (1, lambda line: line.replace('"scale"', '"skale"'),
     ':1: the calibration or the robot is not whole.'),
    (2, lambda line: line.replace('duty', 'dutty'),
     f':2: the columns must be {",".join(COLUMNS)}.'),
    (5, lambda line: line.replace(',', ';'), ':5: this is no row of telemetry.'),
    (5, lambda line: line + ',7', ':5: this is no row of telemetry.'),
], ids=str)
def test_damaged_log_is_refused_by_its_line(path, number, change, message):
    broken(path, number, change)
    with pytest.raises(UsageError) as error:
        read_experiment(path)
    assert str(error.value) == f'{path}{message}'


def test_log_without_a_robot_asks_for_one(path):
    head, _, rest = path.read_text().partition('\n')
    about = json.loads(head[1:])
    path.write_text(f'# {json.dumps({**about, "robot": ""})}\n{rest}')
    with pytest.raises(UsageError) as error:
        read_experiment(path)
    assert str(error.value) == f'{path}:1: the log does not hold the robot. Name it.'
    assert read_experiment(path, 'rig').arm.description.name == 'rig'


def test_compare_prints_a_table(path, capsys):
    assert main(['rig', 'compare', str(path)]) == 0
    out = capsys.readouterr().out
    assert 'with the motors on' in out and 'strip/root' in out
    assert all(len(line) < 100 for line in out.splitlines())


def test_compare_says_how_much_is_missing_of_a_log(path, capsys):
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(''.join([*lines[:200], *lines[300:]]))    # at 500 Hz
    assert main(['rig', 'compare', str(path)]) == 0
    out = capsys.readouterr().out
    assert '0.20 s of telemetry are missing while the motors were on.' in out
    assert all(len(line) < 100 for line in out.splitlines())


def test_log_on_a_full_disk_says_so_and_closes(path, tmp_path, arm, readings):
    log = ExperimentLog(tmp_path / 'full.csv', 'rig', calibration_of(BridgeSettings(), arm))
    full = os.open('/dev/full', os.O_WRONLY)
    os.dup2(full, log._file.fileno())
    os.close(full)
    log.put(readings[0])
    log.close()
    assert log.failure == f'log file {log.path}: No space left on device'


def test_compare_gives_one_json_object_and_a_figure(path, tmp_path, capsys):
    figure = tmp_path / 'run.png'
    assert main(['rig', 'compare', str(path), '--json', '--plot', str(figure)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts['quantities']['slide']['unit'] == 'm' and facts['runs'] == 1
    assert figure.read_bytes().startswith(b'\x89PNG')


def test_compare_reads_the_log_by_another_calibration(path, tmp_path, arm, capsys):
    file = tmp_path / 'bench.yaml'
    calibration = calibration_of(BridgeSettings(), arm)
    write_calibration(file, calibration)
    assert main(['rig', 'compare', str(path), '--json', '--calibration', str(file)]) == 0
    again = json.loads(capsys.readouterr().out)
    assert main(['rig', 'compare', str(path), '--json']) == 0
    assert again == json.loads(capsys.readouterr().out)


@pytest.mark.parametrize('words, message', [
    (['nowhere.csv'], 'nowhere.csv: cannot be read: No such file or directory.'),
    (['LOG', '--plot', 'x.txt'], 'x.txt: a figure ends in one of .png, .pdf, .svg'),
    (['LOG', '--robot', 'two_link'], 'is no bench: it needs a prismatic joint'),
])
def test_compare_says_what_is_wrong_in_one_line(path, words, message, capsys):
    words = [str(path) if word == 'LOG' else word for word in words]
    assert main(['rig', 'compare', *words]) == 2
    said = capsys.readouterr().err
    assert message in said and said.count('\n') == 1


def test_compare_of_a_bench_that_never_moved_says_so(tmp_path, arm, capsys):
    lab = Lab(arm)
    lab.wait(20)
    log = ExperimentLog(tmp_path / 'still.csv', 'rig', calibration_of(BridgeSettings(), arm))
    for reading in lab.readings:
        log.put(reading)
    log.close()
    assert main(['rig', 'compare', str(log.path)]) == 2
    assert 'the motors were never on' in capsys.readouterr().err
