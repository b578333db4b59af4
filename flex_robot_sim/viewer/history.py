"""Ring buffer of recent samples for plots."""

import numpy as np
from numpy.typing import ArrayLike


class History:
    """Rows of values with their times; the oldest are overwritten."""

    def __init__(self, width: int, span: float, rate: float) -> None:
        """Keep rows of `width` values, at a rate [Hz], for at least `span` [s]."""
        self._span, self._capacity = span, max(2, round(1.2 * span * rate))
        self._times, self._rows = (
            np.empty(2 * self._capacity),
            np.empty((2 * self._capacity, width)),
        )
        self._first = self._end = 0

    def add(self, time: float, row: ArrayLike) -> None:
        """Add a row (width,) at a time [s]; a time that runs back clears the history."""
        if self._end > self._first and time <= self._times[self._end - 1]:
            if time == self._times[self._end - 1]:
                return
            self.clear()
        if self._end == len(self._times):  # once in `capacity` rows
            retained = slice(self._end - self._capacity, self._end)
            self._times[: self._capacity] = self._times[retained]
            self._rows[: self._capacity] = self._rows[retained]
            self._first, self._end = max(0, self._first - retained.start), self._capacity
        self._times[self._end], self._rows[self._end] = time, row
        self._end += 1
        self._first = max(self._first, self._end - self._capacity)

    def clear(self) -> None:
        """Remove all rows."""
        self._first = self._end = 0

    @property
    def newest(self) -> float:
        """Time of the newest row [s]; -inf if empty."""
        return float(self._times[self._end - 1]) if self._end > self._first else -np.inf

    def last(
        self, span: float | None = None, max_count: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return times (k,) [s] and rows (k, width) of a span [s], evenly spaced."""
        begin = self.newest - (self._span if span is None else span)
        first = self._end
        if self._end > self._first:
            first = self._first + int(np.searchsorted(self._times[self._first : self._end], begin))
        step = 1 if max_count is None else max(1, -(-(self._end - first) // max_count))
        # spaced from the newest row backwards
        picked = np.arange(self._end - 1, first - 1, -step)[::-1]
        return self._times[picked], self._rows[picked]
