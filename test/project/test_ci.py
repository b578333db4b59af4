"""CI: the second try of failed tests, in a small project of tests that `.ci/run` runs for real."""

import re
import shutil
import subprocess
import sys

import flaky_tests
import pytest
from project_files import ROOT
from refusals import refusal

LIST = ROOT / 'test' / 'flaky.txt'
RUN = """#!/bin/sh
shift
[ "$1" = --oldest ] && exit {oldest}
shift
exec {python} -m pytest -p no:cacheprovider -q -n 1 "$@"
"""
CONFTEST = "pytest_plugins = ['flaky_tests']\n"
HELPERS = """
from pathlib import Path

def is_second_try(name):
    path = Path(__file__).with_name(f'{name}.tried')
    if path.exists():
        return True
    path.touch()
    return False
"""
PASSES = 'def test_passes():\n    pass\n'
FLAKY = """
import os, pytest
from helpers import is_second_try

@pytest.mark.parametrize('value', [1, 2])
def test_needs_a_second_try(value):
    assert value == 1 or is_second_try('value')
"""
CRASHES = """
import os
from helpers import is_second_try

def test_crashes_once():
    is_second_try('crash') or os.abort()
"""
FAILS = 'def test_fails():\n    assert 0\n'
NAME = 'test/test_flaky.py::test_needs_a_second_try'


@pytest.fixture
def ci(tmp_path):
    """Return a function that runs CI in a project of test files; it gives code and output."""

    def run(oldest=69, listed='', **files):
        pytest.importorskip('xdist')
        for folder in ('.ci', 'test'):
            (tmp_path / folder).mkdir()
        shutil.copy(ROOT / '.ci' / 'run', tmp_path / '.ci')
        programs = {
            '.ci/tools': '#!/bin/sh\n',  # installs nothing
            'run': RUN.format(oldest=oldest, python=sys.executable),
        }
        texts = {'pytest.ini': '[pytest]\ntestpaths = test\n', 'test/conftest.py': CONFTEST}
        texts.update({'test/helpers.py': HELPERS, 'test/flaky.txt': listed})
        texts.update((f'test/test_{name}.py', text) for name, text in files.items())
        for name, text in {**programs, **texts}.items():
            (tmp_path / name).write_text(text)
        for name in programs:
            (tmp_path / name).chmod(0o755)
        (tmp_path / 'temporary').mkdir()
        done = subprocess.run(
            ['.ci/run'],
            cwd=tmp_path,
            env={
                'PATH': '/usr/bin:/bin',
                'TMPDIR': str(tmp_path / 'temporary'),
                'PYTHONPATH': str(ROOT / 'test'),
            },
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert [*(tmp_path / 'temporary').glob('tmp.*')] == []
        return done.returncode, done.stdout

    return run


def flaky_names(output):
    """Return the flaky tests that CI names at the end."""
    return re.findall(r'^flaky: (.*)', output.partition('ci: these tests passed')[2], re.M)


@pytest.mark.slow
def test_a_failed_test_runs_a_second_time_and_is_named_as_flaky_at_the_end(ci):
    code, output = ci(passes=PASSES, flaky=FLAKY, crashes=CRASHES)
    assert code == 0, output
    assert flaky_names(output) == ['test/test_crashes.py::test_crashes_once', f'{NAME}[2]']
    assert output.endswith(f'flaky: {NAME}[2]\n')
    # the reason of a crash is in the log
    assert 'Fatal Python error: Aborted' in output.partition('run a second time')[2]


@pytest.mark.long
def test_a_test_that_fails_twice_fails_ci_and_flaky_tests_are_still_named(ci):
    code, output = ci(fails=FAILS, flaky=FLAKY)
    assert code == 1 and flaky_names(output) == [f'{NAME}[2]']
    assert '1 failed, 1 passed' in output


@pytest.mark.long
def test_a_listed_flaky_test_that_needs_its_second_try_fails_ci(ci):
    code, output = ci(flaky=FLAKY, listed=f'# head\n\n2026-11-26 {NAME} waits for a fixed time\n')
    assert code == 1, output
    assert flaky_names(output) == [
        f'{NAME}[2], listed since 2026-11-26, must pass the first time: waits for a fixed time'
    ]


@pytest.mark.slow
def test_tests_that_pass_run_once_and_nothing_is_flaky(ci):
    code, output = ci(passes=PASSES, listed=f'2026-11-26 {NAME} waits for a fixed time\n')
    assert code == 0 and 'second time' not in output and output.count('1 passed') == 1


@pytest.mark.slow
@pytest.mark.parametrize('oldest', [2, 5])
def test_an_exit_code_other_than_of_failed_tests_ends_ci(ci, oldest):
    code, output = ci(oldest=oldest, passes=PASSES)
    assert code == oldest and 'passed' not in output and 'second time' not in output


def test_the_tests_of_this_project_know_the_options_of_ci(request):
    options = re.findall(r' (--[\w-]+)=', (ROOT / '.ci' / 'run').read_text('utf-8'))
    assert len(options) == 2
    for option in options:
        request.config.getoption(option)  # raises ValueError: no option named ...


def test_the_list_of_flaky_tests_names_tests_of_this_project():
    for name in flaky_tests.read_list(LIST):
        path, _, function = name.partition('::')
        assert f'def {function}(' in (ROOT / path).read_text('utf-8')


def test_the_example_in_the_head_of_the_list_has_its_format(tmp_path):
    [example] = re.findall(r'^# (\d.*)', LIST.read_text('utf-8'), re.M)
    (tmp_path / 'flaky.txt').write_text(f'{example}\n')
    assert flaky_tests.read_list(tmp_path / 'flaky.txt') == {
        'test/room/test_file.py::test_name': ('2026-11-26', 'waits for a fixed time')
    }


@pytest.mark.parametrize(
    'line', ['test/a.py::test_b 2026-11-26 late', '2026-11-26 test/a.py late']
)
def test_a_wrong_line_of_the_list_is_a_one_line_error(tmp_path, line):
    path = tmp_path / 'flaky.txt'
    path.write_text(f'# head\n{line}\n')
    assert refusal(pytest.UsageError, flaky_tests.read_list, path) == (
        f'{path}:2: a line has DATE, TEST and REASON. Write, for example, '
        '2026-11-26 test/room/test_file.py::test_name waits for a fixed time.'
    )
