"""`flexsim shape --apply`: the written trajectory, its figures, and invalid files."""

import csv
import json

import numpy as np
import pytest
from command_calls import shape_outcome

import flex_robot_sim as frs
from flex_robot_sim.analysis.mode_table import ModeTable
from flex_robot_sim.cli.shape_table import as_text
from flex_robot_sim.motion.limits import rate_limits
from flex_robot_sim.recording.simulated import SimulationRecording
from flex_robot_sim.shaping.impulses import of_kind
from flex_robot_sim.shaping.shaper_file import write_shaper
from flex_robot_sim.shaping.shaper_specification import ShaperSpecification
from flex_robot_sim.shaping.shaper_stages import stages_of

pytestmark = pytest.mark.slow

JOINTS = 'waist', 'shoulder', 'elbow'
TIMES = np.arange(0.0, 1.2, 0.01)
SHAPER = of_kind('zvd', 2.5, 0.01)


def positions():
    u = TIMES / TIMES[-1]
    share = u**3 * (10 - 15 * u + 6 * u**2)
    return np.array([0.0, 0.3, -0.8]) + share[:, None] * [0.6, 0.4, 0.7]


def write(path, names, rows):
    lines = [','.join(names), *(','.join(map(repr, row)) for row in rows.tolist())]
    path.write_text('\n'.join(lines) + '\n', 'utf-8')
    return path


def read(path):
    with open(path, encoding='utf-8') as file:
        names, *rows = csv.reader(file)
    return names, np.array(rows, float)


@pytest.fixture
def move(tmp_path):
    rows = np.column_stack([TIMES, positions()])
    return write(tmp_path / 'move.csv', ('time', *JOINTS), rows)


@pytest.fixture
def design(tmp_path):
    path = tmp_path / 'shaper.json'
    write_shaper(path, ShaperSpecification('zvd', SHAPER), 'two_link', JOINTS)
    return path


@pytest.mark.parametrize('prefix', ['', 'position/'])
def test_a_trajectory_is_the_mean_of_itself_at_the_impulses(capsys, tmp_path, design, prefix):
    # the columns may have any order; others are left out with a URDF
    names = ('elbow', 'waist', 'shoulder')
    columns = [TIMES, *(positions()[:, JOINTS.index(name)] for name in names), 9 * TIMES]
    path = write(
        tmp_path / 'move.csv',
        ('time', *(prefix + name for name in names), 'current'),
        np.column_stack(columns),
    )
    code, out, _ = shape_outcome(capsys, 'two_link', '--design', design, '--apply', path, '--json')
    assert code == 0
    figures = json.loads(out)
    found_names, rows = read(tmp_path / 'move_shaped.csv')
    assert found_names == ['time', *JOINTS] and figures['output'].endswith('move_shaped.csv')
    times, found = rows[:, 0], rows[:, 1:]
    expected = sum(
        a * np.column_stack([np.interp(times - t, TIMES, column) for column in positions().T])
        for t, a in zip(SHAPER.times, SHAPER.amplitudes)
    )
    np.testing.assert_allclose(found, expected, atol=2e-5)  # an impulse between two samples
    assert (found[-1] == positions()[-1]).all()
    np.testing.assert_allclose(np.diff(times), 0.01, atol=1e-12)
    assert figures['added_time'] == pytest.approx(SHAPER.duration, abs=0.02)
    speeds = np.abs(np.diff(found, axis=0)).max(axis=0) / 0.01
    assert [row['velocity'] for row in figures['joints']] == pytest.approx(speeds, rel=1e-9)
    limits = rate_limits(frs.load('two_link'))
    assert [row['velocity_limit'] for row in figures['joints']] == limits.tolist()
    assert 0.0 < figures['path_error'] < 0.05
    assert 0.0 < figures['speed_within_bound']['error'] <= 1e-3


def test_the_text_states_time_path_error_and_limits(capsys, tmp_path, move, design):
    output = tmp_path / 'out.csv'
    words = ('--design', design, '--apply', move, '--output', output)
    code, out, _ = shape_outcome(capsys, 'two_link', *words, '--path-error', '1e-5')
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == f'{output}: shaped by zvd, 161 samples every 0.01 s'
    assert lines[1] == '  takes 1.600 s instead of 1.190 s: 0.410 s added'
    assert 'mm; within 0.01 mm at ' in lines[2] and lines[3].split()[:3] == [
        'joint',
        'velocity',
        'unshaped',
    ]
    assert [line.split()[0] for line in lines[4:]] == [*JOINTS]
    code, _, err = shape_outcome(capsys, 'two_link', *words)
    assert (code, 'exists already' in err) == (2, True)


