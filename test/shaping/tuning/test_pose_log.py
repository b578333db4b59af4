"""Logs of single poses: modes and pose, or one line."""

import numpy as np
import pytest

from flex_robot_sim.shaping.tuning.pose_log import read_pose_log
from flex_robot_sim.util.exceptions import UsageError

pytestmark = pytest.mark.slow

T = np.arange(0.0, 6.0, 0.005)
AFTER = np.maximum(T - 1.0, 0.0)
RINGING = np.exp(-0.5 * AFTER) * np.sin(2 * np.pi * 4.0 * AFTER) * 3.0
NOISE = np.random.default_rng(0).normal(size=(T.size, 3))
ELBOW = np.clip(T, 0.5, 1.0) - 0.2


def written(path, **columns):
    table = np.column_stack([T, *columns.values()])
    np.savetxt(path, table, delimiter=',', header=','.join(['time', *columns]), comments='')
    return path


@pytest.mark.parametrize('name', ['elbow', 'position/elbow'])
def test_pose_is_that_of_the_joints_during_the_vibration(tmp_path, name):
    path = written(tmp_path / 'a.csv', **{name: ELBOW, 'ax': RINGING + 0.02 * NOISE[:, 0]})
    log = read_pose_log(path, ['elbow'])
    assert log.pose == pytest.approx([0.8])
    assert log.modes[0].frequency == pytest.approx(np.hypot(4.0, 0.5 / (2 * np.pi)), rel=1e-3)


def test_given_pose_replaces_that_of_the_log(tmp_path):
    path = written(tmp_path / 'a.csv', ax=RINGING + 0.02 * NOISE[:, 0])
    assert read_pose_log(path, ['elbow'], [1.5]).pose == [1.5]


def refusal(path, *joints, **settings):
    with pytest.raises(UsageError) as caught:
        read_pose_log(path, joints or ['elbow'], **settings)
    return str(caught.value)


def test_logs_that_determine_no_mode_or_no_pose_are_one_line(tmp_path):
    path, clean = tmp_path / 'a.csv', RINGING + 0.02 * NOISE[:, 0]
    written(path, ax=clean)
    assert refusal(path) == (
        f'{path}: has no column with the position of "elbow". Give its pose by --pose.'
    )
    written(path, elbow=ELBOW)
    assert refusal(path).startswith(f'{path}: has columns of joints only.')
    written(path, elbow=0.1 * T, ax=clean)
    assert refusal(path).endswith('Let the joints rest until the vibration has decayed.')
    written(path, elbow=ELBOW, ax=NOISE[:, 0])
    assert refusal(path) == (
        f'{path}: has no free vibration. Record a fast move or a push, and the arm at rest for '
        'several periods of the vibration after it.'
    )
    written(path, **dict(zip(('ax', 'ay', 'az'), ([0.0, 0.0, 9.81] + 0.01 * NOISE).T)))
    assert 'holds gravity only' in refusal(path, pose=[0.0])
    written(path, ax=np.clip(clean, -1.5, 1.5))
    assert 'is saturated in' in refusal(path, pose=[0.0])


def test_sensors_with_different_clocks_are_one_line(tmp_path):
    from flex_robot_sim.recording.read.columns import Column, Recording
    from flex_robot_sim.shaping.vibration_log import samples_of

    columns = {'ax': Column(T, RINGING), 'bx': Column(T + 1.7e9, RINGING)}
    recording = Recording('two.mcap', columns, [])
    with pytest.raises(UsageError, match='has columns with different times. Name some'):
        samples_of(recording)
    with pytest.raises(
        UsageError, match='two.mcap: .* have no common time, as of different clocks'
    ):
        samples_of(recording, ['ax', 'bx'])
