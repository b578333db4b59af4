"""The whole tree keeps the style and the format that pyproject.toml sets."""

import subprocess
import sys

import pytest
from project_files import ROOT


@pytest.mark.parametrize('command', [('check', '--output-format=concise'), ('format', '--diff')])
def test_ruff_finds_nothing_to_change(command):
    pytest.importorskip('ruff')
    ruff = [sys.executable, '-m', 'ruff', *command, '--quiet', '--no-cache', ROOT]
    result = subprocess.run(ruff, capture_output=True, text=True)
    if result.returncode:
        pytest.fail(result.stdout + result.stderr, pytrace=False)
