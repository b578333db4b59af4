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

pytestmark = pytest.mark.slow

PYTHON = Path(sys.executable).resolve()  # not the one of a virtual environment
TOOLS = (
    *('awk', 'cat', 'cksum', 'cp', 'df', 'dirname', 'flock', 'grep', 'head', 'mkdir', 'mount'),
    *('readlink', 'rm', 'sed', 'sh', 'tail', 'touch', 'tr', 'uname', 'unshare'),
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
# this needs a package of the registry, which is larger than the disks that fill up here
NEEDY = FILES['setup.py'].replace('NEEDS = []', "NEEDS = ['pygments']")
NO_NETWORK = {
    'PIP_INDEX_URL': 'http://127.0.0.1:9',
    'PIP_CONFIG_FILE': os.devnull,
    'PIP_RETRIES': '0',
    'PIP_TIMEOUT': '2',
    'UV_HTTP_RETRIES': '0',
    'UV_NO_CACHE': '1',
}
NO_DOWNLOADS = {'UV_PYTHON_DOWNLOADS': 'never', 'UV_PYTHON_INSTALL_DIR': '/nowhere'}


def installs(test):
    """Mark a test that makes an environment: it takes seconds, and a registry of packages."""
    for mark in (pytest.mark.install, pytest.mark.slow, pytest.mark.usefixtures('registry')):
        test = mark(test)
    return test


class Machine:
    """A project folder, and a PATH with the tools of a bare machine and nothing else."""

    def __init__(self, folder):
        self.project, self.bin = folder / 'my project', folder / 'bin'
        for name, text in FILES.items():
            (self.project / name).parent.mkdir(parents=True, exist_ok=True)
            (self.project / name).write_text(text)
        for path in (ROOT / 'run', ROOT / 'package.xml', *(ROOT / 'test').glob('*.*')):
            shutil.copy(path, self.project / path.relative_to(ROOT))
        self.bin.mkdir()
        for tool in filter(shutil.which, TOOLS):
            (self.bin / tool).symlink_to(shutil.which(tool))
        foreign = *('PYTHON', 'VIRTUAL_ENV', 'ROS_', '_ROS_'), *('AMENT_', 'COLCON_')
        foreign += 'LD_LIBRARY_', 'TMPDIR'
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

    @property
    def venv(self):
        """Folder of the environment."""
        return self.project / '.venv'

    def installs(self, venv='.venv'):
        """Return the line of a call that installs."""
        return (
            'run: installing flex_robot_sim and its dependencies into '
            f'{self.project / venv}, about a minute'
        )

    def failure(self, problem):
        """Return the line about a failed installation."""
        return f'run: {problem}, then call ./run again (log: {self.project}/.venv.log).'

    def refuses(self, *words, errors, code=2, **options):
        """Check that `./run WORDS` ends with a code, after these error lines only."""
        assert self.run(*words, **options) == (code, '', errors)

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
def ready(tmp_path_factory, registry):
    """Return a machine without uv, where the first call has been made."""
    machine = Machine(tmp_path_factory.mktemp('ready'))
    machine.add_python()
    machine.check(machine.installs())
    return machine


@pytest.fixture(scope='module')
def uv(ready, tmp_path_factory):
    """Return the uv that the first call has installed, in another folder."""
    return shutil.copy(ready.project / '.venv-uv/bin/uv', tmp_path_factory.mktemp('uv'))


@pytest.mark.parametrize('words', [(), ('--help',), ('-h',)])
def test_usage_needs_no_installation(machine, words):
    code, out, errors = machine.run(*words)
    assert (code, errors) == (0, [])
    assert out.startswith('usage: ./run ')
    assert ', '.join(COMMANDS) in ' '.join(out.split())
    assert not machine.venv.exists()


@pytest.mark.parametrize(
    'before',
    [None, 'exit 127', 'PATH= ; exec no-such-python', 'case $* in *venv*) exit 1 ;; esac'],
)
def test_without_uv_and_a_working_python_one_line_names_both(machine, before):
    if before:
        machine.add_python(before=before)  # a shim that fails, or Debian's Python without venv
    line = (
        'run: no uv found, and no python3 with the module venv to install it. Install one of '
        'both (Debian, Ubuntu: sudo apt install python3-venv), then call ./run again.'
    )
    machine.refuses('demo', errors=[machine.installs(), line])


@pytest.mark.long
@installs
def test_without_a_python_that_uv_accepts_one_line_says_so(machine, uv):
    machine.add_uv(uv)
    line = machine.failure('no Python 3.10 or later found, and uv cannot download one. Install it')
    machine.refuses('demo', errors=[machine.installs(), line], **NO_DOWNLOADS)


@pytest.mark.long
@installs
def test_without_python_3_10_the_oldest_versions_are_declined(machine, uv):
    machine.add_uv(uv)
    line = 'run: no Python 3.10 found. Install one (apt, pyenv or uv), or leave --oldest to CI.'
    errors = [machine.installs('.venv-oldest'), line]
    machine.refuses('test', '--oldest', errors=errors, code=69, **NO_DOWNLOADS)


@installs
def test_sourced_ros_without_rclpy_is_reported(machine, uv):
    machine.add_uv(uv)
    machine.add_python(before='case $* in *rclpy*) exit 1 ;; esac')
    line = (
        'run: ROS jazzy is sourced, but python3 cannot import its rclpy. Install rclpy, or '
        'call ./run in a shell where ROS is not sourced.'
    )
    sourced = {'ROS_DISTRO': 'jazzy', 'AMENT_PREFIX_PATH': '/opt/ros/jazzy'}
    machine.refuses('demo', errors=[machine.installs('.venv-jazzy'), line], **sourced)


def in_namespace(mount):
    """Return the words that run a command after `mount`, in a mount namespace of its own."""
    unshare = ['unshare', '--user', '--map-root-user', '--mount', 'sh', '-c']
    if subprocess.run([*unshare, 'true'], capture_output=True).returncode:
        pytest.skip('no mount namespaces here')
    return [*unshare, f'{mount} && exec "$@"', 'sh']


def test_read_only_folder_is_reported(machine):
    place = f'"{machine.project}"'
    mount = f'mount --bind {place} {place} && mount -o remount,bind,ro {place}'
    line = (
        f'run: cannot write in {machine.project}: Read-only file system. Make it writable or '
        'copy the project elsewhere, then call ./run again.'
    )
    machine.refuses('demo', errors=[line], before=in_namespace(mount))


def check_full_disk(machine, mount, **environment):
    code, _, errors = machine.run('demo', before=in_namespace(mount), **environment)
    place = f'the disk of {machine.project} or {environment.get("TMPDIR", "/tmp")} is full'
    assert (code, errors) == (2, [machine.installs(), machine.failure(f'{place}. Free 2 GB')])


@pytest.mark.long(after=1)
@installs
@pytest.mark.parametrize('has_uv', [True, False])
def test_full_disk_of_the_project_is_reported(machine, uv, has_uv):
    machine.add_python()
    if has_uv:
        machine.add_uv(uv)
    place, copy = f'"{machine.project}"', f'"{machine.project}.copy"'
    check_full_disk(
        machine,
        f'cp -r {place} {copy} && mount -t tmpfs -o size=1m none {place} && '
        f'cp -r {copy}/. {place}',
        UV_LINK_MODE='copy',
    )


@installs
def test_disk_that_fills_up_later_is_reported_and_then_repaired(ready, tmp_path):
    (ready.project / 'setup.py').write_text(NEEDY)
    mount = f'mount -t tmpfs -o size=1m none "{tmp_path}"'
    check_full_disk(ready, mount, TMPDIR=str(tmp_path), XDG_CACHE_HOME=str(tmp_path))
    ready.check(ready.installs())


@installs
def test_second_call_installs_nothing(ready):
    old = (ready.project / '.venv.log').stat().st_mtime_ns
    assert not [*ready.venv.rglob('site-packages/pytest')]  # only tests need it
    assert (ready.venv / 'bin' / 'pip').exists()
    ready.check()
    assert (ready.project / '.venv.log').stat().st_mtime_ns == old


@installs
def test_arguments_of_test_go_to_pytest(ready):
    for installs_first in ([ready.installs()], []):
        code, out, errors = ready.run('test', '-q', '-k', 'test_it')
        assert (code, errors) == (0, installs_first)
        assert out.splitlines()[-1].startswith('1 passed in ')
    ready.check()


@installs
def test_docs_install_what_only_they_need_and_leave_what_tests_need(ready):
    tests = 'test', '-q', '-k', 'test_it'
    assert ready.run(*tests)[0] == 0
    for installs_first in ([ready.installs()], []):
        assert ready.run('docs', '--build', 'my site') == (0, '--build|my site\n', installs_first)
    assert ready.run(*tests)[2] == []
    ready.check()


@installs
def test_changed_setup_is_installed_again_in_the_same_environment(ready):
    (ready.venv / 'of the user').touch()
    (ready.project / 'setup.py').write_text(FILES['setup.py'].replace("'1'", "'2'"))
    ready.check(ready.installs())
    ready.check()
    assert (ready.venv / 'of the user').exists()


@installs
def test_environment_whose_python_is_gone_is_made_again(ready):
    python = ready.venv / 'bin' / 'python'
    python.unlink()
    python.symlink_to('/nowhere/python3')
    ready.check(ready.installs())


@installs
def test_environment_of_a_moved_project_is_made_again(ready):
    ready.project = ready.project.rename(ready.project.with_name('moved'))
    ready.check(ready.installs())
    ready.check()


@installs
def test_interrupted_first_call_is_repaired_by_the_next(machine, uv):
    machine.add_python()
    machine.add_uv(uv)
    process = machine.start('demo')
    assert process.stderr.readline().strip() == machine.installs()
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (
        130,
        'run: interrupted. Call ./run again: it repairs the installation.\n',
    )
    machine.check(machine.installs())


@installs
def test_two_first_calls_at_once_install_once(machine, uv):
    machine.add_python()
    machine.add_uv(uv)
    calls = [machine.start('demo') for _ in range(2)]
    errors = [call.communicate(timeout=300)[1].splitlines() for call in calls]
    assert [call.returncode for call in calls] == [7, 7]
    assert sorted(errors) == [
        [machine.installs()],
        ['run: waiting for another ./run that is installing'],
    ]


@pytest.mark.long(after=1)
@installs
@pytest.mark.parametrize('has_uv', [True, False])
def test_without_network_one_line_says_so_and_the_next_call_repairs(machine, uv, has_uv):
    machine.add_python()
    if has_uv:
        machine.add_uv(uv)
    problem = 'the registry of Python packages is out of reach. Connect to the network'
    machine.refuses('demo', errors=[machine.installs(), machine.failure(problem)], **NO_NETWORK)
    if has_uv:
        machine.check(machine.installs())


@pytest.mark.long
@installs
def test_uv_that_does_not_work_is_replaced_by_one_of_the_project(machine):
    machine.add_python()
    machine.add_uv(shutil.which('false'))
    machine.check(machine.installs())
    assert (machine.project / '.venv-uv' / 'bin' / 'uv').exists()


@installs
def test_uv_uses_the_registries_of_pip_unless_it_has_its_own(ready):
    # a ./run that installs and then tests has set them
    for name in ('UV_INDEX', 'UV_FIND_LINKS', 'UV_NO_INDEX', 'UV_INDEX_STRATEGY'):
        ready.environment.pop(name, None)
    names = '$UV_DEFAULT_INDEX $UV_INDEX $UV_FIND_LINKS $UV_NO_INDEX'
    (ready.bin / 'uv').write_text(f'#!/bin/sh\necho --clear {names}\n')
    (ready.bin / 'uv').chmod(0o755)
    (ready.project / 'setup.py').write_text(FILES['setup.py'].replace("'1'", "'4'"))
    ready.check(
        ready.installs(),
        PIP_CONFIG_FILE=os.devnull,
        PIP_INDEX_URL='https://here/simple',
        PIP_EXTRA_INDEX_URL='https://there/simple https://elsewhere/simple',
        PIP_FIND_LINKS='/wheels /more',
        PIP_NO_INDEX='1',
        UV_DEFAULT_INDEX='https://own/simple',
    )
    (ready.bin / 'uv').unlink()
    indexes = 'https://own/simple https://there/simple https://elsewhere/simple'
    log = (ready.project / '.venv.log').read_text()
    assert f'--clear {indexes} /wheels,/more 1\n' in log


@installs
def test_without_ros_wheels_the_other_parts_are_installed(machine, uv):
    setup = FILES['setup.py'].replace("'ros': []", "'ros': ['ros-jazzy-rclpy==0.0.99']")
    (machine.project / 'setup.py').write_text(setup)
    machine.add_python()
    machine.add_uv(uv)
    system, version = os.uname(), sys.version.split()[0]
    machine.check(
        machine.installs(),
        f'run: ROS parts are off: no rclpy for Python {version} on '
        f'{system.sysname} {system.machine}.',
    )
    machine.check()


@installs
@pytest.mark.ros
def test_sourced_ros_is_used_instead_of_the_wheels(machine, uv):
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
    machine.add_uv(uv)
    for installs_first in ([machine.installs('.venv-jazzy')], []):
        assert machine.run('demo', **sourced) == (0, f'{rclpy.__file__}\n', installs_first)
    settings = (machine.project / '.venv-jazzy' / 'pyvenv.cfg').read_text()
    assert 'include-system-site-packages = true' in settings
    assert (machine.project / '.venv-jazzy' / 'bin' / 'pip').exists()
