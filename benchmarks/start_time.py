"""
Time from the start of Python to the first step, with and without machine code on disk.

The processor time of a start is compared with that of `import numpy, numba` in the same process.

The environment has only the dependencies of the package. Test dependencies would start with every
Python, or be imported by Numba, as `coverage` is. Each figure is the minimum of several runs,
because other programs on the machine only add time.

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
TIMED_PROGRAM = f"""
import time, numpy, numba
print(time.process_time())
{PROGRAM}
print(time.process_time())
"""


def installed(folder):
    """Install a clone of this source tree into a new environment; return its Python."""
    clone, environment = folder / 'clone', folder / 'environment'
    python = str(environment / 'bin' / 'python')
    for command in (
        ['git', 'clone', '--quiet', str(share_folder()), str(clone)],
        [sys.executable, '-m', 'venv', str(environment)],
        [python, '-m', 'pip', 'install', '--quiet', str(clone)],
    ):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return python


def start(python, folder, program=PROGRAM, **environment):
    """Start Python in a folder, load a robot, and take a step, or run another program."""
    return subprocess.run(
        [python, '-c', program],
        check=True,
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        env={**os.environ, **environment},
    ).stdout


def processor_times(begin, rounds):
    """Return the processor time up to the first step, and its part after Numba's import [s]."""
    rows = [[float(word) for word in begin(program=TIMED_PROGRAM).split()] for _ in range(rounds)]
    return {
        'start_processor_s': min(full for _, full in rows),
        'start_numba_processor_s': min(numba for numba, _ in rows),
        'start_above_numba_s': min(full - numba for numba, full in rows),
    }


def measure(quick=False):
    """Return the figures of this page; `quick` takes this environment, and its machine code."""
    if quick:
        begin_here = partial(start, sys.executable, share_folder())
        begin_here()
        return {
            'start_warm_s': min(seconds(begin_here) for _ in range(3)),
            'start_cold_s': None,
            **processor_times(begin_here, 2),
        }
    with tempfile.TemporaryDirectory() as folder:
        python = installed(Path(folder))

        def begin(cache='third', **named):
            return start(
                python, folder, NUMBA_CACHE_DIR=f'{folder}/{cache}', PYTHONPATH='', **named
            )

        cold = min(seconds(partial(begin, cache)) for cache in ('first', 'second', 'third'))
        warm = min(seconds(begin) for _ in range(7))
        return {'start_warm_s': warm, 'start_cold_s': cold, **processor_times(begin, 15)}


def as_text(result):
    """Lines of the table."""
    yield 'start to first step, warm', f'{result["start_warm_s"]:.2f} s'
    yield (
        'processor time up to the first step',
        f'{result["start_processor_s"]:.2f} s, `import numpy, numba` alone '
        f'{result["start_numba_processor_s"]:.2f} s',
    )
    yield 'of it after `import numpy, numba`', f'{result["start_above_numba_s"]:.3f} s'
    yield (
        'start to first step, cold',
        'left out by --quick'
        if result['start_cold_s'] is None
        else f'{result["start_cold_s"]:.1f} s',
    )


if __name__ == '__main__':
    for what, value in as_text(measure()):
        print(f'{what:34s} {value}')
