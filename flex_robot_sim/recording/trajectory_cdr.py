"""
JointTrajectory messages as arrays: CDR bytes are read and written without an object per point.

Points that have the same fields lie at equal distances, so that their numbers are strided arrays.
A message may change its fields from point to point: each run of equal points is read at once.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from flex_robot_sim.recording.cdr import HEADER, MessageError

FIELDS = 'positions', 'velocities', 'accelerations', 'effort'
DURATION = 8            # size of time_from_start                                       [bytes]
SLACK = 4096            # behind a message, which some who write leave               [bytes]
SHORTEST_POINT = 24     # four empty sequences and time_from_start                      [bytes]
SECOND = 1_000_000_000  # [ns]
LITTLE_ENDIAN = b'\0\1\0\0'
LONGEST_TEXT = 4096     # a frame or a name                                         [bytes]
MEAN_NAME = 512         # of all names of a message, at most                        [bytes]
NUMBERS_PER_JOINT = len(FIELDS)     # of a point
PADDING = 16            # of a point: numbers lie at multiples of 8                     [bytes]
USUAL_JOINTS = 7
FIRST_RUN = 16          # points that are compared at once where fields have just changed


class TrajectoryHeader(NamedTuple):
    """What stands before the points of a message."""

    stamp: int              # [ns]
    frame: str
    names: tuple[str, ...]
    points: int             # how many follow
    place: int              # of the first one, behind the 4 bytes of the encapsulation [bytes]


class Rows(NamedTuple):
    """One field of all points, zero where a point has none."""

    values: np.ndarray      # (k, m)
    is_given: np.ndarray    # (k,)


class TrajectoryPoints(NamedTuple):
    """Points of a message."""

    times: np.ndarray       # (k,) from the start                                           [s]
    rows: dict[str, Rows]   # by field


def read_header(data: bytes, most_names: int) -> TrajectoryHeader:
    """
    Return what stands before the points; MessageError if it is damaged, or has too many names.

    It takes microseconds, however long the message is.
    """
    word = _order(data) + 'I'
    size = len(data) - HEADER
    try:
        seconds, nanoseconds = struct.unpack_from(f'{word[0]}iI', data, HEADER)
        frame, place = _text(data, word, 8)
        count, place = _count(data, word, place)
        if count > most_names:
            raise MessageError(f'it names {count} joints, more than {most_names}')
        names = []
        for _ in range(count):
            name, place = _text(data, word, place)
            names.append(name)
            if place > LONGEST_TEXT + MEAN_NAME * most_names:
                raise MessageError('its names are too long')
        points, place = _count(data, word, place)
    except struct.error as error:
        raise MessageError('the message is cut off') from error
    if points * SHORTEST_POINT > size - place:
        raise MessageError('the message is cut off')
    longest = SHORTEST_POINT + PADDING + 8 * NUMBERS_PER_JOINT * max(count, USUAL_JOINTS)
    if size - place > points * longest + SLACK:
        raise MessageError(f'its points have more than {longest} bytes each')
    return TrajectoryHeader(seconds * SECOND + nanoseconds, frame, tuple(names), points, place)


def read_points(data: bytes, header: TrajectoryHeader,
                fields: Iterable[str] = FIELDS[:3]) -> TrajectoryPoints:
    """
    Return the points of a message; MessageError if it is damaged.

    :param fields: of FIELDS; each point has none of a field, or one number for each joint.
    """
    order, m, k = _order(data), len(header.names), header.points
    rows = {field: Rows(np.zeros((k, m)), np.zeros(k, bool)) for field in fields}
    seconds, nanoseconds = np.zeros((2, k))
    place, first = header.place, 0
    while first < k:
        counts, places, end = _layout(data, order, place)
        for field, count in zip(FIELDS, counts):
            if field in rows and count not in (0, m):
                raise MessageError(f'point {first + 1} of the trajectory has {count} {field} for '
                                   f'{m} joints')
        run = 1
        # places repeat where the next point begins at the same remainder of 8
        if (end - place) % 8 == 0:
            run = _equal_points(data, order, place, end - place, counts, places, k - first)
        stride, points = end - place, slice(first, first + run)

        def column(kind, at, *shape, stride=stride, run=run):
            return np.ndarray((run, *shape), f'{order}{kind}', data, HEADER + at,
                              (stride, *(8 for _ in shape)))

        for field, count, at in zip(FIELDS, counts, places):
            if field in rows and count:
                rows[field].values[points] = column('f8', at, m)
                rows[field].is_given[points] = True
        seconds[points] = column('i4', end - DURATION)
        nanoseconds[points] = column('u4', end - DURATION + 4)
        place, first = place + run * stride, first + run
    return TrajectoryPoints(seconds + nanoseconds / SECOND, rows)


def _order(data):
    """Order of bytes, as struct and NumPy write it."""
    if len(data) < HEADER or data[0] or data[1] > 1:
        raise MessageError('these bytes are no CDR')
    return '<' if data[1] else '>'


def _count(data, word, place):
    """Return the number of items of a sequence or text, and the place behind that number."""
    place += -place % 4
    return struct.unpack_from(word, data, HEADER + place)[0], place + 4


def _text(data, word, place):
    """Return a text without the 0 at its end, and the place behind it."""
    length, place = _count(data, word, place)
    if length > LONGEST_TEXT:
        raise MessageError(f'a text of it has more than {LONGEST_TEXT} bytes')
    if HEADER + place + length > len(data):
        raise MessageError('the message is cut off')
    start = HEADER + place
    return str(data[start:start + max(length - 1, 0)], 'utf-8', 'replace'), place + length


def _layout(data, order, place):
    """Return counts of FIELDS and places of their numbers in the point at a place, and its end."""
    counts, places = [], []
    try:
        for _ in FIELDS:
            count, place = _count(data, f'{order}I', place)
            if count:
                place += -place % 8
            counts.append(count)
            places.append(place)
            place += 8 * count
    except struct.error as error:
        raise MessageError('the message is cut off') from error
    if HEADER + place + DURATION > len(data):
        raise MessageError('the message is cut off')
    return counts, places, place + DURATION


def _equal_points(data, order, place, stride, counts, places, most):
    """How many points from the one at a place on have the same counts, `most` at most."""
    most = min(most, (len(data) - HEADER - place) // stride)
    # the number of items stands before them, and before what fills up to a multiple of 8
    begins = [place, *(at + 8 * count for at, count in zip(places[:-1], counts[:-1]))]
    run, block = 1, FIRST_RUN
    while run < most:
        size = min(block, most - run)
        is_equal = np.ones(size, bool)
        for count, begin in zip(counts, begins):
            is_equal &= np.ndarray(size, f'{order}u4', data, HEADER + begin + run * stride,
                                   (stride,)) == count
        if not is_equal.all():
            return run + int(np.argmin(is_equal))
        run, block = run + size, 4 * block
    return run


def write_trajectory(stamp: int, frame: str, names: Sequence[str], times: np.ndarray,
                     fields: Mapping[str, np.ndarray]) -> bytes:
    """
    Return the message of a trajectory whose points all have the same fields.

    :param stamp: [ns]; times: of the points from the start, (k,) [s].
    :param fields: {one of FIELDS: numbers (k, m)}; the other fields are empty.
    """
    data = bytearray(LITTLE_ENDIAN + struct.pack('<iI', *divmod(stamp, SECOND)))
    _append_text(data, frame)
    _append_count(data, len(names))
    for name in names:
        _append_text(data, name)
    _append_count(data, len(times))
    nanoseconds = np.round(np.asarray(times) * SECOND).astype(np.int64)
    # from the second point on, all begin at the same remainder of 8
    for rows in (slice(0, 1), slice(1, None)):
        count = len(nanoseconds[rows])
        points = np.zeros(count, _point_type(len(data) - HEADER, len(names), fields))
        for field, values in fields.items():
            points[f'{field}_count'], points[field] = len(names), values[rows]
        points['seconds'], points['nanoseconds'] = np.divmod(nanoseconds[rows], SECOND)
        data += points.tobytes()
    return bytes(data)


def _point_type(place, m, fields):
    """Structured type of a point that begins at a place, with so many joints."""
    begin, parts = place, {}
    for field in FIELDS:
        parts[f'{field}_count'] = place - begin, '<u4'
        place += 4
        if field in fields and m:
            place += -place % 8
            parts[field] = place - begin, ('<f8', (m,))
            place += 8 * m
    parts['seconds'], parts['nanoseconds'] = (place - begin, '<i4'), (place - begin + 4, '<u4')
    offsets, formats = zip(*parts.values())
    return np.dtype({'names': list(parts), 'formats': formats, 'offsets': offsets,
                     'itemsize': place - begin + DURATION})


def _append_count(data, count):
    data += bytes(-(len(data) - HEADER) % 4) + struct.pack('<I', count)


def _append_text(data, text):
    encoded = text.encode() + b'\0'
    _append_count(data, len(encoded))
    data += encoded
