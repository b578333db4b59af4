"""`flexsim simulate` and `flexsim modes`: figures, tables and error messages."""

import csv
import json
import re
import shlex
import subprocess
import sys
from math import pi, sqrt

import numpy as np
import pytest
from arms import joint, link, robot
from contact_arms import slider
from controlled import seven_joints
from moving_arms import clamped_text, swinging_text
from project_files import ROOT
from scipy.spatial.transform import Rotation

import flex_robot_sim as frs
from flex_robot_sim.cli import main

ROD = 1 / 6 + 2 * 0.5**2  # inertia of the rod about its hinge [kg m2]
WEIGHTLESS = '--gravity=0,0,0'


@pytest.fixture(name='rod')
def rigid_rod(tmp_path):
    """Return the path of a robot: a rigid rod on a vertical hinge."""
    return _written(tmp_path, robot(link(), joint()))


@pytest.fixture(name='swing')
def swinging(tmp_path):
    """Return the path of a robot: two flexible links."""
    return _written(tmp_path, swinging_text(damping='0.1'))


def _written(folder, text):
    path = folder / 'arm.urdf'
    path.write_text(text)
    return str(path)


def figures(capsys, *words):
    """Return the JSON object that a command prints; standard output contains nothing else."""
    assert main([*words, '--json']) == 0
    out, err = capsys.readouterr()
    assert err == ''
    return json.loads(out)


def complaint(capsys, *words):
    """Return the one-line error of a command."""
    try:
        assert main(list(words)) == 2
    except SystemExit as error:  # of argparse
        assert error.code == 2
    out, err = capsys.readouterr()
    assert out == ''
    assert err.count('\n') == 1
    return err.strip()


def rows_of(path):
    """Return the columns of a CSV file by name."""
    with open(path, newline='') as file:
        header, *rows = csv.reader(file)
    return dict(zip(header, np.array(rows, float).T))


@pytest.mark.slow
def test_the_module_runs_as_the_command(rod):
    frs.Simulation(frs.load(rod)).step()  # already compiled, so there is no compile message
    words = [sys.executable, '-m', 'flex_robot_sim', 'simulate', rod, '--json', '--seconds', '0.1']
    done = subprocess.run(words, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, '')
    assert json.loads(done.stdout)['time'] == pytest.approx(0.1)
    done = subprocess.run([*words, '--rate', '0'], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, '')
    assert done.stderr == 'flexsim simulate: --rate must be above 0 and below 1e+09.\n'


def test_a_constant_effort(rod, capsys, tmp_path):
    path = tmp_path / 'run.csv'
    summary = figures(
        capsys,
        'simulate',
        rod,
        *shlex.split('--effort hinge=1.5 --seconds 2 --rate 10 --output'),
        str(path),
    )
    # the midpoint is exact for a constant acceleration; the table has nine digits
    assert summary['robot'] == 'test'
    assert summary['time'] == pytest.approx(2.0)
    assert summary['velocity']['hinge'] == pytest.approx(2 * 1.5 / ROD, rel=1e-12)
    assert summary['position']['hinge'] == pytest.approx(2 * 1.5 / ROD, rel=1e-12)
    assert summary['energy']['work'] == pytest.approx(0.5 * ROD * (3 / ROD) ** 2, rel=1e-12)
    assert summary['largest_deflection'] == {}
    assert summary['reports'] == []
    assert summary['times_real_time'] == pytest.approx(2.0 / summary['wall_time'])
    rows = rows_of(path)
    assert list(rows) == shlex.split('time position/hinge velocity/hinge motor/hinge effort/hinge')
    np.testing.assert_allclose(rows['time'], np.arange(21) * 0.1, atol=1e-9)
    np.testing.assert_allclose(rows['position/hinge'], 0.75 / ROD * rows['time'] ** 2, rtol=1e-8)
    np.testing.assert_array_equal(rows['effort/hinge'], 1.5)


