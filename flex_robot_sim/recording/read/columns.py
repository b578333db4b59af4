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
