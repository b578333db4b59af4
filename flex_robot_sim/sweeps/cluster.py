"""
Workers of a Dask cluster for a sweep: any number of machines that have the same flex_robot_sim.

A worker that dies is Dask's matter: another one makes its part. Dask keeps the libraries for
matrices to one thread; arms of a part step one after the other, in the thread that makes it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import NamedTuple

from flex_robot_sim.util.exceptions import SweepError, UsageError

REQUIREMENT = 'distributed>=2022.2'     # as in setup.py
REACH = 10.0                # how long a scheduler may take to answer                       [s]
LATE = (OSError, TimeoutError, asyncio.TimeoutError)     # three kinds before Python 3.11
LONELY = 60.0               # without any worker, after which nobody is waited for          [s]


class Cluster(NamedTuple):
    """Who makes the runs, for `sweep`."""

    executor: Executor
    workers: int
    watch: Callable[[], None]   # raises SweepError where there is nobody left


@contextlib.contextmanager
def cluster(address: str) -> Iterator[Cluster]:
    """Give the Cluster behind the scheduler at an address, `tcp://host:8786`."""
    try:
        from distributed import Client
    except ImportError as error:
        raise UsageError('a cluster needs Dask, which is not installed. Install it by '
                         f'{sys.executable} -m pip install "{REQUIREMENT}"') from error
    for name in ('distributed', 'tornado'):     # what they log of a lost peer is said in one line
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        _expect_scheduler(address)
        client = Client(address, timeout=REACH, set_as_default=False)
    except Exception as error:          # of sockets, addresses, protocols, TLS: each has its own
        raise UsageError(f'no scheduler of Dask answers at {address or "an empty address"}. Start '
                         'one by `dask scheduler`, and workers by `dask worker ADDRESS`.'
                         ) from error
    try:
        yield _watched(client, address)
    finally:
        with contextlib.suppress(Exception):    # a scheduler that is gone cannot be left
            client.close(timeout=1)


def _expect_scheduler(address):
    """Raise an error where no scheduler answers: a Client that reaches none takes long to go."""
    from distributed import Security
    from distributed.core import connect, send_recv

    async def kind():
        words = Security().get_connection_args('client')
        comm = await connect(address, timeout=REACH, **words)
        try:
            return (await send_recv(comm, op='identity'))['type']
        finally:
            comm.abort()

    async def kind_in_time():
        return await asyncio.wait_for(kind(), REACH)

    # in a thread of its own, as who asks may have a loop that runs
    with ThreadPoolExecutor(1) as thread:
        found = thread.submit(asyncio.run, kind_in_time()).result()
    if found != 'Scheduler':
        raise OSError(f'it is a {found}')


def _watched(client, address):
    try:
        client.wait_for_workers(1, timeout=LONELY)
    except LATE as error:
        raise UsageError(f'the scheduler at {address} has no workers. Start some by `dask worker '
                         f'{address}`.') from error
    _refuse_strangers(client, address)
    # wide: with the part that each makes there is one that waits
    workers = sum(client.nthreads().values())

    def watch():
        if client.status != 'running':
            raise SweepError(f'the scheduler at {address} is gone.')
        try:
            client.wait_for_workers(1, timeout=LONELY)
        except LATE as error:
            raise SweepError(f'all workers of the scheduler at {address} are gone.') from error
    return Cluster(client.get_executor(pure=False, retries=2), workers, watch)


def _refuse_strangers(client, address):
    """Raise UsageError where a worker has no flex_robot_sim, or another one."""
    from flex_robot_sim.version import __version__

    for worker, version in client.run(_version, on_error='return').items():
        if version != __version__:
            raise UsageError(f'the worker {worker} of {address} has no flex_robot_sim '
                             f'{__version__}. Install it there, for the Python that runs '
                             '`dask worker`.')


def _version():
    """Version of this package where this runs; what is imported with it is ready then."""
    os.environ.setdefault('NUMBA_NUM_THREADS', '1')
    from flex_robot_sim.version import __version__

    return __version__
