"""
Records of an MCAP file as bytes, one after the other: https://mcap.dev/spec/registry.

Messages are taken apart here, and what only serves to find them is not looked at: number by
number, as the package mcap does it, takes longer than all that is done with a message.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import IO, NamedTuple

MAGIC = b'\x89MCAP0\r\n'


class Kind:
    """Kinds of records that a recording needs, as files number them."""

    SCHEMA, CHANNEL, MESSAGE, CHUNK, METADATA, DATA_END, FOOTER = 3, 4, 5, 6, 12, 15, 2


USED = (Kind.SCHEMA, Kind.CHANNEL, Kind.MESSAGE, Kind.CHUNK, Kind.METADATA)
_ENDS = {Kind.DATA_END: 4, Kind.FOOTER: 20}         # of the data, and how long these are [bytes]
_BEGIN = struct.Struct('<BQ')           # kind of a record, and how many bytes follow
_MESSAGE = struct.Struct('<HIQQ')       # channel, number, when it was logged, when it was sent


class Message(NamedTuple):
    """What a recording needs of a message."""

    channel_id: int
    log_time: int       # [ns]
    data: bytes


def records(file: IO[bytes], size: int) -> Iterator[tuple[int, bytes]]:
    """
    Yield kind and bytes of the records of a file of so many bytes, of those that are USED.

    What stands behind its data tells of them once more. An EOFError: the file is cut off.
    """
    if _read(file, size, len(MAGIC)) != MAGIC:
        raise ValueError('this is no MCAP file')
    while True:
        kind, length = _BEGIN.unpack(_read(file, size, _BEGIN.size))
        if kind in _ENDS:
            if length != _ENDS[kind]:       # after a wrong length, anything looks like a record
                raise ValueError('this is no end')
            return
        if kind in USED:
            yield kind, _read(file, size, length)
        elif length > size - file.tell():
            raise EOFError
        else:
            file.seek(length, os.SEEK_CUR)      # an attachment may be large


def records_in(data: bytes | bytearray) -> Iterator[tuple[int, bytes]]:
    """Yield kind and bytes of the USED records in an unpacked chunk; EOFError as above."""
    for kind, begin, end in places_in(data):
        if kind in USED:
            yield kind, bytes(data[begin:end])


def places_in(data: bytes | bytearray) -> Iterator[tuple[int, int, int]]:
    """Yield kind, begin and end of the records in an unpacked chunk; EOFError as above."""
    place, size = 0, len(data)
    while place < size:
        if _BEGIN.size > size - place:
            raise EOFError
        kind, length = _BEGIN.unpack_from(data, place)
        if not kind:
            raise ValueError('there are no records of kind 0')
        place += _BEGIN.size
        if length > size - place:
            raise EOFError
        yield kind, place, place + length
        place += length


def chunk_size(data: bytes) -> int:
    """Return how many bytes a chunk says that it unpacks to."""
    return _CHUNK.unpack_from(data)[2] if len(data) >= _CHUNK.size else 0


def message(data: bytes) -> Message:
    """Return the Message of its bytes; struct.error if these are too few."""
    channel, _, time, _ = _MESSAGE.unpack_from(data)
    return Message(channel, time, data[_MESSAGE.size:])


_CHUNK = struct.Struct('<QQQ')        # times of its first and last message, size unpacked
MESSAGE_HEAD = _MESSAGE.size        # bytes before those of the message itself


def _read(file, size, count):
    """So many bytes, not fewer: a length that is wrong shall not ask for more than there is."""
    if count > size - file.tell():
        raise EOFError
    data = file.read(count)
    if len(data) < count:
        raise EOFError
    return data
