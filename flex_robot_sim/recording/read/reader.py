"""One reader for all recordings."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from flex_robot_sim.recording.read import (
    archive,
    compressed,
    lerobot,
    mcap,
    numpy_file,
    parquet,
    ros1_bag,
    sqlite_bag,
    table_folder,
)
from flex_robot_sim.recording.read.columns import Column, Recording
from flex_robot_sim.recording.read.other_formats import refuse_other_formats
from flex_robot_sim.recording.read.stamp_repair import with_repaired_stamps
from flex_robot_sim.recording.read.text_chunks import HEAD_BYTES
from flex_robot_sim.recording.read.text_formats import TEXT_FORMATS
from flex_robot_sim.util.exceptions import UsageError

# the first one that recognises a file reads it
FORMATS = (
    lerobot,
    table_folder,
    sqlite_bag,
    ros1_bag,
    mcap,
    compressed,
    numpy_file,
    archive,
    parquet,
    *TEXT_FORMATS,
)


def read_recording(path: str | Path, *, rate: float | None = None) -> Recording:
    """
    Return the Recording in a file or folder of any known format; UsageError if it is invalid.

    :param rate: of the samples [Hz]; default: by their stamps.
    """
    recording = read_format(Path(path))
    if rate is not None:
        return _with_rate(recording, rate)
    return with_repaired_stamps(recording) if recording.has_times else recording


def read_format(path: Path) -> Recording:
    """Return the Recording in a file or folder as it is, without repairs."""
    head = read_head(lerobot.split_episode(path)[0])
    refuse_other_formats(path, head)
    for reader in FORMATS:
        if reader.sniff(path, head):
            return reader.read(path)
    raise UsageError(f'{path}: cannot be read: no text. Give a CSV or MCAP file.')


def read_head(path: Path) -> bytes:
    """Return the first bytes of a file, none of a folder; UsageError if it cannot be read."""
    if path.is_dir():
        return b''
    try:
        with open(path, 'rb') as file:
            return file.read(HEAD_BYTES)
    except (OSError, ValueError) as error:
        raise UsageError(
            f'{path}: cannot be read: {getattr(error, "strerror", None) or error}. '
            'Give a CSV or MCAP file.'
        ) from error


def _with_rate(recording, rate):
    """Return a Recording whose samples are evenly spaced at a rate [Hz]."""
    sizes = {column.values.size for column in recording.columns.values()}
    times = {size: np.arange(size) / rate for size in sizes}
    return recording._replace(
        columns={
            name: Column(times[column.values.size], column.values)
            for name, column in recording.columns.items()
        },
        has_times=True,
    )
