"""
Shared by all tests: markers, options, and the selection of ROS tests.

Tests that import rclpy live in test/nodes/, also those of modules of `ros`; those that need
launch_pytest, too, in test/launch/; a single test elsewhere carries the marker `ros`.
"""

import importlib.util
import os
import pathlib
import re
import signal
from collections import Counter

import parallel
import public_robots
import pytest
import random_cases
from command_calls import flexsim, ordinary_priority
from emulated_rigs import emulator, patient_board, rig
from ros_here import NO_LAUNCH, NO_ROS
from time_limit import LONG_LIMIT_S, TIME_LIMIT_S, TimeLimit

__all__ = ['emulator', 'flexsim', 'ordinary_priority', 'patient_board', 'rig']  # fixtures
pytest_plugins = ['chromium', 'file_scheduler', 'flaky_tests']

MARKERS = {
    'ros': 'needs rclpy; skipped where it cannot be imported',
    'rig': 'needs the hardware; runs with --rig-port PORT',
    'install': 'installs the package several times; runs with --install, as ./run test does',
    'slow': 'takes more than a second; --quick leaves it out',
    'long': 'takes long; runs with --long. The first cases of long(after=CASES) always run',
}
NOT_QUICK = 'slow', 'long', 'install', 'ros', 'rig'
ALL_SLOW = re.compile(r'^pytestmark = .*mark\.(slow|long)\b', re.M)  # of all tests of a file
PLAIN_COUNT, LONG_COUNT = 5_000, 1_000_000  # broken inputs that a fuzzer tries

if importlib.util.find_spec('hypothesis'):
    from hypothesis import HealthCheck, settings

    # the speed of generating and checking cases depends on the load of the machine
    settings.register_profile(
        'any machine',
        deadline=None,
        derandomize=True,  # the same cases in each run; --long draws others
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile('any machine')

NODE_FOLDERS = 'nodes', 'launch'
collect_ignore = ['nodes'] * bool(NO_ROS) + ['launch'] * bool(NO_LAUNCH)


def pytest_addoption(parser):
    group = parser.getgroup('flex_robot_sim')
    group.addoption('--install', action='store_true', help='run the tests marked install')
    group.addoption(
        '--quick', action='store_true', help=f'leave out the tests marked {", ".join(NOT_QUICK)}'
    )
    group.addoption(
        '--long',
        action='store_true',
        help='run the tests marked long, and fuzzers and random tests with many more cases',
    )
    group.addoption(
        '--parallel',
        action='store_true',
        help='use all processors, as -n does, where pytest-xdist is installed',
    )
    group.addoption(
        '--time-limit',
        type=float,
        metavar='SECONDS',
        help=f'the most that a test may take (default: {TIME_LIMIT_S:g}; with --long '
        f'{LONG_LIMIT_S:g}; 0: no limit)',
    )
    group.addoption(
        '--rig-port', metavar='PORT', help='run the tests marked rig on this serial port'
    )


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist looks at -n
def pytest_cmdline_main(config):
    parallel.choose_processes(config.option)


def pytest_configure(config):
    # several emulated benches and compilers on few processors: none uses real-time priority
    os.environ['FLEX_ROBOT_SIM_SHARED'] = '1'
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # background jobs of shells ignore Ctrl-C; programs under test must end by Ctrl-C
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for name, meaning in MARKERS.items():
        config.addinivalue_line('markers', f'{name}: {meaning}')
    random_cases.IS_LONG = is_long = config.getoption('--long')
    limit = config.getoption('--time-limit')
    if limit is None:
        limit = LONG_LIMIT_S if is_long else TIME_LIMIT_S
    config.pluginmanager.register(TimeLimit(limit))
    if config.getoption('--quick'):  # files of which nothing runs are not even imported
        files = pathlib.Path(__file__).parent.rglob('test_*.py')
        collect_ignore.extend(str(f) for f in files if ALL_SLOW.search(f.read_text('utf-8')))
        collect_ignore.extend(NODE_FOLDERS)


def pytest_report_header():
    off = f'off: {NO_ROS}' if NO_ROS else f'on, but {NO_LAUNCH}' if NO_LAUNCH else 'on'
    return [f'ROS tests are {off}', public_robots.HEADER]


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(config, items):
    reasons = {
        'ros': NO_ROS,
        'rig': '' if config.getoption('--rig-port') else 'give --rig-port PORT',
        'install': '' if config.getoption('--install') else 'give --install',
        'long': '' if config.getoption('--long') else 'give --long',
    }
    counts: Counter = Counter()

    def is_first_case(mark, item):
        if mark.name != 'long' or 'after' not in mark.kwargs:
            return False
        counts[item.nodeid.partition('[')[0]] += 1
        return counts[item.nodeid.partition('[')[0]] <= mark.kwargs['after']

    for item in items:
        if {*NODE_FOLDERS} & {*item.nodeid.split('/')}:
            item.add_marker('ros')
        item.own_markers[:] = [mark for mark in item.own_markers if not is_first_case(mark, item)]
        for name, reason in reasons.items():
            if reason and item.get_closest_marker(name):
                item.add_marker(pytest.mark.skip(reason=reason))
    if config.getoption('--quick'):
        left_out = {item for item in items if any(map(item.get_closest_marker, NOT_QUICK))}
        config.hook.pytest_deselected(items=[*left_out])
        items[:] = [item for item in items if item not in left_out]
    if parallel.WORKER:
        parallel.sort_files(items)


@pytest.fixture
def mutants(request):
    """Return how many broken inputs a fuzzer tries; slow ones try a share of it."""
    return LONG_COUNT if request.config.getoption('--long') else PLAIN_COUNT
