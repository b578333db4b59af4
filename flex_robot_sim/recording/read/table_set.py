"""Several tables as one recording, such as the files of a folder or of an archive."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from flex_robot_sim.recording.read.columns import Recording
from flex_robot_sim.recording.read.topic_columns import signal_of, vibration_columns
from flex_robot_sim.util.exceptions import UsageError

# names of tables of accelerometers, best first; some apps store one without gravity
ACCELEROMETERS = r'linear', r'^accel', r'accel'
NO_SENSOR = re.compile(r'(^|/)(meta|\.|__MACOSX)|(^|/)(metadata|annotation)\.csv$', re.I)


def join(path: Path, tables: Mapping[str, Recording], notes: Sequence[str]) -> Recording:
    """
    Return the Recording of several tables; a column is named `TABLE:COLUMN`.

    UsageError if there are no columns.
    """
    recording = Recording(str(path), {}, [*notes])
    for table, part in tables.items():
        recording.notes.extend(part.notes)
        if not part.has_times:
            recording.notes.append(f'{path}: {table} has no column of times and is left out')
            continue
        for name, column in part.columns.items():
            recording.columns[f'{table}:{name}'] = column
            signal = signal_of(table.replace('.', '/'), name)
            if signal:
                recording.columns[signal] = column
    if not recording.columns:
        raise UsageError(f'{path}: has no table with times and numbers. Give a CSV or MCAP file.')
    return recording._replace(default_columns=_default_columns(tables))


def _default_columns(tables):
    """Return the columns of the accelerometer, those of the only table, or none."""
    timed = {table: part.columns for table, part in tables.items() if part.has_times}
    of_topics = vibration_columns(timed)
    if of_topics:
        return of_topics
    for pattern in ACCELEROMETERS:
        for table, columns in timed.items():
            if re.search(pattern, table, re.I):
                return tuple(f'{table}:{name}' for name in columns)
    if len(timed) > 1:
        return ()
    return tuple(f'{table}:{name}' for table, columns in timed.items() for name in columns)
