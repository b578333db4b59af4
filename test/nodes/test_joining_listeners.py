"""Listeners that join and leave, as processes of their own, hold up neither arm nor bench."""

import json
import shlex
import subprocess
import sys

import pytest
from node_processes import PATIENCE
from project_files import ROOT

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    'words, worst, released',
    [
        (['--what', 'simulation'], 'lateness, longest [ms]', 'commands timed out'),
        # the board is emulated, by a process that needs its share of a processor
        (['--what', 'bench', '--idle'], 'dealing with a reading, longest [ms]', 'frames lost'),
    ],
    ids=['simulation', 'bench'],
)
def test_listeners_that_join_and_leave_cause_no_delay_and_release_nothing(words, worst, released):
    result = subprocess.run(
        [
            sys.executable,
            *shlex.split('-m benchmarks.joining_listeners --listeners 6 --together 3'),
            *words,
        ],
        timeout=3 * PATIENCE,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    figures = json.loads(result.stdout)
    assert figures['that heard the arm'] == figures['listeners'] == 6
    # what a listener may cost, on top of how late the processor comes to a thread that only
    # sleeps: it comes twice where the thread waits for another one
    assert figures[worst] < 20.0 + 2 * figures['control [ms]']
    assert figures[released] == 0
