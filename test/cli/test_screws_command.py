"""`flexsim screws`: poses and Jacobians that it prints are those of the arm."""

import json

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim.cli import main


@pytest.mark.parametrize('name', ['rcm', 'two_link'])
def test_poses_and_jacobians_are_those_of_the_arm(name, capsys):
    arm = frs.load(name)
    q = np.linspace(0.1, 0.4, len(arm.joint_names))
    pose = ','.join(map(str, q))
    assert main(['screws', name, '--pose', pose, '--json']) == 0
    found = json.loads(capsys.readouterr().out)
    straight = np.zeros(arm.size)
    arm.set_joints(straight, q)
    for k, body in enumerate(found['bodies']):
        assert np.allclose(body['pose'], frs.pose(arm, straight, link=body['link']), atol=1e-12)
        for form, J in found['jacobians'].items():
            expected = frs.jacobian(arm, straight, link=body['link'], representation=form)
            rows = np.array(J)[6 * k : 6 * k + 6]
            # the motors move with the joints of the links
            assert np.allclose(rows, expected[:, : q.size], atol=1e-12)
    assert {*found['jacobians']} == {'body', 'spatial'}


def test_the_text_has_both_forms(capsys):
    assert main(['screws', 'rcm', '--form', 'mixed']) == 0
    text = capsys.readouterr().out
    assert 'in the base frame, pose there' in text and 'mixed twists' in text


def test_a_wrong_pose_is_one_line(capsys):
    assert main(['screws', 'rcm', '--pose', '0,0']) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith('flexsim screws: --pose must be 5 finite numbers')


def test_the_check_has_the_pitch_of_a_screw(capsys, tmp_path):
    lift = frs.ArmBuilder('lift').add_rigid('nut', mass=1.0)
    lift.add_joint('lead', parent='base', child='nut', axis='z', type='screw', pitch=0.005)
    (tmp_path / 'lift.urdf').write_text(lift.to_urdf())
    assert main(['check', str(tmp_path / 'lift.urdf')]) == 0
    assert '[lead: continuous z, screw of 0.005 m per turn]' in capsys.readouterr().out
