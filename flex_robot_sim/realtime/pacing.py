"""
When the next period of the simulation is due.

Deadlines are absolute: period k is due at start + k period / factor, so that lateness does not
add up. Who is late catches up without waiting; time lost beyond a limit is dropped and counted,
never raced after.
"""


class Pacer:
    """Deadlines of equal periods, by a clock that never jumps."""

    def __init__(self, period, factor=1.0, max_lag=0.05):
        """
        Set the pace; `restart` sets the first deadline.

        :param period: simulated time between two deadlines [s].
        :param factor: simulated time over real time.
        :param max_lag: lateness beyond which time is dropped [s].
        """
        self._period, self.max_lag = period, max_lag
        self.dropped = 0.0          # real time that was given up [s]
        self.factor = factor
        self.restart(0.0)

    def restart(self, now):
        """Let a period be due at `now` [s], and the others after it."""
        self._start, self._count = now, 0

    def set_factor(self, factor):
        """Change the pace; the next deadline stays."""
        self._start, self._count = self.deadline, 0
        self.factor = factor

    @property
    def deadline(self):
        """When the next period is due [s]."""
        return self._start + self._count * self._period / self.factor

    @property
    def interval(self):
        """Real time between two deadlines [s]."""
        return self._period / self.factor

    def lateness(self, now):
        """How late the next period is [s], negative before it is due; drops what is too much."""
        late = now - self.deadline
        if late > self.max_lag:
            self.dropped += late
            self._start += late
            return 0.0
        return late

    def count(self):
        """Note that the period that was due has been dealt with."""
        self._count += 1
