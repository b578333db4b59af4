"""Tables in text files: CSV, tabs, semicolons, white space; decimal points or commas."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from flex_robot_sim.recording.read.columns import Column, Recording
from flex_robot_sim.recording.read.number_rows import RowParser
from flex_robot_sim.recording.read.table_layout import find_layout
from flex_robot_sim.recording.read.text_chunks import HEAD_BYTES, encoding_of, read_chunks
from flex_robot_sim.recording.read.time_unit import find_clock, time_factor
from flex_robot_sim.util.exceptions import UsageError

MAX_NUMBERS = 40_000_000  # of a table; 8 bytes each, twice


def sniff(path: Path, head: bytes) -> bool:
    """Whether a file that begins with `head` is text."""
    return path.is_file() and bool(encoding_of(head))


def read(path: Path, clock: str | None = None) -> Recording:
    """
    Return the Recording in a text file; UsageError if it is no table of numbers.

    :param clock: column of the time; default: the one with a known name.
    """
    with open(path, 'rb') as file:
        encoding = encoding_of(file.read(HEAD_BYTES))
    names, ignored, units, table, notes = _read_table(path, encoding or 'utf-8')
    if encoding == 'latin-1':
        notes.append(f'{path}: is no UTF-8 text; it is read as Latin-1')
    columns = _named(path, names, table, notes)
    if not columns:
        raise UsageError(
            f'{path}: is no recording, as none of its columns are numbers. Give a file of '
            'samples, such as CSV or MCAP.'
        )
    clock = clock if clock in columns else find_clock(columns)
    if clock is None:
        rows = np.arange(len(table), dtype=float)
        return Recording(
            str(path),
            {name: Column(rows, values) for name, values in columns.items()},
            notes,
            False,
            find_clock(ignored) or '',
        )
    times = columns.pop(clock)
    unit = units.get(clock, '')
    times = times * time_factor(str(path), clock, unit, times, notes)
    return Recording(
        str(path), {name: Column(times, values) for name, values in columns.items()}, notes
    )


def _read_table(path, encoding):
    """Return names, those of text, units by name, numbers (rows, columns) and notes."""
    chunks = read_chunks(path, encoding)
    lines = next(chunks, [])
    layout = find_layout(str(path), lines)
    parser, parts, count, first_line = RowParser(str(path), layout), [], 0, 1
    skipped = layout.first_row
    while lines:
        following = next(chunks, [])
        part = parser.parse(lines[skipped:], first_line + skipped, not following)
        parts.append(part)
        count += part.size
        if count > MAX_NUMBERS:
            raise UsageError(
                f'{path}: has more than {MAX_NUMBERS // 10**6} million numbers. Remove columns, '
                'or split it.'
            )
        first_line, skipped, lines = first_line + len(lines), 0, following
    table = parts[0] if len(parts) == 1 else np.concatenate(parts)
    if not len(table):
        raise UsageError(f'{path}: has no rows of numbers. Give a header and rows of numbers.')
    notes = []
    if parser.has_decimal_commas:
        notes.append(f'{path}: has decimal commas')
    if parser.is_last_line_cut:
        notes.append(f'{path}: its last line is cut off and left out')
    ignored = [name for k, name in enumerate(layout.names) if k not in {*layout.numeric}]
    if ignored:
        notes.append(f'{path}: columns of text are left out: {", ".join(ignored[:4])}')
    names = [layout.names[k] for k in layout.numeric]
    units = dict(zip(layout.names, layout.units))
    if layout.units:
        notes.append(
            f'{path}: of the row of units, only that of the time is used: '
            f'{", ".join(layout.units[:6])}'
        )
    return names, ignored, units, table, notes


def _named(path, names, table, notes):
    """Return {name: values}; UsageError if columns of one name differ."""
    columns: dict[str, np.ndarray] = {}
    for k, name in enumerate(names):
        values = table[:, k]
        if not name and np.isnan(values).all():
            continue
        name = name or f'column{k + 1}'
        if name not in columns:
            columns[name] = values
        elif not np.array_equal(columns[name], values, equal_nan=True):
            raise UsageError(f'{path}: has two columns "{name}" that differ. Rename one of them.')
        else:
            notes.append(f'{path}: has two equal columns "{name}"; one is used')
    return columns
