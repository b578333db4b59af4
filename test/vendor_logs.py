"""Samples of an accelerometer in the files of Klipper, phone apps, LeRobot and bags of ROS."""

import contextlib
import gzip
import json
import sqlite3
import zipfile

import numpy as np
import pytest
from message_texts import HEADER_TEXT

EPOCH = 1_700_000_000 * 10**9  # [ns]
IMU_TEXT = (
    'std_msgs/Header header\ngeometry_msgs/Quaternion orientation\n'
    'float64[9] orientation_covariance\ngeometry_msgs/Vector3 angular_velocity\n'
    'float64[9] angular_velocity_covariance\ngeometry_msgs/Vector3 linear_acceleration\n'
    'float64[9] linear_acceleration_covariance\n'
    + HEADER_TEXT
    + '=' * 80
    + '\nMSG: geometry_msgs/Quaternion\nfloat64 x\nfloat64 y\nfloat64 z\nfloat64 w\n'
    + '=' * 80
    + '\nMSG: geometry_msgs/Vector3\nfloat64 x\nfloat64 y\nfloat64 z\n'
)


def klipper_text(times, samples):
    """Return a file of ACCELEROMETER_MEASURE: mm/s2, six digits, statistics before the header."""
    rows = [f'{t:.6f},{x:.6f},{y:.6f},{z:.6f}' for t, (x, y, z) in zip(times, 1e3 * samples)]
    return '\n'.join(
        ['##bytes_write=10 bytes_read=20', '#time,accel_x,accel_y,accel_z', *rows, '']
    )


def write_klipper(folder, times, samples):
    path = folder / 'raw_data_x_20201128_010643.csv'
    path.write_text(klipper_text(times + 12.830844, samples))
    return path


def write_compressed_klipper(folder, times, samples):
    path = folder / 'raw_data_x.csv.gz'
    path.write_bytes(gzip.compress(klipper_text(times, samples).encode()))
    return path


def phyphox_number(value, point='.'):
    """Return a number as phyphox writes it, by the pattern 0.000000000E0."""
    mantissa, exponent = f'{value:.9e}'.split('e')
    return f'{mantissa}E{int(exponent)}'.replace('.', point)


def phyphox_text(times, samples, separator=',', point='.', german=False):
    """Return the table of the experiment "Acceleration with g", with its magnitude."""
    clock, what, size = 'Time (s)', 'Acceleration', 'Absolute acceleration'
    if german:
        clock, what, size = 'Zeit (s)', 'Beschleunigung', 'Absolutbetrag'
    names = [clock, *(f'{what} {axis} (m/s^2)' for axis in 'xyz'), f'{size} (m/s^2)']
    table = np.column_stack([times, samples, np.linalg.norm(samples, axis=1)])
    rows = [separator.join(phyphox_number(value, point) for value in row) for row in table]
    return '\n'.join([separator.join(f'"{name}"' for name in names), *rows, ''])


def write_phyphox(folder, times, samples, **settings):
    path = folder / 'Acceleration 2026-11-27.zip'
    with zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED) as archive:
        archive.writestr('Raw Data.csv', phyphox_text(times, samples, **settings))
        archive.writestr('meta/device.csv', '"property","value"\n"version","1.1.16"\n')
        archive.writestr(
            'meta/time.csv',
            '"event","experiment time","system time","system time text"\n'
            '"START",0.000000000E0,1750383375.135,"2025-06-19 21:36:15.135 UTC-04:00"\n',
        )
    return path


def write_german_phyphox(folder, times, samples):
    return write_phyphox(folder, times, samples, separator=';', point=',', german=True)


def sensor_logger_text(times, samples):
    """Return a table of Sensor Logger: epoch in ns, seconds since the start, and z, y, x."""
    rows = [
        f'{EPOCH + round(t * 1e9)},{t!r},{z!r},{y!r},{x!r}'
        for t, (x, y, z) in zip(times.tolist(), samples.tolist())
    ]
    return '\n'.join(['time,seconds_elapsed,z,y,x', *rows, ''])


def write_sensor_logger_table(folder, times, samples):
    path = folder / 'Accelerometer.csv'
    path.write_text(sensor_logger_text(times, samples))
    return path


def write_sensor_logger(folder, times, samples):
    path = folder / '2026-11-27_09-00-00.zip'
    with zipfile.ZipFile(path, 'w') as archive:
        archive.writestr('Metadata.csv', 'version,device name\n3,iPhone\n')
        archive.writestr('Annotation.csv', 'time,seconds_elapsed,text\n')
        archive.writestr('Gyroscope.csv', sensor_logger_text(times[:-7] + 0.003, samples[7:]))
        archive.writestr('Accelerometer.csv', sensor_logger_text(times, samples))
    return path


def write_lerobot(folder, times, samples):
    """Write a dataset of version 3 with two episodes; pandas writes the Parquet file."""
    pandas = pytest.importorskip('pandas')
    pytest.importorskip('pyarrow')
    path = folder / 'dataset'
    (path / 'meta').mkdir(parents=True)
    (path / 'data' / 'chunk-000').mkdir(parents=True)
    feature = {'dtype': 'float32', 'shape': [3], 'names': ['ax', 'ay', 'az']}
    info = {'codebase_version': 'v3.0', 'fps': 200, 'features': {'observation.state': feature}}
    (path / 'meta' / 'info.json').write_text(json.dumps(info))
    counts = [times.size, 20]
    states = np.concatenate([samples, samples[:20]]).astype(np.float32)
    pandas.DataFrame(
        {
            'action': [*np.zeros(states.shape, np.float32)],
            'observation.state': [*states],
            'timestamp': np.concatenate([times, times[:20]]).astype(np.float32),
            'frame_index': np.concatenate([np.arange(count) for count in counts]),
            'episode_index': np.repeat([0, 1], counts),
            'index': np.arange(sum(counts)),
            'task_index': np.zeros(sum(counts), int),
        }
    ).to_parquet(path / 'data' / 'chunk-000' / 'file-000.parquet')
    return path


