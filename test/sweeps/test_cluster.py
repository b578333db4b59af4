"""A sweep on a Dask cluster: a scheduler and two workers in separate processes."""

import contextlib
import io
import json
import os
import re
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import own_runs
import pytest
from node_processes import Process
from refusals import refusal
from tables import away, is_same

pytest.importorskip('distributed', reason='pip install ".[cluster]"')

from flex_robot_sim.cli import main
from flex_robot_sim.sweeps import sweep
from flex_robot_sim.sweeps.cluster import Cluster, cluster
from flex_robot_sim.util.exceptions import SweepError, UsageError

pytestmark = pytest.mark.slow

OPTIONS = {
    'vary': {'payload': 'uniform:0,1'},
    'run': own_runs.noted,
    'method': 'random',
    'count': 150,
    'seed': 5,
}


def program(kind, folder, *words):
    """Start a scheduler or a worker on loopback that can import own_runs from its folder."""
    return Process(
        [sys.executable, '-m', f'distributed.cli.dask_{kind}', *words]
        + ['--preload', own_runs.__file__],
        away(NOTES_FILE=str(folder / 'message')),
        cwd=folder,
    )


@pytest.fixture
def scheduler(tmp_path):
    """Return a scheduler without workers."""
    options = '--host 127.0.0.1 --port 0 --no-dashboard --no-jupyter'
    one = program('scheduler', tmp_path, *options.split())
    try:
        yield one
    finally:
        one.close()


@pytest.fixture
def address(scheduler):
    return scheduler.wait_for_line('Scheduler at:').split()[-1]


def begin_workers(address, folder, count):
    """Start workers; their child processes end with them."""
    options = ['--nthreads', '1', '--no-nanny', '--no-dashboard', '--local-directory']
    return [
        program('worker', folder, address, *options, str(folder / f'{k}')) for k in range(count)
    ]


@pytest.fixture
def workers(address, tmp_path):
    found = begin_workers(address, tmp_path, 2)
    try:
        for one in found:
            one.wait_for_line('Registered to')
        yield found
    finally:
        for one in found:
            one.close()


def swept(address, **options):
    """Run a sweep on a cluster."""
    with cluster(address) as found:
        there = {'executor': found.executor, 'workers': found.workers, 'watch': found.watch}
        return sweep('single_link', **{**OPTIONS, **there, **options})


def message_of(address):
    """Return why there is no cluster at an address."""
    with pytest.raises(UsageError) as caught, cluster(address):
        pass
    return str(caught.value)


@pytest.mark.long
def test_a_worker_that_is_killed_is_replaced_and_the_numbers_are_the_same(
    address, workers, tmp_path, monkeypatch
):
    monkeypatch.setenv('NOTES_FILE', str(tmp_path / 'here'))
    folder, counts = tmp_path / 'runs', []

    def kill_one(done, total):
        counts.append(done)
        if done >= 20 and workers[0].process.poll() is None:
            os.kill(workers[0].process.pid, signal.SIGKILL)

    with cluster(address) as found:
        assert found.workers == 2
    table = swept(address, folder=folder, progress=kill_one)
    assert workers[0].process.wait(30) == -signal.SIGKILL
    assert workers[1].process.poll() is None
    assert counts[0] == 0 and counts[-1] == 150 and counts == sorted({*counts})
    kept = [json.loads(line)['run'] for line in (folder / 'runs.jsonl').read_text().splitlines()]
    assert sorted(kept) == list(range(150))  # each once
    alone = sweep('single_link', **OPTIONS)
    assert all(np.array_equal(table[name], alone[name]) for name in alone)


