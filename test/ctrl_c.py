"""Ctrl-C at a chosen moment."""

import signal
from contextlib import contextmanager

import pytest


@contextmanager
def pressing_ctrl_c(after, again=0.0):
    """Interrupt what is inside after some seconds, and again and again."""
    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, after, again)
            yield
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
