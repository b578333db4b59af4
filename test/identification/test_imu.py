"""Gyros and accelerometers: closed forms, differences of poses, fits, and recordings."""

from functools import cache

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from sensor_robots import with_sensors

import flex_robot_sim as frs
from flex_robot_sim.analysis.jacobians import pose
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.cli import main
from flex_robot_sim.description.gravity import GRAVITY
from flex_robot_sim.description.robot_parameters import with_parameters
from flex_robot_sim.identification.identify import identify
from flex_robot_sim.identification.imu import (
    imu_channels,
    imu_readings,
    refuse_unknown_links,
    unknown_links,
)
from flex_robot_sim.identification.log_file import Column, Log, read_log
from flex_robot_sim.identification.log_simulation import SimulatedMotion, channels_of
from flex_robot_sim.identification.prediction import Setup, initial_shapes
from flex_robot_sim.identification.sequences import make_data_set
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.recording.mcap_file import RecordingWriter
from flex_robot_sim.recording.messages import JOINT_STATE, TEXTS, joint_state
from flex_robot_sim.ros.cdr import encode
from flex_robot_sim.ros.definitions import SEPARATOR, message_type
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.share import shipped_robots

pytestmark = pytest.mark.slow

SIX = tuple(f'{kind}/imu/{axis}' for kind in ('gyro', 'acceleration') for axis in 'xyz')
GYROS, FORCES = slice(0, 3), slice(3, 6)
PLACE, TURNED = [0.3, 0.05, -0.02], [0.4, -0.3, 0.7]
PENDULUM = """<robot name="pendulum"><link name="base"/>
<link name="rod"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="rod"/>
<axis xyz="0 1 0"/><limit effort="10" velocity="50"/></joint>
<link name="imu"/><joint name="imu_mount" type="fixed"><parent link="rod"/><child link="imu"/>
<origin xyz="0.3 0.05 -0.02" rpy="0.4 -0.3 0.7"/></joint></robot>"""


def with_imu(robot, carrier, place='0 0 0', turn='0 0 0'):
    """Return the URDF of a shipped robot with a massless link `imu` fixed to a link."""
    mount = (
        f'<link name="imu"/><joint name="imu_mount" type="fixed"><parent link="{carrier}"/>'
        f'<child link="imu"/><origin xyz="{place}" rpy="{turn}"/></joint></robot>'
    )
    return shipped_robots()[robot].read_text('utf-8').replace('</robot>', mount)


@pytest.mark.parametrize('swing', [0.0, 0.9], ids=['rotor', 'pendulum'])
def test_a_rigid_link_measures_rate_centripetal_tangential_and_gravity(swing):
    arm, period = build_arm(frs.read_description(PENDULUM)), 5e-3
    t, w = np.arange(200) * period, 2 * np.pi
    q = 3.0 * t + swing * np.sin(w * t)
    rate, up = 3.0 + swing * w * np.cos(w * t), -swing * w**2 * np.sin(w * t)
    read = imu_readings(arm, GRAVITY, SIX, q[:, None], rate[:, None], period)
    axis, mount = np.array([0.0, 1.0, 0.0]), Rotation.from_euler('xyz', TURNED)
    in_rod = Rotation.from_rotvec(q[:, None] * axis)
    way = in_rod.apply(PLACE)
    across = np.cross(axis, way)
    force = (
        up[:, None] * across
        + rate[:, None] ** 2 * np.cross(axis, across)
        + np.array([0.0, 0.0, 9.81])
    )
    np.testing.assert_allclose(read[:, GYROS], mount.inv().apply(rate[:, None] * axis), atol=1e-12)
    # the fastest part rotates 0.15 rad per sample: the polynomial errs by 0.15^6 / 140 of 30 m/s2,
    # and at its ends by twenty times that
    wanted = mount.inv().apply(in_rod.inv().apply(force))
    np.testing.assert_allclose(read[3:-3, FORCES], wanted[3:-3], atol=5e-6)
    np.testing.assert_allclose(read[:, FORCES], wanted, atol=1e-4)


def test_an_imu_off_the_origin_of_its_link_is_a_frame_of_signals():
    place, turn = '0.01 0.02 0.03', '0.3 -0.5 0.9'
    framed = build_arm(frs.read_description(with_imu('two_link', 'tool', place, turn)))
    text = with_sensors(
        shipped_robots()['two_link'].read_text('utf-8'),
        {'tool': f'<imu name="imu" xyz="{place}" rpy="{turn}"/>'},
    )
    arm, random = build_arm(frs.read_description(text)), np.random.default_rng(2)
    q, v = 0.1 * random.normal(size=(2, 20, arm.size))
    np.testing.assert_allclose(
        imu_readings(arm, GRAVITY, SIX, q, v, 0.01),
        imu_readings(framed, GRAVITY, SIX, q, v, 0.01),
        rtol=1e-9,
    )
    refuse_unknown_links(arm, [f'{name}=COLUMN' for name in SIX])
    assert unknown_links(arm, SIX) == []
    assert {*SIX} <= {*imu_channels(arm)}


