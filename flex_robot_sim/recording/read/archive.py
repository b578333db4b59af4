"""
Archives (.zip) with a table per sensor, as the phone apps phyphox and Sensor Logger export them.

Files about the device are left out.
"""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path, PurePosixPath

from flex_robot_sim.recording.chunks import Limits
from flex_robot_sim.recording.read.columns import Recording
from flex_robot_sim.recording.read.table_set import NO_SENSOR, join
from flex_robot_sim.recording.read.unpacking import read_unpacked, too_large
from flex_robot_sim.util.exceptions import UsageError

MAGIC = b'PK\x03\x04'
ENDINGS = '.csv', '.txt'
SPREADSHEET = '[Content_Types].xml'
DAMAGE = zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError


def sniff(path: Path, head: bytes) -> bool:
    """Whether a file that begins with `head` is an archive."""
    return path.is_file() and head.startswith(MAGIC)


def read(path: Path) -> Recording:
    """Return the Recording of all tables in an archive; UsageError if it has none."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _read(path, archive)
    except DAMAGE as error:
        raise UsageError(
            f'{path}: is an archive that is damaged or encrypted: {error}. Export it again.'
        ) from error


def _read(path, archive):
    if SPREADSHEET in archive.namelist():
        raise UsageError(f'{path}: is a spreadsheet. Export it as CSV.')
    names = [
        name
        for name in archive.namelist()
        if PurePosixPath(name).suffix.lower() in ENDINGS and not NO_SENSOR.search(name)
    ]
    size = path.stat().st_size
    limit = Limits.of_file(size).total
    if sum(archive.getinfo(name).file_size for name in names) > limit:
        raise too_large(str(path), limit)
    tables, notes = {}, []
    for name in names:
        try:
            with archive.open(name) as source:
                tables[PurePosixPath(name).stem] = read_unpacked(
                    source, size, name, f'{path}/{name}'
                )
        except UsageError as error:
            notes.append(f'{path}: {name} is left out: {error}')
    return join(path, tables, notes)
