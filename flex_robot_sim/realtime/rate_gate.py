"""A fixed rate for an event whose due time is checked at irregular times."""

MAX_EARLINESS = 0.05  # share of a period by which an event may come early


class RateGate:
    """Decides at each check whether an event of a given rate is due."""

    def __init__(self, rate: float) -> None:
        """Make the first event due at once; rate [Hz]."""
        self._period, self._due = 1.0 / rate, -float('inf')

    def is_due(self, now: float) -> bool:
        """
        Whether an event is due at `now` [s]; if so, it counts as sent.

        A late event does not delay the next one. After a gap, or a jump back in time, the schedule
        starts again.
        """
        late = now - self._due
        if -1.5 * self._period < late < -MAX_EARLINESS * self._period:
            return False
        self._due = self._due + self._period if abs(late) < self._period else now + self._period
        return True
