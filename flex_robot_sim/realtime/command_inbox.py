"""
Commanded efforts: the newest of each joint, and the time until which it is valid.

One thread offers commands and another reads them. Each accepted command makes a new pair of tuples
and assigns it at once, so no lock is needed. For a handful of joints, floats take a fifth of the
time of arrays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from flex_robot_sim.util.exceptions import CommandError

if TYPE_CHECKING:
    import numpy as np


class CommandInbox:
    """The commanded efforts of all joints."""

    def __init__(self, joint_names: Sequence[str], limits: np.ndarray, timeout: float) -> None:
        """
        Start without a command.

        :param limits: of the efforts, 0 for a passive joint [N m, N]; timeout: of efforts [s].
        """
        self._index = {name: i for i, name in enumerate(joint_names)}
        self._limits = [float(limit) for limit in limits]
        self.timeout = timeout
        self.accepted = self.refused = self.limited = self.timeouts = 0
        self.forget()

    def forget(self) -> None:
        """Go back to the state without any command."""
        size = len(self._index)
        # efforts, and the time until which each is valid
        self._commands = (0.0,) * size, (math.inf,) * size
        self.is_stale = False

    def offer(self, names: Sequence[str], efforts: Sequence[float], now: float) -> None:
        """Accept efforts by joint name at `now` [s], or raise CommandError; others stay."""
        try:
            rows = self._rows(names)
            if len(efforts) != len(rows):
                raise CommandError(
                    f'{len(efforts)} efforts for {len(rows)} joints. Give one effort per name'
                )
            for name, value in zip(names, efforts):
                if not math.isfinite(value):
                    raise CommandError(f'the effort of "{name}" is not finite')
                if value and not self._limits[self._index[name]]:
                    raise CommandError(f'joint "{name}" is passive: it takes no effort')
        except CommandError:
            self.refused += 1
            raise
        effort, until = map(list, self._commands)
        is_limited = False
        for row, value in zip(rows, efforts):
            limit = self._limits[row]
            is_limited |= abs(value) > limit
            effort[row] = min(max(float(value), -limit), limit)
            until[row] = now + self.timeout
        self.limited += is_limited
        self._commands = tuple(effort), tuple(until)
        self.accepted += 1

    def efforts(self, now: float) -> tuple[float, ...]:
        """
        Return the efforts that are valid at `now` [N m, N]: zero where a command is too old.

        `is_stale` is set while the newest command is older than the timeout.
        """
        effort, until = self._commands
        if now <= min(until, default=now):
            self.is_stale = False
            return effort
        self.timeouts += not self.is_stale
        self.is_stale = True
        return tuple(0.0 if now > end else value for value, end in zip(effort, until))

    def _rows(self, names):
        rows = [self._index.get(name) for name in names]
        if None in rows:
            raise CommandError(
                f'no joint "{names[rows.index(None)]}". Known: {", ".join(self._index)}'
            )
        if not rows or len(set(rows)) < len(rows):
            raise CommandError('each joint must be named once' if rows else 'it names no joint')
        return rows
