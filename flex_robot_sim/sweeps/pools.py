"""
Processes of this machine for a sweep.

Each has one thread for matrices: as many workers as processors, each with as many threads of BLAS,
would wait for each other. Steps of arms have no threads of their own here.
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

ONE_THREAD = ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS', 'NUMBA_NUM_THREADS')


@contextlib.contextmanager
def processes(count: int) -> Iterator[Executor]:
    """Give an Executor of processes that end with this one, whatever ends it."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    # a library reads these when it is loaded, so they are there before a worker starts
    os.environ.update(dict.fromkeys(ONE_THREAD, '1'))
    others = multiprocessing.active_children()
    pool = ProcessPoolExecutor(count, multiprocessing.get_context('spawn'), initializer=_begin)
    try:
        yield pool
    except KeyboardInterrupt:
        # what they are at is made again; who presses it twice does not come in between
        with deferred_signals():
            for child in multiprocessing.active_children():
                if child not in others:
                    child.kill()
            pool.shutdown(wait=True, cancel_futures=True)
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _begin():
    """Leave Ctrl-C to the process that started this one, and go when it is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow():
        parent.join()
        os._exit(1)
    threading.Thread(target=follow, daemon=True).start()
