"""
Ctrl-C, alarms and other signals wait for the function that Numba compiles or loads.

Numba and LLVM run Python in finalisers and callbacks. What a handler raises there is printed and
lost, so that the program would go on, or end in an error that has nothing to do with its user; and
LLVM, which had asked for machine code from disk, would go without.
"""

import _signal
import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

NUMBERS = tuple(map(int, signal.valid_signals()))

_handlers: dict[int, Callable[..., Any]] = {}       # of the signals that are held
_noted: list[tuple[Callable[..., Any], int, Any]] = []      # handlers to be called, with what
_MARK = 'is_of_a_handler'       # attribute of what a handler has raised


@contextlib.contextmanager
def deferred_signals() -> Iterator[None]:
    """Keep signals from handlers in Python until the end of this or of one inside this."""
    # they come to the main thread alone
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    is_outermost = not _handlers
    try:
        if is_outermost:
            _take_handlers()
        pass_on_signals()
        yield
    finally:
        try:
            if is_outermost:
                _give_handlers_back()
        finally:
            pass_on_signals()


def pass_on_signals() -> None:
    """Let signals that are held back have their effect here, whatever the first of them raises."""
    if _noted and threading.current_thread() is threading.main_thread():
        handler, *words = _noted.pop(0)
        try:
            handler(*words)
        except BaseException as error:
            setattr(error, _MARK, True)
            raise
        finally:
            pass_on_signals()


def is_of_a_handler(error: BaseException) -> bool:
    """Whether a handler has raised this where signals were passed on: nothing else went wrong."""
    return hasattr(error, _MARK)


def _take_handlers():
    # what is in C, below `signal`: 64 enumerations take a tenth of a millisecond
    _handlers.update({number: handler for number in NUMBERS
                      if callable(handler := _signal.getsignal(number))})
    for number in _handlers:
        signal.signal(number, _note)


def _give_handlers_back():
    """Leave signals to their handlers, all of them, even if one that is back raises meanwhile."""
    try:
        for number, handler in [*_handlers.items()]:
            signal.signal(number, handler)
            _handlers.pop(number, None)
    finally:
        if _handlers:
            _give_handlers_back()


def _note(number, frame):
    _noted.append((_handlers[number], number, frame))
