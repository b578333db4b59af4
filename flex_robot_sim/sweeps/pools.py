"""
Process pool of this machine for a sweep.

Each process has one BLAS thread: one worker per processor with multiple BLAS threads each would
oversubscribe the machine. Simulation steps are single-threaded here.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor

from flex_robot_sim.jit.deferred_signals import deferred_signals

THREAD_VARIABLES = (
    'OPENBLAS_NUM_THREADS',
    'OMP_NUM_THREADS',
    'MKL_NUM_THREADS',
    'NUMBA_NUM_THREADS',
)


@contextlib.contextmanager
def processes(count: int) -> Iterator[Executor]:
    """
    Yield an Executor of `count` processes, which end with this process even if it is killed.

    Use it in a program below `if __name__ == '__main__':`.

    Example::

        pool = frs.sweeps.processes(2)              # with pool as executor: frs.sweeps.sweep(...)
    """
    previous = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    # libraries read these when they are loaded, so set them before a worker starts
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, '1'))
    other_children = multiprocessing.active_children()
    pool = ProcessPoolExecutor(count, multiprocessing.get_context('spawn'), initializer=_begin)
    try:
        yield pool
    except KeyboardInterrupt:
        # unfinished runs are repeated; a second Ctrl-C is deferred
        with deferred_signals():
            for child in multiprocessing.active_children():
                if child not in other_children:
                    child.kill()
            pool.shutdown(wait=True, cancel_futures=True)
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        for name, value in previous.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _begin():
    """Ignore Ctrl-C, and exit when the parent process has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def exit_with_parent():
        parent.join()
        os._exit(1)

    threading.Thread(target=exit_with_parent, daemon=True).start()