def test_the_table_has_the_pose_of_a_free_base(capsys, tmp_path):
    bus = frs.ArmBuilder('bus', base='world')
    bus.add_rigid('bus', shape=frs.Box(1.0, 1.0, 1.0), mass=3.0)
    bus.add_rigid('wheel', mass=1.0, inertia=(0.1, 0.1, 0.1))
    bus.add_joint('free', parent='world', child='bus', type='floating')
    bus.add_joint('spin', parent='bus', child='wheel', axis='z')
    (tmp_path / 'bus.urdf').write_text(bus.to_urdf())
    path = tmp_path / 'bus.csv'
    words = shlex.split('--effort spin=0.3 --seconds 1 --gravity 0,0,-2 --output')
    summary = figures(capsys, 'simulate', str(tmp_path / 'bus.urdf'), *words, str(path))
    last = {name: column[-1] for name, column in rows_of(path).items()}
    # the reaction of 0.3 N m turns 0.5 kg m2; both bodies fall for a second
    assert last['base/z'] == pytest.approx(-1.0, rel=1e-6)
    assert 2 * np.arcsin(last['base/qz']) == pytest.approx(-0.15 / 0.5, rel=1e-6)
    assert last['position/spin'] == pytest.approx(0.15 / 0.5 + 0.15 / 0.1, rel=1e-6)
    base = [*summary['base_pose'], *summary['base_twist']]
    half = -0.15 / 0.5 / 2  # of the turn
    fallen = [0, 0, -1, 0, 0, np.sin(half), np.cos(half), 0, 0, -0.6, 0, 0, -2]
    assert base == pytest.approx(fallen, rel=1e-6, abs=1e-9)
    assert summary['momentum'] == pytest.approx([0, 0, 0, 0, 0, -8], rel=1e-9, abs=1e-9)
    path.unlink()
    assert main(['simulate', str(tmp_path / 'bus.urdf'), *words, str(path)]) == 0
    shown = capsys.readouterr().out
    assert re.search(r'\n  base: at .* -1 m, roll pitch yaw .* -0\.3 rad\n', shown)
    assert re.search(r'\n  momentum: angular .* N m s, linear .* -8 N s\n', shown)


def test_the_summary_has_the_pose_of_a_moved_base(capsys):
    summary = figures(capsys, 'simulate', 'ship_boom', '--seconds', '3')
    table = rows_of(ROOT / 'urdf/ship.csv')
    (row,) = np.flatnonzero(np.isclose(table['time'], 3.0))
    place = [table[name][row] for name in 'xyz']
    roll, pitch, yaw = (table[name][row] for name in ('roll', 'pitch', 'yaw'))
    turn = Rotation.from_euler('xyz', [roll, pitch, yaw]).as_quat()
    assert summary['base_pose'] == pytest.approx([*place, *turn], abs=1e-9)
    assert 'momentum' not in summary
    assert main(['simulate', 'ship_boom', '--seconds', '3']) == 0
    assert ', work with that of the base ' in capsys.readouterr().out


def test_the_table_and_the_summary_have_contact_forces(capsys, tmp_path):
    (tmp_path / 'ball.urdf').write_text(slider('stiffness="1e4" damping="500"', joints='z'))
    path, words = tmp_path / 'ball.csv', shlex.split('--start 0.1 --seconds 1 --output')
    summary = figures(capsys, 'simulate', str(tmp_path / 'ball.urdf'), *words, str(path))
    force = rows_of(path)['contact/tool/z']
    assert [summary['contact_force']['tool'][2], force[-1]] == pytest.approx([2 * 9.81] * 2)
    assert main(['simulate', str(tmp_path / 'ball.urdf'), *words[:-1]]) == 0
    assert '  contact tool: force 0 0 19.62 N\n' in capsys.readouterr().out


@pytest.mark.parametrize(
    'words, impulse', [('step:2@0.5', 1.0), ('bang:3@0.1,0.4,0.5', 0.6), ('sine:1@0.25', 2 / pi)]
)
def test_efforts_over_time(rod, capsys, words, impulse):
    summary = figures(capsys, 'simulate', rod, '--effort', f'hinge={words}', '--seconds', '1')
    # each step holds the effort of its middle: the error of the sine is (2 pi f h)^2 / 24
    assert summary['velocity']['hinge'] == pytest.approx(impulse / ROD, rel=2e-7)


