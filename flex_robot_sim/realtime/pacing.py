"""
Deadlines of the periods of a simulation.

Deadlines are absolute: period k is due at start + k period / factor, so lateness does not
accumulate. A late loop catches up without waiting. Lateness beyond a limit is dropped and counted.
"""


class Pacer:
    """Deadlines of equal periods, by a monotonic clock."""

    def __init__(self, period: float, factor: float = 1.0, max_lag: float = 0.05) -> None:
        """Set period and largest lateness `max_lag` [s]; `factor`: simulated over real time."""
        self._period, self.max_lag = period, max_lag
        self.dropped = 0.0  # total of dropped real time [s]
        self.factor = factor
        self.restart(0.0)

    def restart(self, now: float) -> None:
        """Make the next period due at `now` [s]."""
        self._start, self._count = now, 0

    def set_factor(self, factor: float, now: float) -> None:
        """Change the pace at `now` [s]; the remainder of the present period is scaled as well."""
        due = self.deadline
        if due > now:
            due = now + (due - now) * (self.factor / factor)
        self._start, self._count = due, 0
        self.factor = factor

    @property
    def deadline(self) -> float:
        """When the next period is due [s]."""
        return self._start + self._count * self._period / self.factor

    def lateness(self, now: float) -> float:
        """Lateness of the next period [s], negative before it is due."""
        late = now - self.deadline
        if late > self.max_lag:
            self.dropped += late
            self._start += late
        return late

    def count(self) -> None:
        """Advance to the next period."""
        self._count += 1
