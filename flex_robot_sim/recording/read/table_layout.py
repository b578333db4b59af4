"""Layout of a table in a text file: comments, delimiter, header, units and columns of text."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from typing import NamedTuple

from flex_robot_sim.util.exceptions import UsageError

COMMENTS = '#', '%', '//'
DELIMITERS = '\t', ';', ','
SAMPLED_ROWS = 20  # that determine the layout
MISSING_WORDS = frozenset(['', 'nan', 'na', 'n/a', '#n/a', 'null', 'none', '-nan', '+nan'])
_DECIMAL_COMMA = re.compile(r'[+-]?\d*,\d+([eE][+-]?\d+)?')
_UNIT = re.compile(r'[\[(]?[A-Za-zµμ°%Ω/^*.·²³\d\s-]{0,14}[\])]?')


class Layout(NamedTuple):
    """How the rows of a table are written."""

    delimiter: str | None  # None: any white space
    names: list[str]
    units: list[str]  # of the units row; empty without one
    first_row: int  # number of lines before the first row of numbers
    numeric: list[int]  # columns of numbers
    closes_rows: bool  # whether each row ends with an additional delimiter


def is_row(line: str) -> bool:
    """Whether a line is part of the table: not blank, no comment."""
    text = line.strip()
    return bool(text) and not text.startswith(COMMENTS)


def is_number(word: str) -> bool:
    """Whether a word is a number, with a decimal point or comma."""
    word = word.strip()
    if _DECIMAL_COMMA.fullmatch(word):
        return True
    try:
        float(word)
    except ValueError:
        return False
    return '_' not in word


def is_cell(word: str) -> bool:
    """Whether a word can stand in a column of numbers."""
    return word.strip().lower() in MISSING_WORDS or is_number(word)


def split_row(line: str, delimiter: str | None) -> list[str]:
    """Return the cells of a line."""
    line = line.strip('\n') if delimiter else line.strip()
    if delimiter is None:
        return line.split()
    if '"' not in line:
        return line.split(delimiter)
    rows = list(csv.reader([line], delimiter=delimiter, skipinitialspace=True))
    return rows[0] if rows else []


def find_layout(path: str, lines: Sequence[str]) -> Layout:
    """Return the Layout of a table by its first lines; UsageError if it has no rows."""
    rows = [k for k, line in enumerate(lines) if is_row(line)]
    if not rows:
        raise UsageError(f'{path}: is empty. Give a CSV file with a header and rows of numbers.')
    try:
        return _layout(lines, rows)
    except csv.Error as error:
        raise UsageError(f'{path}: is no CSV file: {error}. Mend it.') from error


def _layout(lines, rows):
    delimiter = _delimiter([lines[k] for k in rows[:SAMPLED_ROWS]])
    names = [word.strip() for word in split_row(lines[rows[0]], delimiter)]
    begin, units = 1, []
    if any(map(is_number, names)) and all(map(is_cell, names)):
        if not names[-1] and all(
            not split_row(lines[k], delimiter)[-1].strip() for k in rows[:SAMPLED_ROWS]
        ):
            names.pop()  # each row ends with a delimiter
        first_cells = [split_row(lines[k], delimiter)[0] for k in rows[:SAMPLED_ROWS]]
        names, begin = _names_without_header(lines[: rows[0]], delimiter, names, first_cells), 0
    elif len(rows) > 1:
        words = [word.strip() for word in split_row(lines[rows[1]], delimiter)]
        if _are_units(words, len(names)):
            begin, units = 2, words
    first = [split_row(lines[k], delimiter) for k in rows[begin : begin + SAMPLED_ROWS]]
    closes_rows = bool(first) and all(
        len(row) == len(names) + 1 and not row[-1].strip() for row in first
    )
    numeric = [
        k
        for k in range(len(names))
        if not first or any(is_cell(row[k]) for row in first if k < len(row))
    ]
    first_row = rows[begin] if begin < len(rows) else len(lines)
    return Layout(delimiter, names, units, first_row, numeric, closes_rows)


def _delimiter(lines):
    """Return the delimiter that gives all lines, or all but the last, the same number of cells."""
    lines = lines[:-1] if len(lines) > 2 else lines  # the last line may be cut off
    for delimiter in DELIMITERS:
        counts = {len(split_row(line, delimiter)) for line in lines}
        if min(counts) > 1 and (len(counts) == 1 or delimiter == ','):
            return delimiter
        if len(counts) == 2 and max(counts) == min(counts) + 1 and min(counts) > 1:
            return delimiter  # rows that end with a delimiter
    counts = {len(line.split()) for line in lines}
    if len(lines) > 1 and ',' not in lines[0] and len(counts) == 1 and min(counts) > 1:
        return None
    return ','


def _are_units(words, count):
    """Whether the cells of the row after the header are units."""
    return (
        len(words) == count
        and any(words)
        and not any(word and is_number(word) for word in words)
        and all(_UNIT.fullmatch(word) for word in words)
        and not all(word.lower() in MISSING_WORDS for word in words)
    )


def _names_without_header(comments, delimiter, cells, first_cells):
    """
    Return names from the last comment line of the same length, else by position.

    :param first_cells: of the rows; they are times if they rise.
    """
    for line in reversed(comments):
        text = line.strip()
        mark = next((mark for mark in COMMENTS if text.startswith(mark)), '')
        names = [word.strip() for word in split_row(text[len(mark) :].strip(), delimiter)]
        if mark and len(names) == len(cells) and not any(map(is_number, names)):
            return names
    first = 'time' if _rise(first_cells) else 'column1'
    return [first, *(f'column{k + 1}' for k in range(1, len(cells)))]


def _rise(words):
    """Whether numbers never fall; words that are none do not count."""
    numbers = [float(word.replace(',', '.')) for word in words if is_number(word)]
    return all(before <= after for before, after in zip(numbers, numbers[1:]))
