"""The terminal: a key that is pressed while something moves, and a word when it takes long."""

import contextlib
import select
import sys
import termios
import threading
import tty
from collections.abc import Callable, Iterator

LONG = 2.0                  # after which one wants to know what is going on                [s]


@contextlib.contextmanager
def key_watch() -> Iterator[Callable[[], bool]]:
    """
    Give a function that says whether a key was pressed, while this context lasts.

    Without a terminal no key is ever pressed. Keys are not left over for the next question.
    """
    if not sys.stdin.isatty():
        yield lambda: False
        return
    file = sys.stdin.fileno()
    before = termios.tcgetattr(file)
    try:
        # what was pressed since the last question counts: whoever presses then wants no motion
        tty.setcbreak(file, termios.TCSANOW)
        yield lambda: bool(select.select([file], [], [], 0)[0])
    finally:
        termios.tcsetattr(file, termios.TCSAFLUSH, before)      # drops what was pressed


@contextlib.contextmanager
def patience(line: str, after: float = LONG) -> Iterator[None]:
    """Show a line on the terminal while this context takes longer than `after` [s]."""
    if not sys.stderr.isatty():
        yield
        return
    lock = threading.Lock()
    shown: list[str] = []

    def show():
        with lock:
            if not shown:
                shown.append(line)
                print(line, end='', file=sys.stderr, flush=True)

    timer = threading.Timer(after, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        with lock:
            if shown:
                print('\r' + ' ' * len(line) + '\r', end='', file=sys.stderr, flush=True)
            shown.append('')        # whatever was about to be shown is late
