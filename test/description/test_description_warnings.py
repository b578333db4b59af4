"""Probable mistakes and unusual values are read with a one-line warning."""

import math

import pytest
from arms import SECTION, Z, beam, flexibility, flexible_arm, joint, link, robot

from flex_robot_sim import read_description


def in_beam(inside, **more):
    return flexible_arm(beam(inside, **more))


WARNINGS = {
    'E = 210 Pa of "arm" is softer than any gel. Give it in Pa, not in GPa or MPa.': in_beam(
        '<rod diameter="0.0178412"/><material E="210" G="81" density="8000"/><modes torsion="0"/>'
    ),
    'flexible link "arm" is 950 m long. Give lengths in m, not in mm.': robot(
        link(centre='475 0 0', inertia=(1.0, 150416.7, 150416.7)),
        joint(),
        flexibility(beam(end='950 0 0')),
    ),
    'by its EA and its mass per length, sound runs through link "arm" at 2.83e+05 m/s. '
    'Check EA [N], mass [kg] and length [m].': in_beam(
        '<rod diameter="1"/><material E="2e11" G="8e10" density="2.5"/>'
    ).replace('mass value="2.0"', 'mass value="1.9634954"'),
    'flexible link "arm" weighs 2000 kg, but density and section make 2 kg. Check the units: '
    'mass [kg], density [kg/m3], sizes [m].': in_beam(
        '<rectangle width="0.02" height="0.0125"/><material E="2e11" density="8000"/>'
        '<modes torsion="0"/>'
    )
    .replace('"2.0"', '"2000.0"')
    .replace(repr(1 / 6), repr(1e3 / 6)),
    'G = 2e+11 Pa of "arm" is above E / 2, against all common materials. Check E and G [Pa], '
    'which may be exchanged.': in_beam('<rod diameter="0.02"/><material E="8e10" G="2e11"/>'),
    # steel: thickness sqrt(12 EI / (m c^2)) = sqrt(12 2e7 / (2 25e6))
    'by its EI and its mass per length, a bar of metal in the place of link "arm" would be '
    '2.19 m thick and 1 m long. Check EIy, EIz [N m2] and mass [kg].': in_beam(
        '<section EIy="2e7" EIz="1e7" GJ="1e7"/>'
    ),
    # density (Iy + Iz) = density J of a rod, and pi d^4 / 32 = 3.14159e-06
    '<inertial> gives flexible link "arm" no moment of inertia about its beam; density and '
    'section make 0.0785398 kg m2 per m. Give it in <inertia>: ixx, if the beam lies along x '
    '[kg m2].': robot(
        link(mass=math.pi * 20, inertia=(0.0, math.pi * 20 / 12, math.pi * 20 / 12)),
        joint(),
        flexibility(beam('<rod diameter="0.1"/><material E="2e11" G="8e10" density="8000"/>')),
    ),
    'joint "hinge" has a presliding but no dry friction. Give the friction of the joint\'s '
    '<dynamics>, or remove the presliding.': robot(
        link(), joint(), flexibility('<joint name="hinge" presliding="0.001"/>')
    ),
    'joint "hinge" has a creep_rate but no dry friction. Give the friction of the joint\'s '
    '<dynamics>, or remove the creep_rate.': robot(
        link(), joint(), flexibility('<joint name="hinge" creep_rate="0.001"/>')
    ),
    'joint "far" rides 2.1 m beside the beam of link "arm", which is 1 m long. Check its '
    '<origin> [m] and the end of the beam [m].': robot(
        link(),
        joint(),
        link('tip'),
        joint('far', 'fixed', 'arm', 'tip', '<origin xyz="0.5 0 2.1"/>'),
        flexibility(beam()),
    ),
    'the <inertial> of flexible link "arm" is not that of a uniform beam of 2 kg and 1 m, as '
    'which it is simulated. Put the centre of mass at 0.5 m along the beam and give 0.166667 '
    'kg m2 across it.': robot(link(centre='0.4 0 0'), joint(), flexibility(beam())),
    'the inertia of link "arm" breaks the triangle inequality (principal moments 1 + 1 < 2.4 '
    'kg m2). Correct its <inertia> [kg m2].': robot(link(inertia=(1.0, 1.0, 2.4)), joint()),
    'the inertia of link "arm" breaks the triangle inequality (principal moments 0 + 0 < 30 '
    'kg m2). Correct its <inertia> [kg m2].': robot(link(inertia=(0.0, 0.0, 30.0)), joint()),
    'no link of this robot has a mass, so that it can be drawn, but not simulated. Give its '
    'links an <inertial>.': robot('<link name="arm"/>', joint()),
    'the <inertia> of link "arm" has no ixz, iyz, read as 0. Write all six: other URDF tools '
    'refuse the file.': robot(link().replace(' ixz="0" iyz="0"', ''), joint()),
    'the <limit> of joint "hinge" has no effort and no velocity. Write both: other URDF tools '
    'refuse the file.': robot(link(), joint(inside=f'{Z}<limit/>')),
    'joint "hinge" has a range of zero width, at 0. Give lower and upper, or make the joint '
    'fixed.': robot(link(), joint(kind='revolute', inside=f'{Z}<limit effort="1" velocity="1"/>')),
    'unknown attribute "max" of <limit>, which is passed over. Remove or correct it. Known '
    'here: lower, upper, effort, velocity, acceleration, deceleration, jerk.': robot(
        link(), joint(inside=f'{Z}<limit effort="1" velocity="1" max="3"/>')
    ),
    'rpy = "0 0 90" is more than a full turn. Give rpy in rad, not in degrees.': robot(
        link(), joint(inside=f'{Z}<origin rpy="0 0 90"/>')
    ),
    'link "dummy" has the mass 0. Give its mass [kg], or remove the <inertial> if the link is '
    'a mere frame.': robot(
        link('dummy', mass=0.0, inertia=(0.0, 0.0, 0.0)),
        link(),
        joint('a', child='dummy'),
        joint('b', parent='dummy'),
    ),
    'nothing of this robot moves. Give it a revolute, continuous or prismatic joint, '
    'or a flexible link.': robot(),
}


