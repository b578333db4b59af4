"""Recorded signals: columns with their times."""

from typing import NamedTuple

import numpy as np


class Column(NamedTuple):
    """Samples of one signal."""

    time: np.ndarray  # (k,)                                                          [s]
    values: np.ndarray  # (k,)


class Recording(NamedTuple):
    """Columns of a file, by the names in it."""

    path: str
    columns: dict[str, Column]
    notes: list[str]  # remarks about the file, each with its path
    has_times: bool = True  # False: times are row numbers
    text_clock: str = ''  # column of times that are text, such as dates
    default_columns: tuple[str, ...] = ()  # those that show a vibration best; empty: all

    @property
    def missing_times(self) -> str:
        """What a file without times lacks, and the remedy."""
        if self.text_clock:
            return f'the times in "{self.text_clock}" are text, such as dates. Write seconds'
        return 'has no column "time". Add one [s]'