def test_efforts_from_a_table(rod, capsys, tmp_path):
    path = tmp_path / 'efforts.csv'
    path.write_text('time,hinge\n0,0\n1,4\n')
    summary = figures(capsys, 'simulate', rod, '--effort-table', str(path), '--seconds', '2')
    assert summary['velocity']['hinge'] == pytest.approx(2.0 / ROD, rel=1e-12)


def test_a_pose_is_held(swing, capsys, tmp_path):
    path = tmp_path / 'run.csv'
    summary = figures(
        capsys,
        'simulate',
        swing,
        *shlex.split(
            '--to=0.5,-0.3 --start 0.4,-0.3 --seconds 10 --stiffness 900 --damping 300 '
            '--time-step 2e-3 --output'
        ),
        str(path),
        WEIGHTLESS,
    )
    # the servo settles after 2 s; the links still vibrate a little, and move the joints
    assert summary['position'] == pytest.approx({'waist': 0.5, 'elbow': -0.3}, abs=1e-3)
    rows = rows_of(path)
    assert rows['position/waist'][0] == 0.4
    # the motor starts with the torque of its stiffness, which falls when it moves
    assert 0 < rows['effort/waist'][0] < 900 * 0.1
    tips = np.linalg.norm([rows[f'tip/arm/{axis}'] for axis in 'xyz'], axis=0)
    assert summary['largest_deflection']['arm'] == pytest.approx(tips.max(), rel=1e-6)
    assert 'tip/forearm/turn_z' in rows


SERVO = '--to', '0.4', '--stiffness', '40', '--damping', '8'


@pytest.mark.parametrize(
    'words',
    [SERVO, (*SERVO, '--within', '0.1'), ('--effort', 'hinge=bang:3@0.0513,0.1,0.1487')],
    ids=['step', 'within', 'bang'],
)
@pytest.mark.parametrize('rate', [100, 200])
def test_efforts_of_a_log_have_the_applied_impulse(rod, capsys, tmp_path, words, rate):
    rows = []
    for each in (rate, 2000):
        path = tmp_path / f'{each}.csv'
        assert main(
            [
                'simulate',
                rod,
                *words,
                *shlex.split('--seconds 0.2 --time-step 5e-4 --rate'),
                str(each),
                '--output',
                str(path),
                '--json',
            ]
        ) in (0, 1)
        capsys.readouterr()
        rows.append(rows_of(path))
    coarse, fine = rows
    # a rigid rod: the impulse around a row equals its change of momentum
    ends = [
        np.interp(
            np.clip(coarse['time'] + side / rate, 0, 0.2), fine['time'], fine['velocity/hinge']
        )
        for side in (-0.5, 0.5)
    ]
    lengths = np.full(len(coarse['time']), 1 / rate)
    lengths[[0, -1]] /= 2
    assert coarse['effort/hinge'] * lengths == pytest.approx(
        ROD * (ends[1] - ends[0]), abs=1e-8
    )  # nine digits


def test_suitable_gains_hold_a_pose(swing, capsys):
    summary = figures(capsys, 'simulate', swing, '--to', '0.5,0.3', '--seconds', '8', WEIGHTLESS)
    assert summary['position'] == pytest.approx({'waist': 0.5, 'elbow': 0.3}, abs=1e-2)


def test_pd_compensates_gravity_at_the_pose(capsys):
    summary = figures(capsys, 'simulate', 'two_link', '--to=0.5,0.5,-0.8', '--seconds', '12')
    # gears deflect by weight over stiffness; a bent arm is a little shorter than a straight one
    assert summary['position']['waist'] == pytest.approx(0.5, abs=1e-4)
    assert summary['position']['shoulder'] == pytest.approx(0.5, abs=0.02)
    assert summary['position']['elbow'] == pytest.approx(-0.8, abs=0.02)


def test_the_text_output_has_all_results(swing, capsys):
    assert main(['simulate', swing, '--seconds', '0.5', '--effort', 'waist=150']) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert err == ''
    assert lines[0].startswith('test: 0.5 s in ')
    assert lines[1].startswith('  waist: ')
    assert any(line.startswith('  note: link "arm" bends by more than 10 % ') for line in lines)


