"""JointTrajectory messages as arrays, against the general CDR reader; damaged messages."""

import struct

import numpy as np
import pytest
from trajectory_bytes import JOINT_TRAJECTORY

from flex_robot_sim.ros.cdr import MessageError, decode, encode
from flex_robot_sim.ros.trajectory_cdr import FIELDS, read_header, read_points, write_trajectory

MOST_NAMES = 1000
ODD = [0, 1, 2, 3, 7, 255, 256, 2**16, 2**31 - 1, 2**31, 2**32 - 1]


def random_message(random, longest=70):
    """Return the values of a message whose points change their fields sometimes or always."""
    names = ['ärm' * int(random.integers(4)) + str(k) for k in range(random.integers(1, 8))]
    restless, given, points = random.random() ** 2, random.random(4) < 0.5, []
    for _ in range(random.integers(longest)):
        if random.random() < restless:
            given = random.random(4) < 0.5
        points.append(
            {
                field: random.normal(size=len(names) * is_given)
                for field, is_given in zip(FIELDS, given.astype(int))
            }
        )
        points[-1]['time_from_start'] = {
            'sec': int(random.integers(-5, 100)),
            'nanosec': int(random.integers(10**9)),
        }
    return {
        'header': {
            'stamp': {'sec': int(random.integers(100)), 'nanosec': int(random.integers(10**9))},
            'frame_id': 'x' * int(random.integers(9)),
        },
        'joint_names': names,
        'points': points,
    }


def assert_same(data, header, points, reference):
    stamp = reference['header']['stamp']
    assert header.stamp == stamp['sec'] * 10**9 + stamp['nanosec']
    assert header.frame == reference['header']['frame_id']
    assert list(header.names) == reference['joint_names']
    assert header.points == len(reference['points']) == len(points.times)
    for i, point in enumerate(reference['points']):
        time = point['time_from_start']
        assert points.times[i] == time['sec'] + time['nanosec'] / 1e9
        for field in FIELDS:
            values, is_given = points.rows[field]
            assert is_given[i] == bool(len(point[field]))
            if is_given[i]:
                assert values[i].tobytes() == point[field].tobytes()  # also for nan
            else:
                assert not values[i].any()


@pytest.mark.parametrize('seed', range(40))
def test_points_of_any_fields_are_those_of_the_general_reader(seed):
    random = np.random.default_rng(seed)
    data = encode(JOINT_TRAJECTORY, random_message(random))
    header = read_header(data, MOST_NAMES)
    assert_same(data, header, read_points(data, header, FIELDS), decode(JOINT_TRAJECTORY, data))


def test_a_message_in_the_other_order_of_bytes_is_read():
    body = b''.join(
        [
            struct.pack('>iI', 1, 2),
            struct.pack('>I', 1),
            b'\0' * 4,  # stamp, empty frame
            struct.pack('>I', 1),
            struct.pack('>I', 2),
            b'a\0',
            b'\0' * 2,  # one name
            struct.pack('>I', 1),
        ]
    )  # one point
    body += struct.pack('>I', 1) + bytes(-(len(body) + 4) % 8) + struct.pack('>d', 0.5)
    body += struct.pack('>III', 0, 0, 0) + struct.pack('>iI', 3, 500_000_000)
    data = b'\0\0\0\0' + body
    header = read_header(data, MOST_NAMES)
    points = read_points(data, header)
    assert header[:4] == (1_000_000_002, '', ('a',), 1)
    assert points.times.tolist() == [3.5] and points.rows['positions'].values.tolist() == [[0.5]]