def write_imu_mcap(folder, times, samples):
    """Write an IMU and joint states by mcap_ros2."""
    writer_of = pytest.importorskip('mcap_ros2.writer')
    path = folder / 'imu.mcap'
    with open(path, 'wb') as file:
        writer = writer_of.Writer(file)
        imu = writer.register_msgdef('sensor_msgs/msg/Imu', IMU_TEXT)
        text = writer.register_msgdef('std_msgs/msg/String', 'string data')
        for time, sample in zip(times, samples):
            stamp = EPOCH + round(time * 1e9)
            zero = dict.fromkeys('xyz', 0.0)
            message = {
                'header': {
                    'stamp': {'sec': stamp // 10**9, 'nanosec': stamp % 10**9},
                    'frame_id': 'tool',
                },
                'orientation': {**zero, 'w': 1.0},
                'orientation_covariance': [-1.0] + [0.0] * 8,
                'angular_velocity': zero,
                'angular_velocity_covariance': [0.0] * 9,
                'linear_acceleration': dict(zip('xyz', sample.tolist())),
                'linear_acceleration_covariance': [0.0] * 9,
            }
            writer.write_message('/imu/data', imu, message, log_time=stamp, publish_time=stamp)
            writer.write_message('/log', text, {'data': 'x'}, stamp, stamp)
        writer.finish()
    return path


def write_sqlite_bag(folder, times, samples, kind='Imu', has_definitions=False):
    """Write a bag in SQLite by rosbags; those of ROS 2 Humble have no definitions."""
    rosbags = pytest.importorskip('rosbags.rosbag2')
    stores = pytest.importorskip('rosbags.typesys')
    store = stores.get_typestore(stores.Stores.ROS2_HUMBLE)
    name = {'Imu': 'sensor_msgs/msg/Imu', 'Wrench': 'geometry_msgs/msg/WrenchStamped'}[kind]
    of = store.types
    vector, header_of = of['geometry_msgs/msg/Vector3'], of['std_msgs/msg/Header']
    path = folder / 'bag'
    plugin = rosbags.StoragePlugin.SQLITE3
    with rosbags.Writer(path, version=9, storage_plugin=plugin) as writer:
        connection = writer.add_connection('/sensor', name, typestore=store)
        other = writer.add_connection('/clicked', 'geometry_msgs/msg/Point', typestore=store)
        for time, sample in zip(times, samples):
            stamp = EPOCH + round(time * 1e9)
            header = header_of(
                of['builtin_interfaces/msg/Time'](stamp // 10**9, stamp % 10**9), 'tool'
            )
            if kind == 'Imu':
                zero, nine = vector(0.0, 0.0, 0.0), np.zeros(9)
                turn = of['geometry_msgs/msg/Quaternion'](0.0, 0.0, 0.0, 1.0)
                message = of[name](header, turn, nine, zero, nine, vector(*sample), nine)
            else:
                wrench = of['geometry_msgs/msg/Wrench'](vector(*sample), vector(*-sample))
                message = of[name](header, wrench)
            writer.write(connection, stamp, store.serialize_cdr(message, name))
            point = of['geometry_msgs/msg/Point'](0.0, 0.0, time)
            writer.write(other, stamp, store.serialize_cdr(point, 'geometry_msgs/msg/Point'))
    if not has_definitions:
        (file,) = path.glob('*.db3')
        with contextlib.closing(sqlite3.connect(file)) as database:
            database.execute('DROP TABLE message_definitions')
    return path


def write_wrench_bag(folder, times, samples):
    return write_sqlite_bag(folder, times, samples, 'Wrench', True)


# program: how it writes a log, and the names of the columns of the accelerometer, x to z
VENDORS = {
    'Klipper': (write_klipper, ['accel_x', 'accel_y', 'accel_z']),
    'Klipper, compressed': (write_compressed_klipper, ['accel_x', 'accel_y', 'accel_z']),
    'phyphox': (write_phyphox, [f'Raw Data:Acceleration {axis} (m/s^2)' for axis in 'xyz']),
    'phyphox in German': (
        write_german_phyphox,
        [f'Raw Data:Beschleunigung {axis} (m/s^2)' for axis in 'xyz'],
    ),
    'Sensor Logger': (write_sensor_logger, [f'Accelerometer:{axis}' for axis in 'xyz']),
    'Sensor Logger, a table': (write_sensor_logger_table, [*'xyz']),
    'LeRobot': (write_lerobot, [f'observation.state/a{axis}' for axis in 'xyz']),
    'an IMU in MCAP': (write_imu_mcap, [f'imu/data:linear_acceleration/{axis}' for axis in 'xyz']),
    'an IMU in a bag of Humble': (
        write_sqlite_bag,
        [f'sensor:linear_acceleration/{axis}' for axis in 'xyz'],
    ),
    'a force sensor in a bag': (
        write_wrench_bag,
        [f'sensor:wrench/force/{axis}' for axis in 'xyz'],
    ),
}