@pytest.mark.parametrize('message, text', WARNINGS.items())
def test_a_probable_mistake_is_a_warning(message, text):
    warnings = read_description(text).warnings
    assert message in [warning.split(': ', 1)[1] for warning in warnings]


def test_an_impossible_inertia_of_a_fixed_body_is_only_a_warning():
    # as in many real robots: a sensor with an invented inertia, fixed to a heavy link
    sensor = link('sensor', mass=1e-3, inertia=(0.0, 0.0, 1e-5)) + joint(
        'weld', 'fixed', 'arm', 'sensor', ''
    )
    warnings = read_description(robot(link(), joint(), sensor)).warnings
    assert [w for w in warnings if 'sensor' in w and 'triangle inequality' in w]


def test_a_robot_without_any_mass_is_read_with_one_warning_at_its_line():
    parts = ['<link name="arm"/>', joint(), '<link name="tip"/>', joint('b', child='tip')]
    warnings = read_description('\n' + robot(*parts)).warnings
    assert [warning.split(': ')[0] for warning in warnings] == ['<text>:2']


def test_common_extensions_cause_no_warning():
    inside = (
        '<axis xyz="0 0 1" rpy="0 0 0"/><limit effort="1" velocity="1" k_velocity="2" '
        'drake:acceleration="3"/><dynamics damping="1" mu_viscous="2" D="3" K="4"/>'
    )
    assert read_description(robot(link(), joint(inside=inside))).warnings == ()


def test_a_flexible_link_without_moments_of_inertia_is_not_a_point_mass():
    text = robot(
        link(inertia=(0.0, 0.0, 0.0)), joint(), flexibility(beam(f'{SECTION}<modes torsion="0"/>'))
    )
    assert [warning.split(': ', 1)[1] for warning in read_description(text).warnings] == [
        'the <inertial> of flexible link "arm" is not that of a uniform beam of 2 kg and 1 m, as '
        'which it is simulated. Put the centre of mass at 0.5 m along the beam and give 0.166667 '
        'kg m2 across it.'
    ]
