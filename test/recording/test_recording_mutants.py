"""No traceback, no hang and no unbounded memory for damaged recordings: seeded mutants."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from project_files import ROOT

pytest.importorskip('mcap')

import recording_mutants

SEED = '34'
MOST_MEMORY = 600  # of a process with matplotlib, Numba and both commands [MB]


@pytest.mark.slow
def test_damaged_recordings_end_in_one_line_or_are_read(mutants):
    count = mutants // 2000
    done = subprocess.run(
        [sys.executable, recording_mutants.__file__, SEED, str(count)],
        capture_output=True,
        text=True,
        timeout=120 + 20 * count,
        cwd=Path(recording_mutants.__file__).parent,
        env={**os.environ, 'PYTHONPATH': str(ROOT)},
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    failures, peak = re.search(r'(\d+) failures, peak (\d+) MB', done.stdout).groups()
    assert int(failures) == 0 and int(peak) < MOST_MEMORY
