"""
All experiments, as many at once as there are processors, each in a process of its own.

Each is `flexsim reproduce NAME --json`, with lines on standard error that tell the share done.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.interpreter import run_text

# the longest first, so that the last ones to end are short
ORDER = ('canadarm2', 'dual_screw', 'ella', 'spin_up', 'element_sum_1', 'element_sum_2', 'rcm',
         'rig')
MOST = 4                    # at once: half a gigabyte each
SHARE = 'share '            # begins a line that tells how much is done
PROGRAM = 'import sys; from flex_robot_sim.start import main; sys.exit(main())'

ShareOf = Callable[[str, float], None]      # told an experiment and its share


def reproduce_together(names: Iterable[str], folder: str | Path, share_of: ShareOf,
                       words: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """
    Run experiments; yield their summaries as they end.

    :param share_of: called from other threads; words: options of each command.
    """
    waiting = sorted(names, key=ORDER.index)
    running: list[subprocess.Popen[str]] = []
    is_over = threading.Event()
    pool = ThreadPoolExecutor(max(1, min(MOST, len(os.sched_getaffinity(0)), len(waiting))))
    try:
        found = [pool.submit(_run, name, folder, share_of, words, running, is_over)
                 for name in waiting]
        for one in as_completed(found):
            yield one.result()
    finally:
        is_over.set()
        pool.shutdown(wait=False, cancel_futures=True)
        for process in list(running):
            process.terminate()


def _run(name, folder, share_of, words, running, is_over):
    """Return the summary of one experiment."""
    words = ['reproduce', name, '--json', '--output', str(folder), '--share', *words]
    said = []
    with tempfile.TemporaryFile('w+', encoding='utf-8') as out, subprocess.Popen(
            run_text(PROGRAM, *words), stdout=out, stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL, text=True, encoding='utf-8',
            env={'OPENBLAS_NUM_THREADS': '1', **os.environ}) as process:
        running.append(process)
        if is_over.is_set():            # another one has failed while this one started
            process.terminate()
        for line in process.stderr:
            if line.startswith(SHARE):
                share_of(name, float(line[len(SHARE):]))
            else:
                said.append(line)
        code = process.wait()
        running.remove(process)
        out.seek(0)
        if code == 2:
            raise UsageError(said[-1].strip().replace('flexsim reproduce: ', '', 1))
        if code:
            raise RuntimeError(f'{name} ended with {code}:\n{"".join(said)}')
        return json.load(out)
