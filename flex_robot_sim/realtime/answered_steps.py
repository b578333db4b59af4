"""Single steps of a paused simulation; each waits for the command that answers its state."""

import queue
import threading
import time

ANSWER_TIMEOUT_S = 5.0  # for the command that answers the state of a single step
POLL_PERIOD_S = 0.05


class AnsweredSteps:
    """Stamps of the newest state and of the state that the newest command answers."""

    def __init__(
        self, wake_up: threading.Event, events: queue.SimpleQueue[tuple[str, str]]
    ) -> None:
        """Wait for an Event that `note_command` sets; `events` get (level, line)."""
        self.is_active = False  # while a single step waits for its command
        self._wake_up, self._events = wake_up, events
        self._sent = self._answered = 0  # stamps                                        [ns]
        self._has_given_up = False

    def note_sent(self, stamp: int) -> None:
        """Note the stamp of a published state."""
        self._sent = stamp

    def note_command(self, stamp: int | None) -> None:
        """Note a command, and the stamp of the state that it answers; None: the newest one."""
        self._answered = self._sent if stamp is None else stamp
        self._has_given_up = False
        if self.is_active:
            self._wake_up.set()

    def begin(self, expects_commands: bool) -> None:
        """Begin a step."""
        self.is_active = expects_commands and not self._has_given_up

    def finish(self) -> None:
        """Wait for the command that answers the new state; report once if there is none."""
        end = time.monotonic() + ANSWER_TIMEOUT_S
        while self.is_active and self._answered < self._sent:
            if time.monotonic() > end:
                self._has_given_up = True
                self._events.put(
                    (
                        'warning',
                        f'no command answered a single step for '
                        f'{ANSWER_TIMEOUT_S:g} s: steps no longer wait for one',
                    )
                )
                break
            self._wake_up.wait(POLL_PERIOD_S)
            self._wake_up.clear()  # before the stamps are compared again
        self.is_active = False
