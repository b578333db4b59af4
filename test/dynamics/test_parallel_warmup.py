"""Parallel warm-up: the second process compiles the functions of a step, and always ends."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest
from tuned_numba import needs_tuned_numba

import flex_robot_sim as frs
from flex_robot_sim.dynamics.parallel_warmup import compile_jobs
from flex_robot_sim.jit import compiled
from flex_robot_sim.start import run_text

pytestmark = [
    needs_tuned_numba,
    pytest.mark.skipif(sys.platform == 'win32', reason='about locks of files'),
]

COLD_START = "import flex_robot_sim as frs; frs.Simulation(frs.load('two_link')).step()"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Place the cache in a folder of this test."""
    monkeypatch.setattr(compiled, '_cache_folder', lambda room: tmp_path)
    return tmp_path


def is_locked(path):
    """Whether a process holds the lock of the second process."""
    with open(path, 'a') as file:
        return not compiled.is_locked(file)


def wait_until(condition, seconds=120.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, 'this never comes true'
        time.sleep(0.02)


def test_the_compiled_functions_are_the_callees_of_a_step():
    from flex_robot_sim.jit import linking

    frs.Simulation(frs.load('single_link')).step()
    jobs: list = compile_jobs()
    for _, function, arguments in jobs:
        types = tuple(map(function.typeof_pyval, arguments))
        name = linking.symbol_name(function.py_func, types)
        assert types in function.overloads or name in linking.symbols, function.py_func.__name__


def test_every_arm_has_the_argument_types_of_the_compile_jobs():
    types = {
        tuple((array.dtype, array.ndim) for array in frs.load(name).arrays)
        for name in ('two_link', 'single_link')
    }
    assert len(types) == 1


def test_one_process_at_a_time_is_the_second(folder):
    with compiled.lock_of_second_process() as first:
        assert first is not None
        with compiled.lock_of_second_process() as second:
            assert second is None


def test_the_lock_is_held_until_the_second_process_ends(folder):
    with compiled.lock_of_second_process() as lock:
        process = subprocess.Popen(
            [sys.executable, '-c', 'input()'],
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=[lock.fileno()],
        )
    with compiled.lock_of_second_process() as other:
        assert other is None
    process.communicate(timeout=60)
    with compiled.lock_of_second_process() as other:
        assert other is not None


def test_without_a_cache_there_is_no_second_process(monkeypatch):
    monkeypatch.setattr(compiled, '_cache_folder', lambda room: None)
    with compiled.lock_of_second_process() as lock:
        assert lock is None


@pytest.mark.slow
def test_the_second_process_ends_with_a_killed_parent(tmp_path):
    program = subprocess.Popen(
        run_text(COLD_START),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, 'NUMBA_CACHE_DIR': str(tmp_path)},
    )
    try:
        wait_until(
            lambda: (
                program.poll() is not None
                or any(map(is_locked, tmp_path.rglob('second_process.lock')))
            )
        )
        assert program.poll() is None, program.communicate()
    finally:
        program.kill()
        program.communicate()
    (lock,) = tmp_path.rglob('second_process.lock')
    wait_until(lambda: not is_locked(lock))


def test_with_a_full_cache_no_second_process_starts(monkeypatch):
    from flex_robot_sim.dynamics import parallel_warmup

    frs.Simulation(frs.load('two_link')).step()
    monkeypatch.setattr(
        parallel_warmup.subprocess,
        'Popen',
        lambda *_, **__: pytest.fail('there is nothing to compile'),
    )
    parallel_warmup.start_parallel_warmup.__wrapped__()
    assert np.isfinite(frs.Simulation(frs.load('two_link')).q).all()
