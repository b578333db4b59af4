"""A rate that is kept by who is asked at uneven times."""

EARLY = 0.05            # of a period: what is so nearly due need not wait for the next look


class RateGate:
    """Tells when the next of something that goes out at a rate is due."""

    def __init__(self, rate: float) -> None:
        """Make the first one due at once; rate in [Hz]."""
        self._period, self._due = 1.0 / rate, -float('inf')

    def is_due(self, now: float) -> bool:
        """
        Whether one is due at `now` [s]; it counts as sent then.

        What one is late the next one comes sooner. After a gap, or where time has jumped back, the
        beat begins anew.
        """
        late = now - self._due
        if -1.5 * self._period < late < -EARLY * self._period:
            return False
        self._due = self._due + self._period if abs(late) < self._period else now + self._period
        return True
