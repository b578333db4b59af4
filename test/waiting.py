"""Waiting for events in other threads and processes."""

import time

PATIENCE = 30.0  # for an event on a busy machine [s]; passing tests wait less


def eventually(condition, seconds=PATIENCE):
    """Return whether `condition()` becomes true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)
    return True
