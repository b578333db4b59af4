"""The package really installs in three ways: pip install ., pip install -e ., colcon build."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest
from project_files import ROOT

from flex_robot_sim.system.processes import EXECUTABLES

pytestmark = [pytest.mark.install, pytest.mark.slow]

NAME = 'flex_robot_sim'
NOT_SOURCE = shutil.ignore_patterns('.*', '__pycache__', '*.egg-info', 'build', 'install', 'log')
SHARED_FOLDERS = [
    name for name in ('config', 'examples', 'launch', 'urdf') if (ROOT / name).is_dir()
]


class Installation(NamedTuple):
    """Where the package went, and how to call what came with it."""

    prefix: Path  # what stands in AMENT_PREFIX_PATH
    code: Path  # folder that the modules must be imported from
    python: Path
    flexsim: Path
    environment: dict


def clean_environment():
    """Return the environment without what sourcing ROS, or starting its wheels, put there."""
    foreign = ('PYTHON', 'ROS_', '_ROS_', 'AMENT_', 'COLCON_', 'LD_LIBRARY_')
    return {name: value for name, value in os.environ.items() if not name.startswith(foreign)}


def output_of(*words, **options):
    answer = subprocess.run(
        [str(word) for word in words],
        timeout=300,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        **options,
    )
    assert answer.returncode == 0, answer.stdout[-3000:]
    return answer.stdout


def copy_of_tree(folder):
    return Path(shutil.copytree(ROOT, folder / NAME, ignore=NOT_SOURCE))


def is_done_by_uv(python, *words):
    """Whether uv has installed this: it takes a second for what takes pip ten."""
    uv = shutil.which('uv') or Path(sys.executable).with_name('uv')
    return (
        os.access(uv, os.X_OK)
        and not subprocess.run(
            [uv, 'pip', 'install', '--python', python, *words],
            env=clean_environment(),
            capture_output=True,
            timeout=300,
        ).returncode
    )


def install_with_pip(folder, *options):
    """Install with pip, which finds what setup.py asks for where uv could install it."""
    tree, venv, environment = copy_of_tree(folder), folder / 'venv', clean_environment()
    python = venv / 'bin' / 'python'
    output_of(sys.executable, '-m', 'venv', '--without-pip', venv, env=environment)
    # what a build needs is otherwise installed for each, which takes longer than all the rest of
    # it: that this is enough is seen where pip does it, for one of the two
    tools = ['setuptools'] if options else []
    if not is_done_by_uv(python, 'pip', *tools, '-r', tree / 'setup.py'):
        output_of(python, '-m', 'ensurepip', env=environment)
    elif tools:
        options = '--no-build-isolation', *options
    pip = python, '-m', 'pip', 'install', '--retries', '1', '--no-compile'
    output_of(*pip, *options, tree, env=environment)
    code = tree if options else next(venv.glob('lib/python*/site-packages'))
    return Installation(venv, code, python, venv / 'bin' / 'flexsim', environment)


def colcon(verb, *options):
    program = 'import sys; from colcon_core.command import main; sys.exit(main())'
    folders = '--base-paths', NAME, '--build-base', 'build', '--install-base', 'install'
    return [sys.executable, '-c', program, '--log-base', 'log', verb, *folders, *options]


def install_with_colcon(folder):
    pytest.importorskip('colcon_ros')
    copy_of_tree(folder)
    # byte code of all modules takes a third of it, and nothing here looks at it
    output_of(*colcon('build'), cwd=folder, env={**os.environ, 'PYTHONDONTWRITEBYTECODE': '1'})
    program = 'import json, os; print(json.dumps(dict(os.environ)))'
    sourced = 'sh', '-c', '. install/setup.sh && exec "$0" "$@"'
    text = output_of(*sourced, sys.executable, '-c', program, cwd=folder)
    prefix = folder / 'install' / NAME
    return Installation(
        prefix,
        next(prefix.glob('lib/python*/site-packages')),
        Path(sys.executable),
        prefix / 'bin' / 'flexsim',
        json.loads(text),
    )


@pytest.fixture(scope='module')
def with_colcon(tmp_path_factory):
    return install_with_colcon(tmp_path_factory.mktemp('installed'))


@pytest.fixture(scope='module', params=['pip install .', 'pip install -e .', 'colcon build'])
def installed(request, registry, tmp_path_factory):
    if request.param == 'colcon build':
        return request.getfixturevalue('with_colcon')
    return install_with_pip(tmp_path_factory.mktemp('installed'), *request.param.split()[2:-1])


@pytest.mark.long(after=1)
def test_urdf_config_and_launch_are_found_through_the_ament_index(installed):
    pytest.importorskip('ament_index_python')
    code = 'from ament_index_python import packages as p; print(p.get_package_share_directory(%r))'
    share = output_of(
        sys.executable,
        '-c',
        code % NAME,
        env={**os.environ, 'AMENT_PREFIX_PATH': str(installed.prefix)},
    ).strip()
    assert share == str(installed.prefix / 'share' / NAME)
    for folder in SHARED_FOLDERS:
        files = {path.name for path in (ROOT / folder).iterdir() if path.is_file()}
        installed_files = {
            path.name for path in (Path(share) / folder).iterdir() if path.is_file()
        }  # Python may keep byte code next to a launch file
        assert installed_files == files != set()


@pytest.mark.long(after=1)
def test_flexsim_checks_a_shipped_robot_from_another_folder(installed, tmp_path):
    text = output_of(
        installed.flexsim, 'check', 'two_link', '--json', cwd=tmp_path, env=installed.environment
    )
    assert json.loads(text)['name'] == 'two_link'


def test_the_package_is_marked_as_typed(installed):
    assert (installed.code / NAME / 'py.typed').is_file()


def test_modules_are_those_of_the_installation(installed, tmp_path):
    code = f'import {NAME}; print({NAME}.__file__)'
    path = output_of(installed.python, '-c', code, cwd=tmp_path, env=installed.environment)
    assert Path(path.strip()) == installed.code / NAME / '__init__.py'


def test_flexsim_alone_is_on_path(installed):
    """Our `bridge` is not on PATH, where it would hide the `bridge` of iproute2."""
    found = shutil.which('flexsim', path=installed.environment['PATH'])
    assert found is None or Path(found) == installed.flexsim
    if installed.prefix.parent.name == 'install':  # what colcon's set-up is for
        assert found
    ours = {
        path.name
        for path in (installed.prefix / 'bin').iterdir()
        if 'flex_robot_sim' in path.read_text('utf-8', errors='ignore')
    }
    assert not ours & set(EXECUTABLES)


@pytest.mark.long(after=1)
def test_ros_finds_the_nodes_and_they_start(installed, tmp_path):
    folder = installed.prefix / 'lib' / NAME
    assert {path.name for path in folder.iterdir()} == set(EXECUTABLES)
    for name in EXECUTABLES:
        assert os.access(folder / name, os.X_OK)
    # with the Python that is first on PATH, as in a shell; --help would be an argument of ROS
    path = f'{installed.python.parent}{os.pathsep}{installed.environment["PATH"]}'
    done = subprocess.run(
        [folder / 'dynamics', '--ros-args', '-p', 'robot:=no_such_robot'],
        env={**installed.environment, 'PATH': path},
        cwd=tmp_path,
        text=True,
        capture_output=True,
        timeout=120,
    )
    *others, last = done.stderr.splitlines()
    has_ros = not subprocess.run(
        [installed.python, '-c', 'import rclpy'],
        cwd=tmp_path,
        env=installed.environment,
        capture_output=True,
    ).returncode
    assert done.returncode
    assert ('no_such_robot' if has_ros else 'there is no ROS 2 here') in last
    assert not others or 'compiling, once' in others[0] and len(others) == 1


def test_all_places_name_the_same_version(installed, tmp_path):
    version = ElementTree.parse(ROOT / 'package.xml').findtext('version')
    code = f'from importlib import metadata; print(metadata.version({NAME!r}))'
    for words in ([installed.flexsim, '--version'], [installed.python, '-c', code]):
        said = output_of(*words, cwd=tmp_path, env=installed.environment)
        assert said.split()[-1] == version


def test_colcon_test_runs_the_tests_and_reports_a_failure(with_colcon):
    folder = with_colcon.prefix.parents[1]
    tests = folder / NAME / 'test'
    for path in tests.rglob('test_*.py'):
        if path.name != 'test_golden.py':
            path.unlink()
    (tests / 'test_planted.py').write_text('def test_planted():\n    assert False\n')
    answer = subprocess.run(
        colcon('test', '--return-code-on-test-failure'), cwd=folder, timeout=300
    )
    assert answer.returncode == 1
    suite = ElementTree.parse(folder / 'build' / NAME / 'pytest.xml').find('testsuite')
    failed = [case.get('name') for case in suite if case.find('failure') is not None]
    assert failed == ['test_planted']
    assert int(suite.get('tests')) > 30
