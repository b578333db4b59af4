"""
Records of an MCAP file as bytes, one after the other: https://mcap.dev/spec/registry.

Messages are parsed here with `struct`, and index records are skipped: the package mcap parses
field by field, which takes longer than all later processing of a message.
"""

import os
import struct
from collections.abc import Iterator
from typing import IO, NamedTuple

MAGIC = b'\x89MCAP0\r\n'


class Kind:
    """Opcodes of the records that a reader needs."""

    SCHEMA, CHANNEL, MESSAGE, CHUNK, METADATA, DATA_END, FOOTER = 3, 4, 5, 6, 12, 15, 2


RELEVANT_KINDS = (Kind.SCHEMA, Kind.CHANNEL, Kind.MESSAGE, Kind.CHUNK, Kind.METADATA)
_END_LENGTHS = {Kind.DATA_END: 4, Kind.FOOTER: 20}  # records that end the data: length [bytes]
_RECORD_HEADER = struct.Struct('<BQ')  # opcode, number of bytes that follow
_MESSAGE_HEADER = struct.Struct('<HIQQ')  # channel, sequence number, log time, publish time


class Message(NamedTuple):
    """Fields of a message record that a recording needs."""

    channel_id: int
    log_time: int  # [ns]
    data: bytes


def records(file: IO[bytes], size: int) -> Iterator[tuple[int, bytes]]:
    """
    Yield kind and bytes of the RELEVANT_KINDS records of a file of `size` bytes.

    The summary after the data repeats them and is not read. EOFError: the file is cut off.
    """
    if _read_exactly(file, size, len(MAGIC)) != MAGIC:
        raise ValueError('this is no MCAP file')
    while True:
        kind, length = _RECORD_HEADER.unpack(_read_exactly(file, size, _RECORD_HEADER.size))
        if kind in _END_LENGTHS:
            if length != _END_LENGTHS[kind]:  # after a wrong length, any bytes look valid
                raise ValueError('this is no end')
            return
        if kind in RELEVANT_KINDS:
            yield kind, _read_exactly(file, size, length)
        elif length > size - file.tell():
            raise EOFError
        else:
            file.seek(length, os.SEEK_CUR)  # an attachment may be large


def records_in_chunk(data: bytes | bytearray) -> Iterator[tuple[int, bytes]]:
    """Yield kind and bytes of the relevant records in an unpacked chunk; EOFError if cut off."""
    for kind, begin, end in record_spans(data):
        if kind in RELEVANT_KINDS:
            yield kind, bytes(data[begin:end])


def record_spans(data: bytes | bytearray) -> Iterator[tuple[int, int, int]]:
    """Yield kind, begin and end of the records in an unpacked chunk; EOFError if cut off."""
    offset, size = 0, len(data)
    while offset < size:
        if _RECORD_HEADER.size > size - offset:
            raise EOFError
        kind, length = _RECORD_HEADER.unpack_from(data, offset)
        if not kind:
            raise ValueError('there are no records of kind 0')
        offset += _RECORD_HEADER.size
        if length > size - offset:
            raise EOFError
        yield kind, offset, offset + length
        offset += length


def chunk_size(data: bytes) -> int:
    """Return the unpacked size that the header of a chunk states [bytes]."""
    return _CHUNK_HEADER.unpack_from(data)[2] if len(data) >= _CHUNK_HEADER.size else 0


def parse_message(data: bytes) -> Message:
    """Return the Message of its bytes; struct.error if these are too few."""
    channel, _, time, _ = _MESSAGE_HEADER.unpack_from(data)
    return Message(channel, time, data[_MESSAGE_HEADER.size :])


_CHUNK_HEADER = struct.Struct('<QQQ')  # times of first and last message, unpacked size
MESSAGE_HEADER_SIZE = _MESSAGE_HEADER.size  # [bytes]


def _read_exactly(file, size, count):
    """Read `count` bytes; EOFError if the file has fewer, before memory is allocated."""
    if count > size - file.tell():
        raise EOFError
    data = file.read(count)
    if len(data) < count:
        raise EOFError
    return data
