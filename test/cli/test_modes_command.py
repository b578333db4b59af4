"""`flexsim modes`: closed forms of beams with a tip load, and error messages."""

import json
from math import cos, cosh, pi, sin, sinh

import pytest
from arms import beam, flexibility, joint, link, robot
from project_files import ROOT
from scipy.optimize import brentq

from flex_robot_sim.cli import main

TOOL = '<link name="tool"/>', joint('mount', 'fixed', 'arm', 'tool', '<origin xyz="1 0 0"/>')
WEIGHTLESS = '--gravity', '0,0,0'


@pytest.fixture
def arm_file(tmp_path):
    """Return a beam of 1 m and 2 kg with a tool at its tip, as a file."""
    path = tmp_path / 'arm.urdf'
    path.write_text(
        robot(
            link(),
            joint(),
            *TOOL,
            flexibility(
                beam(
                    '<section EIy="20" EIz="30"/><modes bending_y="4" bending_z="4" torsion="0"/>'
                )
            ),
        )
    )
    return str(path)


@pytest.mark.parametrize(
    'words, mass', [((), 0.0), (('--payload', '0.5'), 0.5), (('--payload', 'tool=3'), 3.0)]
)
def test_frequencies_of_a_beam_with_a_tip_load(arm_file, capsys, words, mass):
    assert main(['modes', arm_file, *WEIGHTLESS, *words, '--count', '4', '--json']) == 0
    summary = json.loads(capsys.readouterr().out)

    def characteristic(x):
        return 1 + cos(x) * cosh(x) + mass / 2.0 * x * (cos(x) * sinh(x) - sin(x) * cosh(x))

    roots = [brentq(characteristic, *bracket) for bracket in ((0.5, 2.5), (3.0, 5.0))]
    # the model includes rotary inertia of the section, the equation does not
    assert summary['frequencies'] == pytest.approx(
        sorted(x**2 * (EI / 2.0) ** 0.5 / (2 * pi) for x in roots for EI in (20.0, 30.0)), rel=5e-3
    )
    assert summary['payload'] == ({'tool': mass} if mass else {})
    assert summary['damping_ratios'] == [0.0] * 4


def test_the_text_names_pose_payload_and_free_joints(arm_file, capsys):
    assert main(['modes', arm_file, '--pose', '0.5', '--payload', '0.25', '--count', '2']) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == 'test at 0.5 rad, motors locked, 0.25 kg at tool'
    assert lines[1].split() == ['frequency', '[Hz]', 'damping', 'mostly']
    assert len(lines) == 4
    assert {line.split()[2].partition('/')[0] for line in lines[2:]} == {'arm'}


@pytest.mark.parametrize(
    'words, message',
    [
        (('--count', '0'), '--count must be above 0.'),
        (('--payload', 'heavy'), '--payload heavy: is not a mass. Write KG or LINK=KG.'),
        (('--payload', 'hand=1'), 'no link "hand" that carries a payload. Known: arm, tool'),
        (('--payload', 'nan'), 'payload of "tool" needs a mass >= 0'),
        (('--pose', '0,0'), '--pose must be 1 finite numbers, in this order: hinge'),
    ],
)
def test_an_error_is_one_line(arm_file, capsys, words, message):
    assert main(['modes', arm_file, *words]) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert printed.startswith('flexsim modes: ')
    assert printed.count('\n') == 1


def test_a_rigid_arm_has_no_vibration_and_lists_no_growing_motion(capsys):
    skeleton = str(ROOT / 'test/data/robots/ur5e.urdf')
    assert main(['modes', skeleton]) == 0
    title, line = capsys.readouterr().out.splitlines()
    assert title == 'ur5e at 0 0 0 0 0 0 rad, motors locked'
    assert line == (
        '  nothing vibrates: no link and no joint of this robot is flexible. Describe '
        'what bends by <flexibility> (docs/description.md)'
    )
    # with free joints, an inverted pendulum falls without oscillation
    assert main(['modes', skeleton, '--joints', 'free']) == 0
    *rows, nothing, falls = capsys.readouterr().out.splitlines()
    assert nothing == line and '-' not in ''.join(rows[2:])
    assert falls == '  the arm falls from this pose: unstable motions that are not listed: 1'


def test_the_stiffness_of_a_stop_in_contact_is_reported(tmp_path, capsys):
    path = tmp_path / 'arm.urdf'
    limit = '<axis xyz="0 1 0"/><limit lower="-1" upper="{}" effort="50" velocity="2"/>'
    for upper, leans in ((0, True), (1, False)):  # its weight rotates it towards positive angles
        path.write_text(
            robot(
                link('arm', 2.0, '0.5 0 0'),
                joint('hinge', 'revolute', inside=limit.format(upper)),
                flexibility('<joint name="hinge" stiffness="5e3" rotor_inertia="0.1"/>'),
            )
        )
        assert main(['modes', str(path)]) == 0
        line = (
            '"hinge" leans on its stop; the stiffness of its stop is part of the modes. Give '
            'a --pose within the limits'
        )
        assert (line in capsys.readouterr().out) == leans


def test_a_robot_without_motion_is_one_line(tmp_path, capsys):
    path = tmp_path / 'arm.urdf'
    path.write_text('<robot name="arm"><link name="base"/></robot>')
    for joints in 'locked', 'free':
        assert main(['modes', str(path), '--joints', joints]) == 2
        printed = capsys.readouterr().err
        assert printed.endswith('flexsim modes: nothing of this robot moves: it has no modes.\n')


def test_the_pose_is_that_in_which_passive_joints_hang(tmp_path, capsys):
    path = tmp_path / 'puck.urdf'
    path.write_text(
        robot(
            link(),
            link('puck', 2.0, '0 0 0', (0.1, 0.1, 0.1)),
            joint(),
            joint('slide', 'planar', 'arm', 'puck', '<axis xyz="1 0 0"/>'),
            flexibility(
                *(
                    f'<joint name="slide_{axis}" spring_stiffness="50"/>'
                    for axis in ('x', 'y', 'theta')
                )
            ),
        )
    )
    assert main(['modes', str(path), '--json']) == 0
    summary = json.loads(capsys.readouterr().out)
    # with the normal x, the axes of the plane are y and z
    assert summary['pose'] == pytest.approx([0.0, 0.0, -2.0 * 9.81 / 50.0, 0.0], abs=1e-12)
    assert summary['notes'] == []
