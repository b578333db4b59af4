"""Runs that tests send to other processes: they must be in a module."""

import os
import sys
import threading
import time
from pathlib import Path


def drawn(case):
    """Return numbers of the run, and random ones."""
    return {
        'twice': 2.0 * case.values.get('payload', case.values.get('tool.mass', 0.0)),
        'chance': case.rng.uniform(),
        'mass': case.arm.description.link('tool').inertial.mass
        if case.arm.description.link('tool').inertial
        else 0.0,
    }


def noted(case):
    """Write to disk that this run began, and wait."""
    with open(os.environ['NOTES_FILE'], 'ab', buffering=0) as file:
        file.write(f'{case.run}\n'.encode())
    time.sleep(0.02)
    return drawn(case)


def always_deadly(case):
    """Kill the process that executes run 30."""
    if case.run == 30:
        os.kill(os.getpid(), 9)
    return drawn(case)


def deadly(case):
    """Kill the process that executes run 5, once."""
    mark = Path(os.environ['NOTES_FILE'])
    if case.run == 5 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), 9)
    return drawn(case)


def failing(case):
    """Raise the exceptions of user functions in some runs, and record which runs began."""
    noted(case)
    if case.run % 4 == 1:
        raise ValueError(f'no frequency\nin run {case.run}')
    if case.run % 4 == 2:
        sys.exit(3)
    return {'x': None} if case.run % 4 == 3 else {'twice': 2.0 * case.values['payload']}


class LockHolder:
    """A run that contains an object that cannot be pickled."""

    def __init__(self):
        self._lock = threading.Lock()

    def __call__(self, case):
        """Return nothing."""
        return {}
