"""
Tests in two processes for every processor, quick ones in one.

Many slow tests wait: for a board in real time, for other programs, or for a compiling process. The
tests of a file run in one process, so that module fixtures are made only once.
"""

import os

WORKER = os.environ.get('PYTEST_XDIST_WORKER', '')  # gw0, gw1, ... ; empty: the main process
MAX_PROCESSES = 8  # each takes up to 0.7 GB, and more do not make the run faster


def choose_processes(option):
    """Set the number of processes if the user has not, and pytest-xdist is installed."""
    has_chosen = getattr(option, 'numprocesses', 0) is not None  # 0: no pytest-xdist
    alone = WORKER or option.usepdb or option.collectonly
    if option.parallel and not alone and not has_chosen:
        processors = len(os.sched_getaffinity(0))
        option.numprocesses = min(MAX_PROCESSES, processors if option.quick else 2 * processors)
    if getattr(option, 'numprocesses', 0):
        option.dist = 'loadfile'
        option.loadscopereorder = False  # files with many tests are not the longest ones
        # waiting threads of the linear algebra library would occupy the processors
        os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')


def sort_files(items):
    """Sort tests by file: files that install come first, then slow ones, then the others."""
    files = [item.nodeid.partition('::')[0] for item in items]
    names: dict = {file: set() for file in files}
    for item, file in zip(items, files):
        names[file].update(mark.name for mark in item.iter_markers())
    rank = {
        item: ('install' not in names[file], not names[file] & {'slow', 'long', 'ros'}, file)
        for item, file in zip(items, files)
    }
    items.sort(key=rank.get)
