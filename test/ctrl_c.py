"""Ctrl-C at a chosen moment."""

import signal


def interrupted(call, after, again=0.0):
    """Call a function and interrupt it after some seconds, optionally repeatedly."""
    at_work = True

    def interrupt(*_):
        if at_work:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, after, again)
        call()
    except KeyboardInterrupt:
        at_work = False
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    signal.signal(signal.SIGALRM, before)
    assert not at_work
