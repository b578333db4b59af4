"""
When the next period of the simulation is due.

Deadlines are absolute: period k is due at start + k period / factor, so that lateness does not
add up. Who is late catches up without waiting; time lost beyond a limit is dropped and counted,
never raced after.
"""


class Pacer:
    """Deadlines of equal periods, by a clock that never jumps."""

    def __init__(self, period: float, factor: float = 1.0, max_lag: float = 0.05) -> None:
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

    def restart(self, now: float) -> None:
        """Let a period be due at `now` [s], and the others after it."""
        self._start, self._count = now, 0

    def set_factor(self, factor: float, now: float) -> None:
        """Change the pace at `now` [s]; what is left of a period is left of it at the new pace."""
        due = self.deadline
        if due > now:
            due = now + (due - now) * (self.factor / factor)
        self._start, self._count = due, 0
        self.factor = factor

    @property
    def deadline(self) -> float:
        """When the next period is due [s]."""
        return self._start + self._count * self._period / self.factor

    @property
    def interval(self) -> float:
        """Real time between two deadlines [s]."""
        return self._period / self.factor

    def lateness(self, now: float) -> float:
        """How late the next period is [s], negative before it is due; too much is dropped."""
        late = now - self.deadline
        if late > self.max_lag:
            self.dropped += late
            self._start += late
        return late

    def count(self) -> None:
        """Note that the period that was due has been dealt with."""
        self._count += 1
