"""
Flaky tests: tests that fail first and pass when they run again.

`.ci/run` writes the names of failed tests by `--failed-tests FILE`, and runs them a second time,
one at a time, by `--second-try FILE`. A test that does not fail then is flaky, and is reported. A
test of `flaky.txt` is under repair: it must pass the first time, so its second try fails the run.
"""

import re
from pathlib import Path

import pytest

LIST = Path(__file__).with_name('flaky.txt')


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
            since, name, reason = match.groups()
            listed[name] = since, reason
    return listed


class FailedTests:
    """Plugin for the first run: writes the names of failed tests, also of those that crash."""

    def __init__(self, path):
        self.path, self.names = Path(path), set()

    def pytest_runtest_logreport(self, report):
        """Collect the name of a failed test; another process may run a crashed one again."""
        if report.failed:
            self.names.add(report.nodeid)

    def pytest_sessionfinish(self):
        """Write the file."""
        self.path.write_text(''.join(f'{name}\n' for name in sorted(self.names)), 'utf-8')


class SecondTry:
    """Plugin for the second run: runs failed tests only, and reports the flaky ones."""

    def __init__(self, path, config):
        self.names = Path(path).read_text('utf-8').splitlines()
        self.listed, self.failed, self.flaky = read_list(LIST), set(), []
        config.args = sorted({name.partition('::')[0] for name in self.names})

    def pytest_collection_modifyitems(self, items):
        """Keep the failed tests."""
        items[:] = [item for item in items if item.nodeid in self.names]

    def pytest_runtest_logreport(self, report):
        """Note that a test has failed again, or that it has ended."""
        if report.failed:
            self.failed.add(report.nodeid)
        elif report.when == 'teardown' and report.nodeid not in self.failed:
            self.flaky.append(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session):
        """Let the run fail if a flaky test is listed."""
        if any(map(self._entry, self.flaky)):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter):
        """Print a line for each flaky test."""
        for name in self.flaky:
            entry = self._entry(name)
            note = (
                f', listed since {entry[0]}, must pass the first time: {entry[1]}' if entry else ''
            )
            terminalreporter.write_line(f'flaky: {name}{note}')

    def _entry(self, name):
        return self.listed.get(name.partition('[')[0])