def test_frequencies_of_a_clamped_beam(capsys, tmp_path):
    path = _written(
        tmp_path,
        clamped_text(
            '<section EIy="40" EIz="10"/><modes bending_y="3" bending_z="3" torsion="0" '
            'boundary="free"/><damping ratio="0.01"/>'
        ),
    )
    summary = figures(capsys, 'modes', path, '--count', '3', WEIGHTLESS)
    roots = np.array([1.875104, 1.875104 * sqrt(2), 4.694091])  # z is four times stiffer
    expected = roots**2 * sqrt(10 / 2) / (2 * pi) * sqrt(1 - 0.01**2)
    # natural and damped frequencies differ by the square of the damping ratio
    np.testing.assert_allclose(summary['frequencies'], expected, rtol=1e-4)
    np.testing.assert_allclose(summary['damping_ratios'], 0.01, rtol=0.5)
    assert summary['joints'] == 'locked'
    assert set(summary['shapes'][0]) == {
        f'arm/bending_{axis}_{k}' for axis in 'yz' for k in (1, 2, 3)
    }
    assert main(['modes', path, WEIGHTLESS, '--count', '1']) == 0
    title, heading, mode = capsys.readouterr().out.splitlines()
    assert title == 'test at , motors locked'
    assert heading.split() == ['frequency', '[Hz]', 'damping', 'mostly']
    assert mode.split()[-1] == 'arm/bending_y_1'


def test_free_joints_have_a_mode_of_zero_frequency(swing, capsys):
    free = figures(capsys, 'modes', swing, '--joints', 'free', '--pose', '0.3,0.2', WEIGHTLESS)
    locked = figures(capsys, 'modes', swing, '--pose', '0.3,0.2', WEIGHTLESS)
    assert free['frequencies'][:2] == [0.0, 0.0]
    assert locked['frequencies'][0] > 0
    assert free['pose'] == [0.3, 0.2]


WORDS = {
    'seconds': (['--seconds', '0'], '--seconds must be above 0 and below 1e+09.'),
    'nan seconds': (['--seconds', 'nan'], '--seconds must be above 0 and below 1e+09.'),
    'long': (['--seconds', '1e300'], '--seconds must be above 0 and below 1e+09.'),
    'minus': (
        ['--to', '-1,0'],
        'argument --to: -1,0 begins with -, so write --to=-1,0. Try flexsim simulate --help.',
    ),
    'unknown': (['--bogus'], 'unrecognized arguments: --bogus. Try flexsim simulate --help.'),
    'no file': (
        ['--output', ''],
        'a file without a name: cannot be written: No such file or directory.',
    ),
    'short': (['--seconds', '1e-4'], '--seconds must be at least one --time-step.'),
    'rate': (['--rate', '-1'], '--rate must be above 0 and below 1e+09.'),
    'step': (['--time-step', '0'], 'time_step = 0.0 must be > 0.0: integration step [s]'),
    'joint': (['--effort', 'hip=1'], 'no joint "hip". Known: waist, elbow'),
    'words': (
        ['--effort', 'waist=saw:1'],
        'effort "saw:1" is none of 1.5, step:SIZE@START, '
        'bang:SIZE@START,TURN,END, sine:SIZE@FREQUENCY',
    ),
    'both': (
        ['--effort', 'waist=1', '--effort-table', 'x.csv'],
        '--effort and --effort-table exclude each other.',
    ),
    'pose': (['--to', '1'], '--to must be 2 finite numbers, in this order: waist, elbow'),
    'start': (
        ['--start', '1,nan'],
        '--start must be 2 finite numbers, in this order: waist, elbow',
    ),
    'gains': (['--stiffness', '3'], '--stiffness and --damping need a pose to hold: --to.'),
    'three': (['--to', '1,2', '--damping', '1,2,3'], '--damping takes 1 or 2 numbers, not 3.'),
    'gravity': (['--gravity', '1,2'], 'gravity must be three finite numbers [m/s2]'),
    'output': (
        ['--seconds', '0.01', '--output', '/no/such/folder/x.csv'],
        '/no/such/folder/x.csv: cannot be written: No such file or directory.',
    ),
    'lost': (
        ['--effort', 'waist=1e200'],
        'the state is not finite after 0 s; the last good one '
        'is kept. Take a shorter time_step or smaller efforts',
    ),
}


