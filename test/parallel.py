"""
Tests in two processes for every processor.

Many tests wait: for a board in real time, for other programs, or for a compiling process. The
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
        option.numprocesses = min(MAX_PROCESSES, 2 * len(os.sched_getaffinity(0)))
    if getattr(option, 'numprocesses', 0):
        option.dist = 'loadfile'
        option.loadscopereorder = False  # files with many tests are not the longest ones
        # waiting threads of the linear algebra library would occupy the processors
        os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')


def sort_files(items):
    """Sort tests by file: files that install come first, then slow ones, then the others."""
    markers = {}
    for item in items:
        names = markers.setdefault(_file(item), set())
        names.update(mark.name for mark in item.iter_markers())
    long_first = {
        file: ('install' not in names, not names & {'slow', 'long', 'ros'}, file)
        for file, names in markers.items()
    }
    items.sort(key=lambda item: long_first[_file(item)])


def _file(item):
    return item.nodeid.partition('::')[0]
