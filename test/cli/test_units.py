"""Units in messages and tables match the joint: rad if revolute, m if prismatic."""

from xml.etree import ElementTree

import numpy as np
import pytest
from project_files import ROOT

from flex_robot_sim import DescriptionError, SettingError, load, read_description
from flex_robot_sim.cli import main
from flex_robot_sim.control.hold_monitor import HoldMonitor
from flex_robot_sim.motion.limits import refuse_beyond_stops

SLIDE = """<robot name="cart"><link name="rail"/><joint name="slide" type="{kind}">
<parent link="rail"/><child link="cart"/><axis xyz="1 0 0"/><limit {limit} effort="1"/></joint>
<link name="cart"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<flexibility><joint name="slide" stiffness="{stiffness}" rotor_inertia="1"/></flexibility>
</robot>"""


def text(kind, limit='lower="-1" upper="1" velocity="1"', stiffness='5'):
    return SLIDE.format(kind=kind, limit=limit, stiffness=stiffness)


def test_an_arm_knows_the_units_of_its_joints():
    arm = load('rig')
    assert (arm.joint_names, arm.units) == (('slide', 'turn'), ('m', 'rad'))
    assert arm.effort_units == ('N', 'N m')


@pytest.mark.parametrize('joint, unit', [('slide', 'm'), ('turn', 'rad')])
def test_stops_are_reported_in_the_unit_of_the_joint(joint, unit):
    arm = load('rig')
    limit = ElementTree.parse(ROOT / 'urdf' / 'rig.urdf').find(f"joint[@name='{joint}']/limit")
    with pytest.raises(SettingError) as error:
        refuse_beyond_stops(arm, [arm.joint_names.index(joint)], np.array([9.0]))
    assert str(error.value) == (
        f'target 9 of "{joint}" is beyond its stops at {float(limit.get("lower")):.6g} and '
        f'{float(limit.get("upper")):.6g} {unit}'
    )


def test_a_position_error_is_reported_in_the_unit_of_the_joint():
    arm = load('rig')
    holding, target = HoldMonitor(arm), np.zeros(2)
    for now in np.arange(0.0, 20.0, 0.1):
        holding.update(now, False, target, np.array([0.5, 0.0]), np.zeros(2), 1.0)
    assert holding.line == '"slide" is not held: 0.5 m from its target, at 0 m/s'


@pytest.mark.parametrize(
    'kind, stiffness, length', [('prismatic', 'N/m', 'm'), ('revolute', 'N m/rad', 'rad')]
)
def test_an_error_of_a_joint_names_its_unit(kind, stiffness, length):
    with pytest.raises(DescriptionError, match=rf'must be > 0\. Give stiffness \[{stiffness}\]'):
        read_description(text(kind, stiffness='0'))
    with pytest.raises(DescriptionError, match=rf'Write a finite decimal number in {length}\.'):
        read_description(text(kind, limit='lower="low" upper="1" velocity="1"'))


def test_simulate_prints_prismatic_joints_in_metres(capsys):
    assert main(['simulate', 'rig', '--seconds', '0.01']) == 0
    out = capsys.readouterr().out
    assert '  slide: 0 m, 0 m/s\n' in out and '  turn: 0 rad, 0 rad/s\n' in out


def test_a_pose_has_the_units_of_its_joints(capsys):
    assert main(['modes', 'rig', '--pose', '0.1,0.5', '--count', '1']) == 0
    assert capsys.readouterr().out.startswith('rig at 0.1 m, 0.5 rad, motors locked\n')
    assert main(['modes', 'two_link', '--count', '1']) == 0
    assert capsys.readouterr().out.startswith('two_link at 0 0 0 rad, motors locked\n')
