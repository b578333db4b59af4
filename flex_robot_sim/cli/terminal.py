"""The terminal: a key that is pressed while something moves."""

import contextlib
import select
import sys
import termios
import tty


@contextlib.contextmanager
def key_watch():
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
