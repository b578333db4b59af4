"""The script `run` on machines that lack something, with a small stand-in for the package."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from project_files import ROOT

from flex_robot_sim.cli import COMMANDS

PYTHON = Path(sys.executable).resolve()  # not the one of a virtual environment
TOOLS = (
    'awk',
    'cat',
    'cksum',
    'df',
    'dirname',
    'grep',
    'mkdir',
    'mount',
    'readlink',
    'rm',
    'sh',
    'tail',
    'touch',
    'uname',
    'unshare',
)
FILES = {
    'pyproject.toml': """
[build-system]
requires = []
build-backend = 'setup'
backend-path = ['.']
""",
    # a wheel without setuptools, which take a second; test_install.py has them in earnest
    'setup.py': """
import os, zipfile
VERSION = '1'
NEEDS = []
EXTRAS = {'ros': [], 'view': [], 'test': ['pytest'], 'colcon': [], 'docs': []}

def build_editable(folder, config_settings=None, metadata_directory=None):
    name = f'flex_robot_sim-{VERSION}'
    about, wheel = f'{name}.dist-info', f'{name}-py3-none-any.whl'
    needs = NEEDS + [f'{need} ; extra == "{extra}"' for extra in EXTRAS for need in EXTRAS[extra]]
    lines = ['Metadata-Version: 2.1', 'Name: flex_robot_sim', f'Version: {VERSION}',
             *(f'Requires-Dist: {need}' for need in needs),
             *(f'Provides-Extra: {extra}' for extra in EXTRAS)]
    files = {
        'flex_robot_sim.pth': os.getcwd(),
        f'{about}/METADATA': '\\n'.join(lines),
        f'{about}/WHEEL': 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n',
        f'{about}/entry_points.txt': '[console_scripts]\\nflexsim = flex_robot_sim:main\\n'}
    files[f'{about}/RECORD'] = ''.join(f'{path},,\\n' for path in [*files, f'{about}/RECORD'])
    with zipfile.ZipFile(os.path.join(folder, wheel), 'w') as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return wheel
""",
    'flex_robot_sim/__init__.py': """
import os, sys
def main():
    print(os.getcwd(), *sys.argv[1:], sep='|')
    return 7
