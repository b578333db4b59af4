"""Calls of `flexsim` in the process of the test, which keeps its state."""

import contextlib
import logging
import os
import signal
import subprocess
import sys
import warnings
from unittest import mock

import pytest

THREADS = '/proc/self/task'  # where the system lists them
SIGNALS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
SILENT_WARNINGS = DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning


def shape_outcome(capsys, *words):
    """Return exit code, standard output and standard error of `flexsim shape`."""
    from flex_robot_sim import cli

    try:
        code = cli.main(['shape', *map(str, words)])
    except SystemExit as end:
        code = end.code
    done = capsys.readouterr()
    return code, done.out, done.err


def scheduling():
    """Return policy and parameter of each thread of this process."""
    found = {}
    for thread in map(int, os.listdir(THREADS) if os.path.isdir(THREADS) else ()):
        with contextlib.suppress(OSError):  # the thread has ended
            found[thread] = os.sched_getscheduler(thread), os.sched_getparam(thread)
    return found


@contextlib.contextmanager
def restored_state():
    """
    Restore what a command may change in its process.

    Warnings and messages of loggers go to standard error, as in a process of its own.
    """
    root, handlers = logging.getLogger(), list(map(signal.getsignal, SIGNALS))
    mutable: list[list] = [sys.path, sys.argv, root.handlers]
    before, folder, level = [values[:] for values in mutable], os.getcwd(), root.level
    interval, priorities = sys.getswitchinterval(), scheduling()
    root.handlers.clear()
    try:
        with mock.patch.dict(os.environ), warnings.catch_warnings():
            warnings.showwarning = lambda *words: print(
                warnings.formatwarning(*words[:4]), end='', file=sys.stderr
            )
            warnings.resetwarnings()
            for category in SILENT_WARNINGS:
                warnings.simplefilter('ignore', category)
            yield
    finally:
        for values, old in zip(mutable, before):
            values[:] = old
        root.setLevel(level)
        for number, handler in zip(SIGNALS, handlers):
            signal.signal(number, handler)
        sys.setswitchinterval(interval)
        for thread, (policy, parameter) in priorities.items():
            with contextlib.suppress(OSError):
                os.sched_setscheduler(thread, policy, parameter)
        os.chdir(folder)
        if 'matplotlib.pyplot' in sys.modules:
            sys.modules['matplotlib.pyplot'].close('all')


@pytest.fixture(autouse=True)
def ordinary_priority():
    """Check that a test leaves its process with its priority, which later programs inherit."""
    if not hasattr(os, 'sched_getscheduler'):
        yield
        return
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    yield
    after = os.sched_getscheduler(0), os.sched_getparam(0)
    os.sched_setscheduler(0, *before)
    assert after == before


@pytest.fixture
def flexsim(capsys):
    """Return a function that calls `flexsim` with words; it gives exit code and output."""
    from flex_robot_sim.cli import main

    def call(*words, cwd='.'):
        capsys.readouterr()
        with restored_state():
            os.chdir(cwd)
            try:
                code = main([*map(str, words)])
            except SystemExit as end:  # of argparse
                code = end.code or 0
        return subprocess.CompletedProcess(words, code, *capsys.readouterr())

    return call
