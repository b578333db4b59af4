"""Tables of a recording as files: CSV, NumPy, or Parquet."""

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from flex_robot_sim.recording.tables import Table
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.files import open_atomic
from flex_robot_sim.util.table_files import (
    refuse_without_parquet,
    without_zeros,
    write_csv,
    write_parquet,
)

MAX_CHARACTERS = 2**24  # of a column of texts in a NumPy file, which has four bytes for each
FORMATS = 'csv', 'numpy', 'parquet'


def default_output(recording: Path, form: str) -> Path:
    """Return the default output path of an export, in the current folder."""
    stem = recording.stem or 'recording'
    return Path(f'{stem}.npz' if form == 'numpy' else f'{stem}_{form}')


def check_output(output: Path, form: str) -> None:
    """Raise UsageError if `output` is unusable, before anything is read."""
    if output.exists() and output.is_dir() == (form == 'numpy'):
        raise UsageError(
            f'{output}: is no {"file" if form == "numpy" else "folder"}. Name '
            'another place by --output.'
        )
    if not output.resolve().parent.is_dir():
        raise UsageError(
            f'{output}: is in a folder that does not exist. Name another place by --output.'
        )
    if form == 'numpy' and output.suffix != '.npz':
        raise UsageError(f'{output}: NumPy reads .npz. Name such a file by --output.')
    if form == 'parquet':
        refuse_without_parquet('take another --format')


def write_tables(
    tables: Sequence[Table], output: Path, form: str, is_new: bool = True
) -> list[Path]:
    """
    Write each of the Tables to a file in a folder, or all to one NumPy file; return the files.

    :param is_new: whether an existing output is refused; else its files of equal names are
        replaced, and its other files stay.
    """
    stems = _file_stems([table.topic.name for table in tables])
    path = output
    try:
        if form == 'numpy':
            arrays = {
                f'{stem}/{without_zeros(name)}': _numpy_column(table, name, column)
                for stem, table in zip(stems, tables)
                for name, column in _columns(table).items()
            }
            with open_atomic(output, 'wb', is_new=is_new) as file:
                np.savez_compressed(file, **arrays)
            return [output]
        with _new_folder(output, is_new) as folder:
            for stem, table in zip(stems, tables):
                path = output / f'{stem}.{form}'
                (write_csv if form == 'csv' else write_parquet)(
                    folder / path.name, _columns(table)
                )
        return [output / f'{stem}.{form}' for stem in stems]
    except OSError as error:
        raise UsageError(f'{path}: cannot be written: {error.strerror or error}.') from error


@contextlib.contextmanager
def _new_folder(output, is_new):
    """Yield a temporary folder, which is renamed to `output` once all files are written."""
    temporary = Path(tempfile.mkdtemp(prefix='.', suffix='.part', dir=output.absolute().parent))
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o777 & ~umask)  # permissions as of `mkdir`
        if is_new or not output.is_dir():
            temporary.rename(output)  # fails if it has files
        else:
            for file in temporary.iterdir():
                file.replace(output / file.name)
            temporary.rmdir()
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _columns(table):
    """Return all columns; time first."""
    name = 'time' if 'time' not in table.columns else 'time of recording'
    return {name: table.time, **table.columns}


def _numpy_column(table, name, column):
    """Return a column as NumPy stores it without pickle: texts padded to the longest."""
    if column.dtype.kind != 'O':
        return column
    longest = max(map(len, column.tolist()), default=0)
    if longest * len(column) > MAX_CHARACTERS:
        raise UsageError(
            f'{table.topic.name}: the texts of {name} are too long for NumPy, which gives each '
            'the room of the longest. Take --format csv, or leave the topic out by --topics.'
        )
    return np.array([without_zeros(text) for text in column.tolist()], dtype=str)


def _file_stems(topics: Sequence[str]) -> list[str]:
    """Return unique file names for topics: joint_states, forearm.tip_deflection."""
    stems: list[str] = []
    for topic in topics:
        stem = re.sub(r'[^A-Za-z0-9_-]+', '.', topic).strip('.')[:100] or 'topic'
        while stem in stems:
            stem += '_'
        stems.append(stem)
    return stems
