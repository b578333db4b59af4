"""Extreme numbers and arbitrary words in every command: one line, no traceback."""

import math
import random
import re
import subprocess
import sys

import pytest
from project_files import ROOT
from refusals import refusal

import flex_robot_sim as frs
from flex_robot_sim import cli, reproduce
from flex_robot_sim.cli import demo as cli_demo
from flex_robot_sim.cli import reproduce as cli_reproduce
from flex_robot_sim.cli import rig_emulate
from flex_robot_sim.cli.rig_setup import as_text
from flex_robot_sim.rig.bench.parts import BenchParts
from flex_robot_sim.rig.board import emulated_rig
from flex_robot_sim.rig.board.emulator_faults import EMULATOR_FAULTS, parse
from flex_robot_sim.rig.bridge.bridge import scale_mismatches
from flex_robot_sim.rig.wire.board_parameters import Parameter
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.plots import check_figure_path
from flex_robot_sim.util.share import shipped_robots

pytestmark = pytest.mark.slow

SEED = 20261122
PAGE = ROOT / 'docs' / 'description.md'
ODD = ['nan', 'inf', '-inf', '1e999', '1e-320', '1e308', '-1e308', '-1', '0', '-0', '1_0',
       '9' * 400, '9' * 5000, '٣', '٣.٥', '1e٣', '0x10', '', ' ', ',', '1,', 'x', '1e9', '1e-9',
       '½', '1,2,3,4', '--', '-', ':=', 'a:=b']  # fmt: skip


def number(rng):
    """Return a number of any size as text, or an invalid one."""
    if rng.random() < 0.4:
        return rng.choice(ODD)
    return f'{rng.choice((1, 1, -1)) * rng.random() * 10.0 ** rng.uniform(-330, 308):.3g}'


def command(rng):
    """Return the words of a command with one or two extreme numbers."""
    pose = ','.join([number(rng), *rng.sample(['0', '0.1', '-0.2'], 2)])
    value = number(rng)
    wild = {
        'simulate': [
            f'--time-step={value}',
            f'--rate={value}',
            f'--seconds={value[:9]}e-9',
            f'--effort=waist={value}',
            f'--effort=waist=sine:{value}@{number(rng)}',
            f'--effort=waist=bang:1@{pose}',
            f'--effort=waist=step:{value}@{value}',
            f'--to={pose}',
            f'--start={pose}',
            f'--gravity={pose}',
            value,
            f'--stiffness={value}',
            f'--damping={value}',
        ],
        'modes': [f'--pose={pose}', f'--gravity={pose}', f'--count={value}', value],
        'check': [value],
    }
    name = rng.choice(['simulate'] * 5 + ['modes', 'modes', 'check'])
    first = {
        'simulate': ['two_link', '--seconds=0.003', *rng.choice(([], ['--to=0,0,0']))],
        'modes': ['two_link'],
        'check': ['two_link'],
    }[name]
    return [name, *first, *rng.sample(wild[name], min(len(wild[name]), rng.choice((1, 1, 2))))]


def code_of(words):
    """Return the exit code of a command; any other end fails with its words."""
    try:
        return cli.main(words)
    except SystemExit as end:  # of argparse
        return end.code
    except Exception as error:
        raise AssertionError(words) from error


@pytest.mark.filterwarnings('error::RuntimeWarning')
def test_no_number_causes_a_traceback(capsys):
    rng = random.Random(SEED)
    codes = {0: 0, 1: 0, 2: 0}  # 1: the arm does not arrive
    for _ in range(120):
        words = command(rng)
        code = code_of(words)
        said = capsys.readouterr().err
        assert code in codes and (code == 0 or said.count('\n') == 1), (words, said)
        codes[code] += 1
    assert min(codes[0], codes[2]) > 10


def bench_demo_or_paper_command(rng, folder):
    """Return the words of a bench, demo or paper command with extreme numbers."""
    value, name = number(rng), rng.choice(list(EMULATOR_FAULTS))
    emulate = ['rig', 'emulate', f'--link={folder / "rig"}']
    calibrate = ['rig', 'calibrate', str(folder / 'no_port'), f'--output={folder / "new.yaml"}']
    return rng.choice(
        [
            ['demo', f'--seconds={value}'],
            ['reproduce', 'spin_up', f'--seconds={value}', f'--output={folder}'],
            [*emulate, f'--seconds={value}'],
            [*emulate, '--seconds=1', f'--seed={value}'],
            [*emulate, '--seconds=1', f'--fault={name}={value}'],
            [*emulate, '--seconds=1', f'--fault={name}{rng.choice(["", "=1"])}@{value}'],
            [*calibrate, f'--board-parameter={rng.choice(list(Parameter.__members__))}={value}'],
            ['rig', 'info', f'socket://127.0.0.1:{value}'],
            ['rig', 'info', value],
            ['rig', 'conformance', '--list', f'--only={value}'],
        ]
    )


@pytest.mark.long
def test_no_number_of_the_bench_the_demo_or_the_papers_causes_a_traceback(
    capsys, monkeypatch, tmp_path, rig
):
    # long-running commands start and are not awaited
    monkeypatch.setattr(cli_demo, '_demonstrate', lambda arguments, stop: 0)
    monkeypatch.setattr(reproduce, 'reproduce', lambda *_: {})
    monkeypatch.setattr(cli_reproduce, 'as_text', lambda found: ())
    monkeypatch.setattr(rig_emulate, '_attend', lambda emulator, seconds: None)
    import flex_robot_sim.rig.conformance.back_ends  # noqa: F401 now, or it keeps what stands in

    monkeypatch.setattr(emulated_rig, 'rig_of', lambda *_: rig)
    monkeypatch.setattr('signal.signal', lambda *_: None)  # those of the tests stay
    rng = random.Random(SEED)
    codes = {0: 0, 2: 0}
    for _ in range(400):
        words = bench_demo_or_paper_command(rng, tmp_path)
        code = code_of(words)
        said = capsys.readouterr().err
        assert code in codes and said.count('\n') == (code != 0), (words, said)
        codes[code] += 1
    assert min(codes.values()) > 10


