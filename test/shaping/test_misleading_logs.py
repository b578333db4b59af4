"""Logs without a shaper in them: each is one line of `flexsim shape` that says what to do."""

import numpy as np
import pytest
from project_files import ROOT
from vendor_logs import sensor_logger_text, write_sensor_logger

from flex_robot_sim.cli import main

pytestmark = pytest.mark.slow

T = np.arange(0.0, 6.0, 0.005)
NOISE = np.random.default_rng(0).normal(size=(T.size, 3))
RINGING = np.exp(-0.4 * T)[:, None] * np.sin(25.0 * T)[:, None] * [1.0, 0.5, 0.2]


def said(capsys, *words):
    """Return exit code and standard error of `flexsim shape`."""
    code = main(['shape', *map(str, words)])
    return code, capsys.readouterr().err


def written(path, samples, times=T):
    names = 'time,ax,ay,az'
    np.savetxt(
        path, np.column_stack([times, samples]), fmt='%.6f', delimiter=',', header=names,
        comments='',
    )  # fmt: skip
    return path


def test_a_page_of_text_is_no_recording(capsys):
    path = ROOT / 'README.md'
    assert said(capsys, '--log', path) == (
        2,
        f'flexsim shape: {path}: is no recording, as few of its lines are numbers. Give a file of '
        'samples, such as CSV or MCAP.\n',
    )


def test_noise_without_a_ring_down_gives_no_shaper(capsys, tmp_path):
    path = written(tmp_path / 'noise.csv', NOISE)
    assert said(capsys, '--log', path) == (
        1,
        f'flexsim shape: {path}: no resonance stands out. Record several periods of the vibration '
        'at rest after a move or a push, with several samples per period.\n',
    )


def test_sensors_of_different_clocks_have_no_common_time(capsys, tmp_path):
    folder = tmp_path / 'log'
    folder.mkdir()
    (folder / 'Accelerometer.csv').write_text(sensor_logger_text(T, RINGING))
    (folder / 'Gyroscope.csv').write_text(sensor_logger_text(T + 1e5, RINGING))
    columns = [word for name in ('Accelerometer:x', 'Gyroscope:x') for word in ('--column', name)]
    assert said(capsys, '--log', folder, *columns) == (
        2,
        f'flexsim shape: {folder}: Accelerometer:x, Gyroscope:x have no common time, as of '
        'different clocks. Name columns of one sensor by --column.\n',
    )


def test_two_sensors_of_one_clock_are_interpolated_with_a_note(capsys, tmp_path):
    path = write_sensor_logger(tmp_path, T, RINGING + 1e-3 * NOISE)
    columns = [word for name in ('Accelerometer:x', 'Gyroscope:x') for word in ('--column', name)]
    assert main(['shape', '--log', str(path), *columns]) == 0
    assert (
        'have different times; they are interpolated at those of the first one. If their clocks '
        'differ, name columns of one sensor'
    ) in capsys.readouterr().out


def test_a_sensor_at_rest_and_a_saturated_one_are_refused(capsys, tmp_path):
    path = written(tmp_path / 'rest.csv', [0.0, 0.0, 9.81] + 0.05 * NOISE)
    code, line = said(capsys, '--log', path)
    assert (code, line.count('\n')) == (2, 1)
    assert 'holds gravity only: the sensor does not move. Record a move and the vibration' in line
    path = written(tmp_path / 'clipped.csv', np.clip(RINGING + 0.01 * NOISE, -0.3, 0.3))
    code, line = said(capsys, '--log', path)
    assert (code, line.count('\n')) == (2, 1)
    assert ' is saturated in ' in line and 'larger range of the sensor or a gentler move' in line


@pytest.mark.slow
def test_a_mode_that_drifts_widens_the_stated_interval(capsys, tmp_path):
    highs = []
    for drift in (0.0, 0.06):
        phase = 2 * np.pi * (4.0 * T + drift / 2 * T**2)
        wave = np.exp(-0.3 * T) * np.sin(phase)
        path = written(tmp_path / 'log.csv', wave[:, None] * [1.0, 0.5, 0.2] + 1e-3 * NOISE)
        assert main(['shape', '--log', str(path)]) == 0
        text = capsys.readouterr().out
        assert ('the frequency changes between' in text) == (drift > 0.0)
        line = next(row for row in text.splitlines() if 'after the recorded move it leaves' in row)
        highs.append(float(line.partition('at most ')[2].partition('%')[0]))
    assert highs[1] > highs[0]
