"""
Tests in two processes for every processor, the longest first.

Many tests wait: for a board in real time, for other programs, or for a compiling process.

The tests of a file run in one process, so that module fixtures are made only once. The files of
LONGEST start first, in this order, and the others follow by name. The order comes from
`--durations=0` of a complete run. It is fixed, because a clean clone has no measurements. It needs
an update only if a file takes more than half a minute.
"""

import os
from pathlib import Path

WORKER = os.environ.get('PYTEST_XDIST_WORKER', '')  # gw0, gw1, ... ; empty: the main process
MAX_PROCESSES = 8  # processes: each takes up to 0.7 GB, and more do not make the run faster
LONGEST = (
    # the first installs with pip, the second compiles, the third waits for other programs
    'project/test_install.py',
    'dynamics/test_dynamics.py',
    'nodes/test_strangers.py',
    'reproduce/test_verdicts.py',
    'reproduce/test_reproduce.py',
    'nodes/test_view_node.py',
    'nodes/test_demo.py',
    'project/test_shown_blocks.py',
    'feedback/test_strain_feedback.py',
    'feedback/test_vibration_feedback.py',
    'nodes/test_controller_feedback.py',
    'control/test_control_benchmark.py',
    'identification/test_imu.py',
    'identification/test_calibration_priors.py',
    'identification/test_identify.py',
    'project/test_site.py',
    'reports/test_report.py',
    'rig/conformance/test_conformance.py',
    'project/test_run.py',
    'description/test_description_mutants.py',
    'identification/test_excite.py',
    'project/test_benchmarks.py',
    'project/test_examples.py',
    'nodes/test_controller_node.py',
    'reports/test_report_page.py',
    'project/test_task_pages.py',
    'nodes/test_joining_listeners.py',
    'sweeps/test_sweep.py',
    'analysis/test_recorded_vibration.py',
    'viewer/test_view_in_browser.py',
    'sweeps/test_cluster.py',
    'rig/calibration/test_session.py',
    'nodes/test_drift_bench.py',
    'nodes/test_player.py',
    'dynamics/test_stops.py',
    'rig/board/test_emulator.py',
    'shaping/test_recommendation.py',
    'nodes/test_drift_node.py',
    'nodes/test_controller_shaper.py',
    'cli/test_shape_command.py',
    'nodes/test_dynamics_faults.py',
    'analysis/test_jacobians.py',
    'dynamics/test_spin_up.py',
    'planning/test_planning.py',
    'rig/bridge/test_bridge.py',
    'rig/board/test_firmware.py',
)
TESTS = Path(__file__).parent


def choose_processes(config):
    """Set the number of processes if the user has not, and pytest-xdist is installed."""
    option = config.option
    has_chosen = getattr(option, 'numprocesses', 0) is not None  # 0: no pytest-xdist
    alone = WORKER or option.usepdb or option.collectonly
    if option.parallel and not alone and not has_chosen:
        option.numprocesses = min(MAX_PROCESSES, 2 * len(os.sched_getaffinity(0)))
    if getattr(option, 'numprocesses', 0):
        # waiting threads of the linear algebra library would occupy the processors
        os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
        if not WORKER:
            import warm_programs  # it uses the environment at import

            warm_programs.start_warm()  # pytest-xdist starts the processes


def scheduler(config, log):
    """Return the scheduler that distributes the files to the processes."""
    from xdist.scheduler import LoadScopeScheduling

    class FileScheduling(LoadScopeScheduling):
        """Distribution file by file, in the order of the tests."""

        def _split_scope(self, nodeid):
            return nodeid.partition('::')[0]

    config.option.loadscopereorder = False  # files with many tests are not the longest ones
    return FileScheduling(config, log)


def begin_elsewhere(config, ignored):
    """
    Let each process collect other folders first, if all but `ignored` ones are collected.

    In a fresh clone, each process then finds the code that another has compiled.
    """
    if WORKER and [Path(word).absolute() for word in config.args] == [TESTS]:
        folders = sorted(
            path
            for path in TESTS.iterdir()
            if path.name not in ignored and any(path.glob('**/test_*.py'))
        )
        count = int(os.environ['PYTEST_XDIST_WORKER_COUNT'])
        first = int(WORKER.removeprefix('gw')) % count * len(folders) // count
        config.args = [
            str(path)
            for path in (*folders[first:], *folders[:first], *sorted(TESTS.glob('test_*.py')))
        ]


def in_order(items):
    """Sort tests: files of LONGEST, then the others by name; in the order of each file."""
    items.sort(key=lambda item: (rank(item.nodeid), item.nodeid.partition('::')[0]))


def rank(nodeid):
    """Return the position of a test file in LONGEST, or the length of LONGEST."""
    path = nodeid.partition('::')[0]
    return next((place for place, end in enumerate(LONGEST) if path.endswith(end)), len(LONGEST))
