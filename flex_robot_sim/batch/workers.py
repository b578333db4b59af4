"""Threads that share the steps of a batch, and methods that run one at a time."""

import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import wraps
from typing import Any, TypeVar

from flex_robot_sim.jit.deferred_signals import deferred_signals

PIECES_PER_THREAD = 8  # balances the load if threads start late or pieces take longer
MIN_STEPS_PER_PIECE = 50  # below it, the overhead of a piece is too large

Method = TypeVar('Method', bound=Callable[..., Any])


class Workers:
    """
    Thread pool that includes the calling thread, which would otherwise have to be woken.

    A forked process starts its own threads.
    """

    def __init__(self, threads: int) -> None:
        """Start no threads yet; the first parallel call does."""
        self.threads = threads
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0  # id of the process that started the threads

    def do(self, function: Callable[[Any], object], pieces: Sequence[Any]) -> None:
        """Call a function with each piece; all calls have finished when this returns or raises."""
        remaining, errors = deque(pieces), []

        def work():
            while remaining:
                try:
                    piece = remaining.popleft()
                except IndexError:  # another thread was faster
                    return
                try:
                    function(piece)
                except BaseException as error:
                    errors.append(error)

        futures = [self._threads().submit(work) for _ in range(min(self.threads, len(pieces)) - 1)]
        work()
        wait(futures)
        if errors:
            raise errors[0]

    def pieces(self, count: int, steps: int) -> list[tuple[int, int]]:
        """Return (first, end) rows of equal pieces of `count` arms that take `steps` steps."""
        pieces = 1
        if self.threads != 1:
            pieces = min(
                PIECES_PER_THREAD * self.threads, count * steps // MIN_STEPS_PER_PIECE, count
            )
        ends = [k * count // max(1, pieces) for k in range(max(1, pieces) + 1)]
        return [*zip(ends, ends[1:])]

    def _threads(self):
        if self._pool is None or self._process != os.getpid():
            self._pool, self._process = ThreadPoolExecutor(self.threads - 1), os.getpid()
        return self._pool


def synchronized(method: Method) -> Method:
    """
    Run a method under the lock of its object, and defer Ctrl-C until its end; a decorator.

    A long method passes on signals itself where interruption is safe.
    """

    @wraps(method)
    def locked(self, *arguments, **named):
        with self._lock, deferred_signals():
            return method(self, *arguments, **named)

    return locked  # type: ignore[return-value]