def test_at_rest_the_upward_axis_measures_gravity():
    arm = build_arm(frs.read_description(PENDULUM))
    still = np.zeros((20, 1))
    read = imu_readings(arm, GRAVITY, SIX, still, still, 0.01)
    up = Rotation.from_euler('xyz', TURNED).inv().apply([0.0, 0.0, 9.81])
    np.testing.assert_allclose(read, np.tile([0.0, 0.0, 0.0, *up], (20, 1)), atol=1e-12)


@pytest.mark.parametrize(
    'carrier, place',
    [('payload', '0.01 0.02 0.03'), ('forearm', '0.45 0 0'), ('forearm', '0.2 0 0.01')],
    ids=['payload', 'tip of the beam', 'middle of the beam'],
)
def test_measurements_of_a_moving_bent_arm_agree_with_pose_differences(carrier, place):
    arm = build_arm(frs.read_description(with_imu('two_link', carrier, place, '0.3 -0.5 0.9')))
    random, period, count = np.random.default_rng(4), 2e-3, 41
    middle = random.uniform(-1.0, 1.0, arm.size)
    swing = random.uniform(0.2, 0.5, arm.size)
    middle[2 * len(arm.joint_names) :] *= 0.02  # elastic coordinates [m, rad]
    swing[2 * len(arm.joint_names) :] *= 0.03
    rate, phase = random.uniform(5.0, 60.0, arm.size), random.uniform(0.0, 6.0, arm.size)

    def at(t):
        return middle + swing * np.sin(np.multiply.outer(t, rate) + phase)

    t = np.arange(count) * period
    rates = swing * rate * np.cos(np.multiply.outer(t, rate) + phase)
    read = imu_readings(arm, GRAVITY, SIX, at(t), rates, period)
    h = 1e-4
    for k in range(4, count - 4, 8):
        far, low, here, high, last = (
            pose(arm, at(t[k] + by * h), link='imu') for by in (-2, -1, 0, 1, 2)
        )
        turn = here[:3, :3].T @ (8 * (high - low) - (last - far))[:3, :3] / (12 * h)
        moved = (16 * (high + low) - (last + far) - 30 * here)[:3, 3] / (12 * h**2)
        force = here[:3, :3].T @ (moved + [0.0, 0.0, 9.81])
        # fourth order at 1/1000 of a period: rounding of second differences remains
        np.testing.assert_allclose(read[k, GYROS], [turn[2, 1], turn[0, 2], turn[1, 0]], atol=1e-8)
        # 50 samples per period, with accelerations up to some 100 m/s2
        np.testing.assert_allclose(read[k, FORCES], force, atol=1e-5 * np.abs(force).max())


RATE, SECONDS, LATE = 200.0, 6.0, 3e-3
BIAS = np.array([0.03, -0.02, 0.05, 0.1, -0.2, 0.15])
NOISE = np.array([2e-3] * 3 + [0.02] * 3)


def with_stiffness(factor):
    description = frs.read_description(with_imu('single_link', 'tool', '0.01 0 0.005'))
    return with_parameters(description, {'arm.stiffness': factor})


def measure_poses(poses, h):
    """Return rates and specific forces (k, 6) of a frame by differences of poses (k, 4, 4)."""
    R, p = poses[:, :3, :3], poses[:, :3, 3]
    turned = np.zeros((len(R), 3))
    turned[1:-1] = Rotation.from_matrix(np.swapaxes(R[:-2], 1, 2) @ R[2:]).as_rotvec() / (2 * h)
    force = np.tile([0.0, 0.0, 9.81], (len(R), 1))
    force[1:-1] += (p[2:] - 2 * p[1:-1] + p[:-2]) / h**2
    return np.hstack([turned, np.einsum('kji,kj->ki', R, force)])


