"""Rows of numbers in text, as arrays."""

from __future__ import annotations

import csv
import re

import numpy as np

from flex_robot_sim.recording.read.table_layout import (
    MISSING_WORDS,
    Layout,
    is_number,
    is_row,
    split_row,
)
from flex_robot_sim.util.exceptions import UsageError

MIN_ROW_SHARE = 0.5  # of lines with a number, of a file that is a recording


class RowParser:
    """Parses chunks of lines of one table."""

    def __init__(self, path: str, layout: Layout) -> None:
        self.path, self.layout = path, layout
        self.has_decimal_commas = False
        self.is_last_line_cut = False
        delimiter = re.escape(layout.delimiter or ' ')
        missing = '|'.join(sorted(map(re.escape, MISSING_WORDS - {''}), key=len, reverse=True))
        self._missing = re.compile(
            rf'(?:(?<={delimiter})|^)[ ]*(?:{missing})?[ ]*(?={delimiter}|$)', re.I | re.M
        )

    def parse(self, lines: list[str], first_line: int, is_end: bool) -> np.ndarray:
        """
        Return the numeric columns of lines, (rows, columns).

        :param first_line: number of the first one in the file, from 1.
        :param is_end: whether they are the last ones of the file; the last may be cut off.
        """
        numbers = [k for k, line in enumerate(lines) if is_row(line)]
        if is_end and numbers and self._is_cut(lines[numbers[-1]], lines[numbers[-2:][0]]):
            self.is_last_line_cut = True
            numbers.pop()
        rows = lines if len(numbers) == len(lines) else [lines[k] for k in numbers]
        if not rows:
            return np.empty((0, len(self.layout.numeric)))
        if self.layout.closes_rows:
            rows = [self._without_end(row) for row in rows]
        table = self._table(rows)
        if table is None:
            self._refuse([(first_line + k, lines[k]) for k in numbers])
        return table

    def _without_end(self, row):
        row = row.rstrip('\n')
        return row.removesuffix(self.layout.delimiter)

    def _is_cut(self, line, previous):
        """Whether the last line of a file is incomplete."""
        cells = split_row(line, self.layout.delimiter)
        if self.layout.closes_rows:
            return len(cells) < len(self.layout.names) + 1
        if len(cells) != len(self.layout.names) or line.endswith('\n'):
            return len(cells) < len(self.layout.names)
        last, before = cells[-1].strip(), split_row(previous, self.layout.delimiter)[-1].strip()
        if not is_number(last):
            return is_number(before)
        # 0.12 may be the beginning of 0.1234
        return len(before) >= 2 * len(last) and bool(set('.,') & set(before))

    def _table(self, rows):
        """Return the numbers of rows; None if one is invalid."""
        layout = self.layout
        delimiter = layout.delimiter
        if any('"' in row for row in rows):
            return self._quoted(rows)
        if delimiter and any(row.count(delimiter) != len(layout.names) - 1 for row in rows):
            return None
        if delimiter != ',' and any(',' in row for row in rows):
            if any('.' in row for row in rows):
                return None
            self.has_decimal_commas = True
            rows = [row.replace(',', '.') for row in rows]
        table = self._load(rows)
        if table is not None or delimiter is None:
            return table
        text = ''.join(row if row.endswith('\n') else f'{row}\n' for row in rows).rstrip('\n')
        return self._load(self._missing.sub('nan', text).split('\n'))

    def _load(self, rows):
        if not any(map(str.strip, rows)):
            return None  # a single column with empty cells
        columns = self.layout.numeric
        is_complete = len(columns) == len(self.layout.names)
        try:
            table = np.loadtxt(
                rows,
                delimiter=self.layout.delimiter,
                comments=None,
                ndmin=2,
                usecols=None if is_complete else columns,
            )
        except (ValueError, OverflowError, RecursionError):
            return None
        return table if table.shape == (len(rows), len(columns)) else None

    def _quoted(self, rows):
        """Return the numbers of rows with quoted cells, which may have decimal commas."""
        words = list(
            csv.reader(rows, delimiter=self.layout.delimiter or ' ', skipinitialspace=True)
        )
        if len(words) != len(rows) or any(len(row) != len(self.layout.names) for row in words):
            return None
        table = np.empty((len(rows), len(self.layout.numeric)))
        for k, row in enumerate(words):
            try:
                table[k] = [self._number(row[column]) for column in self.layout.numeric]
            except ValueError:
                return None
        return table

    def _number(self, word):
        word = word.strip()
        if word.lower() in MISSING_WORDS:
            return np.nan
        if ',' in word:
            self.has_decimal_commas = True
            word = word.replace(',', '.')
        return float(word)

    def _refuse(self, lines):
        """Raise UsageError about the first invalid line."""
        count, delimiter = len(self.layout.names), self.layout.delimiter
        if sum(_has_number(line, delimiter) for _, line in lines) < MIN_ROW_SHARE * len(lines):
            raise UsageError(
                f'{self.path}: is no recording, as few of its lines are numbers. Give a file of '
                'samples, such as CSV or MCAP.'
            )
        for number, line in lines:
            row = self._without_end(line) if self.layout.closes_rows else line
            cells = split_row(row, delimiter)
            if self._table([row]) is not None:
                continue
            if delimiter == ',' and len(cells) == 2 * count and all(map(is_number, cells)):
                raise UsageError(
                    f'{self.path}:{number}: has decimal commas and commas between columns. '
                    'Write decimal points, or semicolons between columns.'
                )
            raise UsageError(
                f'{self.path}:{number}: is not {count} numbers. Mend or remove this line.'
            )
        raise UsageError(
            f'{self.path}: has decimal points and decimal commas. Write one kind of them.'
        )


def _has_number(line, delimiter):
    return any(map(is_number, split_row(line, delimiter)))
