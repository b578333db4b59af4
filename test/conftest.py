"""
Shared by all tests: markers, options, and the selection of ROS tests.

Tests that import rclpy live in test/nodes/, also those of modules of `ros`; those that need
launch_pytest, too, in test/launch/; a single test elsewhere carries the marker `ros`.
"""

import importlib.util
import os
import signal
import subprocess
import sys

import parallel
import public_robots
import pytest
import quick
import random_cases
from ros_here import NO_LAUNCH, NO_ROS
from time_limit import LONGEST_S, TimeLimit

MARKERS = {
    'ros': 'needs rclpy; skipped where it cannot be imported',
    'rig': 'needs the hardware; runs with --rig-port PORT',
    'install': 'installs the package several times; runs with --install, as ./run test does',
    'slow': 'takes more than a few seconds; leave out with -m "not slow"',
}

# Without compiled code these take minutes to an hour: they compute thousands of mass matrices.
SLOW_UNCOMPILED = ('test_references_rest.py', 'test_references_rotating.py')

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

collect_ignore = ['nodes'] * bool(NO_ROS) + ['launch'] * bool(NO_LAUNCH)


def pytest_addoption(parser):
    group = parser.getgroup('flex_robot_sim')
    group.addoption('--install', action='store_true', help='run the tests marked install')
    group.addoption(
        '--quick', action='store_true', help='leave out what takes long, as told in test/quick.py'
    )
    group.addoption(
        '--parallel',
        action='store_true',
        help='use all processors, as -n does, where pytest-xdist is installed',
    )
    group.addoption(
        '--time-limit',
        type=float,
        default=LONGEST_S,
        metavar='SECONDS',
        help='the most that a test may take (default: %(default)g; 0: no limit)',
    )
    group.addoption(
        '--rig-port', metavar='PORT', help='run the tests marked rig on this serial port'
    )
    group.addoption(
        '--mutants',
        type=int,
        default=20000,
        metavar='N',
        help='broken inputs that a fuzzer tries, or a share where each takes long '
        '(default: %(default)s)',
    )
    group.addoption(
        '--mutants-seed',
        type=int,
        default=34,
        metavar='SEED',
        help='of damaged recordings (default: %(default)s)',
    )


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist looks at -n
def pytest_cmdline_main(config):
    parallel.choose_processes(config)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return parallel.scheduler(config, log)


def pytest_configure(config):
    # several emulated benches and compilers on few processors: none uses real-time priority
    os.environ['FLEX_ROBOT_SIM_SHARED'] = '1'
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # background jobs of shells ignore Ctrl-C; programs under test must end by Ctrl-C
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for name, meaning in MARKERS.items():
        config.addinivalue_line('markers', f'{name}: {meaning}')
    random_cases.IS_LONG = config.getoption('--long', default=False)
    config.pluginmanager.register(TimeLimit(config.getoption('--time-limit')))
    if config.getoption('--quick'):
        collect_ignore.extend(quick.LEFT_OUT)


def pytest_report_header():
    ros = f'ROS tests are on, but {NO_LAUNCH}' if NO_LAUNCH else 'ROS tests are on'
    return [f'ROS tests are off: {NO_ROS}' if NO_ROS else ros, public_robots.HEADER]


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session):
    parallel.begin_elsewhere(session.config, collect_ignore)


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(config, items):
    reasons = {
        'ros': NO_ROS,
        'rig': '' if config.getoption('--rig-port') else 'give --rig-port PORT',
        'install': '' if config.getoption('--install') else 'give --install',
    }
    for item in items:
        if {'nodes', 'launch'} & {*item.nodeid.split('/')}:
            item.add_marker('ros')
        if os.environ.get('NUMBA_DISABLE_JIT') == '1' and (
            item.nodeid.partition('::')[0].endswith(SLOW_UNCOMPILED)
        ):
            item.add_marker('slow')
        for name, reason in reasons.items():
            if reason and item.get_closest_marker(name):
                item.add_marker(pytest.mark.skip(reason=reason))
    if config.getoption('--quick'):
        config.hook.pytest_deselected(items=[item for item in items if quick.is_too_long(item)])
        items[:] = [item for item in items if not quick.is_too_long(item)]
    if parallel.WORKER:
        parallel.in_order(items)


@pytest.fixture
def mutants(request):
    """Return how many broken inputs a fuzzer tries; slow ones try a share of it."""
    return request.config.getoption('--mutants')


@pytest.fixture
def recording_mutants(request):
    """Return the seed and the number of damaged recordings to try."""
    option = request.config.getoption
    return option('--mutants-seed'), option('--mutants') // 500


@pytest.fixture(scope='session')
def registry():
    """Skip the test if the Python package registry is unreachable."""
    ask = [sys.executable, '-m', 'pip', '--retries', '0', '--timeout', '10', 'index', 'versions']
    if subprocess.run([*ask, 'setuptools'], capture_output=True).returncode:
        pytest.skip('the registry of Python packages is out of reach')


@pytest.fixture(scope='module')
def rig():
    """Return an emulated rig; its bench is renewed for each test: to load it takes a while."""
    from flex_robot_sim.rig.board.emulated_rig import (
        rig_of,  # loads the dynamics: not for every test
    )

    rig = rig_of()
    rig.step()  # compile before anything runs in real time
    return rig


@pytest.fixture
def emulator(rig, tmp_path):
    """Return an emulator behind its own port, which outlives its clients."""
    from flex_robot_sim.rig.board.emulated_rig import EmulatedRig
    from flex_robot_sim.rig.board.emulator import Emulator

    rig.bench.restore((0.15, 0.0))
    with Emulator(tmp_path / 'rig', EmulatedRig(rig.bench)) as emulator:
        yield emulator
