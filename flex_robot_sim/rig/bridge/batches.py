"""Background thread for work that must not delay the reader of the port."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

MAX_QUEUED_ITEMS = 4096  # beyond it the oldest items are dropped

log = logging.getLogger(__name__)


class Batches:
    """A thread that periodically handles all items queued since its last run."""

    def __init__(self, name: str, period: float, handle: Callable[[list[Any]], object]) -> None:
        """
        Start the thread.

        :param period: between two runs [s].
        :param handle: called with a list of items, oldest first.
        """
        self._has_failed = False
        self.lost = 0  # items dropped from a full queue
        self.period = period
        self._handle = handle
        self._items: deque[Any] = deque()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def put(self, item: object) -> None:
        """Queue an item; thread-safe."""
        if len(self._items) >= MAX_QUEUED_ITEMS:
            self._items.popleft()
            self.lost += 1
        self._items.append(item)

    def close(self) -> None:
        """Handle the remaining items, and stop; may be called twice."""
        self._closing.set()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self):
        due = time.monotonic() + self.period
        while not self._closing.wait(max(0.0, due - time.monotonic())):
            self._handle_all()
            # a late run is not made up for
            late = max(0.0, time.monotonic() - due)
            due += self.period * (1 + late // self.period)
        self._handle_all()

    def _handle_all(self):
        items = []
        while self._items:
            items.append(self._items.popleft())
        if not items:
            return
        try:
            self._handle(items)
        except Exception:  # an error in the handler must not stop the link
            if not self._has_failed:
                log.exception('%s failed; later failures are not shown', self._thread.name)
            self._has_failed = True
