"""Commands on robots with closed loops: a pose is one number per joint, or one per motor."""

import json

import numpy as np
import pytest

from flex_robot_sim.cli import main

TO = '0.2,0.2,0.2,0'
LINE = (
    '--to must be 9 finite numbers, in this order: arm_1_joint, arm_2_joint, arm_3_joint, '
    'platform_x, platform_y, platform_z, platform_roll, platform_pitch, platform_yaw; or 3, of '
    'the joints with a motor\n'
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def printed(capsys, *words):
    """Return the JSON object of a command."""
    assert main([*words, '--json']) == 0
    return json.loads(capsys.readouterr().out)


def test_the_forearm_of_a_parallelogram_stays_level_with_its_tool(capsys):
    words = 'simulate', 'palletiser', '--to', TO, '--within', '0.5', '--seconds', '1.5'
    found = printed(capsys, *words, '--output', 'move.mcap')['position']
    # the flange turns back by what upper arm and forearm turn; links bend by 2 mm of 1 m
    turns = found['shoulder'] + found['elbow'] + found['flange_joint']
    assert turns == pytest.approx(0.0, abs=5e-3)
    assert [found[name] for name in ('waist_joint', 'shoulder', 'elbow')] == pytest.approx(
        [0.2] * 3, abs=4e-3
    )
    found = printed(capsys, 'export', 'move.mcap', '--output', 'tables')
    path = 'tables/constraint_forces.rod_1_end.csv'
    forces = np.genfromtxt(path, delimiter=',', names=True, deletechars='')['wrench/force/z']
    # the first force is that of an arm whose motors hold it
    assert forces[0] == pytest.approx(forces[1], abs=0.5)


def test_a_pose_is_one_number_per_motor_or_per_joint(capsys):
    by_motors = printed(capsys, 'modes', 'palletiser', '--pose', TO)
    by_joints = printed(
        capsys, 'modes', 'palletiser', '--pose', ','.join(map(str, by_motors['pose']))
    )
    assert by_motors['frequencies'] == pytest.approx(by_joints['frequencies'], rel=1e-6)
    assert main(['simulate', 'delta', '--to', '0.2,0.3']) == 2
    assert capsys.readouterr().err == f'flexsim simulate: {LINE}'


def test_a_sweep_moves_the_motors_of_a_loop(capsys):
    words = 'sweep', 'stewart', '--to', '0.02,0,0,0,0,0', '--seconds', '1'
    printed(capsys, *words, '--vary', 'leg_1.to=0.01,0.02', '--output', 'runs')
    table = np.genfromtxt('runs/table.csv', delimiter=',', names=True, deletechars='')
    assert np.abs(table['leg_1.error']).max() < 1e-4
