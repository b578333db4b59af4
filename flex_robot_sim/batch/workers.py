"""Threads among which the steps of a batch are shared, and calls that nothing comes between."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import wraps
from typing import Any, TypeVar

from flex_robot_sim.core.held_signals import signals_held

Method = TypeVar('Method', bound=Callable[..., Any])


class Workers:
    """Threads that do pieces of work; a process that is forked off starts its own."""

    def __init__(self, threads: int) -> None:
        """Start none before there is work for two."""
        self.threads = threads
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0       # whose threads they are

    def do(self, function: Callable[[Any], object], pieces: Sequence[Any]) -> None:
        """Call a function with each of some pieces; all are done when this ends."""
        if self.threads == 1 or len(pieces) == 1:
            for piece in pieces:
                function(piece)
            return
        if self._pool is None or self._process != os.getpid():
            self._pool, self._process = ThreadPoolExecutor(self.threads), os.getpid()
        futures = [self._pool.submit(function, piece) for piece in pieces]
        wait(futures)
        for future in futures:
            future.result()


def as_a_whole(method: Method) -> Method:
    """
    Let a method wait for those of the same object in other threads, and Ctrl-C for its end.

    A decorator. One that takes long passes on signals where they do no harm.
    """
    @wraps(method)
    def alone(self, *arguments, **named):
        with self._at_work, signals_held():
            return method(self, *arguments, **named)
    return alone    # type: ignore[return-value]
