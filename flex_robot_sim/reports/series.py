"""Values over time, named, as a recording holds them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

SECOND = 1e-9


class Series(NamedTuple):
    """Rows of values over time."""

    time: np.ndarray            # (k,) rising                                              [s]
    values: np.ndarray          # (k, n)
    names: tuple[str, ...]      # of the columns

    def column(self, name: str) -> np.ndarray:
        """Return the values (k,) of a name."""
        return self.values[:, self.names.index(name)]

    def at(self, time: np.ndarray) -> np.ndarray:
        """Return values (len(time), n) between those that are there, held beyond both ends."""
        return np.column_stack([np.interp(time, self.time, column) for column in self.values.T]
                               ) if len(self.names) else np.zeros((len(time), 0))

    def before(self, time: np.ndarray) -> np.ndarray:
        """Return the newest values (len(time), n) at each time; those of the first before it."""
        rows = np.searchsorted(self.time, time, side='right') - 1
        return self.values[np.maximum(rows, 0)]

    def within(self, begin: float, end: float) -> Series:
        """Return the rows between two times."""
        kept = (self.time >= begin) & (self.time <= end)
        return Series(self.time[kept], self.values[kept], self.names)


class Growing:
    """Named rows that come one after the other, by two clocks."""

    def __init__(self, names: Sequence[str]) -> None:
        """Take the names of the columns; rows that have others are counted, and left out."""
        self.names, self.refused = tuple(names), 0
        self._stamps, self._times, self._values = array('q'), array('q'), array('d')

    def add(self, time: int, stamp: int, names: Sequence[str], values: Iterable[float]) -> None:
        """Add a row that came at a time and carries a stamp [ns]."""
        row = list(values)
        if tuple(names) != self.names:
            if set(names) != set(self.names) or len(row) != len(names):
                self.refused += 1
                return
            by_name = dict(zip(names, row))
            row = [by_name[name] for name in self.names]
        if len(row) != len(self.names):
            self.refused += 1
            return
        self._times.append(time)
        self._stamps.append(stamp)
        self._values.extend(row)

    def __len__(self):
        return len(self._times)

    @property
    def stamps(self) -> np.ndarray:
        """Stamps (k,) [ns]."""
        return np.array(self._stamps, np.int64)

    @property
    def times(self) -> np.ndarray:
        """When they came (k,) [ns]."""
        return np.array(self._times, np.int64)

    def series(self, time: np.ndarray) -> Series:
        """Return the Series with other times (k,) [s], put in order, each once."""
        values = np.array(self._values).reshape(len(self), len(self.names))
        time, rows = np.unique(time, return_index=True)
        return Series(time, values[rows], self.names)


def thinned(time: np.ndarray, values: np.ndarray, most: int = 1200
            ) -> tuple[np.ndarray, np.ndarray]:
    """Return fewer points of a curve, with the least and the largest of each stretch of it."""
    if len(time) <= most:
        return time, values
    edges = np.linspace(0, len(time), most // 2 + 1).astype(int)
    begin, end = edges[:-1, None], edges[1:, None]
    rows = begin + np.arange((end - begin).max())       # a line for each stretch, all as long
    parts = values[np.minimum(rows, len(time) - 1)]
    is_number = (rows < end) & ~np.isnan(parts)
    is_known = (is_number & np.isfinite(parts)).any(axis=1)
    ends = [np.where(is_number, parts, np.inf).argmin(axis=1),
            np.where(is_number, parts, -np.inf).argmax(axis=1)]
    kept = np.unique([begin[:, 0] + np.where(is_known, place, 0) for place in ends])
    kept = np.union1d(kept, [0, len(time) - 1])
    return time[kept], values[kept]


def rms(values: np.ndarray) -> float:
    """Root of the mean square of those that are finite; nan of none."""
    values = values[np.isfinite(values)]
    return float(np.sqrt(np.mean(values**2))) if values.size else float('nan')


def largest(values: np.ndarray) -> float:
    """Largest size of those that are finite; nan of none."""
    values = values[np.isfinite(values)]
    return float(np.abs(values).max()) if values.size else float('nan')


def plain(value: object) -> object:
    """Return a value as JSON may hold it: nan is None."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(item) for item in value]
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value
