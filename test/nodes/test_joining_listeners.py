"""Listeners that join and leave, as processes of their own, hold up neither arm nor bench."""

import json
import shlex
import subprocess
import sys

import pytest
from node_processes import PATIENCE
from project_files import ROOT

pytestmark = pytest.mark.slow


@pytest.mark.long
@pytest.mark.parametrize(
    'words, worst, released',
    [
        (['--what', 'simulation'], 'lateness, longest [ms]', 'commands timed out'),
        # the board is emulated, by a process that needs its share of a processor
        pytest.param(
            ['--what', 'bench', '--idle'],
            'dealing with a reading, longest [ms]',
            'frames lost',
            marks=pytest.mark.long,
        ),
    ],
    ids=['simulation', 'bench'],
)
def test_listeners_that_join_and_leave_cause_no_delay_and_release_nothing(
    words, worst, released, request
):
    # joining listeners keep both processors busy, where tests in other processes measure times
    listeners = 6 if request.config.getoption('--long') else 3
    result = subprocess.run(
        [
            sys.executable,
            *shlex.split(f'-m benchmarks.joining_listeners --listeners {listeners} --together 3'),
            *words,
        ],
        timeout=3 * PATIENCE,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    figures = json.loads(result.stdout)
    assert figures['that heard the arm'] == figures['listeners'] == listeners
    # what a listener may cost, on top of how late the processor comes to a thread that only
    # sleeps: it comes twice where the thread waits for another one
    assert figures[worst] < 20.0 + 2 * figures['control [ms]']
    assert figures[released] == 0
