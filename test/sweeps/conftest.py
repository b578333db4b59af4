"""Fixtures of the tests of sweeps."""

import os
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope='module', autouse=True)
def importable():
    """Let other processes import own_runs."""
    before = os.environ.get('PYTHONPATH')
    os.environ['PYTHONPATH'] = os.pathsep.join(filter(None, [str(HERE), before]))
    yield
    if before is None:
        del os.environ['PYTHONPATH']
    else:
        os.environ['PYTHONPATH'] = before
