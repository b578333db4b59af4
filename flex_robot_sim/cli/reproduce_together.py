"""
All experiments in parallel, each in its own process, as many at once as there are processors.

A process runs `flexsim reproduce NAME --json`; lines on standard error report its progress.
"""

import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from flex_robot_sim.start import run_text
from flex_robot_sim.util.exceptions import UsageError

# longest first, for an even load of the processors
ORDER = (
    'canadarm2',
    'dual_screw',
    'ella',
    'spin_up',
    'element_sum_1',
    'element_sum_2',
    'rcm',
    'rig',
)
MAX_PROCESSES = 4  # in parallel; each takes half a gigabyte
SHARE_PREFIX = 'share '  # prefix of a line that reports progress
CHILD_PROGRAM = 'import sys; from flex_robot_sim.start import main; sys.exit(main())'

ShareCallback = Callable[[str, float], None]  # called with an experiment and its share done


def reproduce_together(
    names: Iterable[str], folder: str | Path, on_share: ShareCallback, options: Sequence[str] = ()
) -> Iterator[dict[str, Any]]:
    """
    Run experiments; yield the summary of each when it ends.

    :param on_share: called from other threads; options: of each command.
    """
    ordered = sorted(names, key=ORDER.index)
    running: list[subprocess.Popen[str]] = []
    is_over = threading.Event()
    pool = ThreadPoolExecutor(
        max(1, min(MAX_PROCESSES, len(os.sched_getaffinity(0)), len(ordered)))
    )
    try:
        futures = [
            pool.submit(_run, name, folder, on_share, options, running, is_over)
            for name in ordered
        ]
        for future in as_completed(futures):
            yield future.result()
    finally:
        is_over.set()
        pool.shutdown(wait=False, cancel_futures=True)
        for process in list(running):
            process.terminate()


def _run(name, folder, on_share, options, running, is_over):
    """Return the summary of one experiment."""
    options = ['reproduce', name, '--json', '--output', str(folder), '--share', *options]
    error_lines = []
    with (
        tempfile.TemporaryFile('w+', encoding='utf-8') as out,
        subprocess.Popen(
            run_text(CHILD_PROGRAM, *options),
            stdout=out,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            encoding='utf-8',
            env={'OPENBLAS_NUM_THREADS': '1', **os.environ},
        ) as process,
    ):
        running.append(process)
        if is_over.is_set():  # another experiment failed while this one started
            process.terminate()
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith(SHARE_PREFIX):
                on_share(name, float(line[len(SHARE_PREFIX) :]))
            else:
                error_lines.append(line)
        code = process.wait()
        running.remove(process)
        out.seek(0)
        if code == 2:
            raise UsageError(error_lines[-1].strip().replace('flexsim reproduce: ', '', 1))
        if code:
            raise RuntimeError(f'{name} ended with {code}:\n{"".join(error_lines)}')
        return json.load(out)