@pytest.mark.long
@pytest.mark.parametrize(
    'kind, message',
    [
        ('workers', 'all workers of the scheduler at {} are gone.'),
        (
            'scheduler',
            'the executor has cancelled the runs: it was stopped, or it is out of reach.',
        ),
    ],
)
def test_when_workers_or_scheduler_die_it_ends_with_what_is_kept(
    scheduler, address, workers, tmp_path, monkeypatch, kind, message
):
    monkeypatch.setattr('flex_robot_sim.sweeps.execution.WATCH_PERIOD_S', 0.5)
    monkeypatch.setattr('flex_robot_sim.sweeps.cluster.WORKER_TIMEOUT_S', 2.0)
    folder = tmp_path / 'runs'

    def kill(done, total):
        for one in workers if kind == 'workers' else [scheduler]:
            if done >= 10 and one.process.poll() is None:
                os.kill(one.process.pid, signal.SIGKILL)

    said = refusal(SweepError, swept, address, folder=folder, progress=kill, count=2000)
    kept = len((folder / 'runs.jsonl').read_text().splitlines())
    assert said == (
        f'{message.format(address)} {kept} of 2000 runs are kept in {folder}, and the same call '
        'goes on.'
    )


@pytest.mark.long
def test_a_function_that_fails_or_cannot_be_sent_is_reported_as_elsewhere(
    address, workers, tmp_path, monkeypatch
):
    monkeypatch.setenv('NOTES_FILE', str(tmp_path / 'here'))
    (tmp_path / 'mine').mkdir()  # workers import from their working folder at the start
    (tmp_path / 'mine/only_here.py').write_text('def run(case):\n    return {}\n')
    monkeypatch.syspath_prepend(tmp_path / 'mine')
    from only_here import run as only_here

    failing = {'vary': {'payload': 'even:0,1,8'}, 'run': own_runs.failing}
    with pytest.warns(RuntimeWarning, match='6 of 8 runs have a note; run 1: ValueError: '):
        alone = sweep('single_link', **failing)
    with cluster(address) as found:
        there = {'executor': found.executor, 'workers': found.workers, 'watch': found.watch}
        with pytest.warns(RuntimeWarning):
            assert is_same(sweep('single_link', **failing, **there), alone)
        for run, why in (
            (own_runs.LockHolder(), "TypeError: cannot pickle '_thread.lock' object"),
            (only_here, "ModuleNotFoundError: No module named 'only_here'"),
        ):
            options = {'run': run, 'folder': tmp_path / 'runs', **there}
            assert refusal(UsageError, sweep, 'single_link', **options) == (
                f'the function of the runs cannot be sent to the workers ({why}). Define it in '
                'a module that they can import, and let it hold nothing that is open here.'
            )
            assert not (tmp_path / 'runs').exists()
    assert all(one.process.poll() is None for one in workers)


@pytest.fixture
def _impatient(monkeypatch):
    """Make schedulers give up a part after the first killed worker instead of the fourth."""
    monkeypatch.setenv('DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES', '0')


@pytest.mark.long
def test_a_run_that_kills_its_workers_is_one_line_with_what_is_kept(
    _impatient, address, workers, tmp_path
):
    folder = tmp_path / 'runs'
    said = refusal(SweepError, swept, address, folder=folder, run=own_runs.always_deadly)
    kept = [json.loads(line)['run'] for line in (folder / 'runs.jsonl').read_text().splitlines()]
    assert 30 not in kept
    message = re.sub("'run_part-.*?'", 'PART', said)  # Dask names parts at random
    assert message == (
        'the cluster has given a part up: Attempted to run task PART on 1 different workers, but '
        f'all those workers died while running it. {len(kept)} of 150 runs are kept in {folder}, '
        'and the same call goes on.'
    )
    assert sum(one.process.poll() is None for one in workers) == 1


class Terminal(io.StringIO):
    """Output stream that claims to be a terminal."""

    def isatty(self):
        """Return True, like a terminal."""
        return True


