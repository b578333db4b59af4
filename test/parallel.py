"""
Tests in two processes for every processor, the longest first.

Many tests wait: for a board in real time, for other programs, for who compiles what they need.

The tests of a file go to one process, so that what it makes once is made once. The files of
LONGEST begin, in its order, and the others follow by their names. The order comes from
`--durations=0` of a whole run and is written by hand: a clean clone has measured nothing. It needs
care only where a file takes more than half a minute.
"""

import os
from pathlib import Path

WORKER = os.environ.get('PYTEST_XDIST_WORKER', '')      # gw0, gw1, ... ; none: the process of all
MOST = 8        # processes: each takes 0.7 GB at worst, and no more of them make it faster
LONGEST = (
    # one installs with pip, the second compiles, the third waits for other programs
    'project/test_install.py', 'dynamics/test_dynamics.py', 'nodes/test_strangers.py',
    'reproduce/test_verdicts.py', 'reproduce/test_reproduce.py', 'nodes/test_view_node.py',
    'nodes/test_demo.py', 'project/test_shown_blocks.py', 'feedback/test_strain_feedback.py',
    'feedback/test_vibration_feedback.py', 'nodes/test_controller_feedback.py',
    'control/test_control_benchmark.py', 'identification/test_imu.py',
    'identification/test_calibration_priors.py', 'identification/test_identify.py',
    'project/test_site.py', 'reports/test_report.py', 'rig/conformance/test_conformance.py',
    'project/test_run.py', 'description/test_description_mutants.py',
    'identification/test_excite.py', 'project/test_benchmarks.py', 'project/test_examples.py',
    'nodes/test_controller_node.py', 'reports/test_report_page.py', 'project/test_task_pages.py',
    'nodes/test_joining_listeners.py', 'sweeps/test_sweep.py',
    'analysis/test_recorded_vibration.py', 'viewer/test_view_in_browser.py',
    'sweeps/test_cluster.py', 'rig/calibration/test_session.py', 'nodes/test_drift_bench.py',
    'nodes/test_player.py', 'dynamics/test_stops.py', 'rig/board/test_emulator.py',
    'shaping/test_recommendation.py', 'nodes/test_drift_node.py',
    'nodes/test_controller_shaper.py', 'cli/test_shape_command.py',
    'nodes/test_dynamics_faults.py', 'analysis/test_jacobians.py', 'dynamics/test_spin_up.py',
    'planning/test_planning.py', 'rig/bridge/test_bridge.py', 'rig/board/test_firmware.py',
)
TESTS = Path(__file__).parent


def choose_processes(config):
    """Set the number of processes if the user has not, and pytest-xdist is here."""
    option = config.option
    has_chosen = getattr(option, 'numprocesses', 0) is not None     # 0: no pytest-xdist
    alone = WORKER or option.usepdb or option.collectonly
    if option.parallel and not alone and not has_chosen:
        option.numprocesses = min(MOST, 2 * len(os.sched_getaffinity(0)))
    if getattr(option, 'numprocesses', 0):
        # threads of a library for matrices that wait for each other would keep the processors
        os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
        if not WORKER:
            import warm_programs  # which takes the environment for what it is now
            warm_programs.start_warm()      # pytest-xdist starts the processes


def scheduler(config, log):
    """Return who gives the files to the processes."""
    from xdist.scheduler import LoadScopeScheduling

    class FileScheduling(LoadScopeScheduling):
        """In the order of the tests, file by file."""

        def _split_scope(self, nodeid):
            return nodeid.partition('::')[0]

    config.option.loadscopereorder = False      # those of many tests are not those that last
    return FileScheduling(config, log)


def begin_elsewhere(config, ignored):
    """
    Let each process collect other folders first, where all but `ignored` ones are collected.

    In a fresh clone, what one has compiled the others find: together they would all compile all.
    """
    if WORKER and [Path(word).absolute() for word in config.args] == [TESTS]:
        folders = sorted(path for path in TESTS.iterdir()
                         if path.name not in ignored and any(path.glob('**/test_*.py')))
        count = int(os.environ['PYTEST_XDIST_WORKER_COUNT'])
        first = int(WORKER.removeprefix('gw')) % count * len(folders) // count
        config.args = [str(path) for path in (*folders[first:], *folders[:first],
                                              *sorted(TESTS.glob('test_*.py')))]


def in_order(items):
    """Sort tests: files of LONGEST, then all others by their names; as they stand in a file."""
    items.sort(key=lambda item: (rank(item.nodeid), item.nodeid.partition('::')[0]))


def rank(nodeid):
    """Return the place of a test's file among those that are told, or behind them."""
    path = nodeid.partition('::')[0]
    return next((place for place, end in enumerate(LONGEST) if path.endswith(end)), len(LONGEST))
