"""`flexsim simulate` writes what the sensors of the robot measure, and nothing else changes."""

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline
from sensor_robots import with_sensors

pytest.importorskip('mcap')

import flex_robot_sim as frs
from flex_robot_sim.cli import main
from flex_robot_sim.recording.mcap_file import RecordingReader
from flex_robot_sim.recording.read.reader import read_recording
from flex_robot_sim.recording.tables import read_tables
from flex_robot_sim.util.share import shipped_robots

pytestmark = pytest.mark.slow

IMU = '<imu name="hand" xyz="0.02 0 0" rate="250" accelerometer_noise="0.01"/>'
LINK_IMU = '<imu name="tool"/>'
ENCODER = '<encoder resolution="1e-3" delay="0.002"/>'
SECONDS, STEP = 0.1, 1e-3


def simulate(folder, robot, name, *words):
    path = folder / name
    arguments = f'simulate {robot} --effort motor=sine:0.5@3 --start 0.3 --seconds {SECONDS}'
    assert main([*arguments.split(), '--rate', '100', '--output', str(path), *words]) == 0
    return path


def table(path):
    return np.genfromtxt(path, delimiter=',', names=True, deletechars='', dtype=float)


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp('sensors')
    plain = shipped_robots()['single_link'].read_text('utf-8')
    (folder / 'plain.urdf').write_text(plain)
    text = with_sensors(plain, links={'tool': IMU + LINK_IMU}, joints={'motor': ENCODER})
    (folder / 'sensors.urdf').write_text(text)
    for robot in ('plain', 'sensors'):
        for kind in ('csv', 'mcap'):
            simulate(folder, folder / f'{robot}.urdf', f'{robot}.{kind}')
    return folder


def test_only_measured_columns_differ(folder):
    plain, measured = table(folder / 'plain.csv'), table(folder / 'sensors.csv')
    names = plain.dtype.names
    assert measured.dtype.names[: len(names)] == names
    assert [name.split('/')[1] for name in measured.dtype.names[len(names) :]] == (
        ['hand'] * 6 + ['tool'] * 6
    )
    differing = {name for name in names if (plain[name] != measured[name]).any()}
    assert differing == {'position/motor', 'velocity/motor', 'motor/motor'}


def test_positions_are_late_and_in_steps(folder):
    plain, measured = table(folder / 'plain.csv'), table(folder / 'sensors.csv')
    times, exact = plain['time'], (plain['position/motor'], plain['velocity/motor'])
    late = CubicHermiteSpline(times, *exact)(np.maximum(times - 0.002, 0.0))
    position = measured['position/motor']
    assert abs(position - late).max() < 0.5e-3 + 5e-5  # half a step, and rows of 100 Hz
    np.testing.assert_allclose(position / 1e-3, np.round(position / 1e-3), atol=1e-6)
    np.testing.assert_allclose(
        measured['velocity/motor'][1:], np.diff(position) / np.diff(plain['time']), atol=1e-6
    )


def test_a_recording_has_the_imus_at_their_rate_and_the_encoders(folder):
    tables = {
        item.topic.name: item
        for item in read_tables(RecordingReader(folder / 'sensors.mcap')).tables
    }
    csv, hand = table(folder / 'sensors.csv'), tables['/imu/hand'].columns
    np.testing.assert_allclose(np.diff(hand['stamp']), 1 / 250, atol=2e-9)
    assert len(hand['stamp']) == round(SECONDS * 250) + 1
    assert len(tables['/imu/tool'].columns['stamp']) == round(SECONDS * 200) + 1
    assert set(hand['frame_id']) == {'hand'}
    assert set(tables['/imu/tool'].columns['frame_id']) == {'tool'}
    assert set(hand['orientation_covariance/0']) == {-1.0}
    variance = hand['linear_acceleration_covariance/4']
    np.testing.assert_allclose(variance, 0.01**2 * 250 / 2, rtol=1e-12)
    # rows of 100 Hz have the newest sample of 250 Hz
    for axis in 'xyz':
        newest = hand[f'linear_acceleration/{axis}'][[0, 2, 5, 7, 10]]
        np.testing.assert_allclose(csv[f'acceleration/hand/{axis}'][:5], newest, rtol=1e-8)
    joints = tables['/joint_states'].columns
    np.testing.assert_allclose(joints['position/motor'], csv['position/motor'], atol=1e-9)
    np.testing.assert_allclose(joints['velocity/motor'], csv['velocity/motor'], atol=1e-8)


def test_other_topics_are_the_same_bytes(folder):
    def messages(name):
        return [
            (topic.name, time, data)
            for topic, time, data in RecordingReader(folder / name)
            if topic.name.split('/')[1] not in ('imu', 'joint_states', 'motor_states')
            and topic.name != '/robot_description'
        ]

    assert messages('plain.mcap') == messages('sensors.mcap')


def test_the_reader_finds_the_imu_at_the_origin_of_a_link_as_a_signal(folder):
    columns = read_recording(folder / 'sensors.mcap').columns
    assert {'gyro/tool/x', 'acceleration/tool/z', 'acceleration/hand/x'} <= columns.keys()


def test_a_seed_changes_the_noise_only(folder):
    first = table(folder / 'sensors.csv')
    again = table(simulate(folder, folder / 'sensors.urdf', 'again.csv'))
    other = table(simulate(folder, folder / 'sensors.urdf', 'other.csv', '--seed', '3'))
    assert (first == again).all()
    noisy = {name for name in first.dtype.names if (first[name] != other[name]).any()}
    assert noisy == {f'acceleration/hand/{axis}' for axis in 'xyz'}


def test_the_imu_measures_the_difference_of_velocities(folder):
    """Mean acceleration between samples, by a simulation of its own."""
    simulation = frs.Simulation(frs.load(folder / 'sensors.urdf'))
    simulation.set_state(q=[0.3])
    log = simulation.record('twist:tool', period=STEP)
    sensor, rows = frs.ImuSensor(simulation, 'tool'), []
    simulation.effort = [0.3]
    for _ in range(60):
        simulation.step()
        rows.append(sensor.sample(simulation).linear_acceleration)
    twists = log['twist:tool']
    w, v = twists[:, :3], twists[:, 3:]
    rate = (v[2:] - v[:-2]) / (2 * STEP) + np.cross(w, v)[1:-1]
    gravity = np.linalg.norm(np.array(rows)[:-1] - rate, axis=1)
    np.testing.assert_allclose(gravity, 9.81, atol=0.2)


def test_a_negative_seed_is_refused(folder, capsys):
    assert main(['simulate', 'single_link', '--seed', '-1']) == 2
    assert capsys.readouterr().err.strip() == 'flexsim simulate: --seed must be 0 or more.'
