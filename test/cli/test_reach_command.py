"""`flexsim reach`: what it prints brings the tool to the place."""

import json

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim.cli import main
from flex_robot_sim.description.orientation import turned_by

PLACE = 0.45, 0.25, 0.15
AT = '--at', '0.45,0.25,0.15'


def test_the_tool_with_a_payload_is_at_the_place_once_it_sags(capsys):
    assert main(['reach', 'two_link', *AT, '--payload', '0.3', '--json']) == 0
    result = json.loads(capsys.readouterr().out)
    arm = frs.with_payload(frs.load('two_link'), 'tool', 0.3)
    rest = frs.equilibrium(arm, [*result['joints'].values()])
    np.testing.assert_allclose(frs.pose(arm, rest.q)[:3, 3], PLACE, atol=1e-6)
    assert result['sag'] > 1e-3


def test_links_that_bend_beyond_the_theory_are_named(capsys):
    assert main(['reach', 'two_link', *AT, '--payload', '10']) == 0
    text = capsys.readouterr().out
    assert 'link "upper_arm" bends by more than 10 % of its length: give it more' in text


def test_a_turn_is_that_of_a_urdf(capsys):
    arm = frs.load('two_link')
    T = frs.pose(arm, frs.equilibrium(arm, [0.3, 0.4, -0.9]).q)
    rpy = np.arctan2(T[2, 1], T[2, 2]), -np.arcsin(T[2, 0]), np.arctan2(T[1, 0], T[0, 0])
    np.testing.assert_allclose(turned_by(rpy), T[:3, :3], atol=1e-12)
    words = [f'--at={",".join(map(repr, T[:3, 3].tolist()))}', f'--rpy={",".join(map(str, rpy))}']
    assert main(['reach', 'two_link', *words, '--start', '0.2,0.5,-1']) == 0
    lines = capsys.readouterr().out.splitlines()
    found = np.array(lines[1].split(','), float)
    np.testing.assert_allclose(found, [0.3, 0.4, -0.9], atol=1e-5)


def test_the_nearest_place_has_its_distance(capsys):
    assert main(['reach', 'two_link', '--at', '9,0,0', '--nearest']) == 0
    assert '"tool" comes as near as 8.0' in capsys.readouterr().out.splitlines()[0]


def test_the_distance_of_the_axis_from_the_point_is_printed(capsys):
    words = ['reach', 'two_link', *AT, '--through', '0.3,0.1,0.4', '--nearest']
    assert main([*words, '--json']) == 0
    joints = [*json.loads(capsys.readouterr().out)['joints'].values()]
    arm = frs.load('two_link')
    T = frs.pose(arm, frs.equilibrium(arm, joints).q)
    offset = np.linalg.norm(np.cross(T[:3, 2], np.array([0.3, 0.1, 0.4]) - T[:3, 3]))
    assert main(words) == 0
    assert f'  the axis passes the point at {offset:.1e} m' in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ('words', 'expected'),
    [
        (['--at', '0.45,0.25'], '--at must be 3 finite numbers'),
        ([*AT, '--rpy', '0,0'], '--rpy must be 3 finite numbers'),
        ([*AT, '--link', 'hand'], 'no link "hand"'),
        (['--at', '9,0,0'], 'the target is out of reach: "tool" comes as near as 8.'),
    ],
)
def test_a_place_that_is_none_is_one_line(words, expected, capsys):
    assert main(['reach', 'two_link', *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f'flexsim reach: {expected}')
