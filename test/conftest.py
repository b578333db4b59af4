"""
What all tests share: markers, options, and the one place that decides about ROS tests.

Tests that import rclpy live in test/nodes/, those that need launch_pytest, too, in test/launch/; a
single test elsewhere carries the marker `ros`.
"""

import os
import subprocess
import sys

import pytest

MARKERS = {
    'ros': 'needs rclpy; skipped where it cannot be imported',
    'rig': 'needs the hardware; runs with --rig-port PORT',
    'install': 'installs the package several times; runs with --install, as ./run test does',
    'slow': 'takes more than a few seconds; leave out with -m "not slow"',
}

# Without machine code these take minutes to an hour each: they ask for thousands of mass matrices.
SLOW_UNCOMPILED = ('test_references_rest.py', 'test_references_rotating.py')

# ROS of other people in the same network, or of another test run on this machine, stays outside.
os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
os.environ.setdefault('ROS_DOMAIN_ID', str(1 + os.getpid() % 100))

try:
    import rclpy  # noqa: F401
    NO_ROS = ''
except ImportError as error:
    NO_ROS = f'rclpy cannot be imported: {error}'

try:
    import launch_pytest  # noqa: F401
    from ament_index_python.packages import get_package_prefix
    get_package_prefix('flex_robot_sim')
    NO_LAUNCH = NO_ROS
except (ImportError, LookupError, OSError) as error:
    NO_LAUNCH = f'launch tests need launch_pytest and an installation by colcon: {error}'

collect_ignore = ['nodes'] * bool(NO_ROS) + ['launch'] * bool(NO_LAUNCH)


def pytest_addoption(parser):
    group = parser.getgroup('flex_robot_sim')
    group.addoption('--install', action='store_true', help='run the tests marked install')
    group.addoption('--rig-port', metavar='PORT',
                    help='run the tests marked rig on this serial port')
    group.addoption('--mutants', type=int, default=20000, metavar='N',
                    help='broken robot descriptions to try (default: %(default)s)')


def pytest_configure(config):
    for name, meaning in MARKERS.items():
        config.addinivalue_line('markers', f'{name}: {meaning}')


def pytest_report_header():
    if NO_ROS:
        return f'ROS tests are off: {NO_ROS}'
    return f'ROS tests are on, but {NO_LAUNCH}' if NO_LAUNCH else 'ROS tests are on'


@pytest.hookimpl(tryfirst=True)     # before -m takes its pick
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
                item.nodeid.partition('::')[0].endswith(SLOW_UNCOMPILED)):
            item.add_marker('slow')
        for name, reason in reasons.items():
            if reason and item.get_closest_marker(name):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def mutants(request):
    """Return how many broken robot descriptions to try."""
    return request.config.getoption('--mutants')


@pytest.fixture(scope='session')
def registry():
    """Skip where the registry of Python packages is out of reach."""
    ask = [sys.executable, '-m', 'pip', '--retries', '0', '--timeout', '10', 'index', 'versions']
    if subprocess.run([*ask, 'setuptools'], capture_output=True).returncode:
        pytest.skip('the registry of Python packages is out of reach')


@pytest.fixture(scope='module')
def rig():
    """Return an emulated rig; its bench is renewed for each test: to load it takes a while."""
    from flex_robot_sim.rig.rig_of import rig_of  # loads the dynamics: not for every test

    rig = rig_of()
    rig.step()              # compiled, before anybody is in a hurry
    return rig


@pytest.fixture
def emulator(rig, tmp_path):
    """Give an emulator behind a port of its own, which outlives whoever connects."""
    from flex_robot_sim.rig.emulated_rig import EmulatedRig
    from flex_robot_sim.rig.emulator import Emulator

    rig.bench.renew((0.15, 0.0))
    with Emulator(tmp_path / 'rig', EmulatedRig(rig.bench)) as emulator:
        yield emulator
