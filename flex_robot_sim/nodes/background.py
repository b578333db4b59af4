"""What takes seconds to compute, in a thread beside the loops; the newest order wins."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from flex_robot_sim.util.exceptions import FlexRobotSimError

LONG = 2.0              # time after which somebody who waits is told how far it is       [s]


class Cancelled(Exception):
    """An order has been replaced by another one."""


class Background:
    """Makes one thing at a time; `look` hands it over, in the thread of the one who looks."""

    def __init__(self, what: str) -> None:
        """Wait for orders; `what` is made, in a few words for its lines."""
        self._what, self._lock = what, threading.Lock()
        self._order: _Order | None = None
        self._done: tuple[Any, Exception | None] | None = None      # result, or error

    @property
    def is_busy(self) -> bool:
        """Whether something is being made, or waits to be taken."""
        return self._order is not None

    def make(self, function: Callable[[Callable[[int, int], object]], Any],
             take: Callable[[Any], str]) -> None:
        """
        Order something, in place of what was ordered before.

        :param function: of a function(done, total) that it calls now and then; it returns what
            `take` is given.
        """
        order = _Order(function, take, time.monotonic())
        with self._lock:
            self._order, self._done = order, None
        threading.Thread(target=self._run, args=(order,), daemon=True).start()

    def cancel(self) -> None:
        """Forget what was ordered."""
        with self._lock:
            self._order = self._done = None

    def look(self) -> tuple[str, str] | None:
        """
        Hand over what is ready; return (level, line) to be said, or None.

        What is no mistake of a user, a bug, is raised here, where somebody sees it.
        """
        with self._lock:
            order, done = self._order, self._done
            if done is not None:
                self._order = self._done = None
        if order is None:
            return None
        if done is None:
            return self._progress(order)
        result, error = done
        try:
            if error is not None:
                raise error
            return 'info', order.take(result)
        except FlexRobotSimError as error:
            return 'warning', f'no {self._what}: {error}'

    def _progress(self, order):
        if order.is_told or time.monotonic() < order.began + LONG:
            return None
        order.is_told = True
        far = f': {order.share:.0%} after {LONG:g} s' if order.share else ''
        return 'info', f'computing {self._what}{far}; the arm goes on as it is'

    def _run(self, order):
        def progress(done, total):
            order.share = done / total
            if self._order is not order:
                raise Cancelled

        try:
            done = order.function(progress), None
        except Cancelled:
            return
        except Exception as error:
            done = None, error
        with self._lock:
            if self._order is order:
                self._done = done


class _Order:
    def __init__(self, function, take, began):
        self.function, self.take, self.began = function, take, began
        self.share, self.is_told = 0.0, False
