"""A test that hangs ends in a failure that says where, and the tests after it run."""

import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = """
from time_limit import TimeLimit

pytest_plugins = ['file_scheduler']

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


def run_tests(folder, *options):
    (folder / 'conftest.py').write_text(CONFTEST)
    return subprocess.run(
        [sys.executable, '-m', 'pytest', *options, '-p', 'no:cacheprovider', '-rf', folder],
        cwd=folder,
        timeout=300,
        text=True,
        capture_output=True,
        env={'PYTHONPATH': str(Path(__file__).parents[1]), 'PATH': '/usr/bin:/bin'},
    )


@pytest.mark.long(after=1)
@pytest.mark.slow
def test_a_test_that_hangs_is_ended_and_named(tmp_path):
    pytest.importorskip('xdist')
    (tmp_path / 'test_hanging.py').write_text(TESTS)
    run = run_tests(tmp_path, '-n', '1', '--dist', 'loadfile')
    assert run.returncode == 1, run.stdout + run.stderr
    assert '2 failed, 1 passed' in run.stdout
    for name in ('test_that_waits', 'test_that_keeps_the_gil'):
        assert f"crashed while running 'test_hanging.py::{name}'" in run.stdout
        assert f'in {name}' in run.stderr
    assert 'in wait_for_a_lock_that_is_never_free' in run.stderr
    assert run.stderr.count('Timeout (0:00:01)!') == 2


@pytest.mark.long
def test_tests_of_other_files_run_after_a_process_has_ended(tmp_path):
    pytest.importorskip('xdist')
    passing = 'def test_one(): pass\n\ndef test_two(): pass\n'
    for number in range(20):
        (tmp_path / f'test_{number:02d}.py').write_text(passing)
    for number in (12, 19):
        (tmp_path / f'test_{number}.py').write_text(f'{passing}{TESTS}')
    run = run_tests(tmp_path, '-n', '2', '--dist', 'loadfile')
    assert run.returncode == 1, run.stdout + run.stderr
    assert '4 failed, 42 passed' in run.stdout
