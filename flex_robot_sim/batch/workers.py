"""Threads among which the steps of a batch are shared, and calls that nothing comes between."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import wraps
from typing import Any, TypeVar

from flex_robot_sim.jit.deferred_signals import deferred_signals

MOST = 8                    # pieces for each thread: it may begin late, and some take longer
WORTH = 50                  # steps that a piece has at least

Method = TypeVar('Method', bound=Callable[..., Any])


class Workers:
    """
    Threads that do pieces of work, the caller's among them: it would sleep, and have to be woken.

    A process that is forked off starts its own.
    """

    def __init__(self, threads: int) -> None:
        """Start none before there is work for two."""
        self.threads = threads
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0       # whose threads they are

    def do(self, function: Callable[[Any], object], pieces: Sequence[Any]) -> None:
        """Call a function with each of some pieces; all are done when this ends or raises."""
        left, errors = deque(pieces), []

        def work():
            while left:
                try:
                    piece = left.popleft()
                except IndexError:      # another thread was faster
                    return
                try:
                    function(piece)
                except BaseException as error:
                    errors.append(error)
        more = [self._threads().submit(work) for _ in range(min(self.threads, len(pieces)) - 1)]
        work()
        wait(more)
        if errors:
            raise errors[0]

    def pieces(self, count: int, steps: int) -> list[tuple[int, int]]:
        """Return first rows and ends of even pieces of a number of arms that take steps."""
        most = 1 if self.threads == 1 else min(MOST * self.threads, count * steps // WORTH, count)
        ends = [k * count // max(1, most) for k in range(max(1, most) + 1)]
        return [*zip(ends, ends[1:])]

    def _threads(self):
        if self._pool is None or self._process != os.getpid():
            self._pool, self._process = ThreadPoolExecutor(self.threads - 1), os.getpid()
        return self._pool


def as_a_whole(method: Method) -> Method:
    """
    Let a method wait for those of the same object in other threads, and Ctrl-C for its end.

    A decorator. One that takes long passes on signals where they do no harm.
    """
    @wraps(method)
    def alone(self, *arguments, **named):
        with self._at_work, deferred_signals():
            return method(self, *arguments, **named)
    return alone    # type: ignore[return-value]
