"""
The folder of a sweep: what it is, a line for each run that was made, and the table at the end.

    sweep.json          what it is; a folder that holds another sweep is left alone
    runs.jsonl          a line as soon as a run is made; half a line is what a kill left of one
    table.csv, table.parquet    all runs in order, written when the last one is there
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from flex_robot_sim.exceptions import UsageError
from flex_robot_sim.sweeps.case import Done
from flex_robot_sim.table_files import has_parquet, write_csv, write_parquet

WHAT, DRAFT, RUNS, TABLE = 'sweep.json', 'sweep.part', 'runs.jsonl', 'table'


class Journal:
    """Runs that were made, on disk; it keeps others out while it is open."""

    def __init__(self, folder: str | Path, identity: Mapping[str, Any], total: int) -> None:
        """Begin a sweep in a folder, or go on with it; UsageError if it holds another one."""
        self.folder, self._total = Path(folder), total
        self.done: dict[int, Done] = {}
        try:
            self.folder.mkdir(exist_ok=True)
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
            self._file.close()
            raise

    def add(self, runs: Iterable[Done]) -> None:
        """Write runs that were made: from now on they count, whatever becomes of this program."""
        runs = [*runs]
        text = ''.join(json.dumps({'run': one.run, **one.figures}) + '\n' for one in runs)
        try:
            start = self._file.tell()
            _write_all(self._file, text.encode())
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
            path, draft = self.folder / f'{TABLE}.{form}', self.folder / f'{TABLE}.{form}.part'
            try:
                write(draft, columns)
                os.replace(draft, path)
            except OSError as error:
                draft.unlink(missing_ok=True)
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
            written = json.loads(path.read_text('utf-8'))
        except FileNotFoundError:
            others = [one.name for one in self.folder.iterdir() if one.name not in (RUNS, DRAFT)]
            if others or self._file.tell():
                raise UsageError(f'{self.folder}: there is {min(others, default=RUNS)} and no '
                                 f'{WHAT}: it is not of a sweep. Name another folder.') from None
            draft = self.folder / DRAFT
            with open(draft, 'wb', buffering=0) as file:
                _write_all(file, json.dumps(identity, indent=1).encode())
            os.replace(draft, path)
            return
        except ValueError:
            written = {}
        if written != identity:
            unlike = next((name for name in identity if not isinstance(written, dict)
                           or written.get(name) != identity[name]), 'version')
            raise UsageError(f'{self.folder} holds another sweep, with another "{unlike}" in its '
                             f'{WHAT}. Name another folder, or delete this one.')

    def _read(self):
        """Read the runs that were made: what is no run is made again, and half a line goes."""
        good = 0
        with open(self.folder / RUNS, 'rb') as file:
            for line in file:
                if not line.endswith(b'\n'):
                    break
                good += len(line)
                with contextlib.suppress(ValueError, AttributeError, KeyError, TypeError):
                    figures = json.loads(line)
                    run = figures.pop('run')
                    if 0 <= run < self._total:
                        self.done[run] = Done(run, figures)
        os.ftruncate(self._file.fileno(), good)
        self._file.seek(0, os.SEEK_END)

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


def _write_all(file, data):
    """Write bytes past all buffers, so that they are there whatever ends this program."""
    view = memoryview(data)
    while view:
        view = view[os.write(file.fileno(), view):]
