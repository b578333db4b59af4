"""Tables of measured modes: bands between the poses, and the shaper that covers them."""

import numpy as np
import pytest

from flex_robot_sim.analysis.resonance import Resonance
from flex_robot_sim.shaping.tuning.measured_table import MAX_BAND, measured_table, outside_table
from flex_robot_sim.shaping.tuning.mode_tracks import mode_tracks
from flex_robot_sim.shaping.tuning.pose_log import PoseLog
from flex_robot_sim.shaping.tuning.table_file import read_table, write_table
from flex_robot_sim.util.exceptions import UsageError

JOINTS = ('waist', 'shoulder', 'elbow')
GRID = [(0.0, a, b) for a in (-0.8, 0.0, 0.8) for b in (0.4, 1.2, 2.0)]


def slow_mode(pose):
    """Frequency of a mass on a spring at the reach of two equal links [Hz]."""
    reach = np.cos(pose[1] / 2) + np.cos(pose[1] / 2 + pose[2] / 2)
    return 6.0 / np.sqrt(1.0 + 0.5 * reach**2)


def log_of(pose, *modes, name='log'):
    return PoseLog(
        name,
        np.array(pose, float),
        tuple(Resonance(f, 1e-3 * f, 0.01, 1e-3, size, 'decay') for f, size in modes),
        np.ones((len(modes), 1)),
    )


@pytest.fixture(scope='module')
def table():
    return measured_table(
        JOINTS, [log_of(pose, (slow_mode(pose), 1.0), (31.0, 0.3)) for pose in GRID]
    )


def random_poses(rng, count=60):
    return np.column_stack(
        [np.zeros(count), rng.uniform(-0.8, 0.8, count), rng.uniform(0.4, 2.0, count)]
    )


def test_frequencies_between_the_poses_are_within_their_bands(table):
    poses = random_poses(np.random.default_rng(1))
    found, bands = table.modes_at(poses)
    true = np.array([slow_mode(pose) for pose in poses])
    errors = np.abs(found[:, 0] / true - 1)
    assert errors.max() < 0.02
    assert (errors < bands[:, 0]).all()
    assert found[:, 1] == pytest.approx(31.0, rel=1e-3)


def test_a_band_widens_away_from_the_poses():
    logs = [log_of(pose, (slow_mode(pose), 1.0)) for pose in GRID if pose[1] < 0.5]
    table = measured_table(JOINTS, logs)
    _, bands = table.modes_at(np.array([[0.0, 0.0, 1.2], [0.0, 0.8, 1.2], [0.0, 2.0, 1.2]]))
    assert bands[0, 0] < bands[1, 0] < bands[2, 0]


def test_the_pose_with_the_most_uncertain_frequency_is_measured_next():
    """Once measured, a pose whose log does not show the mode is not measured again."""

    def mode(pose):
        return 5 * np.exp(0.6 * np.sin(3 * pose[1]) - 0.2 * np.cos(3 * pose[2])), 1.0

    logs = [log_of(GRID[row], mode(GRID[row])) for row in (0, 2, 4, 8)]
    table = measured_table(JOINTS, logs)
    assert table.pose_to_measure() == pytest.approx(GRID[6])
    with pytest.raises(UsageError, match='shoulder 0.8, elbow 0.4: measure in this pose too'):
        table.shaper()
    table = measured_table(JOINTS, [*logs, log_of(GRID[6], (60.0, 1.0))])
    assert table.modes_at([GRID[6]])[1][0, 0] > MAX_BAND
    assert table.pose_to_measure() is None
    assert table.shaper()[1] == MAX_BAND


def test_joints_without_influence_are_not_in_the_table(table):
    rng = np.random.default_rng(2)
    logs = [log_of([rng.uniform(-1.0, 1.0), *pose[1:]], (slow_mode(pose), 1.0)) for pose in GRID]
    assert 0 not in measured_table(JOINTS, logs).table_joints
    assert table.table_joints == (1, 2)


