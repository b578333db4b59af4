"""
`flexsim` from its first line on: while modules are imported, Ctrl-C ends it without a traceback.

This imports nothing that Python has not loaded before. A traceback is possible only until `main`
begins: in Python's own start, which runs before any line of this package.
"""

import _signal  # without the enumerations of `signal`, which take longer than all else here
import os


def main(leaves_folder: bool = False) -> int:
    """
    Run `flexsim` with the command line; return the exit code.

    :param leaves_folder: whether `python -m` has put the current folder on the path.
    """
    handler = _signal.getsignal(_signal.SIGINT)
    if handler is _signal.default_int_handler:  # not where a shell has it ignored
        # an exception might be swallowed by the module that is being imported
        _signal.signal(_signal.SIGINT, lambda *_: os._exit(130))
    if leaves_folder:
        from flex_robot_sim.util.interpreter import leave_current_folder

        leave_current_folder()
    from flex_robot_sim.cli import main as run

    try:
        _signal.signal(_signal.SIGINT, handler)
        code = run()
    except KeyboardInterrupt:  # before the command has a handler of its own
        code = 130
    if _signal.getsignal(_signal.SIGINT) is not handler:
        # it was interrupted and has ended in good order: another Ctrl-C is not to change that
        _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
    return code
