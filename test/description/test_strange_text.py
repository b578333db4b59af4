"""Text from untrusted sources is never executed: no paths, no xacro, no local modules."""

import json
import subprocess
import sys

import pytest
from arms import complaint as complaint_of
from arms import joint, link, robot
from refusals import refusal

from flex_robot_sim import DescriptionError
from flex_robot_sim.cli import main
from flex_robot_sim.description import read_text
from flex_robot_sim.start import run_module, run_text

pytestmark = pytest.mark.slow

NAMESPACE = ' xmlns:xacro="http://www.ros.org/wiki/xacro"'


@pytest.fixture(name='harm')
def marker_path(tmp_path):
    """Return the path of a file that appears if untrusted code runs."""
    path = tmp_path / 'harm'
    yield path
    assert not path.exists()


@pytest.fixture(name='program')
def malicious_xacro(tmp_path, harm):
    """Return the path of a xacro file with a program in a property."""
    path = tmp_path / 'arm.urdf.xacro'
    call = (
        '(lambda: [c for c in ().__class__.__base__.__subclasses__() '
        "if c.__name__ == '_wrap_close'][0].__init__"
        f".__globals__['system']('touch {harm}'))()"
    )
    path.write_text(
        robot(
            f'<xacro:property name="none" value="0"/><link name="${{{call}}}"/>', link(), joint()
        ).replace('<robot', f'<robot{NAMESPACE}'),
        'utf-8',
    )
    return path


@pytest.fixture(name='planted')
def folder_with_malicious_modules(tmp_path, harm):
    """Return the path of a folder with modules of the names that the package imports."""
    folder = tmp_path / 'downloads'
    folder.mkdir()
    for name in ('numpy', 'xacro', 'lxml', 'yaml', 'argparse', 'json', 'matplotlib', 'rclpy'):
        (folder / f'{name}.py').write_text(f'open({str(harm)!r}, "w")')
    return folder


def test_xacro_in_a_file_of_the_user_is_executed(program, harm):
    complaint_of(program)
    assert harm.exists()  # otherwise the tests of this file prove nothing
    harm.unlink()


@pytest.mark.parametrize('text', ['two_link', '{path}', '/dev/zero', '/proc/kmsg', '', '\0'])
def test_untrusted_text_is_not_taken_as_a_path_or_name(program, text, harm):
    assert refusal(DescriptionError, lambda: read_text(text.format(path=program))) == (
        '<text>: this is no text of a robot. Give the text of a URDF, with xacro expanded.'
    )


def test_untrusted_text_is_not_expanded_as_xacro(program, harm):
    assert refusal(DescriptionError, lambda: read_text(program.read_text('utf-8'))) == (
        '<text>:1: the text holds xacro, which needs its files. Give the path of the xacro file, '
        'or the expanded text.'
    )


@pytest.mark.parametrize(
    'of_robot, reason',
    [
        (str, '<text>: this is no text of a robot. Give the text of a URDF, with xacro expanded.'),
        (
            lambda path: path.read_text('utf-8'),
            '<text>:1: the text holds xacro, which needs its files. Give the path of the xacro '
            'file, or the expanded text.',
        ),
    ],
)
def test_reading_a_log_executes_nothing(tmp_path, program, of_robot, reason, harm, capsys):
    from flex_robot_sim.rig.bridge.experiment_log import COLUMNS

    log = tmp_path / 'run.csv'
    about = {'format': 1, 'robot': of_robot(program), 'calibration': {}}
    row = ','.join('0' for _ in COLUMNS)
    log.write_text(f'# {json.dumps(about)}\n{",".join(COLUMNS)}\n{row}\n{row}\n', 'utf-8')
    assert main(['rig', 'compare', str(log)]) == 2
    assert capsys.readouterr().err == f'flexsim rig: {log}:1: {reason}\n'


@pytest.mark.parametrize(
    'words',
    [
        [sys.executable, '-m', 'flex_robot_sim', 'check', 'arm.xacro'],
        run_module('flex_robot_sim', 'check', 'arm.xacro'),
    ],
    ids=['by hand', 'by us'],
)
def test_modules_in_the_current_folder_are_not_imported(planted, words, harm):
    (planted / 'arm.xacro').write_text(
        robot(link(), joint()).replace('<robot', f'<robot{NAMESPACE}'), 'utf-8'
    )
    done = subprocess.run(words, cwd=planted, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, '')


def test_the_standard_library_is_not_imported_from_the_current_folder(planted, harm):
    for name in ('runpy', 'os', 're', 'types'):
        (planted / f'{name}.py').write_text(f'open({str(harm)!r}, "w")')
    done = subprocess.run(
        run_text('import runpy, re, types, numpy, sys; print(sys.argv)', 'word'),
        cwd=planted,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("['-c', 'word']\n", '')
