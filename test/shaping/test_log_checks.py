"""Recordings that would mislead: saturated sensors, sensors at rest, modes that drift."""

import json

import numpy as np
import pytest

from flex_robot_sim.cli import main
from flex_robot_sim.shaping.log_checks import is_gravity_only, saturated_rows

T = np.arange(0.0, 8.0, 0.005)
RINGING = np.exp(-0.4 * T) * np.sin(25.0 * T)
NOISE = np.random.default_rng(0).normal(size=(T.size, 3))


def shape(capsys, path, *columns):
    """Return exit code, result and standard error of `flexsim shape --log`."""
    names = ','.join(['time', 'ax', 'ay', 'az'][: len(columns) + 1])
    np.savetxt(path, np.column_stack([T, *columns]), delimiter=',', header=names, comments='')
    code = main(['shape', '--log', str(path), '--json'])
    captured = capsys.readouterr()
    return code, json.loads(captured.out or 'null'), captured.err


def test_clipped_samples_are_found_and_whole_ones_are_not():
    clipped = np.clip(RINGING + 0.01 * NOISE[:, 0], -0.5, 0.5)
    assert saturated_rows(clipped).size == (np.abs(clipped) == 0.5).sum() - sum(
        1 for row in _short_runs(clipped) for _ in row
    )
    assert not saturated_rows(RINGING).size
    assert not saturated_rows(np.round(RINGING * 50) / 50).size
    assert not saturated_rows(np.sign(RINGING)).size  # a logical signal
    assert not saturated_rows(np.clip(T, 2.0, 5.0)).size  # a position before and after a move


def _short_runs(values):
    """Yield runs of one or two samples at an end of the range."""
    for end in (values.max(), values.min()):
        run = []
        for row, value in enumerate(values):
            if value == end:
                run.append(row)
            else:
                if 0 < len(run) < 3:
                    yield run
                run = []


def test_only_a_sensor_at_rest_shows_gravity_only():
    rest = [0.0, 6.94, 6.94] + 0.05 * NOISE
    assert is_gravity_only(rest) and is_gravity_only(rest / 9.81)
    assert not is_gravity_only(rest + RINGING[:, None])
    assert not is_gravity_only(rest[:, :2])


@pytest.mark.slow
def test_a_saturated_ring_down_is_rejected(capsys, tmp_path):
    path = tmp_path / 'log.csv'
    clipped = np.clip(RINGING + 0.01 * NOISE[:, 0], -0.5, 0.5)
    code, _, err = shape(capsys, path, clipped)
    count = saturated_rows(clipped).size
    assert (code, err) == (
        2,
        f'flexsim shape: {path}: "ax" is saturated in {count} samples, at 0.5. Record with a '
        'larger range of the sensor or a gentler move.\n',
    )


@pytest.mark.slow
def test_gravity_only_is_rejected(capsys, tmp_path):
    path = tmp_path / 'log.csv'
    code, _, err = shape(capsys, path, *([0.0, 0.0, 9.81] + 0.05 * NOISE).T)
    assert (code, err) == (
        2,
        f'flexsim shape: {path}: holds gravity only: the sensor does not move. Record a move '
        'and the vibration after it, or a tap.\n',
    )


@pytest.mark.slow
def test_a_drifting_mode_widens_the_band_with_a_note(capsys, tmp_path):
    phase = 2 * np.pi * (4.0 * T + 0.03 * T**2)
    path = tmp_path / 'log.csv'
    code, summary, _ = shape(capsys, path, np.exp(-0.3 * T) * np.sin(phase) + 1e-3 * NOISE[:, 0])
    assert code == 0
    (note,) = summary['notes']
    # a sensor of one axis does not determine which
    what = 'there are two close modes, or one whose frequency changes, between 4.'
    assert note.startswith(f'{path}: {what}')
    assert note.endswith(
        'widens the band of frequencies. Record in one pose with one payload and with an '
        'accelerometer of three axes'
    )
    (first, *_) = summary['resonances']
    assert summary['uncertainty'] >= 2 * first['frequency_deviation'] / first['frequency']
