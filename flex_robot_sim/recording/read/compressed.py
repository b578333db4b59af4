"""Files that are compressed by gzip, bzip2 or xz, such as raw_data.csv.gz."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flex_robot_sim.recording.read.columns import Recording
from flex_robot_sim.recording.read.unpacking import read_unpacked
from flex_robot_sim.util.exceptions import UsageError

MAGICS: dict[bytes, Callable[..., Any]] = {
    b'\x1f\x8b': gzip.open,
    b'BZh': bz2.open,
    b'\xfd7zXZ\x00': lzma.open,
}


def sniff(path: Path, head: bytes) -> bool:
    """Whether a file that begins with `head` is compressed."""
    return path.is_file() and head.startswith((*MAGICS,))


def read(path: Path) -> Recording:
    """Return the Recording in a compressed file; UsageError if it is damaged."""
    with open(path, 'rb') as file:
        head = file.read(8)
    opener = next(opener for magic, opener in MAGICS.items() if head.startswith(magic))
    try:
        with opener(path, 'rb') as source:
            return read_unpacked(source, path.stat().st_size, path.with_suffix('').name, str(path))
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise UsageError(
            f'{path}: is cut off or damaged: {error}. Copy or record it again.'
        ) from error
