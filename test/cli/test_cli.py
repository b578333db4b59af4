"""`flexsim` on the command line: text, JSON, exit codes; never a traceback."""

import json
import logging
import os
import re
import signal
import subprocess
import sys
import time
import warnings

import pytest
from arms import flexible_arm, joint, link, robot
from node_processes import Process
from project_files import ROOT

import flex_robot_sim
from flex_robot_sim import cli
from flex_robot_sim.cli import main
from flex_robot_sim.start import run_text
from flex_robot_sim.util.share import shipped_robots


@pytest.fixture
def arm_file(tmp_path):
    path = tmp_path / 'arm.urdf'
    path.write_text(flexible_arm(), 'utf-8')
    return path


def run(*words, **options):
    """Run `flexsim WORDS` in a process of its own."""
    options = {'stdout': subprocess.PIPE, 'text': True, **options}
    command = [sys.executable, '-m', 'flex_robot_sim', *words]
    return subprocess.run(command, stderr=subprocess.PIPE, check=False, **options)


def test_output_on_a_full_disk_is_one_line(arm_file):
    with open('/dev/full', 'w') as full:
        done = run('check', arm_file, stdout=full)
    assert (done.returncode, done.stderr) == (
        2,
        'flexsim check: the output cannot be written: No space left on device.\n',
    )


@pytest.mark.parametrize('module', ['gettext', 'lxml', 'numpy.linalg'])
def test_ctrl_c_during_imports_ends_a_command_without_a_traceback(module):
    # the interpreter reports each import when it begins
    process = Process([sys.executable, '-v', '-m', 'flex_robot_sim', 'check', 'two_link'])
    process.wait_for_line(f"import '{module}")
    code, _ = process.stop()
    assert code == 130 and process.count('Traceback') == 0


INTERRUPTED_AT_AN_IMPORT = """
import os, signal, sys
from flex_robot_sim.start import main
left = int(sys.argv.pop(1))
def interrupt(event, words):
    global left
    left -= event == 'import'
    if left == 0:
        left = -1
        os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(interrupt)
sys.exit(main())
"""


