"""`<base motion>`: what is read, and one line for each mistake."""

import numpy as np
import pytest
from free_arms import SPACE_ARM
from moved_bases import ship, write_ship
from scipy.spatial.transform import Rotation

import flex_robot_sim as frs
from flex_robot_sim.description import read_recorded_text, read_text
from flex_robot_sim.description.robot_summary import as_text, summarise
from flex_robot_sim.util.exceptions import DescriptionError
from flex_robot_sim.util.share import shipped_robots

BASE = '<flexibility><base motion="ship.csv"/>'
HEADER = 'time,x,y,z,roll,pitch,yaw\n'


def arm_on_ship(folder, base=BASE):
    """Write an arm whose base has a motion; return its path."""
    path = folder / 'arm.urdf'
    text = shipped_robots()['single_link'].read_text()
    path.write_text(text.replace('<flexibility>', base, 1))
    return path


def test_the_poses_of_a_table_are_those_of_urdf_origins(tmp_path):
    times = np.linspace(0.0, 20.0, 201)
    write_ship(tmp_path / 'ship.csv', times)
    motion = frs.read_description(arm_on_ship(tmp_path)).base_motion
    rows = np.array([ship(time) for time in times])
    np.testing.assert_allclose(motion.times, times, atol=1e-12)
    np.testing.assert_allclose(motion.poses[:, :3], rows[:, :3], atol=1e-12)
    theirs = Rotation.from_euler('xyz', rows[:, 3:]).inv()
    turns = theirs * Rotation.from_quat(motion.poses[:, 3:])
    assert abs(turns.as_rotvec()).max() < 1e-12


@pytest.mark.parametrize(
    ('text', 'line', 'message'),
    [
        ('', None, 'the table of a base motion has no column time, x, y, z, roll, pitch, yaw'),
        ('time,x,y,roll,pitch,yaw\n0,0,0,0,0,0\n', 1, 'has no column z. Give a CSV file whose'),
        (f'{HEADER}0,0,0,0,0,0,0\n', None, 'the motion has 1 row. Give two rows or more'),
        (f'{HEADER}0,0,0,0,0,0,0\n1,0,0,0,0,0,x\n', 3, 'this row has no finite number in each'),
        (f'{HEADER}0,0,0,0,0,0,0\n1,0,0,0,0,0\n', 3, 'this row has no finite number in each'),
        (f'{HEADER}0,0,0,0,0,0,0\n1,0,0,0,0,0,nan\n', 3, 'this row has no finite number in each'),
        (
            f'{HEADER}0,0,0,0,0,0,0\n\n2,0,0,0,0,0,0\n2,0,0,0,0,0,0\n',
            5,
            'the time 2 s is not after the one before, 2 s. Sort the rows, and remove repeated '
            'ones',
        ),
        ('\0\xff', None, 'the table of a base motion has no column'),
    ],
)
def test_an_unusable_table_ends_in_one_line(tmp_path, text, line, message):
    (tmp_path / 'ship.csv').write_bytes(text.encode('latin-1'))
    with pytest.raises(DescriptionError, match=message) as error:
        frs.read_description(arm_on_ship(tmp_path))
    assert (error.value.path, error.value.line) == (str(tmp_path / 'ship.csv'), line)


def test_a_table_that_jumps_or_is_too_coarse_names_error_time_and_line(tmp_path):
    path, arm = tmp_path / 'ship.csv', arm_on_ship(tmp_path)
    fine = np.linspace(0.0, 20.0, 401)
    write_ship(path, fine, lambda t: (*ship(t)[:3], ship(t)[3] + 0.1 * (t > 7.01), *ship(t)[4:]))
    message = 'orientation jumps or is sampled too coarsely at 7 s: it is 0.05 rad from the'
    with pytest.raises(DescriptionError, match=message) as error:
        frs.read_description(arm)
    assert error.value.line == 142
    # period 4 s: six samples are too few, twelve are enough
    write_ship(path, np.linspace(0.0, 40.0, 61), lambda t: (0, 0, np.sin(np.pi / 2 * t), 0, 0, 0))
    with pytest.raises(DescriptionError, match='position jumps or is sampled too coarsely at'):
        frs.read_description(arm)
    write_ship(path, np.linspace(0.0, 40.0, 121), lambda t: (0, 0, np.sin(np.pi / 2 * t), 0, 0, 0))
    assert len(frs.read_description(arm).base_motion.times) == 121


