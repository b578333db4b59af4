"""Files in archives and compressed files, unpacked within a limit and read."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import IO

from flex_robot_sim.recording.chunks import (
    BLOCK_SIZE,
    DEFAULT_MAX_CHUNK_MB,
    MAX_CHUNK_VARIABLE,
    Limits,
)
from flex_robot_sim.recording.read.columns import Recording
from flex_robot_sim.recording.read.text_formats import read_text
from flex_robot_sim.util.exceptions import UsageError


def read_unpacked(source: IO[bytes], packed_size: int, name: str, shown: str) -> Recording:
    """
    Return the Recording in a stream of text; UsageError if it is too large or no recording.

    :param packed_size: of the file that holds the stream [bytes].
    :param name: of the unpacked file.
    :param shown: path in notes and errors.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / (Path(name).name or 'recording')
        _unpack(source, path, Limits.of_file(packed_size).total, shown)
        try:
            recording = read_text(path)
        except UsageError as error:
            raise UsageError(str(error).replace(str(path), shown)) from error
    notes = [note.replace(str(path), shown) for note in recording.notes]
    return recording._replace(path=shown, notes=notes)


def _unpack(source, path, limit, shown):
    """Write a stream to a file; UsageError if it is longer than a limit [bytes]."""
    size = 0
    with open(path, 'wb') as file:
        while block := source.read(BLOCK_SIZE):
            size += len(block)
            if size > limit:
                raise too_large(shown, limit)
            file.write(block)


def too_large(shown: str, limit: int) -> UsageError:
    """Return the UsageError of a file that unpacks to more than a limit [bytes]."""
    return UsageError(
        f'{shown}: unpacks to more than {limit / 2**20:.0f} MB. Set {MAX_CHUNK_VARIABLE} '
        f'(default {DEFAULT_MAX_CHUNK_MB}) if you trust the file.'
    )