def test_without_a_urdf_the_path_error_is_unknown(capsys, move, design):
    code, out, _ = shape_outcome(capsys, '--design', design, '--apply', move)
    assert code == 0 and '  path error unknown without a URDF' in out
    # the limits are those of the file, if it has any
    limits = np.array([0.3, np.inf, 0.7])
    parts = ShaperSpecification('zvd', SHAPER, velocity_limits=limits)
    write_shaper(design, parts, 'two_link', JOINTS)
    _, out, _ = shape_outcome(capsys, '--design', design, '--apply', move, '--force', '--json')
    waist, shoulder, elbow = json.loads(out)['joints']
    assert [row['velocity_limit'] for row in (waist, shoulder, elbow)] == [0.3, None, 0.7]
    assert waist['velocity'] == pytest.approx(0.3) and elbow['velocity'] <= 0.7


def test_uneven_times_are_interpolated_with_a_note(capsys, tmp_path, design):
    times = np.array([0.0, 0.1, 0.3, 1.0])
    rows = np.column_stack([times, times, 2 * times, -times])
    path = write(tmp_path / 'points.csv', ('time', *JOINTS), rows)
    code, out, _ = shape_outcome(capsys, '--design', design, '--apply', path)
    assert (
        code == 0 and 'not evenly spaced; positions are interpolated linearly, every 0.1 s' in out
    )


def test_a_trajectory_above_the_limits_is_slowed_with_a_note(capsys, tmp_path, design):
    limits = rate_limits(frs.load('two_link'))
    rows = np.column_stack([TIMES, *(1.3 * limits[j] * TIMES * (j == 0) for j in range(3))])
    rows[:, 1:] = np.minimum(rows[:, 1:], 1.0)
    path = write(tmp_path / 'fast.csv', ('time', *JOINTS), rows)
    code, out, _ = shape_outcome(capsys, 'two_link', '--design', design, '--apply', path, '--json')
    figures = json.loads(out)
    assert code == 0 and 'the shaped trajectory keeps the limit' in figures['notes'][0]
    waist = figures['joints'][0]
    assert waist['unshaped_velocity'] == pytest.approx(1.3 * limits[0])
    assert waist['velocity'] <= limits[0] * (1 + 1e-9)


def test_a_trajectory_that_is_not_shaped_or_does_not_move_has_a_note(capsys, tmp_path):
    design = tmp_path / 'none.json'
    write_shaper(design, ShaperSpecification('none'), 'two_link', JOINTS)
    rows = np.column_stack([TIMES, np.tile([0.1, 0.2, 0.3], (TIMES.size, 1))])
    path = write(tmp_path / 'still.csv', ('time', *JOINTS), rows)
    code, out, _ = shape_outcome(capsys, '--design', design, '--apply', path)
    assert code == 0 and out.startswith(
        '  note: no shaper is recommended: the trajectory is unchanged\n'
        '  note: no joint moves in this trajectory\n'
    )
    np.testing.assert_array_equal(read(tmp_path / 'still_shaped.csv')[1], rows)


def test_joint_states_of_a_recording_are_a_trajectory(capsys, tmp_path, design):
    arm = frs.load('two_link')
    recording = SimulationRecording(tmp_path / 'a.mcap', arm)
    simulation, seen = frs.Simulation(arm), []
    for time in np.arange(0.0, 0.2, 0.01):  # the arm falls
        simulation.advance_to(time)
        recording.add(simulation)
        seen.append(simulation.position.copy())
    recording.close()
    code, _, err = shape_outcome(
        capsys, 'two_link', '--design', design, '--apply', tmp_path / 'a.mcap'
    )
    assert (code, err) == (0, '')
    names, rows = read(tmp_path / 'a_shaped.csv')
    assert names == ['time', *JOINTS]
    assert abs(seen[-1][1] - seen[0][1]) > 0.02
    np.testing.assert_allclose(rows[[0, -1], 1:], [seen[0], seen[-1]], atol=1e-9)


def test_the_table_has_the_path_error_of_each_shaper(capsys, tmp_path):
    times = np.arange(0.0, 1.0, 0.01)
    path = write(
        tmp_path / 'a.csv', ('time', 'motor'), np.column_stack([times, 0.4 * np.sin(3 * times)])
    )
    words = ('single_link', '--pose', '0', '--acceleration', '5', '--apply', path)
    code, out, _ = shape_outcome(capsys, *words, '--json')
    summary = json.loads(out)
    assert code == 0
    rows = {row['name']: row['trajectory_path_error'] for row in summary['shapers']}
    assert rows['none'] == 0.0 and rows['quintic'] is None
    # a single joint turns back before the end of its arc
    assert 0.0 < rows['zv'] < rows['zvd'] < rows['zvdd']
    assert summary['applied']['path_error'] == rows[summary['recommended']]
    text = '\n'.join(as_text(summary))
    assert '--apply [mm]' in text and 'a_shaped.csv: shaped by ' in text