@cache
def record_log():
    """Return the log of joint and IMU of an arm with twice the modes and 0.88 of its stiffness."""
    text = with_imu('single_link', 'tool', '0.01 0 0.005').replace(
        'bending_y="2"', 'bending_y="4"'
    )
    arm = build_arm(with_parameters(frs.read_description(text), {'arm.stiffness': 0.88}))
    simulation, h = frs.Simulation(arm), 1e-3
    simulation.hold([0.0], [1.0], [0.1])
    places, poses = [], []
    for k in range(round(SECONDS / h)):
        t = k * h
        simulation.effort = [0.3 * np.sin(2 * np.pi * (0.4 + 0.3 * t) * t) if t > 0.2 else 0.0]
        places.append(simulation.position[0])
        poses.append(pose(arm, simulation.q, link='imu'))
        simulation.step()
    imu = measure_poses(np.array(poses), h)
    every, late = round(1 / RATE / h), round(LATE / h)
    imu = np.vstack([np.repeat(imu[:1], late, axis=0), imu])[: len(places)][::every]
    imu = imu + BIAS + np.random.default_rng(7).normal(0, NOISE, imu.shape)
    clock = np.arange(len(imu)) / RATE
    columns = {'position/motor': Column(clock, np.array(places)[::every])}
    columns.update({name: Column(clock, imu[:, k]) for k, name in enumerate(SIX)})
    return Log('run', columns, [])


def scaled_log(names, factor):
    """Return the log with some columns in another unit."""
    columns = {
        name: Column(column.time, column.values * (factor if name in names else 1.0))
        for name, column in record_log().columns.items()
    }
    return Log('run', columns, [])


def data_of(log):
    return make_data_set([log], build_arm(with_stiffness(1.0)))


@pytest.mark.long
@pytest.mark.parametrize('factor, free', [(1.2, ['arm.damping_ratio']), (1.2, []), (0.8, [])])
def test_joint_and_imu_alone_determine_the_stiffness(factor, free):
    wrong = with_stiffness(0.88 * factor)
    data = make_data_set([record_log()], build_arm(wrong))
    assert not data.has_efforts and {*data.channels} == {*SIX}
    found = identify(Setup(wrong, data, time_step=2.5e-3), ['arm.stiffness', *free, 'delay'])
    numbers = {one.path: one for one in found.estimates}
    assert numbers['arm.stiffness'].value * factor == pytest.approx(1.0, rel=0.01)
    assert abs(numbers['delay'].value - LATE) < 5e-4
    assert found.is_good and {*found.signals_below_noise} == {
        'gyro/imu/x',
        'gyro/imu/y',
        'acceleration/imu/z',
    }
    # biases are found, too, as far as white noise of 900 samples permits
    z = dict(zip([*numbers, *SIX], found.fit.z))
    assert z['gyro/imu/x'] * found.setup.data.sequences[0].measured[
        :, SIX.index('gyro/imu/x')
    ].std() == pytest.approx(BIAS[0], abs=5 * NOISE[0] / 30)


@pytest.mark.long
def test_efforts_and_one_imu_determine_both_stiffnesses_under_gravity():
    text, h = with_imu('two_link', 'tool', '0.01 0 0.005', '0.2 0.1 0'), 1e-3
    true = {'upper_arm.stiffness': 0.85, 'forearm.stiffness': 1.15}
    arm = build_arm(with_parameters(frs.read_description(text), true))
    middle, simulation = np.array([0.2, 0.4, -0.5]), frs.Simulation(arm)
    rest = equilibrium(arm, middle)
    simulation.set_state(q=rest.q)
    simulation.hold(middle, np.full(3, 8.0), np.full(3, 1.0))
    places, efforts, poses = [], [], []
    for k in range(round(SECONDS / h)):
        t = k * h
        chirps = np.sin(2 * np.pi * (np.array([0.5, 0.4, 0.6]) + [0.4 * t, 0.3 * t, 0.45 * t]) * t)
        simulation.effort = rest.effort + (t > 0.2) * chirps * [1.5, 2.0, 1.0]
        places.append(simulation.motor_position)
        efforts.append(simulation.applied_effort)
        poses.append(pose(arm, simulation.q, link='imu'))
        simulation.step()
    random, every = np.random.default_rng(1), round(1 / RATE / h)
    imu = measure_poses(np.array(poses), h)[::every]
    imu = imu + BIAS + random.normal(0, NOISE, imu.shape)
    clock = np.arange(len(imu)) * every * h
    columns = {name: Column(clock, imu[:, k]) for k, name in enumerate(SIX)}
    for j, name in enumerate(arm.joint_names):
        seen = np.array(places)[::every, j] + random.normal(0, 1e-5, clock.size)
        columns.update(
            {
                f'motor/{name}': Column(clock, seen),
                f'effort/{name}': Column(clock, np.array(efforts)[::every, j]),
            }
        )
    wrong = frs.read_description(text)
    data = make_data_set([Log('run', columns, [])], build_arm(wrong))
    assert data.has_efforts and {*SIX} < {*data.channels}
    found = identify(Setup(wrong, data), [*true, 'delay'])
    for one in found.estimates[:2]:
        assert one.value == pytest.approx(true[one.path], rel=0.01)
    assert found.is_good


