"""A test that hangs ends in a failure that says where, and the tests after it run."""

import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = """
from time_limit import TimeLimit

def pytest_configure(config):
    config.pluginmanager.register(TimeLimit(1.0))
"""
TESTS = """
import ctypes, threading, time
import pytest

def wait_for_a_lock_that_is_never_free():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()

def test_that_waits():
    wait_for_a_lock_that_is_never_free()

def test_that_keeps_the_gil():
    ctypes.PyDLL(None).sleep(60)

def test_after_them():
    time.sleep(0.1)
"""


@pytest.mark.slow
def test_a_test_that_hangs_is_ended_and_named(tmp_path):
    pytest.importorskip('xdist')
    (tmp_path / 'conftest.py').write_text(CONFTEST)
    (tmp_path / 'test_hanging.py').write_text(TESTS)
    run = subprocess.run(
        [sys.executable, '-m', 'pytest', '-n', '1', '-p', 'no:cacheprovider', '-rf', tmp_path],
        cwd=tmp_path,
        timeout=300,
        text=True,
        capture_output=True,
        env={'PYTHONPATH': str(Path(__file__).parents[1]), 'PATH': '/usr/bin:/bin'},
    )
    assert run.returncode == 1, run.stdout + run.stderr
    assert '2 failed, 1 passed' in run.stdout
    for name in ('test_that_waits', 'test_that_keeps_the_gil'):
        assert f"crashed while running 'test_hanging.py::{name}'" in run.stdout
        assert f'in {name}' in run.stderr
    assert 'in wait_for_a_lock_that_is_never_free' in run.stderr
    assert run.stderr.count('Timeout (0:00:01)!') == 2
