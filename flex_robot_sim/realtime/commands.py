"""
Efforts that come from elsewhere: the newest one of every joint, and for how long it counts.

Commands arrive in one thread and are used in another: each accepted one makes a new pair of
arrays, and putting the pair in its place is one assignment, so nobody waits for anybody.
"""

import numpy as np

from flex_robot_sim.exceptions import CommandError


class CommandInbox:
    """The commanded efforts of all joints."""

    def __init__(self, joint_names, limits, timeout):
        """
        Start without any command.

        :param joint_names: in the order of the efforts.
        :param limits: largest effort of each motor, inf where there is none (joints,) [N m, N].
        :param timeout: age from which a command counts as zero [s].
        """
        self._index = {name: i for i, name in enumerate(joint_names)}
        self._limits = np.asarray(limits, float)
        self.timeout = timeout
        self.accepted = self.refused = self.limited = self.timeouts = 0
        self.forget()

    def forget(self):
        """Go back to the state without any command."""
        size = len(self._index)
        # efforts, and until when each counts
        self._newest = np.zeros(size), np.full(size, np.inf)
        self.is_stale = False

    def offer(self, names, efforts, now):
        """
        Take efforts by joint name; the other joints keep theirs. CommandError if unusable.

        :param now: when it arrived, by a clock that never jumps [s].
        """
        try:
            rows = self._rows(names)
            if len(efforts) != len(rows):
                raise CommandError(f'{len(efforts)} efforts for {len(rows)} joints. '
                                   'Give one effort per name')
            values = np.array(efforts, float)
            if not np.isfinite(values).all():
                raise CommandError(f'the effort of "{self._first_unusable(rows, values)}" is not '
                                   'finite')
        except CommandError:
            self.refused += 1
            raise
        effort, until = (array.copy() for array in self._newest)
        limits = self._limits[rows]
        self.limited += bool((np.abs(values) > limits).any())
        effort[rows] = np.clip(values, -limits, limits)
        until[rows] = now + self.timeout
        self._newest = effort, until
        self.accepted += 1

    def efforts(self, now):
        """
        Efforts that count at `now`, (joints,) [N m, N]: zero where the command is too old.

        Sets `is_stale` from the first command that is not followed in time to the next one.
        """
        effort, until = self._newest
        old = now > until
        if not old.any():
            self.is_stale = False
            return effort
        self.timeouts += not self.is_stale
        self.is_stale = True
        return np.where(old, 0.0, effort)

    def _rows(self, names):
        rows = [self._index.get(name) for name in names]
        if None in rows:
            raise CommandError(f'no joint "{names[rows.index(None)]}". '
                               f'Known: {", ".join(self._index)}')
        if not rows or len(set(rows)) < len(rows):
            raise CommandError('each joint must be named once' if rows else 'it names no joint')
        return rows

    def _first_unusable(self, rows, values):
        names = list(self._index)
        return next(names[row] for row, value in zip(rows, values) if not np.isfinite(value))