def test_degrees_per_second_are_rejected():
    data = data_of(scaled_log(SIX[GYROS], 180 / np.pi))
    said = (
        r'^run: the gyro on "imu" turns \d\d(\.\d)? times as fast as the arm: these are '
        r'degrees. Give --signal gyro/imu/x=COLUMN\*deg and so on.$'
    )
    with pytest.raises(UsageError, match=said):
        identify(Setup(with_stiffness(1.0), data, time_step=5e-3), ['arm.stiffness'])


@pytest.mark.long
def test_a_log_that_starts_in_motion_gives_the_same_estimates():
    log, wrong = record_log(), with_stiffness(0.88 * 1.2)
    log = Log(
        'run',
        {
            name: Column(column.time[300:], column.values[300:])
            for name, column in log.columns.items()
        },
        [],
    )
    data = make_data_set([log], build_arm(wrong))
    setup = Setup(wrong, data, time_step=2.5e-3)
    assert initial_shapes(setup, data.sequences[0]).shape[1] >= 2  # unknown vibration
    found = identify(setup, ['arm.stiffness'])
    assert found.estimates[0].value * 1.2 == pytest.approx(1.0, rel=0.01)


def test_delayed_measurements_are_shifted_in_time():
    description = frs.read_description(PENDULUM)
    arm, period, late = build_arm(description), 5e-3, 11.5e-3
    t = np.arange(400) * period

    def motion(t):
        return SimulatedMotion(
            (0.9 * np.sin(6 * t))[:, None], (5.4 * np.cos(6 * t))[:, None], np.zeros((400, 1)), 400
        )

    columns = {
        name: Column(t, 10 * np.sin(6 * t + k)) for k, name in enumerate(('position/hinge', *SIX))
    }
    setup = Setup(description, make_data_set([Log('run', columns, [])], arm))
    assert setup.data.channels == SIX
    row = setup.data.sequences[0]
    found = channels_of(setup, arm, row, motion(t), late)
    wanted = channels_of(setup, arm, row, motion(t - late))
    # cubic interpolation: 0.09 rad of phase, to the fourth over 384, of 30 m/s2
    np.testing.assert_allclose(found[10:-10], wanted[10:-10], atol=1e-5)


MESSAGE = f"""std_msgs/Header header
geometry_msgs/Quaternion orientation
float64[9] orientation_covariance
geometry_msgs/Vector3 angular_velocity
float64[9] angular_velocity_covariance
geometry_msgs/Vector3 linear_acceleration
float64[9] linear_acceleration_covariance

{SEPARATOR}
MSG: geometry_msgs/Quaternion
float64 x 0
float64 y 0
float64 z 0
float64 w 1

{SEPARATOR}
MSG: geometry_msgs/Vector3
float64 x
float64 y
float64 z

{SEPARATOR}
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id

{SEPARATOR}
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
"""
KIND = 'sensor_msgs/msg/Imu'


