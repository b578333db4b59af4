"""What a terminal shows while an installation compiles: all of it once, in a cache of its own."""

import os
import pty
import re
import subprocess
import sys

import pytest

from flex_robot_sim.core.compile_ahead import progress


def test_all_functions_of_a_step_are_there_after_one():
    import flex_robot_sim as frs

    frs.Simulation(frs.load('two_link')).step()
    done, of = progress()
    assert done == of > 30


@pytest.mark.slow
def test_a_terminal_is_told_how_many_functions_are_left(tmp_path):
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, '-m', 'flex_robot_sim', 'simulate', 'single_link', '--seconds', '0.01'],
        stderr=theirs, stdout=subprocess.DEVNULL,
        env={**os.environ, 'NUMBA_CACHE_DIR': str(tmp_path), 'COLUMNS': '100'})
    os.close(theirs)
    shown = b''
    while True:
        try:
            shown += os.read(ours, 4096)
        except OSError:         # its end has closed it
            break
    os.close(ours)
    assert process.wait(60) == 0
    counts = [(int(done), int(of)) for done, of in re.findall(
        rb'compiling, once after an installation: (\d+) of (\d+) functions', shown)]
    assert len(counts) > 2 and counts == sorted(counts)
    assert counts[0][0] < counts[-1][0] <= counts[-1][1]
    assert shown.endswith(b'\r')        # and the line is gone