@pytest.mark.parametrize('words, expected', WORDS.values(), ids=WORDS)
def test_an_invalid_option_is_one_line(swing, capsys, words, expected):
    assert complaint(capsys, 'simulate', swing, *words) == f'flexsim simulate: {expected}'


@pytest.mark.parametrize(
    'words, expected',
    [
        (['simulate', '--scheme', 'rk5'], "argument --scheme: invalid choice: 'rk5'"),
        (['simulate', '--to', 'up'], 'argument --to: "up" is not numbers with commas'),
        (['simulate', '--seconds', 'long'], "argument --seconds: invalid float value: 'long'"),
        (['modes', '--joints', 'loose'], "argument --joints: invalid choice: 'loose'"),
    ],
)
def test_an_invalid_argument_is_one_line(swing, capsys, words, expected):
    found = complaint(capsys, words[0], swing, *words[1:])
    assert found.startswith(f'flexsim {words[0]}: {expected}')
    assert found.endswith(f'Try flexsim {words[0]} --help.')


@pytest.mark.parametrize(
    'words, expected',
    [
        (['--count', '0'], '--count must be above 0.'),
        (['--pose', '1'], '--pose must be 2 finite numbers, in this order: waist, elbow'),
        (['--pose', '1,inf'], '--pose must be 2 finite numbers, in this order: waist, elbow'),
        (['stiff=1'], '"stiff=1" is no argument for xacro. Write NAME:=VALUE.'),
    ],
)
def test_an_invalid_option_of_modes_is_one_line(swing, capsys, words, expected):
    assert complaint(capsys, 'modes', swing, *words) == f'flexsim modes: {expected}'


@pytest.mark.slow
def test_an_arm_that_misses_its_goal_is_reported_with_an_exit_code(capsys):
    soft = ['simulate', 'two_link', '--to', '0.5,0.3,-0.8', '--stiffness', '1']
    assert main(soft) == 1
    error = capsys.readouterr().err
    assert re.fullmatch(
        r'flexsim simulate: "\w+" is [\d.]+ rad from --to at the end\. Give more '
        r'--seconds, or other --stiffness and --damping\n',
        error,
    )
    assert main([*soft, '--json']) == 1
    assert '" is ' in json.loads(capsys.readouterr().out)['missed']


@pytest.mark.slow
def test_a_servo_stopped_by_friction_is_reported_with_the_needed_stiffness(tmp_path, capsys):
    sticky = _written(
        tmp_path, robot(link(), joint(inside='<axis xyz="0 0 1"/><dynamics friction="50"/>'))
    )
    soft = ROD * (2 * pi) ** 2  # a closed joint of 1 Hz
    assert main(['simulate', sticky, '--to', '1']) == 0  # with integral action
    assert 'integral action at hinge' in capsys.readouterr().out
    assert main(['simulate', sticky, '--to', '1', '--stiffness', f'{soft}']) == 1
    assert capsys.readouterr().err == (
        f'flexsim simulate: "hinge" is 1 rad from --to at the end. Its servo of {soft:.2g} N m/rad'
        ' is too soft for its friction of 50 N m: give it a --stiffness of 1e+03, '
        'or --integral 0.2 and more --seconds\n'
    )
    assert main(['simulate', sticky, '--to', '1', '--stiffness', '1e3', '--damping', '40']) == 0


@pytest.mark.parametrize('robot', ['two_link', 'dual_screw_arm', 'rcm', 'ella'])
def test_default_gains_move_an_arm_to_a_pose_and_hold_it(robot, capsys):
    arm = frs.load(robot)
    pose = ','.join(f'{0.3 * (-1) ** j:g}' for j in range(len(arm.joint_names)))
    assert main(['simulate', robot, f'--to={pose}', '--seconds', '8', '--json']) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary['missed'] == ''
    for position, place in zip(summary['position'].values(), pose.split(',')):
        # the joint behind a flexible gear, and links that sag and vibrate
        assert abs(position - float(place)) < 0.06