def damaged(random, data):
    """Return bytes with a few changes, an invalid number of items, or a truncated end."""
    data = bytearray(data)
    for _ in range(random.integers(1, 4)):
        kind = random.integers(3)
        if kind == 0 and data:
            data[random.integers(len(data))] = random.integers(256)
        elif kind == 1 and len(data) > 12:
            struct.pack_into(
                '<I', data, 4 * int(random.integers(len(data) // 4)), int(random.choice(ODD))
            )
        elif kind == 2 and len(data) > 12 and random.random() < 0.3:
            del data[random.integers(1, len(data)) :]
    return bytes(data)


def has_wrong_rows(reference):
    size = len(reference['joint_names'])
    return any(
        len(point[field]) not in (0, size) for point in reference['points'] for field in FIELDS
    )


def test_a_damaged_message_is_refused_or_read_as_the_general_reader_does(mutants):
    count = mutants // 20
    random, counts = np.random.default_rng(20261125), {'read': 0, 'refused': 0}
    for _ in range(count):
        data = damaged(random, encode(JOINT_TRAJECTORY, random_message(random, 8)))
        try:
            reference = decode(JOINT_TRAJECTORY, data)
        except MessageError:
            reference = None
        try:
            header = read_header(data, MOST_NAMES)
            points = read_points(data, header, FIELDS)
        except MessageError as error:
            counts['refused'] += 1
            assert '\n' not in str(error)
            assert (
                reference is None
                or has_wrong_rows(reference)
                or len(reference['joint_names']) > MOST_NAMES
            ), data
        else:
            counts['read'] += 1
            assert reference is not None, data
            assert_same(data, header, points, reference)
    assert min(counts.values()) > count / 20


def test_too_many_names_are_refused_before_they_are_read():
    data = encode(JOINT_TRAJECTORY, {'joint_names': ['a'] * 1001})
    with pytest.raises(MessageError, match='it names 1001 joints, more than 1000'):
        read_header(data, MOST_NAMES)


def test_more_points_than_fit_into_the_message_are_refused_at_once():
    data = bytearray(encode(JOINT_TRAJECTORY, {'joint_names': ['a']}))
    data[-4:] = struct.pack('<I', 2**32 - 1)
    with pytest.raises(MessageError, match='the message is cut off'):
        read_header(bytes(data), MOST_NAMES)


@pytest.mark.parametrize(
    'values, line',
    [
        ({'joint_names': ['a' * 5000]}, 'a text of it has more than 4096 bytes'),
        ({'joint_names': ['a' * 4000] * 200}, 'its names are too long'),
        ({'header': {'frame_id': 'a' * 5000}}, 'a text of it has more than 4096 bytes'),
        (
            {'joint_names': ['a'], 'points': [{'effort': np.zeros(200)}] * 20},
            'its points have more than 264 bytes each',
        ),
    ],
)
def test_a_message_whose_parts_are_too_long_is_refused_before_its_points_are_read(values, line):
    with pytest.raises(MessageError) as error:
        read_header(encode(JOINT_TRAJECTORY, values), MOST_NAMES)
    assert str(error.value) == line


def test_points_of_seven_joints_with_all_their_fields_are_as_long_as_allowed():
    names, numbers = [f'joint_{k}' for k in range(7)], np.ones(7)
    point = dict.fromkeys(('positions', 'velocities', 'accelerations', 'effort'), numbers)
    data = encode(JOINT_TRAJECTORY, {'joint_names': names, 'points': [point] * 2000})
    assert read_header(data, MOST_NAMES).points == 2000


@pytest.mark.parametrize('names', [('a',), ('ab', 'ñandú', 'xyz')], ids=len)
@pytest.mark.parametrize('frame', ['', 'base', 'world'])
@pytest.mark.parametrize('fields', [0, 1, 2, 3, 4])
@pytest.mark.parametrize('points', [1, 2, 7])
def test_what_is_written_is_read_back(names, frame, fields, points):
    random = np.random.default_rng(fields)
    times = np.cumsum(random.uniform(0.1, 2.0, points))
    tables = {field: random.normal(size=(points, len(names))) for field in FIELDS[:fields]}
    data = write_trajectory(12_345_678_901, frame, names, times, tables)
    header = read_header(data, 3)
    assert (header.stamp, header.frame, header.names, header.points) == (
        12_345_678_901,
        frame,
        names,
        points,
    )
    read = read_points(data, header, FIELDS)
    np.testing.assert_allclose(read.times, times, atol=1e-9)
    for field in FIELDS:
        assert read.rows[field].is_given.all() == (field in tables)
        if field in tables:
            np.testing.assert_array_equal(read.rows[field].values, tables[field])
