"""NumPy files (.npz) with an array per column, as `flexsim export --format numpy` writes them."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

import numpy as np

from flex_robot_sim.recording.chunks import Limits
from flex_robot_sim.recording.read.archive import MAGIC
from flex_robot_sim.recording.read.columns import Column, Recording
from flex_robot_sim.recording.read.exported_csv import of_columns
from flex_robot_sim.recording.read.table_set import join
from flex_robot_sim.recording.read.unpacking import too_large
from flex_robot_sim.util.exceptions import UsageError

CLOCK = 'time'


def sniff(path: Path, head: bytes) -> bool:
    """Whether a file that begins with `head` is an archive of arrays."""
    if not (path.is_file() and head.startswith(MAGIC)):
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except zipfile.BadZipFile:
        return False
    return bool(names) and all(name.endswith('.npy') for name in names)


def read(path: Path) -> Recording:
    """Return the Recording of all tables `TABLE/time`, `TABLE/COLUMN`; UsageError if damaged."""
    limit = Limits.of_file(path.stat().st_size).total
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(info.file_size for info in archive.infolist()) > limit:
                raise too_large(str(path), limit)
        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise UsageError(
            f'{path}: is a NumPy file that is damaged or has objects. Export it again.'
        ) from error
    tables = {}
    for name, times in arrays.items():
        table, _, column = name.rpartition('/')
        if column != CLOCK or '/' in table or times.ndim != 1 or times.dtype.kind not in 'fiu':
            continue
        times = times.astype(float)
        columns = {
            other.removeprefix(f'{table}/'): Column(times, values.astype(float))
            for other, values in arrays.items()
            if other.startswith(f'{table}/')
            and other != name
            and values.shape == times.shape
            and values.dtype.kind in 'fiu'
        }
        tables[table] = of_columns(Recording(str(path), columns, []))
    return join(path, tables, [])
