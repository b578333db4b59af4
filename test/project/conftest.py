"""What tests of installing share."""

import subprocess
import sys

import pytest


@pytest.fixture(scope='session')
def registry():
    """Skip the test if the Python package registry is unreachable."""
    ask = [sys.executable, '-m', 'pip', '--retries', '0', '--timeout', '10', 'index', 'versions']
    if subprocess.run([*ask, 'setuptools'], capture_output=True).returncode:
        pytest.skip('the registry of Python packages is out of reach')
