"""
Dask cluster for a sweep: any number of machines with the same version of flex_robot_sim.

If a worker dies, Dask repeats its part on another one. Dask limits BLAS to one thread; the arms of
a part are simulated sequentially, in the thread of the part.
"""

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import NamedTuple

from flex_robot_sim.util.exceptions import SweepError, UsageError

REQUIREMENT = 'distributed>=2022.2'  # as in setup.py
CONNECT_TIMEOUT_S = 10.0  # for a response of the scheduler              [s]
TIMEOUT_ERRORS = (OSError, TimeoutError, asyncio.TimeoutError)  # three types before 3.11
WORKER_TIMEOUT_S = 60.0  # without any worker                            [s]


class Cluster(NamedTuple):
    """Executor for `sweep`."""

    executor: Executor
    workers: int
    watch: Callable[[], None]  # raises SweepError if all workers are gone


@contextlib.contextmanager
def cluster(address: str) -> Iterator[Cluster]:
    """Yield the Cluster of the scheduler at an address, `tcp://host:8786`."""
    try:
        from distributed import Client
    except ImportError as error:
        raise UsageError(
            'a cluster needs Dask, which is not installed. Install it by '
            f'{sys.executable} -m pip install "{REQUIREMENT}"'
        ) from error
    for name in ('distributed', 'tornado'):  # a lost peer is reported in one line instead
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        _expect_scheduler(address)
        client = Client(address, timeout=CONNECT_TIMEOUT_S, set_as_default=False)
    except Exception as error:  # sockets, addresses and TLS raise different types
        raise UsageError(
            f'no scheduler of Dask answers at {address or "an empty address"}. Start '
            'one by `dask scheduler`, and workers by `dask worker ADDRESS`.'
        ) from error
    try:
        yield _watched(client, address)
    finally:
        with contextlib.suppress(Exception):  # the scheduler may be gone
            client.close(timeout=1)


def _expect_scheduler(address):
    """Raise an error if no scheduler answers; an unconnected Client is slow to close."""
    from distributed import Security
    from distributed.core import connect, send_recv

    async def kind():
        arguments = Security().get_connection_args('client')
        comm = await connect(address, timeout=CONNECT_TIMEOUT_S, **arguments)
        try:
            return (await send_recv(comm, op='identity'))['type']
        finally:
            comm.abort()

    async def kind_in_time():
        return await asyncio.wait_for(kind(), CONNECT_TIMEOUT_S)

    # in a thread, because the caller may have a running event loop
    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(asyncio.run, kind_in_time()).result()
    if answer != 'Scheduler':
        raise OSError(f'it is a {answer}')


def _watched(client, address):
    try:
        client.wait_for_workers(1, timeout=WORKER_TIMEOUT_S)
    except TIMEOUT_ERRORS as error:
        raise UsageError(
            f'the scheduler at {address} has no workers. Start some by `dask worker {address}`.'
        ) from error
    _refuse_wrong_versions(client, address)
    # all threads: each of them gets a running and a waiting part
    workers = sum(client.nthreads().values())

    def watch():
        if client.status != 'running':
            raise SweepError(f'the scheduler at {address} is gone.')
        try:
            client.wait_for_workers(1, timeout=WORKER_TIMEOUT_S)
        except TIMEOUT_ERRORS as error:
            raise SweepError(f'all workers of the scheduler at {address} are gone.') from error

    return Cluster(client.get_executor(pure=False, retries=2), workers, watch)


def _refuse_wrong_versions(client, address):
    """Raise UsageError if a worker has no flex_robot_sim, or another version."""
    from flex_robot_sim.version import __version__

    for worker, version in client.run(_version, on_error='return').items():
        if version != __version__:
            raise UsageError(
                f'the worker {worker} of {address} has no flex_robot_sim {__version__}. Install '
                'it there, for the Python that runs `dask worker`.'
            )


def _version():
    """Version of this package on a worker; the import prepares the worker."""
    os.environ.setdefault('NUMBA_NUM_THREADS', '1')
    from flex_robot_sim.version import __version__

    return __version__
