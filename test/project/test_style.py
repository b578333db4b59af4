"""The whole tree keeps the style that pyproject.toml sets."""

import subprocess
import sys

import pytest
from project_files import ROOT


def test_ruff_has_nothing_to_say():
    pytest.importorskip('ruff')
    ruff = [sys.executable, '-m', 'ruff', 'check', '--output-format=concise', '--no-cache', ROOT]
    answer = subprocess.run(ruff, capture_output=True, text=True)
    if answer.returncode:
        pytest.fail(answer.stdout + answer.stderr, pytrace=False)