def test_modes_that_change_their_order_of_size_stay_in_their_tracks():
    rng = np.random.default_rng(3)
    logs = []
    for pose in GRID:
        modes = [(slow_mode(pose), rng.uniform(0.3, 1.0)), (9.0 - 0.5 * pose[2], 0.8)]
        logs.append(log_of(pose, *sorted(modes, key=lambda mode: -mode[1])))
    first, second = mode_tracks(logs)[0]
    assert first.frequencies == pytest.approx([slow_mode(pose) for pose in GRID])
    assert second.frequencies == pytest.approx([9.0 - 0.5 * pose[2] for pose in GRID])


def test_a_mode_of_a_single_log_is_left_out_with_a_note():
    logs = [log_of(pose, (slow_mode(pose), 1.0), name=f'{k}.csv') for k, pose in enumerate(GRID)]
    logs[4] = log_of(GRID[4], (slow_mode(GRID[4]), 1.0), (17.0, 0.2), name='4.csv')
    tracks, notes = mode_tracks(logs)
    assert len(tracks) == 1
    assert notes == ['the mode at 17 Hz is left out: only 4.csv shows it']


@pytest.mark.slow
def test_the_shaper_leaves_its_tolerance_in_unmeasured_poses(table):
    specification, band = table.shaper(tolerance=0.05)
    samples = np.linspace(0.0, 1.0, 300)
    for pose in random_poses(np.random.default_rng(4), 8):
        move = np.array(pose) + 0.02 * (samples[:, None] - 1)
        shaped = specification.online(3, 1e-3).run(move)[:, 2]
        frequency = slow_mode(pose)
        left, before = (_amplitude(values, frequency) for values in (shaped, move[:, 2]))
        assert left < 0.06 * max(before, _step_amplitude(samples, frequency))
    assert band < 0.15


def _amplitude(values, frequency):
    """Vibration of an undamped oscillator after set points every millisecond."""
    rate, velocity = 2 * np.pi * frequency, np.gradient(values, 1e-3)
    times = 1e-3 * np.arange(values.size)
    return abs(np.trapezoid(velocity * np.exp(-1j * rate * times), dx=1e-3))


def _step_amplitude(samples, frequency):
    """Vibration after the first edge of the velocity of a ramp over 0.3 s and 0.02 rad."""
    return 0.02 / 0.3 / (2 * np.pi * frequency)


def test_a_written_table_is_read_again(table, tmp_path):
    write_table(tmp_path / 'modes.json', table)
    read = read_table(tmp_path / 'modes.json')
    poses = random_poses(np.random.default_rng(5), 5)
    np.testing.assert_array_equal(read.modes_at(poses), table.modes_at(poses))


@pytest.mark.parametrize('old, new', [('"pose": [', '"pose": [9.0, '), ('3', 'x'), ('{', '')])
def test_a_damaged_table_is_one_line(table, tmp_path, old, new):
    path = tmp_path / 'modes.json'
    write_table(path, table)
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(UsageError) as caught:
        read_table(path)
    assert str(caught.value) in (
        f'{path}: is damaged. Write it again by flexsim tune.',
        f'{path}: is no table of modes. Write it again by flexsim tune.',
    )


def test_too_few_poses_and_equal_poses_are_one_line():
    logs = [log_of(pose, (5.0, 1.0)) for pose in GRID[:2]]
    with pytest.raises(UsageError, match='2 logs are too few for a table: record one in each'):
        measured_table(JOINTS, logs)
    with pytest.raises(UsageError, match='all logs are from the same pose'):
        measured_table(JOINTS, [log_of(GRID[0], (5.0, 1.0))] * 3)


def test_poses_that_leave_the_table_are_one_line(table):
    mode_table = table.shaper()[0].table
    inside = np.array(GRID)
    assert outside_table(mode_table, JOINTS, inside) == ''
    assert outside_table(mode_table, JOINTS, inside + [3.0, 0.0, 0.5]) == (
        '"elbow" moves to 2.5, but poses were measured from 0.4 to 2 only: measure further poses, '
        'or stay between these'
    )
