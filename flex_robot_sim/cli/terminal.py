"""Terminal: key presses, progress lines and colours."""

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

PROGRESS_DELAY_S = 2.0  # before a progress line appears
PROGRESS_PERIOD_S = 1.0  # between two updates of a progress line
LINE_PERIOD_S = 10.0  # between two progress lines without a terminal
COLOURS = {'green': 32, 'red': 31, 'yellow': 33}


@contextlib.contextmanager
def key_watch() -> Iterator[Callable[[], bool]]:
    """
    Yield a function that returns whether a key has been pressed in this context.

    Without a terminal it returns False. The keys are dropped at the end of the context.
    """
    if not sys.stdin.isatty():
        yield lambda: False
        return
    file = sys.stdin.fileno()
    saved_attributes = termios.tcgetattr(file)
    try:
        # a key pressed since the last question counts, too: it forbids any motion
        tty.setcbreak(file, termios.TCSANOW)
        yield lambda: bool(select.select([file], [], [], 0)[0])
    finally:
        termios.tcsetattr(file, termios.TCSAFLUSH, saved_attributes)  # drops pending keys


@contextlib.contextmanager
def show_progress(
    line: str, delay: float | None = None, progress_text: Callable[[], str] | None = None
) -> Iterator[None]:
    """
    Show a line with the elapsed time if this context takes longer than `delay` [s].

    Without a terminal, a line appears every LINE_PERIOD_S.

    :param delay: default: PROGRESS_DELAY_S; progress_text: text in place of the time.
    """
    if not sys.stderr.isatty():
        with _progress_lines(line, progress_text):
            yield
        return
    is_over, stream, width = threading.Event(), sys.stderr, [0]
    started_at, wait = time.monotonic(), PROGRESS_DELAY_S if delay is None else delay

    def show():
        text, pause = line, wait
        while not is_over.wait(pause):
            text = text[: shutil.get_terminal_size().columns - 1]  # no wrapped line
            print(f'\r{text}' if width[0] else text, end='', file=stream, flush=True)
            width[0] = max(width[0], len(text))
            pause = PROGRESS_PERIOD_S
            text = f'{line}: ' + (
                progress_text()
                if progress_text
                else f'{time.monotonic() - started_at + pause:.0f} s'
            )

    try:
        with _running(show, is_over):
            yield
    finally:
        if width[0]:
            print('\r' + ' ' * width[0] + '\r', end='', file=stream, flush=True)


@contextlib.contextmanager
def _progress_lines(line, progress_text):
    """Print a line every LINE_PERIOD_S on a standard error that is no terminal."""
    is_over, stream, started_at = threading.Event(), sys.stderr, time.monotonic()

    def show():
        while not is_over.wait(LINE_PERIOD_S):
            text = progress_text() if progress_text else f'{time.monotonic() - started_at:.0f} s'
            print(f'{line}: {text}', file=stream, flush=True)

    with _running(show, is_over):
        yield


@contextlib.contextmanager
def _running(show, is_over):
    """Run a function in a thread until the end of the block, which sets an Event."""
    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def colourize(text: str, colour: str, stream: TextIO | None = None) -> str:
    """
    Return a text in one of COLOURS; without colour if the stream is no terminal.

    :param stream: default: standard output. The variable NO_COLOR disables colours.
    """
    stream = sys.stdout if stream is None else stream
    if not stream.isatty() or os.environ.get('NO_COLOR') or os.environ.get('TERM') == 'dumb':
        return text
    return f'\x1b[{COLOURS[colour]}m{text}\x1b[0m'
