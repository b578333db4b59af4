"""
Chunks of an MCAP file, unpacked piece by piece within a limit: a small file may hold gigabytes.

MAX_CHUNK_MB of the environment raises the limits of a file that is large for a good reason.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from flex_robot_sim.util.exceptions import UsageError

MAX_CHUNK_MB = 'FLEX_ROBOT_SIM_MAX_CHUNK_MB'
DEFAULT_MB = 64             # of one chunk or record, in addition to the size of the file
TOTAL = 4                   # all chunks together, over the limit of one
RATIO = 64                  # and over the size of the file
PIECE = 2**20               # that is unpacked at a time                                 [bytes]


class TooLarge(ValueError):
    """A chunk that unpacks to more than the limit."""


class Limits(NamedTuple):
    """How much a recording may unpack to [bytes]."""

    chunk: int
    total: int

    @classmethod
    def of_file(cls, size: int) -> Limits:
        """Return the Limits for a file of `size` bytes; UsageError if the setting is unusable."""
        word = os.environ.get(MAX_CHUNK_MB, '')
        try:
            chunk = round(float(word or DEFAULT_MB) * 2**20)
            if chunk <= 0:
                raise ValueError
        except (ValueError, OverflowError) as error:
            raise UsageError(f'{MAX_CHUNK_MB} = {word} must be a number above 0 [MB].') from error
        return cls(chunk + size, TOTAL * chunk + RATIO * size)


def unpacked(chunk: Any, limit: int) -> bytes | bytearray:
    """
    Return the bytes in a chunk of the package mcap; TooLarge if there are more than `limit`.

    Any other error says that it is damaged: each way to pack has errors of its own.
    """
    if not chunk.compression:
        data = chunk.data
    else:
        data = bytearray()
        for piece in _pieces(chunk.compression, chunk.data, limit):
            data += piece
            if len(data) > limit:
                raise TooLarge
            if len(data) > chunk.uncompressed_size:
                break
    if len(data) != chunk.uncompressed_size:
        raise ValueError('the chunk has another size than it says')
    if chunk.uncompressed_crc and zlib.crc32(data) != chunk.uncompressed_crc:
        raise ValueError('the chunk has another checksum than it says')
    return data


def _pieces(way: str, data: bytes, limit: int) -> Iterator[bytes]:
    if way == 'zstd':
        import zstandard

        # a window is as long as what it is for, and no longer than a decoder has to take
        window = 1 << min(max(limit.bit_length(), 23), 27)
        reader = zstandard.ZstdDecompressor(max_window_size=window).stream_reader(data)
        while piece := reader.read(PIECE):
            yield piece
    elif way == 'lz4':
        from lz4.frame import LZ4FrameDecompressor

        decoder = LZ4FrameDecompressor()
        piece = decoder.decompress(data, PIECE)
        while piece or not (decoder.eof or decoder.needs_input):
            yield piece
            piece = b'' if decoder.eof else decoder.decompress(b'', PIECE)
        if not decoder.eof:
            raise EOFError
    else:
        raise ValueError(f'chunks are packed by {way}')
