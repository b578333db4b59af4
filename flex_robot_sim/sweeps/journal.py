"""
Journal of a sweep, a folder: its identity, a line per finished run, and the final table.

    sweep.json          the identity; a folder with another sweep is refused
    runs.jsonl          a line per finished run; an incomplete line is left by a killed process.
                        Each line begins with a checksum: damaged lines are ignored
    table.csv, table.parquet    all runs in order, written after the last one
"""

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

from flex_robot_sim.sweeps.case import RunResult
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.files import open_atomic
from flex_robot_sim.util.table_files import has_parquet, write_csv, write_parquet

IDENTITY_FILE, RUNS_FILE, TABLE_NAME = 'sweep.json', 'runs.jsonl', 'table'
CHECKED_LINE = re.compile(rb'\{"crc32": "([0-9a-f]{8})", (.*\n)', re.DOTALL)

log = logging.getLogger(__name__)


class Journal:
    """Finished runs on disk; the folder is locked while it is open."""

    def __init__(self, folder: str | Path, identity: Mapping[str, Any], total: int) -> None:
        """Begin or continue a sweep in a folder; UsageError if it contains another one."""
        self.folder, self._total = Path(folder), total
        self.done: dict[int, RunResult] = {}
        try:
            self.folder.mkdir(exist_ok=True)
            is_new = not (self.folder / RUNS_FILE).exists()
            self._file = open(self.folder / RUNS_FILE, 'ab')  # noqa: SIM115
        except OSError as error:
            raise UsageError(
                f'{folder} cannot hold the runs: {error.strerror}. Name another folder.'
            ) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._claim(dict(identity))
            self._read()
        except BlockingIOError as error:
            self._file.close()
            raise UsageError(
                f'{folder}: another program writes runs there. Wait for it, or name '
                'another folder.'
            ) from error
        except OSError as error:
            self._file.close()
            raise self._write_error(error) from error
        except UsageError:
            if is_new:  # in a folder with other content
                (self.folder / RUNS_FILE).unlink(missing_ok=True)
            self._file.close()
            raise

    def add(self, runs: Iterable[RunResult]) -> None:
        """Write finished runs; they survive a crash of this process."""
        runs = [*runs]
        lines = b''.join(
            _with_checksum({'run': record.run, 'numbers': {**record.figures}}) for record in runs
        )
        try:
            start = self._file.tell()
            _write_all(self._file, lines)
        except OSError as error:
            os.ftruncate(self._file.fileno(), start)
            raise self._write_error(error) from error
        self.done.update((record.run, record) for record in runs)

    def write_tables(self, columns: Mapping[str, np.ndarray]) -> list[Path]:
        """Write the table in all available formats; return the files."""
        files = []
        for form, write in (('csv', write_csv), ('parquet', write_parquet)):
            if form == 'parquet' and not has_parquet():
                continue
            path = self.folder / f'{TABLE_NAME}.{form}'
            try:
                write(path, columns)
            except OSError as error:
                raise self._write_error(error) from error
            files.append(path)
        return files

    def close(self) -> None:
        """Unlock the folder."""
        self._file.close()

    def _claim(self, identity):
        """Write the identity of this sweep, or compare it with the stored one."""
        path = self.folder / IDENTITY_FILE
        try:
            written = _verified(path.read_bytes())
        except FileNotFoundError:
            other_files = [
                entry.name for entry in self.folder.iterdir() if entry.name != RUNS_FILE
            ]
            if other_files or self._file.tell():
                raise UsageError(
                    f'{self.folder}: there is {min(other_files, default=RUNS_FILE)} and no '
                    f'{IDENTITY_FILE}: it is not of a sweep. Name another folder.'
                ) from None
            with open_atomic(path, 'wb') as file:
                file.write(_with_checksum(identity, indent=1))
            return
        except ValueError as error:
            raise UsageError(
                f'{path} is damaged, so it is unknown of which sweep the runs there '
                'are. Name another folder, or delete this one.'
            ) from error
        if written != identity:
            differing = next(
                (name for name in identity if written.get(name) != identity[name]), 'version'
            )
            raise UsageError(
                f'{self.folder} holds another sweep, with another "{differing}" in its '
                f'{IDENTITY_FILE}. Name another folder, or delete this one.'
            )

    def _read(self):
        """Read the finished runs; runs of damaged lines are repeated."""
        good, damaged = 0, []
        with open(self.folder / RUNS_FILE, 'rb') as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b'\n'):  # incomplete
                    break
                good += len(line)
                try:
                    record = _verified(line)
                    self.done[record['run']] = RunResult(record['run'], record['numbers'])
                except ValueError:
                    damaged.append(number)
        os.ftruncate(self._file.fileno(), good)
        self._file.seek(0, os.SEEK_END)
        if damaged and len(self.done) < self._total:
            log.warning(
                '%s: damaged: line %s. Runs that are not in it are made again.',
                self.folder / RUNS_FILE,
                ', '.join(map(str, damaged)),
            )

    def _write_error(self, error):
        return UsageError(
            f'{self.folder}: cannot be written: {error.strerror or error}. {len(self.done)} of '
            f'{self._total} runs are kept; make room, and the same call goes on.'
        )


def count_written_runs(folder: Path) -> int:
    """Return the number of runs written in a folder."""
    try:
        with open(folder / RUNS_FILE, 'rb') as file:
            return sum(line.endswith(b'\n') for line in file)
    except FileNotFoundError:
        return 0


def _with_checksum(tree, indent=None):
    """Return a mapping as a line of JSON that begins with the checksum of its body."""
    body = f'{json.dumps(tree, indent=indent)[1:]}\n'.encode()
    return b'{"crc32": "%08x", %s' % (zlib.crc32(body), body)


def _verified(line):
    """Return the mapping of a line of `_with_checksum`; ValueError if it is damaged."""
    match = CHECKED_LINE.fullmatch(line)
    if not match or int(match[1], 16) != zlib.crc32(match[2]):
        raise ValueError('damaged')
    return json.loads(b'{' + match[2])


def _write_all(file, data):
    """Write bytes without a buffer, so that they survive the end of this process."""
    view = memoryview(data)
    while view:
        view = view[os.write(file.fileno(), view) :]
