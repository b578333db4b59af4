"""
Ctrl-C while Numba compiles or loads: it takes effect when the function in hand is there.

Numba and LLVM run Python in finalisers and callbacks. An exception there is printed and lost, so
that the program would go on, or end in an error that has nothing to do with its user.
"""

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any

_handler: Any = None            # that SIGINT had before
_noted: list[Any] = []          # what it would have been called with


@contextlib.contextmanager
def interrupt_held() -> Iterator[None]:
    """Keep SIGINT from its handler until the end of this or of one inside this."""
    global _handler
    handler = signal.getsignal(signal.SIGINT)
    # signals come to the main thread alone; one that is ignored has no handler
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    is_outermost = handler is not _note
    if is_outermost:
        _handler = handler
        _noted.clear()
        signal.signal(signal.SIGINT, _note)
    try:
        pass_on_interrupt()
        yield
    finally:
        if is_outermost:
            signal.signal(signal.SIGINT, _handler)
        pass_on_interrupt()


def pass_on_interrupt() -> None:
    """Let a SIGINT that is held back have its effect here."""
    while _noted:
        _handler(*_noted.pop(0))


def _note(number, frame):
    _noted.append((number, frame))
