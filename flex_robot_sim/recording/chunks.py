"""
Chunks of an MCAP file, unpacked block by block within a limit: a small file may hold gigabytes.

The environment variable FLEX_ROBOT_SIM_MAX_CHUNK_MB raises the limits for large trusted files.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from flex_robot_sim.util.exceptions import UsageError

MAX_CHUNK_VARIABLE = 'FLEX_ROBOT_SIM_MAX_CHUNK_MB'  # name of the environment variable
DEFAULT_MAX_CHUNK_MB = 64  # size of one chunk or record, in addition to that of the file
MAX_TOTAL_PER_CHUNK_LIMIT = 4  # ratio of all chunks together to the limit of one
MAX_TOTAL_PER_FILE_SIZE = 64  # added multiple of the file size
BLOCK_SIZE = 2**20  # unpacked at a time [bytes]


class TooLarge(ValueError):
    """A chunk that unpacks to more than the limit."""


class Limits(NamedTuple):
    """Largest unpacked sizes of a recording [bytes]."""

    chunk: int
    total: int

    @classmethod
    def of_file(cls, size: int) -> Limits:
        """Return the Limits for a file of `size` bytes; UsageError if the setting is unusable."""
        text = os.environ.get(MAX_CHUNK_VARIABLE, '')
        try:
            chunk = round(float(text or DEFAULT_MAX_CHUNK_MB) * 2**20)
            if chunk <= 0:
                raise ValueError
        except (ValueError, OverflowError) as error:
            raise UsageError(
                f'{MAX_CHUNK_VARIABLE} = {text} must be a number above 0 [MB].'
            ) from error
        return cls(
            chunk + size, MAX_TOTAL_PER_CHUNK_LIMIT * chunk + MAX_TOTAL_PER_FILE_SIZE * size
        )


def unpack_chunk(chunk: Any, limit: int) -> bytes | bytearray:
    """
    Return the bytes in a chunk of the package mcap; TooLarge if there are more than `limit`.

    Any other error means damage: each compression library has different error classes.
    """
    if not chunk.compression:
        data = chunk.data
    else:
        data = bytearray()
        for block in _decompress_blocks(chunk.compression, chunk.data, limit):
            data += block
            if len(data) > limit:
                raise TooLarge
            if len(data) > chunk.uncompressed_size:
                break
    if len(data) != chunk.uncompressed_size:
        raise ValueError('the chunk has another size than it says')
    if chunk.uncompressed_crc and zlib.crc32(data) != chunk.uncompressed_crc:
        raise ValueError('the chunk has another checksum than it says')
    return data


def _decompress_blocks(compression: str, data: bytes, limit: int) -> Iterator[bytes]:
    if compression == 'zstd':
        import zstandard

        # window as long as the data, within the bounds that every decoder must support
        window = 1 << min(max(limit.bit_length(), 23), 27)
        reader = zstandard.ZstdDecompressor(max_window_size=window).stream_reader(data)
        while block := reader.read(BLOCK_SIZE):
            yield block
    elif compression == 'lz4':
        from lz4.frame import LZ4FrameDecompressor

        decoder = LZ4FrameDecompressor()
        block = decoder.decompress(data, BLOCK_SIZE)
        while block or not (decoder.eof or decoder.needs_input):
            yield block
            block = b'' if decoder.eof else decoder.decompress(b'', BLOCK_SIZE)
        if not decoder.eof:
            raise EOFError
    else:
        raise ValueError(f'chunks are packed by {compression}')
