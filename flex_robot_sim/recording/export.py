"""Tables of a recording as files: CSV, NumPy, or Parquet."""

from __future__ import annotations

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
from flex_robot_sim.util.table_files import refuse_without_parquet, write_csv, write_parquet

MAX_LETTERS = 2**24     # of a column of texts in a file of NumPy, which has four bytes for each
FORMATS = 'csv', 'numpy', 'parquet'


def place_of(recording: Path, form: str) -> Path:
    """Return where an export goes if nobody says so: beside nothing, in the current folder."""
    stem = recording.stem or 'recording'
    return Path(f'{stem}.npz' if form == 'numpy' else f'{stem}_{form}')


def check_place(place: Path, form: str) -> None:
    """Raise UsageError where an export could not go, before anything is read."""
    if place.exists() and place.is_dir() == (form == 'numpy'):
        raise UsageError(f'{place}: is no {"file" if form == "numpy" else "folder"}. Name another '
                         'place by --output.')
    if not place.resolve().parent.is_dir():
        raise UsageError(f'{place}: is in a folder that does not exist. Name another place by '
                         '--output.')
    if form == 'numpy' and place.suffix != '.npz':
        raise UsageError(f'{place}: NumPy reads .npz. Name such a file by --output.')
    if form == 'parquet':
        refuse_without_parquet('take another --format')


def write_tables(tables: Sequence[Table], place: Path, form: str,
                 is_new: bool = True) -> list[Path]:
    """
    Write Tables to a place, a file each, or one for NumPy; return the files.

    :param is_new: whether a place that exists is refused; else its files of equal names are
        replaced, and its other files stay.
    """
    words = _file_words([table.topic.name for table in tables])
    path = place
    try:
        if form == 'numpy':
            arrays = {f'{word}/{name}': _array(table, name, column)
                      for word, table in zip(words, tables)
                      for name, column in _columns(table).items()}
            with open_atomic(place, 'wb', is_new=is_new) as file:
                np.savez_compressed(file, **arrays)
            return [place]
        with _new_folder(place, is_new) as folder:
            for word, table in zip(words, tables):
                path = place / f'{word}.{form}'
                (write_csv if form == 'csv' else write_parquet)(
                    folder / path.name, _columns(table))
        return [place / f'{word}.{form}' for word in words]
    except OSError as error:
        raise UsageError(f'{path}: cannot be written: {error.strerror or error}.') from error


@contextlib.contextmanager
def _new_folder(place, is_new):
    """Give a folder for files, which appears under its name once all of them are written."""
    draft = Path(tempfile.mkdtemp(prefix='.', suffix='.part', dir=place.absolute().parent))
    try:
        yield draft
        umask = os.umask(0)
        os.umask(umask)
        draft.chmod(0o777 & ~umask)         # as `mkdir` makes it
        if is_new or not place.is_dir():
            draft.rename(place)             # which refuses a place that has files
        else:
            for file in draft.iterdir():
                file.replace(place / file.name)
            draft.rmdir()
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _columns(table):
    """Return all columns; time first."""
    name = 'time' if 'time' not in table.columns else 'time of recording'
    return {name: table.time, **table.columns}


def _array(table, name, column):
    """Return a column as NumPy stores it without pickle: texts as long as the longest."""
    if column.dtype.kind != 'O':
        return column
    longest = max(map(len, column.tolist()), default=0)
    if longest * len(column) > MAX_LETTERS:
        raise UsageError(f'{table.topic.name}: the texts of {name} are too long for NumPy, which '
                         'gives each the room of the longest. Take --format csv, or leave the '
                         'topic out by --topics.')
    return column.astype(str)


def _file_words(topics: Sequence[str]) -> list[str]:
    """Names of files for topics, each once: joint_states, forearm.tip_deflection."""
    words: list[str] = []
    for topic in topics:
        word = re.sub(r'[^A-Za-z0-9_-]+', '.', topic).strip('.')[:100] or 'topic'
        while word in words:
            word += '_'
        words.append(word)
    return words
