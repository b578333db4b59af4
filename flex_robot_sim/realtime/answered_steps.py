"""Single steps of a paused simulation; each waits for the command that answers its state."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import queue

    from flex_robot_sim.realtime.bell import Bell

ANSWER_TIMEOUT = 5.0    # for the command that answers the state of a single step           [s]
POLL = 0.05             # between two looks for it                                          [s]


class AnsweredSteps:
    """Which state was sent, which one the newest command answers, and whether any is expected."""

    def __init__(self, bell: Bell, events: queue.SimpleQueue[tuple[str, str]]) -> None:
        """Wait by a Bell that `note_command` rings; `events` get (level, line)."""
        self.is_active = False              # while a step is taken that waits
        self._bell, self._events = bell, events
        self._sent = self._answered = 0     # stamps                                        [ns]
        self._is_deserted = False

    def note_sent(self, stamp: int) -> None:
        """Note the stamp of a state that goes out."""
        self._sent = stamp

    def note_command(self, stamp: int | None) -> None:
        """Note a command, and the stamp of the state that it answers; None: the newest one."""
        self._answered = self._sent if stamp is None else stamp
        self._is_deserted = False
        if self.is_active:
            self._bell.ring()

    def begin(self, expects_commands: bool) -> None:
        """Begin a step."""
        self.is_active = expects_commands and not self._is_deserted

    def finish(self) -> None:
        """Wait for the command that answers the new state; report once if there is none."""
        end = time.monotonic() + ANSWER_TIMEOUT
        while self.is_active and self._answered < self._sent:
            if time.monotonic() > end:
                self._is_deserted = True
                self._events.put(('warning', f'no command answered a single step for '
                                  f'{ANSWER_TIMEOUT:g} s: steps no longer wait for one'))
                break
            self._bell.wait(POLL)
        self.is_active = False