def bag(path, frame='imu', no_acceleration=False):
    """Write a recording with joint states and an IMU; return the IMU rows."""
    log, kind = record_log(), message_type(KIND, MESSAGE)
    writer = RecordingWriter(path, {})
    joints = writer.topic('/joint_states', JOINT_STATE, TEXTS[JOINT_STATE])
    imus = writer.topic('/imu/data', KIND, MESSAGE)
    table = np.column_stack([log.columns[name].values for name in SIX])
    covariance = np.array([-1.0] + [0.0] * 8)
    for k, row in enumerate(table):
        stamp = 10**12 + 5_000_000 * k
        writer.write(
            joints, stamp, joint_state(stamp, ['motor'], [log.columns['position/motor'].values[k]])
        )
        writer.write(
            imus,
            stamp,
            encode(
                kind,
                {
                    'header': {
                        'stamp': {'sec': stamp // 10**9, 'nanosec': stamp % 10**9},
                        'frame_id': frame,
                    },
                    'orientation': {'x': 0.0, 'y': 0.0, 'z': 0.0, 'w': 1.0},
                    'orientation_covariance': covariance,
                    'angular_velocity': dict(zip('xyz', row[GYROS].tolist())),
                    'angular_velocity_covariance': np.zeros(9),
                    'linear_acceleration': dict(zip('xyz', row[FORCES].tolist())),
                    'linear_acceleration_covariance': covariance * no_acceleration,
                },
            ),
        )
    writer.close()
    return table


def test_imu_messages_are_channels_of_the_link_in_their_frame_id(tmp_path):
    pytest.importorskip('mcap')
    table = bag(tmp_path / 'run.mcap', '/imu')
    data = data_of(read_log(tmp_path / 'run.mcap'))
    assert data.channels == SIX and not data.notes
    np.testing.assert_array_equal(data.sequences[0].measured, table)


def test_a_covariance_of_minus_one_means_not_measured(tmp_path):
    pytest.importorskip('mcap')
    bag(tmp_path / 'run.mcap', no_acceleration=True)
    data = data_of(read_log(tmp_path / 'run.mcap'))
    assert data.channels == SIX[:3]


def test_an_imu_on_an_unknown_link_is_excluded_and_reported(tmp_path, capsys):
    pytest.importorskip('mcap')
    path, robot = tmp_path / 'run.mcap', tmp_path / 'robot.urdf'
    bag(path, 'head')
    robot.write_text(with_imu('single_link', 'tool'))
    with pytest.raises(UsageError, match='no column measures how the arm bends'):
        data_of(read_log(path))
    # the user can assign its link
    named = [
        f'{signal}=imu/data:{field}/{axis}'
        for signal, field in (
            ('gyro/imu/z', 'angular_velocity'),
            ('acceleration/imu/y', 'linear_acceleration'),
        )
        for axis in signal[-1]
    ]
    data = data_of(read_log(path, named))
    assert data.channels == ('gyro/imu/z', 'acceleration/imu/y')
    assert data.notes == [f'{path}: the IMU on "head" is left out, as the robot has no such link']
    for link, said in (
        ('imv', 'the robot has no link "imv". Near: imu.'),
        ('base', 'link "base" never moves. Name the link that carries the sensor.'),
    ):
        words = f'gyro/{link}/z=imu/data:angular_velocity/z'
        assert main(['identify', str(path), str(robot), '--signal', words]) == 2
        assert capsys.readouterr().err == f'flexsim identify: --signal {words}: {said}\n'


def columns_of(path, **factors):
    """Write the log as CSV, with some columns of other names and units; return its path."""
    log = record_log()
    names = {f'{name[0]}{name[-1]}': name for name in SIX}
    rows = [log.columns['position/motor'].values] + [
        log.columns[name].values * factors.get(short, 1.0) for short, name in names.items()
    ]
    np.savetxt(
        path,
        np.column_stack([log.columns['position/motor'].time, *rows]),
        delimiter=',',
        comments='',
        header=','.join(['time', 'position/motor', *names]),
    )
    return path


def test_columns_of_a_csv_are_assigned_and_scaled(tmp_path):
    path = columns_of(tmp_path / 'run.csv', gz=180 / np.pi, ax=1 / 9.80665)
    data = data_of(read_log(path, ['gyro/imu/z=gz*deg', 'acceleration/imu/x=ax*9.80665']))
    assert data.channels == ('gyro/imu/z', 'acceleration/imu/x')
    for k, name in enumerate(data.channels):
        np.testing.assert_allclose(
            data.sequences[0].measured[:, k], record_log().columns[name].values, rtol=1e-9
        )


def test_accelerations_in_g_are_rejected():
    # the tip accelerates by some m/s2, so the median is a little above 1
    with pytest.raises(
        UsageError,
        match=r'^run: the accelerometer on "imu" reads 1\.\d+ where '
        r'gravity is 9.81 m/s2: in g, or without gravity\? Give '
        r'--signal acceleration/imu/x=COLUMN\*9\.80665 and so',
    ):
        data_of(scaled_log(SIX[FORCES], 1 / 9.80665))


def test_inactive_axes_are_excluded_here_and_in_other_logs():
    columns = {
        name: Column(column.time, np.full(column.values.shape, 9.81))
        if name == 'acceleration/imu/z'
        else column
        for name, column in record_log().columns.items()
    }
    arm = build_arm(with_stiffness(1.0))
    data = make_data_set([Log('run', columns, [])], arm)
    assert data.channels == SIX[:5]
    assert make_data_set([record_log()], arm, like=data).channels == SIX[:5]
    still = {
        name: Column(column.time, column.values if name[0] == 'p' else 0 * column.values)
        for name, column in columns.items()
        if name[0] != 'a'
    }
    with pytest.raises(UsageError, match='^run: no excitation: the IMU does not move. Record'):
        make_data_set([Log('run', still, [])], arm)
