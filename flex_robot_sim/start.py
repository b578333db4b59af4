"""
`flexsim` from its first line on: while modules are imported, Ctrl-C ends it without a traceback.

This imports next to nothing, for the time until `main` is what a traceback is still possible in.
"""

import os
import signal
from importlib import import_module


def main() -> int:
    """Run `flexsim` with the command line; return the exit code."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:       # not where a shell has it ignored
        # an exception might be swallowed by the module that is being imported
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    run = import_module('flex_robot_sim.cli').main
    signal.signal(signal.SIGINT, handler)
    code = run()
    if signal.getsignal(signal.SIGINT) is not handler:
        # it was interrupted and has ended in good order: another Ctrl-C is not to change that
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return code