def test_a_cluster_that_answers_causes_no_waiting_message(monkeypatch, tmp_path):
    monkeypatch.setattr('flex_robot_sim.cli.terminal.PROGRESS_DELAY_S', 0.3)
    monkeypatch.setattr('flex_robot_sim.cli.terminal.PROGRESS_PERIOD_S', 0.1)
    monkeypatch.setattr(sys, 'stderr', Terminal())

    @contextlib.contextmanager
    def there(address):
        yield Cluster(executor, 1, lambda: None)

    monkeypatch.setattr('flex_robot_sim.cli.sweep.cluster', there)
    with ThreadPoolExecutor(1) as executor:
        began = time.monotonic()
        words = [
            'sweep',
            'single_link',
            '--to',
            '0.1',
            '--vary',
            'payload=even:0,0.1,300',
            '--seconds',
            '0.3',
            '--scheduler',
            'tcp://there',
            '--output',
        ]
        assert main([*words, str(tmp_path / 'runs')]) == 0
        assert time.monotonic() - began > 0.3
    assert '300 runs' in sys.stderr.getvalue() and 'waiting' not in sys.stderr.getvalue()


def test_a_scheduler_without_workers_is_one_line(address, monkeypatch):
    monkeypatch.setattr('flex_robot_sim.sweeps.cluster.WORKER_TIMEOUT_S', 0.5)
    assert message_of(address) == (
        f'the scheduler at {address} has no workers. Start some by `dask worker {address}`.'
    )


@pytest.mark.parametrize(
    'address', ['tcp://127.0.0.1:1', 'nonsense', 'tcp://no.such.host.invalid:8786']
)
def test_a_scheduler_that_is_not_there_is_one_line(address, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr('flex_robot_sim.sweeps.cluster.CONNECT_TIMEOUT_S', 1.0)
    assert main(['sweep', 'single_link', '--to', '0.1', '--scheduler', address]) == 2
    assert capsys.readouterr().err == f'flexsim sweep: {no_scheduler(address)}\n'
    assert [*tmp_path.iterdir()] == []


def no_scheduler(address):
    return (
        f'no scheduler of Dask answers at {address}. Start one by `dask scheduler`, and '
        'workers by `dask worker ADDRESS`.'
    )


# without an address, Dask would start a cluster here
@pytest.mark.parametrize(
    'address, shown',
    [('', 'an empty address')]
    + [
        (one, one)
        for one in (
            'tcp://',
            'tcp://127.0.0.1',
            'http://127.0.0.1:1',
            'tls://127.0.0.1:1',
            'inproc://here',
            '3',
        )
    ],
)
def test_an_address_of_no_kind_that_there_is_is_one_line(address, shown):
    assert message_of(address) == no_scheduler(shown)


def test_another_server_than_a_scheduler_is_one_line_in_time(monkeypatch):
    monkeypatch.setattr('flex_robot_sim.sweeps.cluster.CONNECT_TIMEOUT_S', 1.0)
    with HTTPServer(('127.0.0.1', 0), BaseHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        began, address = time.monotonic(), f'tcp://127.0.0.1:{server.server_port}'
        assert message_of(address) == no_scheduler(address)
        assert time.monotonic() - began < 20.0  # and not twice the timeout of Dask at its end
        server.shutdown()


def test_a_worker_is_no_scheduler(workers):
    (worker,) = re.findall(r'tcp://\S+', workers[0].wait_for_line('Start worker at:'))
    assert message_of(worker) == no_scheduler(worker)


def test_nothing_is_left_behind_an_address_that_is_none(flexsim):
    done = flexsim('sweep', 'single_link', '--to', '0.1', '--scheduler', 'tcp://')
    assert (done.returncode, done.stderr) == (2, f'flexsim sweep: {no_scheduler("tcp://")}\n')


def test_a_cluster_without_dask_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, 'distributed', None)
    assert message_of('tcp://127.0.0.1:1') == (
        'a cluster needs Dask, which is not installed. Install it by '
        f'{sys.executable} -m pip install "distributed>=2022.2"'
    )
