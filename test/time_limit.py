"""
The most time that a test may take, on a slow machine with much other work.

A test that hangs would hold up the whole run until CI gives up, and no log would name it. Instead,
its process prints where each of its threads stands, and ends; pytest-xdist reports the test as
failed and starts another process. The timer of faulthandler works without the GIL.
"""

import faulthandler
import os

import pytest

LONGEST_S = 600.0


class TimeLimit:
    """Ends this process where a test takes longer than `seconds`; 0: never."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.stderr = os.dup(2)         # pytest catches what a test writes there

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        """Start the timer before the fixtures of a test, and stop it after them."""
        if self.seconds and not item.config.option.usepdb:
            faulthandler.dump_traceback_later(self.seconds, exit=True, file=self.stderr)
        yield
        faulthandler.cancel_dump_traceback_later()

    def pytest_enter_pdb(self):
        """Wait for a user who is looking for a fault."""
        faulthandler.cancel_dump_traceback_later()
