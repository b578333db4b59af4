"""How tests wait for what happens in other threads and processes."""

import time

PATIENCE = 30.0             # for an event on a busy machine [s]; passing tests do not wait it out


def eventually(condition, seconds=PATIENCE):
    """Whether `condition()` comes true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)
    return True