""",
    # what conftest.py asks for before any test
    'flex_robot_sim/ros/__init__.py': '',
    'flex_robot_sim/ros/network.py': 'def prepare_network(): pass\ndef choose_domain(): pass',
    'test/test_it.py': 'def test_it(): pass',
    'docs/serve.py': 'import sys\nprint(*sys.argv[1:], sep="|")',
}
# what it needs then is in a registry, and larger than the disks that fill up here
NEEDY = FILES['setup.py'].replace('NEEDS = []', "NEEDS = ['setuptools']")
NO_NETWORK = {
    'PIP_INDEX_URL': 'http://127.0.0.1:9',
    'PIP_CONFIG_FILE': os.devnull,
    'PIP_RETRIES': '0',
    'PIP_TIMEOUT': '2',
}


def installs(test):
    """Mark a test that makes an environment: it takes seconds, and a registry of packages."""
    for mark in (pytest.mark.install, pytest.mark.slow, pytest.mark.usefixtures('registry')):
        test = mark(test)
    return test


class Machine:
    """A project folder, and a PATH with the tools of a bare machine and nothing else."""

    def __init__(self, folder):
        self.project, self.bin = folder / 'my project', folder / 'bin'
        self.venv, self.log = self.project / '.venv', self.project / '.venv' / 'install.log'
        for name, text in FILES.items():
            (self.project / name).parent.mkdir(parents=True, exist_ok=True)
            (self.project / name).write_text(text)
        for name in (
            'run',
            'test/oldest.txt',
            *(
                f'test/{name}.py'
                for name in (
                    'conftest',
                    'parallel',
                    'public_robots',
                    'quick',
                    'ros_here',
                    'time_limit',
                )
            ),
        ):
            shutil.copy(ROOT / name, self.project / name)
        self.bin.mkdir()
        for tool in filter(shutil.which, TOOLS):
            (self.bin / tool).symlink_to(shutil.which(tool))
        foreign = ('PYTHON', 'ROS_', '_ROS_', 'AMENT_', 'COLCON_', 'LD_LIBRARY_', 'TMPDIR')
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith(foreign)
        }
        self.environment['PATH'] = str(self.bin)

    def add_python(self, name='python3', before=''):
        """Put a Python on the PATH; `before` is what its wrapper does first."""
        script = self.bin / name
        script.write_text(f'#!/bin/sh\n{before}\nexec {PYTHON} "$@"\n')
        script.chmod(0o755)

    def add_uv(self, uv):
        """Put uv on the PATH, so that it need not be installed."""
        (self.bin / 'uv').symlink_to(uv)

    def start(self, *words, before=(), **environment):
        """Start `./run WORDS` from the folder `bin`; the words of `before` come first."""
        return subprocess.Popen(
            [*before, self.project / 'run', *words],
            cwd=self.bin,
            text=True,
            env={**self.environment, **environment},
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, *words, **options):
        """Return exit code, standard output and lines of standard error of `./run WORDS`."""
        process = self.start(*words, **options)
        out, errors = process.communicate(timeout=300)
        return process.returncode, out, errors.splitlines()

    def first_lines(self, venv='.venv'):
        """Return what a first call says."""
        version = sys.version.split()[0]
        return [
            f'run: making {self.project / venv} with Python {version}',
            'run: installing flex_robot_sim and what it needs, about a minute',
        ]

    def full_disk(self, TMPDIR='/tmp'):
        """Return the line about a full disk."""
        return (
            f'run: the disk of {self.project} or {TMPDIR} is full. Free 2 GB, then call '
            f'./run again (log: {self.log}).'
        )

    def check(self, *messages, **environment):
        """Check that flexsim runs with words, folder and exit code intact, after `messages`."""
        assert self.run('check', 'my robot', **environment) == (
            7,
            f'{self.bin}|check|my robot\n',
            [*messages],
        )


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


@pytest.fixture(scope='module')
def ready(tmp_path_factory):
    """Return a machine where the first call has been made."""
    machine = Machine(tmp_path_factory.mktemp('ready'))
    machine.add_python()
    machine.check(*machine.first_lines())
    return machine


@pytest.fixture(scope='module')
def uv(ready, tmp_path_factory):
    """Return the uv that the first call has installed, in a place of its own."""
    return shutil.copy(ready.venv / 'bin' / 'uv', tmp_path_factory.mktemp('uv'))


@pytest.fixture
def ready_with_uv(ready, uv):
    """Return the machine `ready`, meanwhile with uv on its PATH: to get it takes two seconds."""
    ready.add_uv(uv)
    yield ready
    (ready.bin / 'uv').unlink()


@pytest.mark.parametrize('words', [(), ('--help',), ('-h',)])
def test_usage_needs_no_installation(machine, words):
    code, out, errors = machine.run(*words)
    assert (code, errors) == (0, [])
    assert out.startswith('usage: ./run ')
    assert ', '.join(COMMANDS) in ' '.join(out.split())
    assert not machine.venv.exists()


@pytest.mark.parametrize('before', ['exit 127', 'PATH= ; exec no-such-python', None])
def test_without_a_working_python_one_line_says_so(machine, before):
    if before:
        machine.add_python(before=before)  # a shim that is there and fails
    assert machine.run('demo') == (
        2,
        '',
        [
            'run: no Python 3.10 or later found. Install one (Debian, Ubuntu: sudo apt install '
            'python3 python3-venv), then call ./run again.'
        ],
    )


def test_too_old_a_python_does_not_count(machine, tmp_path):
    (tmp_path / 'sitecustomize.py').write_text('import sys; sys.version_info = (3, 9, 7)')
    machine.add_python(before=f'export PYTHONPATH={tmp_path}')
    code, _, errors = machine.run('demo')
    assert code == 2
    assert errors[0].startswith('run: no Python 3.10 or later found.')


@pytest.mark.parametrize('module', ['venv', 'ensurepip'])
def test_without_venv_module_the_line_names_the_debian_package(machine, tmp_path, module):
    (tmp_path / f'{module}.py').write_text('raise ImportError')
    machine.add_python(before=f'export PYTHONPATH={tmp_path}')
    assert machine.run('demo') == (
        2,
        '',
        [
            'run: python3 cannot make virtual environments. Install its venv module (Debian, '
            'Ubuntu: sudo apt install python3-venv), then call ./run again.'
        ],
    )


def test_without_python_3_10_the_oldest_versions_are_declined(machine):
    assert machine.run('test', '--oldest') == (
        69,
        '',
        ['run: no Python 3.10 found. Install one (apt, pyenv or uv), or leave --oldest to CI.'],
    )


def test_sourced_ros_without_rclpy_is_told(machine):
    machine.add_python(before='case $* in *rclpy*) exit 1 ;; esac')
    assert machine.run('demo', ROS_DISTRO='jazzy', AMENT_PREFIX_PATH='/opt/ros/jazzy') == (
        2,
        '',
        [
            'run: ROS jazzy is sourced, but python3 cannot import its rclpy. Install rclpy, or '
            'call ./run in a shell where ROS is not sourced.'
        ],
    )


def in_namespace(mount):
    """Return the words that run a command after `mount`, seen by that command alone."""
    unshare = ['unshare', '--user', '--map-root-user', '--mount', 'sh', '-c']
    if subprocess.run([*unshare, 'true'], capture_output=True).returncode:
        pytest.skip('no mount namespaces here')
    return [*unshare, f'{mount} && exec "$@"', 'sh']


def test_read_only_folder_is_told(machine):
    machine.add_python()
    place = f'"{machine.project}"'
    mount = f'mount --bind {place} {place} && mount -o remount,bind,ro {place}'
    assert machine.run('demo', before=in_namespace(mount)) == (
        2,
        '',
        [
            f'run: cannot write in {machine.project}: Read-only file system. Mend that or copy '
            'the project elsewhere, then call ./run again.'
        ],
    )


@pytest.mark.parametrize('full', ['my project/.venv', 'tmp'])
def test_full_disk_is_told(machine, tmp_path, full):
    machine.add_python()
    (tmp_path / full).mkdir()
    mount = f'mount -t tmpfs -o size=1m none "{tmp_path / full}"'
    environment = {'TMPDIR': str(tmp_path / 'tmp')} if full == 'tmp' else {}
    code, _, errors = machine.run('demo', before=in_namespace(mount), **environment)
    assert (code, errors) == (2, [machine.first_lines()[0], machine.full_disk(**environment)])


@installs
def test_second_call_installs_nothing(ready):
    old = ready.log.stat().st_mtime_ns
    assert not [*ready.venv.rglob('site-packages/pytest')]  # what only tests need
    assert (ready.venv / 'bin' / 'pip').exists()
    ready.check()
    assert ready.log.stat().st_mtime_ns == old


@installs
def test_arguments_of_test_go_to_pytest(ready):
    for installs_first in (['run: installing the extras test,colcon,docs'], []):
        code, out, errors = ready.run('test', '-q', '-k', 'test_it')
        assert (code, errors) == (0, installs_first)
        assert out.splitlines()[-1].startswith('1 passed in ')
    ready.check()


@installs
def test_docs_install_what_only_they_need_and_leave_what_tests_need(ready):
    tests = 'test', '-q', '-k', 'test_it'
    assert ready.run(*tests)[0] == 0
    for installs_first in (['run: installing the extras docs'], []):
        assert ready.run('docs', '--build', 'my site') == (0, '--build|my site\n', installs_first)
    assert ready.run(*tests)[2] == []
    ready.check()


@installs
def test_changed_setup_is_installed_again_in_the_same_environment(ready):
    (ready.project / 'setup.py').write_text(FILES['setup.py'].replace("'1'", "'2'"))
    ready.check(ready.first_lines()[1])
    ready.check()


@installs
def test_disk_that_fills_up_while_pip_works_is_told_and_then_repaired(ready_with_uv, tmp_path):
    ready = ready_with_uv
    (ready.project / 'setup.py').write_text(NEEDY)
    mount = f'mount -t tmpfs -o size=1m none "{tmp_path}"'
    code, _, errors = ready.run(
        'demo', before=in_namespace(mount), TMPDIR=str(tmp_path), XDG_CACHE_HOME=str(tmp_path)
    )
    assert (code, errors) == (2, [ready.first_lines()[1], ready.full_disk(str(tmp_path))])
    ready.check(*ready.first_lines())


@installs
def test_environment_whose_python_is_gone_is_made_again(ready_with_uv):
    ready = ready_with_uv
    python = ready.venv / 'bin' / PYTHON.name
    python.unlink()
    python.symlink_to('/nowhere/python3')
    ready.check(*ready.first_lines())


@installs
def test_interrupted_first_call_is_repaired_by_the_next(machine, uv):
    machine.add_python()
    machine.add_uv(uv)
    process = machine.start('demo')
    assert [process.stderr.readline().strip() for _ in range(2)] == machine.first_lines()
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (
        130,
        'run: interrupted. Call ./run again: it repairs what is half done.\n',
    )
    machine.check(*machine.first_lines())


@installs
def test_two_first_calls_at_once_install_once(machine, uv):
    machine.add_python()
    machine.add_uv(uv)
    calls = [machine.start('demo') for _ in range(2)]
    errors = [call.communicate(timeout=300)[1].splitlines() for call in calls]
    assert [call.returncode for call in calls] == [7, 7]
    assert sorted(errors, key=len) == [
        ['run: waiting for another ./run that is installing'],
        machine.first_lines(),
    ]


@installs
def test_without_network_one_line_says_so_and_the_next_call_repairs(machine, uv):
    (machine.project / 'setup.py').write_text(NEEDY)
    machine.add_python()
    assert machine.run('demo', **NO_NETWORK) == (
        2,
        '',
        [
            *machine.first_lines(),
            'run: the registry of Python packages is out of reach. Connect to the network, then '
            'call '
            f'./run again (log: {machine.log}).',
        ],
    )
    machine.add_uv(uv)
    machine.check(*machine.first_lines())


@installs
def test_where_uv_does_not_work_pip_installs_and_comes_by_ensurepip_if_it_has_to(machine):
    machine.add_python(before='case $* in *WHEEL_PKG_DIR*) exit ;; esac')  # no wheel of it
    machine.add_uv(shutil.which('false'))
    machine.check(*machine.first_lines())
    assert not (machine.venv / 'bin' / 'uv').exists()
    assert 'Successfully installed flex' in machine.log.read_text()


@installs
def test_registries_that_pip_is_told_of_are_those_of_uv(ready):
    (ready.bin / 'uv').write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    (ready.bin / 'uv').chmod(0o755)
    (ready.project / 'setup.py').write_text(FILES['setup.py'].replace("'1'", "'4'"))
    ready.check(
        ready.first_lines()[1],
        **{
            'PIP_CONFIG_FILE': os.devnull,
            'PIP_INDEX_URL': 'https://here/simple',
            'PIP_EXTRA_INDEX_URL': 'https://there/simple https://elsewhere/simple',
            'PIP_FIND_LINKS': '/wheels',
            'PIP_NO_INDEX': '1',
        },
    )
    (ready.bin / 'uv').unlink()
    said = ready.log.read_text()
    for words in (
        '--default-index|https://here/simple',
        '--index|https://there/simple',
        '--index|https://elsewhere/simple',
        '--find-links|/wheels',
        '--no-index',
    ):
        assert f'|{words}|' in said


@installs
def test_without_ros_wheels_the_rest_is_installed(machine, uv):
    setup = FILES['setup.py'].replace("'ros': []", "'ros': ['ros-jazzy-rclpy==0.0.99']")
    (machine.project / 'setup.py').write_text(setup)
    machine.add_python()
    machine.add_uv(uv)
    system, version = os.uname(), sys.version.split()[0]
    machine.check(
        *machine.first_lines(),
        f'run: ROS parts are off: there is no rclpy for Python {version} on '
        f'{system.sysname} {system.machine}.',
    )
    machine.check()


@installs
@pytest.mark.ros
def test_sourced_ros_is_used_instead_of_the_wheels(machine):
    import rclpy

    packages = Path(rclpy.__file__).parents[1]
    sourced = {
        'ROS_DISTRO': 'jazzy',
        'AMENT_PREFIX_PATH': str(packages.parents[2]),
        'PYTHONPATH': str(packages),
        'LD_LIBRARY_PATH': os.environ['LD_LIBRARY_PATH'],
    }
    (machine.project / 'flex_robot_sim' / '__init__.py').write_text(
        'import rclpy\ndef main():\n    print(rclpy.__file__)'
    )
    machine.add_python()
    assert machine.run('demo', **sourced) == (
        0,
        f'{rclpy.__file__}\n',
        machine.first_lines('.venv-jazzy'),
    )
    assert machine.run('demo', **sourced) == (0, f'{rclpy.__file__}\n', [])
    settings = (machine.project / '.venv-jazzy' / 'pyvenv.cfg').read_text()
    assert 'include-system-site-packages = true' in settings
    assert (machine.project / '.venv-jazzy' / 'bin' / 'pip').exists()
