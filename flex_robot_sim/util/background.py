"""Long computations in a background thread; a new request cancels the previous one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from flex_robot_sim.util.exceptions import FlexRobotSimError

PROGRESS_DELAY_S = 2.0  # after which the progress of a computation is logged


class Cancelled(Exception):
    """A newer order has replaced this one."""


class Background:
    """Runs one computation at a time; `look` hands over its result in the thread of the caller."""

    def __init__(self, what: str) -> None:
        """Wait for orders; `what` names the result in log lines."""
        self._what, self._lock = what, threading.Lock()
        self._order: _Order | None = None
        self._done: tuple[Any, Exception | None] | None = None      # result, or error

    @property
    def is_busy(self) -> bool:
        """Whether a computation runs, or its result has not been taken yet."""
        return self._order is not None

    def make(self, function: Callable[[Callable[[int, int], object]], Any],
             take: Callable[[Any], str]) -> None:
        """
        Start a computation; it replaces an earlier one.

        :param function: takes a progress function(done, total), which it calls from time to time;
            `take` receives its result.
        """
        order = _Order(function, take, time.monotonic())
        with self._lock:
            self._order, self._done = order, None
        threading.Thread(target=self._run, args=(order,), daemon=True).start()

    def cancel(self) -> None:
        """Discard the present order."""
        with self._lock:
            self._order = self._done = None

    def look(self) -> tuple[str, str] | None:
        """
        Hand over a finished result; return (level, line) for the log, or None.

        An exception that is not a FlexRobotSimError is a bug and is raised here.
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
        if order.is_reported or time.monotonic() < order.began + PROGRESS_DELAY_S:
            return None
        order.is_reported = True
        progress_text = f': {order.share:.0%} after {PROGRESS_DELAY_S:g} s' if order.share else ''
        return 'info', f'computing {self._what}{progress_text}; the arm goes on as it is'

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
        self.share, self.is_reported = 0.0, False
