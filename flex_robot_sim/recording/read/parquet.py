"""Tables in Parquet files, as `flexsim export --format parquet` and pandas write them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from flex_robot_sim.recording.read.columns import Column, Recording
from flex_robot_sim.recording.read.delimited import MAX_NUMBERS
from flex_robot_sim.recording.read.exported_csv import of_columns
from flex_robot_sim.recording.read.time_unit import find_clock, time_factor
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.table_files import has_parquet, read_parquet

MAGIC = b'PAR1'


def sniff(path: Path, head: bytes) -> bool:
    """Whether a file that begins with `head` is in Parquet."""
    return path.is_file() and head.startswith(MAGIC)


def read(path: Path) -> Recording:
    """Return the Recording in a file; UsageError if it is damaged."""
    columns = flat_columns(read_columns(path))
    notes: list[str] = []
    clock = find_clock(columns)
    if clock is None:
        times = np.arange(next((len(values) for values in columns.values()), 0), dtype=float)
    else:
        times = columns.pop(clock)
        times = times * time_factor(str(path), clock, '', times, notes)
    recording = Recording(
        str(path),
        {name: Column(times, values) for name, values in columns.items()},
        notes,
        clock is not None,
    )
    return of_columns(recording) if clock == 'time' else recording


def read_columns(path: Path) -> dict[str, np.ndarray]:
    """Return columns of numbers (rows,) or (rows, n); UsageError if the file is damaged."""
    if not has_parquet():
        raise UsageError(
            f'{path}: Parquet needs the package pyarrow. Install it by `pip install pyarrow`, or '
            'export CSV.'
        )
    try:
        columns = read_parquet(path, MAX_NUMBERS)
    except (OSError, ValueError) as error:
        raise UsageError(
            f'{path}: cannot be read as Parquet: {str(error).splitlines()[0]}. Export it again.'
        ) from error
    if not columns:
        raise UsageError(f'{path}: is no recording, as none of its columns are numbers.')
    return columns


def flat_columns(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return columns (rows,), one per item of a list, named `COLUMN/0`."""
    flat = {}
    for name, values in columns.items():
        if values.ndim == 1:
            flat[name] = values
        else:
            flat.update({f'{name}/{k}': item for k, item in enumerate(values.T)})
    return flat
