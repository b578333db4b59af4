"""Commands on robots with a free base, or with one that is tied to the world."""

import json
import re
import shlex

import numpy as np
import pytest
from free_arms import SPACE_ARM, with_free_root
from public_robots import plain_robot

import flex_robot_sim as frs
from flex_robot_sim.cli import main
from flex_robot_sim.control.gains import carrying_efforts

FALL = 9.81 / 2  # of a body in a second [m]


@pytest.fixture(name='satellite')
def satellite_file(tmp_path):
    """Return the path of a robot with two flexible links on a free base."""
    return _written(tmp_path, SPACE_ARM)


def _written(folder, text):
    path = folder / 'robot.urdf'
    path.write_text(text)
    return str(path)


def _moved(capsys, path, goal, words, gravity):
    """Return the summary of a move of a second to a goal."""
    words = f'--to={goal} --seconds 1 --gravity {gravity} --json {words}'
    assert main(['simulate', path, *shlex.split(words)]) in (0, 1)
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize('words', ['', '--within 0.8', '--within 0.5 --shaper zvd'])
def test_joints_move_on_a_falling_base_as_in_orbit(satellite, capsys, words):
    falls, floats = (
        _moved(capsys, satellite, '0.3,-0.2', words, z) for z in ('0,0,-9.81', '0,0,0')
    )
    # gravity is the same for all bodies: relative to each other, they do not feel it
    for joint, position in floats['position'].items():
        assert falls['position'][joint] == pytest.approx(position, abs=1e-8)
    assert falls['position']['shoulder'] == pytest.approx(0.3, abs=0.1)
    pose = floats['base_pose']
    assert falls['base_pose'] == pytest.approx([*pose[:2], pose[2] - FALL, *pose[3:]], abs=1e-7)
    assert falls['reports'] == floats['reports']


@pytest.mark.parametrize(
    ('robot', 'goal'),
    [
        ('borinot_description/urdf/borinot_flying_arm_2.urdf', '0.5,0.3'),
        ('solo_description/robots/solo12.urdf', ','.join(['0,0.7,-1.4'] * 4)),
    ],
)
def test_a_public_robot_moves_its_joints_while_it_falls(tmp_path, capsys, robot, goal):
    text = plain_robot(robot)
    mass = sum(map(float, re.findall('<mass value="([^"]*)"', text)))
    path = _written(tmp_path, with_free_root(text))
    words = f'--to={goal} --seconds 2 --json'
    assert main(['simulate', path, *shlex.split(words)]) == 0  # all joints have arrived
    found = json.loads(capsys.readouterr().out)
    assert found['momentum'][5] == pytest.approx(-mass * 9.81 * 2.0, rel=1e-9)


def test_shape_says_how_to_choose_a_shaper_on_a_free_base(satellite, capsys):
    assert main(['shape', satellite]) == 2
    assert capsys.readouterr().err == (
        'flexsim shape: "space_arm" has a free base, on which shapers are not compared: choose a '
        'kind. Start with zvd, or with zv if the frequencies are accurate. `flexsim simulate --to '
        'POSE --within S --shaper zvd` shows what it leaves, and '
        "frs.shaping.design_for_arm(arm, kind='zvd') designs it\n"
    )
    arm = frs.load(satellite, gravity=(0, 0, 0))
    first = frs.modes(arm).frequencies[6]  # after those of the free base
    shaper = frs.shaping.design_for_arm(arm, kind='zvd').online(joints=2, period=1e-3)
    assert shaper.duration >= 0.9 / first  # zvd takes a period of each mode
    goal = '--to=0.3,-0.2 --within 0.5 --seconds 4 --shaper zvd --json'
    assert main(['simulate', satellite, *shlex.split(goal)]) == 0
    assert json.loads(capsys.readouterr().out)['residual_vibration_ratio'] < 0.5


def test_screws_says_that_a_free_base_has_no_columns(satellite, capsys):
    assert main(['screws', satellite]) == 0
    line = capsys.readouterr().out.splitlines()[1]
    assert line == (
        '  note: the floating joint "anchor" counts as fixed in its initial pose: the Jacobians '
        'have the columns of the other joints only. frs.jacobian has those of a free base, too'
    )
    arm = frs.load(satellite)
    assert frs.jacobian(arm, np.zeros(arm.nq), link='fore').shape[1] == arm.nv
    assert main(['screws', satellite, '--json']) == 0
    found = json.loads(capsys.readouterr().out)
    assert [len(row) for row in found['jacobians']['body']] == [2] * 6 * len(found['bodies'])


def test_a_sweep_of_moves_refuses_a_moved_base(tmp_path, capsys):
    folder = tmp_path / 'table'
    words = f'sweep ship_boom --to 0.1,0.1 --scale servo=0.8,1 --output {folder}'
    assert main(shlex.split(words)) == 2
    assert capsys.readouterr().err == (
        'flexsim sweep: the base of "ship_boom" follows "package://flex_robot_sim/urdf/ship.csv", '
        'and this needs a base at rest: use Simulation, or remove <base> from <flexibility>\n'
    )
    assert not folder.exists()


def test_an_arm_on_a_base_tied_to_the_world_is_carried():
    bus = frs.ArmBuilder('bus', base='world').add_rigid('bus', mass=5.0, inertia=(0.1, 0.1, 0.1))
    bus.add_rigid('arm', mass=1.0, centre=(0.3, 0, 0), inertia=(0.01, 0.01, 0.01))
    bus.add_joint('free', parent='world', child='bus', type='floating')
    bus.add_joint('shoulder', parent='bus', child='arm', axis='y')
    assert carrying_efforts(bus.build(), [0.0]) == pytest.approx([0.0], abs=1e-12)
    bus.add_constraint('weld', type='fixed', parent='world', child='bus')
    assert carrying_efforts(bus.build(), [0.0]) == pytest.approx([-0.3 * 9.81], rel=1e-9)


def test_a_rollout_follows_a_trajectory_on_a_falling_base():
    arm = frs.load(SPACE_ARM)
    log = frs.rollout(
        arm,
        duration=0.5,
        trajectory=lambda t: [0.3 * t, -0.2 * t],
        record=['momentum', 'base_pose', 'position'],
    )
    assert log['position'][-1] == pytest.approx([0.15, -0.1], abs=1e-6)
    # a prescribed motion changes no momentum; 23 kg fall
    assert log['momentum'][-1][5] - log['momentum'][0][5] == pytest.approx(-23 * 9.81 * 0.5)
    assert log['base_pose'].shape == (501, 7)
