"""
The folder of a sweep: what it is, a line for each run that was made, and the table at the end.

    sweep.json          what it is; a folder that holds another sweep is left alone
    runs.jsonl          a line as soon as a run is made; half a line is what a kill left of one.
                        Either begins with a checksum: a damaged line is no run
    table.csv, table.parquet    all runs in order, written when the last one is there
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import re
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from flex_robot_sim.sweeps.case import Done
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.files import open_atomic
from flex_robot_sim.util.table_files import has_parquet, write_csv, write_parquet

WHAT, RUNS, TABLE = 'sweep.json', 'runs.jsonl', 'table'
SEALED = re.compile(rb'\{"crc32": "([0-9a-f]{8})", (.*\n)', re.DOTALL)

log = logging.getLogger(__name__)


class Journal:
    """Runs that were made, on disk; it keeps others out while it is open."""

    def __init__(self, folder: str | Path, identity: Mapping[str, Any], total: int) -> None:
        """Begin a sweep in a folder, or go on with it; UsageError if it holds another one."""
        self.folder, self._total = Path(folder), total
        self.done: dict[int, Done] = {}
        try:
            self.folder.mkdir(exist_ok=True)
            is_new = not (self.folder / RUNS).exists()
            self._file = open(self.folder / RUNS, 'ab')         # noqa: SIM115
        except OSError as error:
            raise UsageError(f'{folder} cannot hold the runs: {error.strerror}. Name another '
                             'folder.') from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._claim(dict(identity))
            self._read()
        except BlockingIOError as error:
            self._file.close()
            raise UsageError(f'{folder}: another program writes runs there. Wait for it, or name '
                             'another folder.') from error
        except OSError as error:
            self._file.close()
            raise self._full(error) from error
        except UsageError:
            if is_new:          # in a folder of something else
                (self.folder / RUNS).unlink(missing_ok=True)
            self._file.close()
            raise

    def add(self, runs: Iterable[Done]) -> None:
        """Write runs that were made: from now on they count, whatever becomes of this program."""
        runs = [*runs]
        lines = b''.join(_sealed({'run': one.run, 'numbers': {**one.figures}}) for one in runs)
        try:
            start = self._file.tell()
            _write_all(self._file, lines)
        except OSError as error:
            os.ftruncate(self._file.fileno(), start)
            raise self._full(error) from error
        self.done.update((one.run, one) for one in runs)

    def write_tables(self, columns: Mapping[str, np.ndarray]) -> list[Path]:
        """Write the table in all forms that there are; return the files."""
        out = []
        for form, write in (('csv', write_csv), ('parquet', write_parquet)):
            if form == 'parquet' and not has_parquet():
                continue
            path = self.folder / f'{TABLE}.{form}'
            try:
                write(path, columns)
            except OSError as error:
                raise self._full(error) from error
            out.append(path)
        return out

    def close(self) -> None:
        """Let others in."""
        self._file.close()

    def _claim(self, identity):
        """Write what this sweep is, or compare it with what is written."""
        path = self.folder / WHAT
        try:
            written = _unsealed(path.read_bytes())
        except FileNotFoundError:
            others = [one.name for one in self.folder.iterdir() if one.name != RUNS]
            if others or self._file.tell():
                raise UsageError(f'{self.folder}: there is {min(others, default=RUNS)} and no '
                                 f'{WHAT}: it is not of a sweep. Name another folder.') from None
            with open_atomic(path, 'wb') as file:
                file.write(_sealed(identity, indent=1))
            return
        except ValueError as error:
            raise UsageError(f'{path} is damaged, so it is unknown of which sweep the runs there '
                             'are. Name another folder, or delete this one.') from error
        if written != identity:
            unlike = next((name for name in identity if written.get(name) != identity[name]),
                          'version')
            raise UsageError(f'{self.folder} holds another sweep, with another "{unlike}" in its '
                             f'{WHAT}. Name another folder, or delete this one.')

    def _read(self):
        """Read the runs that were made: the run of a damaged line is made again."""
        good, damaged = 0, []
        with open(self.folder / RUNS, 'rb') as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b'\n'):        # what a kill has left
                    break
                good += len(line)
                try:
                    one = _unsealed(line)
                    self.done[one['run']] = Done(one['run'], one['numbers'])
                except ValueError:
                    damaged.append(number)
        os.ftruncate(self._file.fileno(), good)
        self._file.seek(0, os.SEEK_END)
        if damaged and len(self.done) < self._total:
            log.warning('%s: damaged: line %s. Runs that are not in it are made again.',
                        self.folder / RUNS, ', '.join(map(str, damaged)))

    def _full(self, error):
        return UsageError(f'{self.folder}: cannot be written: {error.strerror or error}. '
                          f'{len(self.done)} of {self._total} runs are kept; make room, and the '
                          'same call goes on.')


def kept_in(folder: Path) -> int:
    """Return how many runs are written in a folder, whatever came in between since."""
    try:
        with open(folder / RUNS, 'rb') as file:
            return sum(line.endswith(b'\n') for line in file)
    except FileNotFoundError:
        return 0


def _sealed(tree, indent=None):
    """Return a mapping as a line of JSON that begins with the checksum of the rest of it."""
    rest = f'{json.dumps(tree, indent=indent)[1:]}\n'.encode()
    return b'{"crc32": "%08x", %s' % (zlib.crc32(rest), rest)


def _unsealed(line):
    """Return what `_sealed` was given; ValueError if a line is not as it was written."""
    found = SEALED.fullmatch(line)
    if not found or int(found[1], 16) != zlib.crc32(found[2]):
        raise ValueError('damaged')
    return json.loads(b'{' + found[2])


def _write_all(file, data):
    """Write bytes past all buffers, so that they are there whatever ends this program."""
    view = memoryview(data)
    while view:
        view = view[os.write(file.fileno(), view):]
