"""
Tests in three processes for every two processors, the longest first.

Many tests wait: for a board in real time, for other programs, for who compiles what they need.

A group of tests goes to one process, so that what a module makes once is made once: a file, or a
single test of a file of SPLIT. The groups of LONGEST begin, in its order, and the others follow as
they are collected. The order comes from `--durations=0` of a whole run and is written by hand: a
clean clone has measured nothing. It needs care only where a file takes more than half a minute.
"""

import os

IS_WORKER = 'PYTEST_XDIST_WORKER' in os.environ
MOST = 8        # processes: each takes 0.7 GB at worst, and no more of them make it faster
LONGEST = (
    # one installs with pip, the second compiles, the third waits for other programs
    'project/test_install.py', 'core/test_dynamics.py', 'nodes/test_strangers.py',
    'project/test_run.py', 'nodes/test_demo.py',
    'rig/conformance/test_conformance.py', 'nodes/test_controller_node.py',
    'nodes/test_bridge_faults.py',
    'analysis/test_jacobians.py', 'nodes/test_dynamics_faults.py', 'core/test_spin_up.py',
    'nodes/test_joining_listeners.py', 'core/test_stops.py', 'rig/board/test_emulator.py',
    'rig/bridge/test_bridge.py', 'control/test_planning.py', 'rig/host/test_link.py',
    'nodes/test_bridge_node.py', 'nodes/test_drift_bench.py', 'rig/board/test_qemu.py',
    'control/test_joint_controller.py', 'nodes/test_ros_page_topics.py',
    'cli/test_rig_calibrate.py', 'nodes/test_shaper_node.py', 'rig/board/test_alike.py',
    'reproduce/test_reproduce.py', 'control/test_vibration_feedback.py',
    'description/test_description_mutants.py',
    'cli/test_cli_simulate.py', 'control/test_servo.py', 'control/test_lqg.py',
    'cli/test_wild_numbers.py', 'rig/board/test_firmware.py', 'core/test_hard_steps.py',
    'nodes/test_view_node.py', 'viewer/test_view_in_browser.py', 'project/test_task_pages.py',
    'project/test_site.py', 'reports/test_report.py', 'nodes/test_recorder.py',
    'nodes/test_player.py', 'identification/test_identify.py', 'project/test_shown_blocks.py',
    'sweeps/test_sweep.py', 'sweeps/test_cluster.py',
)
SPLIT = ()


def choose_processes(config):
    """Set the number of processes if the user has not, and pytest-xdist is here."""
    option = config.option
    has_chosen = getattr(option, 'numprocesses', 0) is not None     # 0: no pytest-xdist
    alone = IS_WORKER or option.usepdb or option.collectonly
    if option.parallel and not alone and not has_chosen:
        processors = len(os.sched_getaffinity(0))
        option.numprocesses = min(MOST, processors + processors // 2)
        # threads of a library for matrices that wait for each other would keep the processors
        os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')


def scheduler(config, log):
    """Return who gives the groups to the processes."""
    from xdist.scheduler import LoadScopeScheduling

    class GroupScheduling(LoadScopeScheduling):
        """In the order of the tests, group by group."""

        def _split_scope(self, nodeid):
            return group_of(nodeid)

    config.option.loadscopereorder = False      # those of many tests are not those that last
    return GroupScheduling(config, log)


def group_of(nodeid):
    """Return the name of the group that a test belongs to."""
    path = nodeid.partition('::')[0]
    return nodeid if path.endswith(SPLIT) else path


def rank(nodeid):
    """Return the place of a test's group among those that are told, or behind them."""
    group = group_of(nodeid)
    places = (place for place, end in enumerate(LONGEST) if group.endswith(end))
    return next(places, len(LONGEST))