def test_a_table_in_degrees_is_asked_for_radians(tmp_path):
    path, arm = tmp_path / 'ship.csv', arm_on_ship(tmp_path)
    times = np.linspace(0.0, 20.0, 201)
    write_ship(path, times, lambda t: (0, 0, 0, 20 * np.sin(t), 0, 360 * (t > 9.0)))
    message = 'Give roll, pitch and yaw in radians: they reach 360, which looks like degrees'
    with pytest.raises(DescriptionError, match=message):
        frs.read_description(arm)


def test_the_check_shows_the_motion_of_the_base(tmp_path):
    path, arm = tmp_path / 'ship.csv', arm_on_ship(tmp_path)
    write_ship(path, np.linspace(0.0, 20.0, 401), lambda t: (0, 0, 2 * np.sin(t), 0.1 * t, 0, 0))
    motion = summarise(frs.read_description(arm))['base_motion']
    assert motion['duration'] == 20.0 and motion['samples'] == 401
    assert motion['linear_acceleration'] == pytest.approx(2.0, rel=1e-2)
    assert motion['angular_acceleration'] == pytest.approx(0.0, abs=1e-4)
    write_ship(path, np.linspace(0.0, 20.0, 401), lambda t: (0, 0, 0, 0.3 * np.cos(t), 0, 0))
    robot = frs.read_description(arm)
    assert summarise(robot)['base_motion']['angular_acceleration'] == pytest.approx(0.3, rel=1e-2)
    line = '  moved base: ship.csv, 401 samples, 20 s, acceleration up to '
    assert any(one.startswith(line) for one in as_text(summarise(robot)))


def test_a_base_that_only_messages_move_is_at_rest(tmp_path):
    path = arm_on_ship(tmp_path)
    text = path.read_text().replace('ship.csv', 'topic')
    robot = frs.read_description(text)
    assert (robot.base_motion.poses == [0, 0, 0, 0, 0, 0, 1]).all()
    lines = [*as_text(summarise(robot))]
    assert '  moved base: at rest until the topic base_motion moves it' in lines


def test_a_missing_table_and_a_robot_without_a_folder_are_refused(tmp_path):
    arm = arm_on_ship(tmp_path)
    with pytest.raises(DescriptionError, match='the file "ship.csv" of <base> is not found') as e:
        frs.read_description(arm)
    assert e.value.line == 1 + arm.read_text().partition(BASE)[0].count('\n')
    with pytest.raises(DescriptionError, match='comes without a folder, and its <base> names'):
        read_text(arm.read_text())
    description, notes = read_recorded_text(arm.read_text())
    assert description.base_motion is None
    assert len(notes) == 1 and 'A base without recorded odometry is at rest' in notes[0]


def test_a_second_base_an_unknown_word_and_a_free_base_are_refused(tmp_path):
    write_ship(tmp_path / 'ship.csv', np.linspace(0.0, 1.0, 101))
    for base, message in (
        (f'{BASE}<base motion="ship.csv"/>', 'a second <base>, in the same line'),
        ('<flexibility><base/>', '<base> has no motion. Give motion'),
        ('<flexibility><base motion="ship.csv" rate="2"/>', 'unknown attribute "rate" of <base>'),
    ):
        with pytest.raises(DescriptionError, match=message):
            frs.read_description(arm_on_ship(tmp_path, base))
    path = tmp_path / 'free.urdf'
    path.write_text(SPACE_ARM.replace('<flexibility>', BASE))
    with pytest.raises(DescriptionError, match='and its joint "anchor" is floating. Make the joi'):
        frs.read_description(path)
