"""Statistics of durations: step times, lateness, and delays from state to command."""

import math

import numpy as np


class Samples:
    """The newest durations [s], and the count and the largest of all."""

    def __init__(self, size: int = 4096) -> None:
        self._values = np.zeros(size)
        self.count, self.longest, self._peak = 0, 0.0, 0.0

    def add(self, value: float) -> None:
        """Add a duration [s]."""
        self._values[self.count % self._values.size] = value
        self.count += 1
        if value > self._peak:
            self._peak = value
            self.longest = max(self.longest, value)

    def take_peak(self) -> float:
        """Return the largest since the last call [s]; zero if there is none."""
        peak, self._peak = self._peak, 0.0
        return peak

    def quantile(self, share: float) -> float:
        """Quantile of the newest durations [s]; nan if there are none."""
        values = self._values[: min(self.count, self._values.size)]
        return float(np.quantile(values, share)) if values.size else float('nan')


class Histogram:
    """
    Histogram of all durations since the start, in bins that widen by 2.3 %.

    One thread adds, and another may read.
    """

    _SHORTEST, _PER_DECADE, _DECADES = 1e-6, 100, 7  # 1 us to 10 s

    def __init__(self) -> None:
        self.counts = np.zeros(self._PER_DECADE * self._DECADES + 1, int)

    def add(self, value: float) -> None:
        """Add a duration [s]."""
        ratio = value / self._SHORTEST
        row = int(self._PER_DECADE * math.log10(ratio)) if ratio > 1.0 else 0
        self.counts[min(row, self.counts.size - 1)] += 1

    def quantile(self, share: float, before: np.ndarray | int = 0) -> float:
        """Quantile [s] to the accuracy of a bin, without the counts `before`; nan if empty."""
        total = np.cumsum(self.counts - before)
        if total[-1] == 0:
            return float('nan')
        row = int(np.searchsorted(total, share * total[-1]))
        return self._SHORTEST * 10.0 ** ((row + 0.5) / self._PER_DECADE)


class RoundTrip:
    """
    Delay from a state to the command that answers it, matched by their stamp.

    Only the newest states are stored; other stamps are ignored.
    """

    def __init__(self, states: int = 256) -> None:
        self._keys: list[int | None] = [None] * states
        self._sent: dict[int, float] = {}
        self._next = 0
        self.delays = Histogram()

    def sent(self, stamp: int, now: float) -> None:
        """Note that the state with this stamp was published at `now` [s]."""
        old = self._keys[self._next]
        if old is not None:
            self._sent.pop(old, None)
        self._keys[self._next] = stamp
        self._next = (self._next + 1) % len(self._keys)
        self._sent[stamp] = now

    def answered(self, stamp: int, now: float) -> bool:
        """Note a command with this stamp; True if it is the first that answers a state."""
        start = self._sent.pop(stamp, None)
        if start is not None:
            self.delays.add(now - start)
        return start is not None