@pytest.mark.slow
@pytest.mark.parametrize('name', ['lbr_iiwa14', 'fr3'])
def test_public_arms_with_friction_arrive_with_default_gains(name, capsys):
    file = ROOT / 'test/data/robots' / f'{name}.urdf'
    arm = frs.load(str(file))
    start = np.clip(0.1, arm.arrays.lower + 0.06, arm.arrays.upper - 0.06)
    goal = np.clip(start + 0.3, arm.arrays.lower, arm.arrays.upper - 0.02)
    words = [
        f'--{option}={",".join(map(str, pose))}'
        for option, pose in (('start', start), ('to', goal))
    ]
    assert main(['simulate', str(file), *words, '--within', '1', '--seconds', '4', '--json']) == 0
    summary = json.loads(capsys.readouterr().out)
    # integral action starts if friction would leave more than 5e-3 rad
    positions = np.array([*summary['position'].values()])
    np.testing.assert_allclose(positions[arm.actuated], goal[arm.actuated], atol=5e-3)
    assert abs(summary['energy']['balance']) < 1e-9


def test_a_move_that_is_faster_than_a_joint_names_the_shortest_time(capsys):
    move = ['simulate', 'two_link', '--to', '0.5,0.5,-0.8', '--seconds', '2', '--within']
    limits = [
        frs.load('two_link').description.joint(name).velocity
        for name in ('waist', 'shoulder', 'elbow')
    ]
    # the largest velocity of minimum jerk is 15/8 of its mean
    shortest = max(15 / 8 * way / limit for way, limit in zip((0.5, 0.5, 0.8), limits))
    error = complaint(capsys, *move, f'{0.9 * shortest}')
    found = re.search(r'faster than its [\d.]+: give --within ([\d.]+) or more\.$', error)
    assert found
    least = float(found[1])
    assert shortest <= least < 1.01 * shortest
    assert main([*move, f'{least}']) in (0, 1)  # it may still vibrate after two seconds


@pytest.mark.parametrize(
    'attribute, power, peak',
    [('acceleration', 2, 10 / np.sqrt(3)), ('deceleration', 2, 10 / np.sqrt(3)), ('jerk', 3, 60)],
)
def test_a_move_beyond_another_limit_of_a_public_arm_is_refused(
    tmp_path, capsys, attribute, power, peak
):
    file, limit = tmp_path / 'ur5e.urdf', 9.0
    text = (ROOT / 'test/data/robots/ur5e.urdf').read_text('utf-8')
    file.write_text(text.replace('<limit ', f'<limit {attribute}="{limit}" '), 'utf-8')
    shortest = (peak * 0.5 / limit) ** (1 / power)
    move = ['simulate', str(file), '--to', '0.5,0,0,0,0,0', '--seconds', '2', '--within']
    error = complaint(capsys, *move, f'{0.9 * shortest}')
    noun = 'jerk' if attribute == 'jerk' else 'acceleration'
    found = re.search(rf'more than its {noun} 9: give --within ([\d.]+) or more\.$', error)
    assert found and shortest <= float(found[1]) < 1.01 * shortest


def test_a_rigid_arm_of_seven_joints_arrives_with_default_gains(tmp_path, capsys):
    file = tmp_path / 'arm.urdf'
    file.write_text(seven_joints().description.text, 'utf-8')
    assert main(['simulate', str(file), '--to', '0.5,0.9,-0.4,-1.2,0.3,1.1,0.2']) == 0


def test_a_goal_beyond_the_stops_is_rejected_and_a_pose_there_is_reported(capsys):
    beyond = '"waist" at 3.2 rad is beyond its limits, -2.9 to 2.9 rad'
    assert complaint(capsys, 'simulate', 'two_link', '--to', '3.2,0,0') == (
        f'flexsim simulate: --to: {beyond}.'
    )
    assert main(['modes', 'two_link', '--pose', '3.2,0,0', '--count', '1']) == 0
    assert capsys.readouterr().err == (
        f'flexsim modes: note: --pose: {beyond}; the stiffness of its stop is part of the result\n'
    )
