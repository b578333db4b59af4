"""
Flaky tests: tests that fail first and pass when they run again.

`.ci/run` writes the names of failed tests by `--failed-tests=FILE`, and runs them a second time,
one at a time, by `--second-try=FILE`. A test that does not fail then is flaky, and is reported. A
test of `flaky.txt` is under repair: it must pass the first time, so its second try fails the run.
"""

import re
from pathlib import Path

import pytest
from parallel import WORKER


def pytest_addoption(parser):
    group = parser.getgroup('flex_robot_sim')
    group.addoption('--failed-tests', metavar='FILE', help='write the names of failed tests')
    group.addoption('--second-try', metavar='FILE', help='run the tests of this file only')


def pytest_configure(config):
    if config.getoption('--second-try'):
        config.args = sorted({name.partition('::')[0] for name in _names(config)})


def pytest_collection_modifyitems(config, items):
    if config.getoption('--second-try'):
        items[:] = [item for item in items if item.nodeid in _names(config)]


def _names(config):
    return Path(config.getoption('--second-try')).read_text('utf-8').splitlines()


def read_list(path):
    """Return date and reason of each listed test; the head of flaky.txt describes the format."""
    listed = {}
    for number, line in enumerate(path.read_text(encoding='utf-8').splitlines(), 1):
        if line.strip() and not line.startswith('#'):
            match = re.fullmatch(r'(\d{4}-\d\d-\d\d) +(\S+\.py::\w+) +(\S.*)', line)
            if match is None:
                raise pytest.UsageError(
                    f'{path}:{number}: a line has DATE, TEST and REASON. Write, for example, '
                    '2026-11-26 test/room/test_file.py::test_name waits for a fixed time.'
                )
            listed[match[2]] = match[1], match[3]
    return listed


@pytest.hookimpl(tryfirst=True)  # before the exit code is reported
def pytest_sessionfinish(session):
    option, reporter = session.config.getoption, session.config.pluginmanager.get_plugin
    stats = getattr(reporter('terminalreporter'), 'stats', {})
    failed = {report.nodeid for key in ('failed', 'error') for report in stats.get(key, ())}
    if option('--failed-tests') and not WORKER:
        Path(option('--failed-tests')).write_text('\n'.join(sorted(failed)), 'utf-8')
    if option('--second-try'):
        listed = read_list(session.config.rootpath / 'test' / 'flaky.txt')
        for name in sorted({item.nodeid for item in session.items} - failed):
            entry, note = listed.get(name.partition('[')[0]), ''
            if entry:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
                note = f', listed since {entry[0]}, must pass the first time: {entry[1]}'
            print(f'\nflaky: {name}{note}', end='')
