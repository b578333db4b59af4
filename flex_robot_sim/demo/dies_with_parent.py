"""
Start of a program that the kernel kills when its parent process ends for any reason.

    python -I -S dies_with_parent.py PID_OF_PARENT PROGRAM ARGUMENTS...

Linux only; on other systems the program runs without this protection. The script runs before any
package is imported and replaces itself by the program, without a process in between.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Replace this process by the program."""
    parent, *words = sys.argv[1:]
    if sys.platform == 'linux':
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != int(parent):  # the parent ended before the call above
            return
    os.execv(words[0], words)


if __name__ == '__main__':
    main()
