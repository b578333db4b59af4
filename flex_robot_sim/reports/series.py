"""Time series with named columns, as read from a recording."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, overload

import numpy as np

NANOSECOND = 1e-9


class Series(NamedTuple):
    """Samples of named quantities over time."""

    time: np.ndarray  # (k,) increasing                                          [s]
    values: np.ndarray  # (k, n)
    names: tuple[str, ...]  # of the columns

    def column(self, name: str) -> np.ndarray:
        """Return the column (k,) of this name."""
        return self.values[:, self.names.index(name)]

    def find(self, name: str) -> np.ndarray:
        """Return the column (k,) of this name; (0,) where there is none."""
        return self.column(name) if name in self.names else np.zeros(0)

    def at(self, time: np.ndarray) -> np.ndarray:
        """Return linearly interpolated values (len(time), n), constant beyond both ends."""
        if len(self.names):
            return np.column_stack(
                [np.interp(time, self.time, column) for column in self.values.T]
            )
        return np.zeros((len(time), 0))

    def within(self, begin: float, end: float) -> Series:
        """Return the samples between two times, both included."""
        is_inside = (self.time >= begin) & (self.time <= end)
        return Series(self.time[is_inside], self.values[is_inside], self.names)


class SeriesBuilder:
    """Collects rows of one topic with their receive time and their header stamp."""

    def __init__(self, names: Sequence[str]) -> None:
        """Start with the names of the columns; rows with other names are left out."""
        self.names = tuple(names)
        self._stamps, self._times, self._values = array('q'), array('q'), array('d')

    def add(self, time: int, stamp: int, names: Sequence[str], values: Iterable[float]) -> None:
        """Add a row with its receive time and its header stamp [ns]."""
        row = list(values)
        if tuple(names) != self.names:
            if set(names) != set(self.names) or len(row) != len(names):
                return
            by_name = dict(zip(names, row))
            row = [by_name[name] for name in self.names]
        if len(row) != len(self.names):
            return
        self._times.append(time)
        self._stamps.append(stamp)
        self._values.extend(row)

    def __len__(self):
        return len(self._times)

    @property
    def stamps(self) -> np.ndarray:
        """Header stamps (k,) [ns]."""
        return np.array(self._stamps, np.int64)

    @property
    def times(self) -> np.ndarray:
        """Receive times (k,) [ns]."""
        return np.array(self._times, np.int64)

    def series(self, time: np.ndarray) -> Series:
        """Return the Series at times (k,) [s], sorted and without duplicate times."""
        values = np.array(self._values).reshape(len(self), len(self.names))
        time, rows = np.unique(time, return_index=True)
        return Series(time, values[rows], self.names)


def decimate(
    time: np.ndarray, values: np.ndarray, max_points: int = 1200
) -> tuple[np.ndarray, np.ndarray]:
    """Return a curve with fewer points: the minimum and maximum of each interval."""
    if len(time) <= max_points:
        return time, values
    edges = np.linspace(0, len(time), max_points // 2 + 1).astype(int)
    begin, end = edges[:-1, None], edges[1:, None]
    rows = begin + np.arange((end - begin).max())  # a row per interval, all of one length
    samples = values[np.minimum(rows, len(time) - 1)]
    is_number = (rows < end) & ~np.isnan(samples)
    is_known = (is_number & np.isfinite(samples)).any(axis=1)
    extremes = [
        np.where(is_number, samples, np.inf).argmin(axis=1),
        np.where(is_number, samples, -np.inf).argmax(axis=1),
    ]
    picked = np.unique([begin[:, 0] + np.where(is_known, offset, 0) for offset in extremes])
    picked = np.union1d(picked, [0, len(time) - 1])
    return time[picked], values[picked]


def rms(values: np.ndarray) -> float:
    """Root mean square of the finite values; nan if there are none."""
    values = values[np.isfinite(values)]
    return float(np.sqrt(np.mean(values**2))) if values.size else float('nan')


def max_abs(values: np.ndarray) -> float:
    """Largest magnitude of the finite values; nan if there are none."""
    values = values[np.isfinite(values)]
    return float(np.abs(values).max()) if values.size else float('nan')


@overload
def to_json_value(value: Mapping) -> dict[str, Any]: ...


@overload
def to_json_value(value: object) -> object: ...


def to_json_value(value: object) -> object:
    """Return a value that JSON can represent: nan becomes None."""
    if isinstance(value, Mapping):
        return {str(key): to_json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [to_json_value(item) for item in value]
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value
