"""Long computations in a background thread; a new request cancels the previous one."""

import threading
import time
from collections.abc import Callable
from typing import Any

from flex_robot_sim.util.exceptions import FlexRobotSimError

PROGRESS_DELAY_S = 2.0  # after which the progress of a computation is logged


class Cancelled(Exception):
    """A newer request has replaced this one."""


class BackgroundTask:
    """Runs one computation at a time; `poll` passes on its result in the thread of the caller."""

    def __init__(self, what: str) -> None:
        """Wait for requests; `what` names the result in log lines."""
        self._what, self._lock = what, threading.Lock()
        self._request: _Request | None = None
        self._done: tuple[Any, Exception | None] | None = None  # result, or error

    @property
    def is_busy(self) -> bool:
        """Whether a computation runs, or its result has not been taken yet."""
        return self._request is not None

    def make(
        self, function: Callable[[Callable[[int, int], object]], Any], take: Callable[[Any], str]
    ) -> None:
        """
        Start a computation; it replaces an earlier one.

        :param function: takes a progress function(done, total), which it calls from time to time;
            `take` receives its result.
        """
        request = _Request(function, take, time.monotonic())
        with self._lock:
            self._request, self._done = request, None
        threading.Thread(target=self._run, args=(request,), daemon=True).start()

    def cancel(self) -> None:
        """Discard the present request."""
        with self._lock:
            self._request = self._done = None

    def poll(self) -> tuple[str, str] | None:
        """
        Pass on a finished result; return (level, line) for the log, or None.

        An exception that is not a FlexRobotSimError is a bug and is raised here.
        """
        with self._lock:
            request, done = self._request, self._done
            if done is not None:
                self._request = self._done = None
        if request is None:
            return None
        if done is None:
            return self._progress(request)
        result, error = done
        try:
            if error is not None:
                raise error
            return 'info', request.take(result)
        except FlexRobotSimError as error:
            return 'warning', f'no {self._what}: {error}'

    def _progress(self, request):
        if request.is_reported or time.monotonic() < request.began + PROGRESS_DELAY_S:
            return None
        request.is_reported = True
        share = f': {request.share:.0%} after {PROGRESS_DELAY_S:g} s' if request.share else ''
        return 'info', f'computing {self._what}{share}; the arm goes on as it is'

    def _run(self, request):
        def progress(done, total):
            request.share = done / total
            if self._request is not request:
                raise Cancelled

        try:
            done = request.function(progress), None
        except Cancelled:
            return
        except Exception as error:
            done = None, error
        with self._lock:
            if self._request is request:
                self._done = done


class _Request:
    def __init__(self, function, take, began):
        self.function, self.take, self.began = function, take, began
        self.share, self.is_reported = 0.0, False
