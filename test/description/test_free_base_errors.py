"""A floating or planar joint that cannot be simulated causes a one-line error."""

import pytest
from arms import complaint, flexibility, joint, link, robot

import flex_robot_sim as frs
from flex_robot_sim import read_description
from flex_robot_sim.util.exceptions import SettingError

FREE = '<joint name="free" type="floating"><parent link="base"/><child link="bus"/>{}</joint>'
BUS = link(name='bus')

MISTAKES = {
    '6: joint "free" is floating and its parent "arm" is not the root of the robot. Only a base '
    'is free: let its parent be the root, without other joints, or build it from three '
    'prismatic joints and a spherical one.': robot(
        link(), joint(), BUS, FREE.format('').replace('parent link="base"', 'parent link="arm"')
    ),
    '4: joint "free" is floating, and its parent "base" has joint "hinge", too. Let "base" have '
    'no other part, or make the joint fixed.': robot(BUS, FREE.format(''), link(), joint()),
    '4: joint "free" is floating, so that its <dynamics> has no effect. Remove the '
    '<dynamics>.': robot(BUS, FREE.format('<dynamics damping="1"/>')),
    '5: joint "free" is floating, so it has no gear. Remove it from <flexibility>.': robot(
        BUS, FREE.format(''), flexibility('<joint name="free" stiffness="1" rotor_inertia="1"/>')
    ),
    '5: the free base of joint "free" carries nothing that has mass. Give link "bus" an '
    '<inertial>, or fix the joint.': robot(
        '<link name="bus"/>',
        '<link name="tip"/>',
        FREE.format(''),
        joint(name='tip', kind='fixed', parent='bus', child='tip'),
        flexibility(),
    ),
    '3: the free base of joint "free" carries nothing that has inertia about all axes. Give link '
    '"bus" an <inertial>, or fix the joint.': robot(
        FREE.format(''), link(name='bus', inertia=(0.0, 0.0, 0.0))
    ),
}


@pytest.mark.parametrize(('message', 'text'), MISTAKES.items())
def test_a_free_base_that_cannot_be_simulated_is_refused(message, text):
    assert complaint(text) == f'<text>:{message}'


def test_a_free_base_without_any_mass_is_drawn_and_not_simulated():
    arm = robot('<link name="bus"/>', FREE.format(''))
    (line,) = read_description(arm).warnings
    assert 'can be drawn, but not simulated' in line
    with pytest.raises(SettingError, match='the free base of <text> carries no mass'):
        frs.load(arm)


def test_a_planar_joint_without_an_axis_is_a_warning():
    base = robot(BUS, FREE.format('').replace('floating', 'planar'))
    (line,) = read_description(base).warnings
    assert line == (
        '<text>:4: planar joint "free" has no <axis>, so that x is the normal of its plane. Give '
        '<axis xyz="0 0 1"/> for the plane of x and y, or <axis xyz="1 0 0"/>.'
    )
    with_axis = FREE.format('<axis xyz="1 0 0"/>').replace('floating', 'planar')
    assert not read_description(robot(BUS, with_axis)).warnings


def test_a_limit_of_a_free_base_is_a_warning():
    text = robot(BUS, FREE.format('<limit lower="-1" upper="1" effort="1" velocity="1"/>'))
    assert read_description(text).warnings == (
        '<text>:4: joint "free" is floating, so that its <limit> has no effect. Remove the '
        '<limit>.',
    )