@pytest.mark.parametrize('number', [1, 2, 3, 5, 10, 30, 60, 100, 150])
def test_ctrl_c_at_any_import_of_a_command_ends_it_without_a_traceback(number):
    done = subprocess.run(
        run_text(INTERRUPTED_AT_AN_IMPORT, str(number), 'check', 'two_link'),
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (130, '')


def test_a_command_handles_ctrl_c_before_further_imports():
    program = (
        'import sys; before = {*sys.modules}; from flex_robot_sim.start import main; '
        'print(*sorted({*sys.modules} - before))'
    )
    done = subprocess.run(run_text(program), capture_output=True, text=True, check=True)
    assert done.stdout == 'flex_robot_sim flex_robot_sim.start\n'


def test_ctrl_c_at_any_time_of_the_start_shows_no_line_of_the_package():
    """A traceback of the Python start-up, before the package runs, cannot be avoided."""
    for moment in range(12):
        process = subprocess.Popen(
            [sys.executable, '-m', 'flex_robot_sim', 'check', 'two_link'],
            text=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        time.sleep(0.025 * moment)
        process.send_signal(signal.SIGINT)
        shown = process.communicate()[1]
        assert not re.search(r'flex_robot_sim/(?!__main__|start|__init__)', shown)
        assert 'Traceback' in shown or process.returncode in (130, -signal.SIGINT, 0)


def test_check_shows_the_tree_and_the_beams(flexsim, arm_file):
    done = flexsim('check', arm_file)
    assert done.stdout.splitlines() == [
        f'test ({arm_file}): 2 links, 1 moving joint, 1 flexible link, 0 flexible joints',
        '  base',
        '  └─ arm 2 kg flexible  [hinge: continuous z]',
        '  tool: arm (the last link of the longest chain)',
        '  arm: length 1 m, mass 2 kg, EIy 20 N m2, EIz 30 N m2, GJ 10 N m2, EA 1e+06 N',
        # (1.8751/L)^2 sqrt(EI/rhoA)/(2 pi), sqrt(GJ/rhoIp)/(4L), sqrt(EA/rhoA)/(4L)
        '    first clamped-free frequency: bending_y 2.167 Hz, bending_z 1.77 Hz, torsion 25 Hz, '
        'stretch 176.8 Hz',
        '    modes: bending_y 2, bending_z 2, torsion 1, stretch 0',
    ]
    assert (done.returncode, done.stderr) == (0, '')


def test_control_characters_of_names_in_the_tree_are_escaped(flexsim, tmp_path):
    path = tmp_path / 'a  b.urdf'
    name = 'a&#10;b\u202e\x9b31m'
    path.write_text(robot(link(name), joint(child=name)), 'utf-8')
    assert flexsim('check', path).stdout.splitlines() == [
        f'test ({path}): 2 links, 1 moving joint, 0 flexible links, 0 flexible joints',
        '  base',
        '  └─ a b\\u202e\\x9b31m 2 kg  [hinge: continuous z]',
        '  tool: a b\\u202e\\x9b31m (the last link of the longest chain)',
    ]


def test_check_of_all_shipped_robots_is_clean(flexsim):
    done = flexsim('check', *shipped_robots().values())
    assert (done.returncode, done.stderr) == (0, '')
    assert 'warning' not in done.stdout


def test_json_output_is_exactly_one_object(flexsim, arm_file):
    one = json.loads(flexsim('check', arm_file, '--json').stdout)
    assert one['links'][1]['beam']['first_clamped_frequency']['torsion'] == pytest.approx(25)
    several = json.loads(flexsim('check', arm_file, 'two_link', '--json').stdout)
    assert [item['name'] for item in several['robots']] == ['test', 'two_link']


def test_one_unusable_robot_does_not_hide_the_others(flexsim, arm_file, tmp_path):
    done = flexsim('check', tmp_path / 'no.urdf', arm_file)
    assert done.returncode == 2
    assert done.stderr == (
        f'{tmp_path}/no.urdf: the file cannot be read: No such file or '
        'directory. Give the path of a URDF or xacro file.\n'
    )
    assert done.stdout.startswith('test (')


def test_json_reports_an_unusable_robot(flexsim, tmp_path):
    path = tmp_path / 'broken.urdf'
    path.write_text(robot('<link name="base"/>'), 'utf-8')
    done = flexsim('check', path, '--json')
    assert done.returncode == 2
    assert json.loads(done.stdout)['error'] == done.stderr.strip()


@pytest.mark.parametrize(
    ('words', 'line'),
    [
        (
            ['check'],
            'flexsim check: the following arguments are required: URDF. Try flexsim check --help.',
        ),
        (
            ['check', 'a:=b'],
            'flexsim check: no robot given. Name a URDF file in addition to the arguments '
            'for xacro.',
        ),
        (['check', ''], "'': no file name was given. Give the path of a URDF or xacro file."),
        (
            ['check', 'two_lnk'],
            'two_lnk: the file cannot be read: No such file or directory. Did you mean the '
            'shipped robot "two_link"?',
        ),
        (
            ['simulat', 'two_link'],
            'flexsim: there is no command "simulat". Did you mean "simulate"? Try flexsim --help.',
        ),
        (
            ['rig', 'emulator'],
            'flexsim rig: there is no command "emulator". Did you mean "emulate"? '
            'Try flexsim rig --help.',
        ),
        (
            ['rig', 'x'],
            'flexsim rig: there is no command "x". Known: setup, info, emulate, '
            'conformance, calibrate, compare. Try flexsim rig --help.',
        ),
    ],
)
def test_a_users_mistake_is_one_line_and_exit_code_2(flexsim, words, line):
    done = flexsim(*words)
    assert (done.returncode, done.stdout, done.stderr) == (2, '', line + '\n')


def test_robots_lists_the_robots_that_come_with_the_package(capsys):
    assert main(['robots']) == 0
    table = capsys.readouterr().out.splitlines()
    assert (
        [line.split()[0] for line in table[1:]]
        == sorted(path.stem for path in (ROOT / 'urdf').glob('*.urdf'))
        == [*flex_robot_sim.robots()]
    )
    assert [line.split() for line in table if line.startswith('two_link')] == [
        ['two_link', '3', '3', '2']
    ]


def test_a_closed_pipe_is_not_an_error():
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, 'w') as pipe:
        assert run('check', 'two_link', stdout=pipe).stderr == ''


def test_a_terminal_without_box_characters_still_gets_the_tree():
    environment = {**os.environ, 'PYTHONIOENCODING': 'ascii', 'PYTHONUTF8': '0'}
    done = run('check', 'two_link', env=environment, text=False)
    assert done.returncode == 0
    assert b'?? ' in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize('command', cli.COMMANDS)
def test_a_command_starts_in_a_new_process(command):
    """Commands of other tests run in the process of the tests."""
    done = run(command, '--help')
    assert (done.returncode, done.stderr) == (0, '')
    assert f'usage: flexsim {command} ' in done.stdout and 'example: flexsim ' in done.stdout


LEAK = """
import logging, os, signal, sys, warnings
import matplotlib.pyplot
os.chdir('/'); os.environ['LEAK'] = '1'; sys.path.insert(0, '/leak'); sys.argv.append('leak')
logging.basicConfig(level=logging.DEBUG); logging.getLogger('leak').debug('a message')
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
matplotlib.pyplot.figure()
warnings.warn('a warning', RuntimeWarning)
warnings.warn('a warning for developers', DeprecationWarning)
warnings.simplefilter('error', FutureWarning)
"""


@pytest.mark.slow
def test_a_command_called_in_the_process_of_the_test_leaves_no_state(flexsim, monkeypatch):
    pyplot = pytest.importorskip('matplotlib.pyplot')

    def state():
        root = logging.getLogger()
        return (
            os.getcwd(), {**os.environ}, [*sys.path], [*sys.argv], [*root.handlers], root.level,
            [*warnings.filters], pyplot.get_fignums(),
            *map(signal.getsignal, (signal.SIGINT, signal.SIGTERM)),
        )  # fmt: skip

    before = state()

    def leak(arguments):
        exec(LEAK, {})
        return 3

    monkeypatch.setattr('flex_robot_sim.cli.robots.run', leak)
    done = flexsim('robots')
    assert state() == before
    assert done.returncode == 3 and done.stdout == ''
    # and messages go where those of a process go
    assert 'DEBUG:leak:a message' in done.stderr
    assert 'RuntimeWarning: a warning' in done.stderr and 'developers' not in done.stderr
