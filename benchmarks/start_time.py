"""
Time from the start of Python to the first step, with and without machine code on disk.

`python -m benchmarks.start_time`
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import flex_robot_sim as frs
from benchmarks.timing import seconds

PROGRAM = """
import flex_robot_sim as frs
frs.Simulation(frs.load('two_link')).step()
"""


def start(**environment):
    """Start Python, load a robot, and take a step."""
    folder = str(Path(frs.__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, [folder, os.environ.get('PYTHONPATH')]))
    subprocess.run([sys.executable, '-c', PROGRAM], check=True,
                   env={**os.environ, 'PYTHONPATH': path, **environment})


def measure(quick=False):
    """Return the figures of this page; `quick` leaves out the start without machine code."""
    start()
    warm = min(seconds(start) for _ in range(3 if quick else 7))
    cold = None
    if not quick:
        with tempfile.TemporaryDirectory() as folder:
            cold = seconds(lambda: start(NUMBA_CACHE_DIR=folder))
    return {'start_warm_s': warm, 'start_cold_s': cold}


def as_text(result):
    """Lines of the table."""
    yield 'start to first step, warm', f'{result["start_warm_s"]:.2f} s'
    yield ('start to first step, cold', 'left out by --quick' if result['start_cold_s'] is None
           else f'{result["start_cold_s"]:.1f} s')


if __name__ == '__main__':
    for what, value in as_text(measure()):
        print(f'{what:34s} {value}')
