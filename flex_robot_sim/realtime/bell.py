"""What wakes a thread that waits for its next moment, a thousand times a second."""

import threading
from contextlib import suppress


class Bell:
    """Rung by any thread, heard by one: a bare lock, where an Event makes a new one each time."""

    def __init__(self) -> None:
        self._silence = threading.Lock()
        self._silence.acquire()

    def ring(self) -> None:
        """Wake who waits, or else who waits next."""
        with suppress(RuntimeError):  # it rings already
            self._silence.release()

    def wait(self, seconds: float) -> None:
        """Return when it rings, or has rung since the last call, and after `seconds` at last."""
        self._silence.acquire(timeout=seconds)
