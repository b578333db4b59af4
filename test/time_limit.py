"""
The time limit of a test, for a slow machine with high load.

A test that hangs would hold up the whole run until CI gives up, and no log would name it. Instead,
its process prints where each of its threads stands, and ends; pytest-xdist reports the test as
failed and starts another process. The timer of faulthandler works without the GIL.
"""

import faulthandler
import os

import pytest

TIME_LIMIT_S, LONG_LIMIT_S = 300.0, 6 * 3600.0


class TimeLimit:
    """Ends this process if a test takes longer than `seconds`; 0: never."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.stderr = os.dup(2)  # pytest captures the standard error of a test

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        """Start the timer before the fixtures of a test, and stop it after them."""
        if self.seconds and not item.config.option.usepdb:
            faulthandler.dump_traceback_later(self.seconds, exit=True, file=self.stderr)
        yield
        faulthandler.cancel_dump_traceback_later()

    def pytest_enter_pdb(self):
        """Disable the timer during debugging."""
        faulthandler.cancel_dump_traceback_later()
