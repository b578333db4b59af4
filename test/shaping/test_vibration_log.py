"""Recorded vibration from broken logs: the right rate and samples, or one line."""

import numpy as np
import pytest

from flex_robot_sim.shaping.vibration_log import read_samples

TIME = 0.004 * np.arange(400)
WAVE = np.round(np.sin(9 * TIME), 6)


def written(tmp_path, times, values, separator=',', header='time,x'):
    path = tmp_path / 'log.csv'
    rows = [f'{time:.6f}{separator}{value}' for time, value in zip(times, values)]
    path.write_text('\n'.join([header.replace(',', separator), *rows]) + '\n')
    return path


@pytest.mark.parametrize('factor, header', [(1.0, 't,x'), (1e3, 'time,x'), (1e6, 't[us],x')])
@pytest.mark.parametrize('separator', [',', ';', '\t'])
def test_unit_and_delimiter_do_not_change_rate_and_samples(tmp_path, factor, header, separator):
    log = read_samples(written(tmp_path, factor * TIME, WAVE, separator, header))
    assert log.rate == pytest.approx(250.0, rel=1e-9)
    np.testing.assert_array_equal(log.samples[:, 0], WAVE)
    assert len(log.notes) == (factor > 1.0)


def test_the_invalid_beginning_is_left_out(tmp_path):
    path = written(tmp_path, TIME, ['nan'] * 50 + WAVE[50:].tolist())
    log = read_samples(path)
    np.testing.assert_array_equal(log.samples[:, 0], WAVE[50:])
    assert log.notes == [
        f'{path}: "x" is invalid in the first 50 and the last 0 rows, which are left out'
    ]


def test_the_longest_part_between_gaps_is_used(tmp_path):
    path = written(tmp_path, np.where(TIME < 0.4, TIME, TIME + 1.0), WAVE)
    log = read_samples(path)
    np.testing.assert_array_equal(log.samples[:, 0], WAVE[100:])
    assert len(log.notes) == 1 and 'has 1 gaps, the longest of 1 s' in log.notes[0]
