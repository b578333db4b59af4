"""
Deferred signals: Ctrl-C, alarms and others wait until Numba has compiled or loaded a function.

Numba and LLVM run Python in finalisers and callbacks. An exception of a signal handler is printed
and lost there: the program would continue, or end in an unrelated error, and LLVM would miss the
machine code that it had requested from disk.
"""

import _signal
import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

SIGNAL_NUMBERS = tuple(map(int, signal.valid_signals()))

_handlers: dict[int, Callable[..., Any]] = {}  # of the deferred signals
_pending: list[tuple[Callable[..., Any], int, Any]] = []  # handlers, with their arguments
_MARK = 'is_of_a_handler'  # attribute of exceptions raised by a handler


@contextlib.contextmanager
def deferred_signals() -> Iterator[None]:
    """Defer Python signal handlers until the end of this context, or of a nested one."""
    # Python delivers signals to the main thread only
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    is_outermost = not _handlers
    try:
        if is_outermost:
            _install_deferral()
        deliver_signals()
        yield
    finally:
        try:
            if is_outermost:
                _restore_handlers()
        finally:
            deliver_signals()


def deliver_signals() -> None:
    """Call the handlers of deferred signals, all of them, even if one raises."""
    if _pending and threading.current_thread() is threading.main_thread():
        handler, *arguments = _pending.pop(0)
        try:
            handler(*arguments)
        except BaseException as error:
            setattr(error, _MARK, True)
            raise
        finally:
            deliver_signals()


def was_raised_by_handler(error: BaseException) -> bool:
    """Whether a handler of a deferred signal has raised this error, and nothing else failed."""
    return hasattr(error, _MARK)


def _install_deferral():
    # the C functions below `signal`: 64 conversions to enumerations take 0.1 ms
    _handlers.update(
        {
            number: handler
            for number in SIGNAL_NUMBERS
            if callable(handler := _signal.getsignal(number))
        }
    )
    for number in _handlers:
        signal.signal(number, _defer)


def _restore_handlers():
    """Restore all handlers, even if a restored one raises in the meantime."""
    try:
        for number, handler in [*_handlers.items()]:
            signal.signal(number, handler)
            _handlers.pop(number, None)
    finally:
        if _handlers:
            _restore_handlers()


def _defer(number, frame):
    _pending.append((_handlers[number], number, frame))
