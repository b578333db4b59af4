"""
Run a program that the kernel ends when the one who started it is gone, whatever ended that one.

    python -I -S dies_with_parent.py PID_OF_PARENT PROGRAM ARGUMENTS...

Linux only; elsewhere the program runs as it is. It is called as a script, before any package is
imported, and becomes the program, so there is no process between the two.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Become the program."""
    parent, *words = sys.argv[1:]
    if sys.platform == 'linux':
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != int(parent):     # it went before the kernel knew
            return
    os.execv(words[0], words)


if __name__ == '__main__':
    main()
