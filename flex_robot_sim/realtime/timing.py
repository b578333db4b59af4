"""Figures of many short times: how long steps take, how late they are, how old commands are."""

import numpy as np


class Samples:
    """The last times of one kind [s], and the count and the largest of all."""

    def __init__(self, size=4096):
        """Keep the last `size` of them."""
        self._values = np.zeros(size)
        self.clear()

    def clear(self):
        """Forget all."""
        self.count, self.longest = 0, 0.0

    def add(self, value):
        """Note one time [s]."""
        self._values[self.count % self._values.size] = value
        self.count += 1
        if value > self.longest:
            self.longest = value

    def quantile(self, share):
        """Time that a share of the last samples stays below [s]; nan without samples."""
        kept = self._values[:min(self.count, self._values.size)]
        return float(np.quantile(kept, share)) if kept.size else float('nan')

    @property
    def median(self):
        """Median of the last samples [s]."""
        return self.quantile(0.5)


class Echo:
    """
    How long it takes until a command answers a state, told by the stamp that both carry.

    Only the newest states are remembered; a stamp that nobody sent is no answer.
    """

    def __init__(self, states=256):
        """Remember the last `states` stamps."""
        self._keys, self._sent = [None] * states, {}
        self._next = 0
        self.delays = Samples()

    def sent(self, stamp, now):
        """Note that the state with this stamp went out."""
        old = self._keys[self._next]
        if old is not None:
            self._sent.pop(old, None)
        self._keys[self._next] = stamp
        self._next = (self._next + 1) % len(self._keys)
        self._sent[stamp] = now

    def answered(self, stamp, now):
        """Note the first command that carries this stamp; True if it answers a state."""
        start = self._sent.pop(stamp, None)
        if start is not None:
            self.delays.add(now - start)
        return start is not None