ROWS = np.column_stack([TIMES, positions()])


def broken(row, column, value):
    rows = ROWS.copy()
    rows[row, column] = value
    return rows


@pytest.mark.parametrize(
    'names, rows, message',
    [
        (
            ('time', *JOINTS),
            ROWS[[0, 2, 1, 3]],
            'the time does not rise after row 2. Sort the rows, and remove repeated ones.',
        ),
        (
            ('time', *JOINTS),
            ROWS[[0, 1, 1, 3]],
            'the time does not rise after row 2. Sort the rows, and remove repeated ones.',
        ),
        (('time', *JOINTS), ROWS[:1], 'has 1 row. A trajectory has two or more.'),
        (
            ('time', *JOINTS),
            ROWS[:0],
            'has no rows of numbers. Give a header and rows of numbers.',
        ),
        (
            ('time', 'waist', 'shoulder', 'wrist'),
            ROWS,
            'has no column "elbow". Name a column after each joint: waist, shoulder, elbow. '
            'Found: waist, shoulder, wrist.',
        ),
        (
            ('time', *JOINTS),
            broken(4, 2, np.nan),
            '"shoulder" is no number in row 5. Fill in or remove the row.',
        ),
        (
            ('time', *JOINTS),
            broken(4, 0, np.nan),
            'the time is no number in row 5. Mend or remove it.',
        ),
        (('date', *JOINTS), ROWS, 'has no column "time". Add one [s].'),
    ],
)
def test_an_invalid_trajectory_is_one_line(capsys, tmp_path, design, names, rows, message):
    path = write(tmp_path / 'a.csv', names, rows)
    found = shape_outcome(capsys, 'two_link', '--design', design, '--apply', path)
    assert found == (2, '', f'flexsim shape: {path}: {message}\n')
    assert not (tmp_path / 'a_shaped.csv').exists()


@pytest.mark.parametrize(
    'words, message',
    [
        (
            ('--design', 'a.json'),
            '--design needs a trajectory, or code: give --apply FILE or --code.',
        ),
        (
            ('--design', 'a.json', '--log', 'a.csv', '--apply', 'b.csv'),
            'give either --design JSON or --log CSV.',
        ),
        (('--apply', 'b.csv'), 'give either a URDF or --log CSV.'),
        (
            ('--design', 'a.json', '--apply', 'b.csv', '--plot', 'a.png'),
            '--plot is about a comparison, which --design replaces.',
        ),
        (
            ('two_link', '--apply', 'b.csv', '--output', 'b.csv'),
            '--output b.csv: is the trajectory itself. Name another file.',
        ),
        (
            ('two_link', '--apply', 'b.csv', '--path-error', '0'),
            '--path-error must be above 0 and below 1e+09.',
        ),
        (
            ('two_link', '--apply', 'none.csv'),
            'none.csv: cannot be read: No such file or directory. Give a CSV or MCAP file.',
        ),
    ],
)
def test_wrong_options_are_one_line(capsys, words, message):
    assert shape_outcome(capsys, *words) == (2, '', f'flexsim shape: {message}\n')


def test_delays_that_raise_an_acceleration_beyond_its_limit_have_a_note(capsys, tmp_path):
    # a mode whose frequency triples with the waist: its delays shrink during the move
    axis = np.linspace(0.0, 0.6, 21)
    table = ModeTable((0,), (axis,), np.geomspace(1.5, 4.5, 21)[:, None], np.full((21, 1), 0.01))
    design = tmp_path / 'by_pose.json'
    stages = tuple(stages_of(table, 'zv'))
    write_shaper(design, ShaperSpecification('zv', table=table, stages=stages), 'two', JOINTS)
    move = write(tmp_path / 'move.csv', ('time', *JOINTS), np.column_stack([TIMES, positions()]))
    text = frs.robots()['two_link'].read_text('utf-8')
    for limit in (2.6, 9.0):
        robot = tmp_path / 'robot.urdf'
        robot.write_text(text.replace('velocity="3"', f'velocity="3" acceleration="{limit}"', 1))
        code, out, _ = shape_outcome(
            capsys, robot, '--design', design, '--apply', move, '--force', '--json'
        )
        assert code == 0
        waist = read(tmp_path / 'move_shaped.csv')[1][:, 1]
        found, before = (
            np.abs(np.diff(row, 2)).max() / 0.01**2 for row in (waist, positions()[:, 0])
        )
        assert before < 2.6 < found < 9.0
        slower = 1 - np.sqrt(2.6 / found)
        notes = json.loads(out)['notes']
        assert notes == [
            f'shaped, "waist" accelerates at {found:.4g}, above its limit of 2.6 rad/s2: play '
            f'the trajectory {slower:.0%} slower'
        ] * (limit == 2.6)