@pytest.mark.parametrize(
    'words, message',
    [
        (
            ['--effort', 'waist=sine:2@1e308'],
            'effort "sine:2@1e308" is none of 1.5, step:SIZE@START, bang:SIZE@START,TURN,END, '
            'sine:SIZE@FREQUENCY',
        ),
        (
            ['--time-step', '1e-320'],
            '--seconds hold more than 1e+09 steps of --time-step. Take fewer or longer ones.',
        ),
    ],
)
def test_implausible_numbers_are_rejected(words, message, capsys):
    assert cli.main(['simulate', 'two_link', *words]) == 2
    assert capsys.readouterr().err == f'flexsim simulate: {message}\n'


@pytest.mark.parametrize(
    'words',
    [
        ['simulate', '{robot}', '--seconds', '0.001', 'length:=0.5'],
        ['modes', '--count', '1', '{robot}', '--json', 'length:=0.5'],
        ['check', '{robot}', '--json', 'length:=0.5'],
    ],
)
def test_arguments_for_xacro_can_follow_options(tmp_path, words, capsys):
    path = tmp_path / 'arm.urdf.xacro'
    path.write_text(
        shipped_robots()['two_link']
        .read_text('utf-8')
        .replace(
            '<robot name="two_link">',
            '<robot name="two_link" xmlns:xacro="http://www.ros.org/wiki/'
            'xacro"><xacro:arg name="length" default="0.4"/>',
        ),
        'utf-8',
    )
    assert cli.main([word.format(robot=path) for word in words]) == 0
    assert capsys.readouterr().err == ''


@pytest.mark.long(after=5)
@pytest.mark.parametrize('closed', ['>&-', '2>&-', '>&- 2>&-', '<&- >&- 2>&-'])
@pytest.mark.parametrize(
    'words, code', [('check two_link', 0), ('check no_such', 2), ('nonsense', 2), ('--help', 0)]
)
def test_closed_outputs_cause_no_additional_error(closed, words, code, tmp_path):
    done = subprocess.run(
        ['sh', '-c', f'"$0" -m flex_robot_sim {words} {closed}', sys.executable],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == code
    assert 'Traceback' not in done.stdout + done.stderr
    assert 'Exception' not in done.stdout + done.stderr


def test_an_unwritable_picture_is_rejected_at_the_start(tmp_path, monkeypatch):
    monkeypatch.setattr('os.access', lambda path, mode: False)  # root can write everywhere
    assert refusal(frs.SettingError, check_figure_path, tmp_path / 'run.png') == (
        f'{tmp_path / "run.png"}: cannot be written: Permission denied. '
        'Name a file in a folder of yours'
    )


def test_a_push_is_limited_to_the_strength_of_the_strip():
    fault = EMULATOR_FAULTS['push']
    parse(f'push={fault.most:g}')
    assert (
        refusal(UsageError, parse, 'push=500') == 'value of "push=500" must be >= -200 and <= 200'
    )


@pytest.mark.parametrize('group', ['root', '1234'])
def test_no_advice_names_root_or_an_unnamed_group(group):
    lines = as_text(
        {
            'rule': 'a',
            'installed': 'b',
            'rule_state': 'current',
            'ports': [{'name': 'p', 'device': 'p', 'about': 'x', 'group': group, 'usable': False}],
        }
    )
    assert [*lines][-1] == '    no permission: install the udev rule and plug it in again'


def test_scales_of_another_bench_are_reported():
    class Board:
        counts_per_turn, steps_per_turn = 2400, 6400

    parts = BenchParts()
    assert scale_mismatches(Board, parts) == [
        'the board has 6400 steps in a turn, and the calibration 3200: one of them is of another '
        'bench'
    ]


def test_long_names_make_a_short_line():
    line = str(frs.FlexRobotSimError(f'no joint "{"a" * 100_000}\n\x1b[31m". Known: waist'))
    assert len(line) < 1300 and line.isprintable()
    assert line.startswith('no joint "aaa') and line.endswith('. Known: waist')


def test_the_split_link_of_the_page_keeps_mass_and_inertia(tmp_path):
    (text,) = re.findall(
        r'<robot name="ur5_upper_arm">.*?</robot>', PAGE.read_text('utf-8'), re.DOTALL
    )
    robot = frs.read_description(text)
    assert not robot.warnings
    tube, motor = (robot.link(name).inertial for name in ('upper_arm', 'elbow_motor'))
    mass = tube.mass + motor.mass
    centre = (0.2125 * tube.mass + 0.425 * motor.mass) / mass
    # values on the page have four digits
    assert math.isclose(mass, 8.393, rel_tol=1e-4) and math.isclose(centre, 0.28, rel_tol=1e-3)
    across = (
        0.0862 + 0.0585 + tube.mass * (0.2125 - centre) ** 2 + motor.mass * (0.425 - centre) ** 2
    )
    assert math.isclose(across, 0.2269, rel_tol=2e-3)
