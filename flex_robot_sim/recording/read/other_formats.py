"""Files that are no recordings of a known format, recognised by their first bytes."""

from __future__ import annotations

from pathlib import Path

from flex_robot_sim.util.exceptions import UsageError

EXPORT = 'Export it as CSV'
# first bytes, what such a file is, and what to do
OTHER_FORMATS = (
    (b'\x28\xb5\x2f\xfd', 'is compressed by zstd', 'Unpack it first: unzstd FILE'),
    (b'\xd0\xcf\x11\xe0', 'is a spreadsheet', EXPORT),
    (b'\x89HDF', 'is in HDF5', EXPORT),
    (b'MATLAB 5.0', 'is a MAT-file', EXPORT),
    (b'\x93NUMPY', 'is a NumPy array', EXPORT),
)


def refuse_other_formats(path: Path, head: bytes) -> None:
    """Raise UsageError if a file that begins with `head` is in one of OTHER_FORMATS."""
    for magic, kind, remedy in OTHER_FORMATS:
        if head.startswith(magic):
            raise UsageError(f'{path}: {kind}. {remedy}.')
