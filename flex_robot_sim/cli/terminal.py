"""The terminal: keys that are pressed, a word when something takes long, and colours."""

import contextlib
import os
import select
import shutil
import sys
import termios
import threading
import time
import tty
from collections.abc import Callable, Iterator
from typing import TextIO

LONG = 2.0                  # after which one wants to know what is going on                [s]
EVERY = 1.0                 # how often it is said how long that has been                   [s]
COLOURS = {'green': 32, 'red': 31, 'yellow': 33}


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
def patience(line: str, after: float | None = None,
             how_far: Callable[[], str] | None = None) -> Iterator[None]:
    """
    Show a line on the terminal while this context takes longer than `after` [s], and for how long.

    :param after: default: LONG; how_far: gives words that stand in the place of the time.
    """
    if not sys.stderr.isatty():
        yield
        return
    over, stream, widest = threading.Event(), sys.stderr, [0]
    began, wait = time.monotonic(), LONG if after is None else after

    def show():
        text, pause = line, wait
        while not over.wait(pause):
            text = text[:shutil.get_terminal_size().columns - 1]    # or it would wrap, and stay
            print(f'\r{text}' if widest[0] else text, end='', file=stream, flush=True)
            widest[0] = max(widest[0], len(text))
            pause = EVERY
            text = f'{line}: ' + (how_far() if how_far else
                                  f'{time.monotonic() - began + pause:.0f} s')

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        if widest[0]:
            print('\r' + ' ' * widest[0] + '\r', end='', file=stream, flush=True)


def painted(text: str, colour: str, stream: TextIO | None = None) -> str:
    """
    Return a text in one of COLOURS, as it is where the stream is no terminal or nobody wants it.

    :param stream: that it is for; default: standard output. NO_COLOR says that nobody does.
    """
    stream = sys.stdout if stream is None else stream
    if not stream.isatty() or os.environ.get('NO_COLOR') or os.environ.get('TERM') == 'dumb':
        return text
    return f'\x1b[{COLOURS[colour]}m{text}\x1b[0m'
