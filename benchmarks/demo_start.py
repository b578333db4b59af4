"""
Time from a fresh clone to a moving arm: `./run demo` with nothing installed or compiled.

`python -m benchmarks.demo_start`
"""

import os
import signal
import subprocess
import tempfile
from pathlib import Path
from time import perf_counter

from flex_robot_sim.util.share import share_folder

DEMO = ('./run', 'demo', '--no-view', '--seconds', '1', '--plot')
MOVES = ' moves in ROS_DOMAIN_ID='  # output of the demo at this moment
INSTALLS = 'run: '  # how lines of the installation begin


def measure(quick=False):
    """Return the figures of this page, which `quick` leaves out."""
    found = {'demo_first_s': None, 'demo_install_s': None}
    if not quick:
        with tempfile.TemporaryDirectory() as folder:
            clone = Path(folder, 'clone')
            subprocess.run(
                ['git', 'clone', '--quiet', str(share_folder()), str(clone)], check=True
            )
            found.update(first_demo([*DEMO, f'{folder}/demo.png'], clone, Path(folder, 'cache')))
    return found


def first_demo(command, clone, cache):
    """
    Times from the command to its first output, and to the moving arm [s].

    :param clone: folder in which it is called; cache: folder for machine code.
    """
    out = {
        name: value
        for name, value in os.environ.items()
        if name not in ('VIRTUAL_ENV', 'PYTHONPATH', 'NUMBA_CACHE_DIR')
    }
    began, said, installed = perf_counter(), [], None
    program = subprocess.Popen(
        command,
        cwd=clone,
        text=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={**out, 'XDG_CACHE_HOME': str(cache)},
    )
    try:
        assert program.stderr is not None
        for line in program.stderr:
            said.append(line)
            if installed is None and not line.startswith(INSTALLS):
                installed = perf_counter() - began
            if MOVES in line:
                return {'demo_first_s': perf_counter() - began, 'demo_install_s': installed}
    finally:
        program.send_signal(signal.SIGINT)
        program.communicate()
    raise RuntimeError(f'the arm did not move: {"".join(said[-3:])}')


def as_text(result):
    """Lines of the table."""
    for name, words in (
        ('demo_first_s', 'first demo of a fresh clone, until the arm moves'),
        ('demo_install_s', 'of that, until everything is installed'),
    ):
        yield words, ('left out by --quick' if result[name] is None else f'{result[name]:.1f} s')


if __name__ == '__main__':
    for what, value in as_text(measure()):
        print(f'{what:52s} {value}')
