"""
Time from the start of Python to the first step, with and without machine code on disk.

It is that of an environment as users have it: what tests need beside it starts with every Python,
or is imported by Numba where it is found, as `coverage` is. Each figure is the least of several:
what else the machine does adds to them.

`python -m benchmarks.start_time`
"""

import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from benchmarks.timing import seconds
from flex_robot_sim.util.share import share_folder

PROGRAM = """
import flex_robot_sim as frs
frs.Simulation(frs.load('two_link')).step()
"""


def installed(folder):
    """Install a clone of this source tree into an environment of its own; return its Python."""
    clone, environment = folder / 'clone', folder / 'environment'
    python = str(environment / 'bin' / 'python')
    for command in (['git', 'clone', '--quiet', str(share_folder()), str(clone)],
                    [sys.executable, '-m', 'venv', str(environment)],
                    [python, '-m', 'pip', 'install', '--quiet', str(clone)]):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return python


def start(python, folder, **environment):
    """Start Python in a folder, load a robot, and take a step."""
    subprocess.run([python, '-c', PROGRAM], check=True, cwd=folder,
                   env={**os.environ, **environment})


def measure(quick=False):
    """Return the figures of this page; `quick` takes this environment, and its machine code."""
    if quick:
        start(sys.executable, share_folder())
        warm = min(seconds(lambda: start(sys.executable, share_folder())) for _ in range(3))
        return {'start_warm_s': warm, 'start_cold_s': None}
    with tempfile.TemporaryDirectory() as folder:
        python = installed(Path(folder))

        def begin(cache):
            start(python, folder, NUMBA_CACHE_DIR=f'{folder}/{cache}', PYTHONPATH='')
        cold = min(seconds(partial(begin, cache)) for cache in ('first', 'second', 'third'))
        warm = min(seconds(partial(begin, 'third')) for _ in range(7))
    return {'start_warm_s': warm, 'start_cold_s': cold}


def as_text(result):
    """Lines of the table."""
    yield 'start to first step, warm', f'{result["start_warm_s"]:.2f} s'
    yield ('start to first step, cold', 'left out by --quick' if result['start_cold_s'] is None
           else f'{result["start_cold_s"]:.1f} s')


if __name__ == '__main__':
    for what, value in as_text(measure()):
        print(f'{what:34s} {value}')
