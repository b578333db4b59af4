"""
JointTrajectory messages as arrays: CDR bytes are read and written without an object per point.

Consecutive points with the same fields have a constant stride, so that their numbers are strided
arrays. Fields may change from point to point: each run of equal points is read at once.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from flex_robot_sim.ros.cdr import ENCAPSULATION_SIZE, LITTLE_ENDIAN, MessageError, byte_order

FIELDS = 'positions', 'velocities', 'accelerations', 'effort'
DURATION_SIZE = 8  # time_from_start                                            [bytes]
MAX_TRAILING_BYTES = 4096  # padding that some middlewares append to a message          [bytes]
MIN_POINT_SIZE = 24  # four empty sequences and time_from_start                   [bytes]
NANOSECONDS_PER_SECOND = 1_000_000_000
MAX_TEXT_SIZE = 4096  # a frame or a name                                          [bytes]
MAX_MEAN_NAME_SIZE = 512  # mean over all names of a message                           [bytes]
VALUES_PER_JOINT = len(FIELDS)  # of a point
MAX_POINT_PADDING = 16  # of a point: numbers lie at multiples of 8                  [bytes]
MIN_ASSUMED_JOINTS = 7  # for the size limit of a point; messages may name fewer joints
INITIAL_BLOCK_POINTS = 16  # points compared at once after a change of fields


class TrajectoryHeader(NamedTuple):
    """Fields of a message before its points, and the offset of the points."""

    stamp: int  # [ns]
    frame: str
    names: tuple[str, ...]
    points: int  # number of points
    offset: int  # of the first point, after the 4 bytes of the encapsulation [bytes]


class Rows(NamedTuple):
    """One field of all points, zero where a point has none."""

    values: np.ndarray  # (k, m)
    is_given: np.ndarray  # (k,)


class TrajectoryPoints(NamedTuple):
    """Points of a message."""

    times: np.ndarray  # (k,) from the start                                           [s]
    rows: dict[str, Rows]  # by field


def read_header(data: bytes, max_names: int) -> TrajectoryHeader:
    """
    Return the TrajectoryHeader; MessageError if it is damaged, or has too many names.

    The time is microseconds, independent of the length of the message.
    """
    uint32 = byte_order(data) + 'I'
    size = len(data) - ENCAPSULATION_SIZE
    try:
        seconds, nanoseconds = struct.unpack_from(f'{uint32[0]}iI', data, ENCAPSULATION_SIZE)
        frame, offset = _read_text(data, uint32, 8)
        count, offset = _read_count(data, uint32, offset)
        if count > max_names:
            raise MessageError(f'it names {count} joints, more than {max_names}')
        names = []
        for _ in range(count):
            name, offset = _read_text(data, uint32, offset)
            names.append(name)
            if offset > MAX_TEXT_SIZE + MAX_MEAN_NAME_SIZE * max_names:
                raise MessageError('its names are too long')
        points, offset = _read_count(data, uint32, offset)
    except struct.error as error:
        raise MessageError('the message is cut off') from error
    if points * MIN_POINT_SIZE > size - offset:
        raise MessageError('the message is cut off')
    max_point_size = (
        MIN_POINT_SIZE + MAX_POINT_PADDING + 8 * VALUES_PER_JOINT * max(count, MIN_ASSUMED_JOINTS)
    )
    if size - offset > points * max_point_size + MAX_TRAILING_BYTES:
        raise MessageError(f'its points have more than {max_point_size} bytes each')
    return TrajectoryHeader(
        seconds * NANOSECONDS_PER_SECOND + nanoseconds, frame, tuple(names), points, offset
    )


def read_points(
    data: bytes, header: TrajectoryHeader, fields: Iterable[str] = FIELDS[:3]
) -> TrajectoryPoints:
    """
    Return the points of a message; MessageError if it is damaged.

    :param fields: subset of FIELDS; a point has either no value or one value per joint.
    """
    order, m, k = byte_order(data), len(header.names), header.points
    rows = {field: Rows(np.zeros((k, m)), np.zeros(k, bool)) for field in fields}
    seconds, nanoseconds = np.zeros((2, k))
    offset, first = header.offset, 0
    while first < k:
        counts, offsets, end = _point_layout(data, order, offset)
        for field, count in zip(FIELDS, counts):
            if field in rows and count not in (0, m):
                raise MessageError(
                    f'point {first + 1} of the trajectory has {count} {field} for {m} joints'
                )
        run = 1
        # the layout repeats if the next point starts at the same offset modulo 8
        if (end - offset) % 8 == 0:
            run = _count_equal_points(
                data, order, offset, end - offset, counts, offsets, k - first
            )
        stride, points = end - offset, slice(first, first + run)

        def column(kind, start, *shape, stride=stride, run=run):
            return np.ndarray(
                (run, *shape),
                f'{order}{kind}',
                data,
                ENCAPSULATION_SIZE + start,
                (stride, *(8 for _ in shape)),
            )

        for field, count, start in zip(FIELDS, counts, offsets):
            if field in rows and count:
                rows[field].values[points] = column('f8', start, m)
                rows[field].is_given[points] = True
        seconds[points] = column('i4', end - DURATION_SIZE)
        nanoseconds[points] = column('u4', end - DURATION_SIZE + 4)
        offset, first = offset + run * stride, first + run
    return TrajectoryPoints(seconds + nanoseconds / NANOSECONDS_PER_SECOND, rows)


def _read_count(data, uint32, offset):
    """Return the length of a sequence or text, and the offset after that number."""
    offset += -offset % 4
    return struct.unpack_from(uint32, data, ENCAPSULATION_SIZE + offset)[0], offset + 4


def _read_text(data, uint32, offset):
    """Return a text without the 0 at its end, and the offset after it."""
    length, offset = _read_count(data, uint32, offset)
    if length > MAX_TEXT_SIZE:
        raise MessageError(f'a text of it has more than {MAX_TEXT_SIZE} bytes')
    if ENCAPSULATION_SIZE + offset + length > len(data):
        raise MessageError('the message is cut off')
    start = ENCAPSULATION_SIZE + offset
    return str(data[start : start + max(length - 1, 0)], 'utf-8', 'replace'), offset + length


def _point_layout(data, order, offset):
    """Return counts of FIELDS, offsets of their values, and the end, of the point at an offset."""
    counts, offsets = [], []
    try:
        for _ in FIELDS:
            count, offset = _read_count(data, f'{order}I', offset)
            if count:
                offset += -offset % 8
            counts.append(count)
            offsets.append(offset)
            offset += 8 * count
    except struct.error as error:
        raise MessageError('the message is cut off') from error
    if ENCAPSULATION_SIZE + offset + DURATION_SIZE > len(data):
        raise MessageError('the message is cut off')
    return counts, offsets, offset + DURATION_SIZE


def _count_equal_points(data, order, offset, stride, counts, offsets, max_points):
    """Return how many points from an offset on have the same counts, at most `max_points`."""
    max_points = min(max_points, (len(data) - ENCAPSULATION_SIZE - offset) // stride)
    # the count of a field comes before its values and their padding to a multiple of 8
    count_offsets = [
        offset,
        *(start + 8 * count for start, count in zip(offsets[:-1], counts[:-1])),
    ]
    run, block = 1, INITIAL_BLOCK_POINTS
    while run < max_points:
        size = min(block, max_points - run)
        is_equal = np.ones(size, bool)
        for count, begin in zip(counts, count_offsets):
            is_equal &= (
                np.ndarray(
                    size, f'{order}u4', data, ENCAPSULATION_SIZE + begin + run * stride, (stride,)
                )
                == count
            )
        if not is_equal.all():
            return run + int(np.argmin(is_equal))
        run, block = run + size, 4 * block
    return run


def write_trajectory(
    stamp: int,
    frame: str,
    names: Sequence[str],
    times: np.ndarray,
    fields: Mapping[str, np.ndarray],
) -> bytes:
    """
    Return the message of a trajectory whose points all have the same fields.

    :param stamp: [ns]; times: of the points from the start, (k,) [s].
    :param fields: {one of FIELDS: numbers (k, m)}; the other fields are empty.
    """
    data = bytearray(LITTLE_ENDIAN + struct.pack('<iI', *divmod(stamp, NANOSECONDS_PER_SECOND)))
    _append_text(data, frame)
    _append_count(data, len(names))
    for name in names:
        _append_text(data, name)
    _append_count(data, len(times))
    nanoseconds = np.round(np.asarray(times) * NANOSECONDS_PER_SECOND).astype(np.int64)
    # from the second point on, all start at the same offset modulo 8
    for rows in (slice(0, 1), slice(1, None)):
        count = len(nanoseconds[rows])
        points = np.zeros(count, _point_type(len(data) - ENCAPSULATION_SIZE, len(names), fields))
        for field, values in fields.items():
            points[f'{field}_count'], points[field] = len(names), values[rows]
        points['seconds'], points['nanoseconds'] = np.divmod(
            nanoseconds[rows], NANOSECONDS_PER_SECOND
        )
        data += points.tobytes()
    return bytes(data)


def _point_type(offset, m, fields):
    """Return the structured dtype of a point with m joints that starts at an offset."""
    begin = offset
    parts: dict[str, tuple[int, Any]] = {}
    for field in FIELDS:
        parts[f'{field}_count'] = offset - begin, '<u4'
        offset += 4
        if field in fields and m:
            offset += -offset % 8
            parts[field] = offset - begin, ('<f8', (m,))
            offset += 8 * m
    parts['seconds'], parts['nanoseconds'] = (offset - begin, '<i4'), (offset - begin + 4, '<u4')
    offsets, formats = zip(*parts.values())
    return np.dtype(
        {
            'names': list(parts),
            'formats': formats,
            'offsets': offsets,
            'itemsize': offset - begin + DURATION_SIZE,
        }
    )


def _append_count(data, count):
    data += bytes(-(len(data) - ENCAPSULATION_SIZE) % 4) + struct.pack('<I', count)


def _append_text(data, text):
    encoded = text.encode() + b'\0'
    _append_count(data, len(encoded))
    data += encoded
