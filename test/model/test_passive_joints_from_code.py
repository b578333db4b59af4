"""Mimic joints, and joints with several coordinates, from code: those of the URDF of the arm."""

import numpy as np
import pytest
from arms import flexibility, joint, link, robot
from refusals import refusal

import flex_robot_sim as frs
from flex_robot_sim.util.exceptions import SettingError

INERTIA = (1e-3, 1 / 6, 1 / 6)
RANGE = {'lower': -1.0, 'upper': 1.2, 'viscous_friction': 0.02}


def hand(**wrist):
    """Return a builder of an arm, a hand on a ball joint, and a finger that mimics the arm."""
    builder = frs.ArmBuilder('robot')
    for name in ('arm', 'hand', 'finger'):
        builder.add_rigid(name, mass=2.0, centre=(0.5, 0, 0), inertia=INERTIA)
    builder.add_joint('hinge', parent='base', child='arm', axis='z', type='continuous')
    builder.add_joint(
        'wrist', **{'parent': 'arm', 'child': 'hand', 'type': 'spherical', **RANGE, **wrist}
    )
    builder.add_joint('grip', parent='hand', child='finger', type='continuous')
    return builder.add_mimic('grip', leader='hinge', multiplier=-2.0, offset=0.3)


def by_hand():
    links = [link(name, inertia=INERTIA) for name in ('arm', 'hand', 'finger')]
    follow = '<axis xyz="0 0 1"/><mimic joint="hinge" multiplier="-2" offset="0.3"/>'
    return robot(
        *links,
        joint(),
        joint('wrist', 'fixed', 'arm', 'hand', ''),
        joint('grip', 'continuous', 'hand', 'finger', follow),
        flexibility(
            '<joint name="wrist" type="spherical" lower="-1" upper="1.2" viscous_friction="0.02"/>'
        ),
    )


def test_they_move_as_those_of_the_urdf():
    arms = hand().build(), frs.load(hand().to_urdf()), frs.load(by_hand())
    q, v = np.array([0.4, 0.2, -0.3, 0.5, -0.5]), np.array([1.0, 2.0, -1.0, 0.5, -2.0])
    accelerations = []
    for arm in arms:
        names = 'hinge', 'wrist_x', 'wrist_y', 'wrist_z', 'grip'
        assert arm.joint_names == names and arm.description.actuated_joint_names == ['hinge']
        assert arm.arrays.upper[1:4].tolist() == [1.2] * 3
        accelerations.append(frs.forward_dynamics(arm, q, v))
    for other in accelerations[1:]:
        assert other == pytest.approx(accelerations[0], rel=1e-12)


def test_an_attached_arm_keeps_them():
    row = frs.ArmBuilder('row')
    for k in range(2):
        row.attach(hand(), parent='base', xyz=(0, k, 0), prefix=f'{k}_')
    arm = row.build()
    assert [joint.mimics for joint in arm.description.joints if joint.mimics] == [
        '0_hinge',
        '1_hinge',
    ]
    assert {'0_wrist_x', '1_wrist_z'} <= {*arm.joint_names}


MISTAKES = {
    ('effort', 3.0): 'joint "wrist" is spherical, so it has no effort: leave it out',
    ('axis', 'x'): 'joint "wrist" is spherical, so it has no axis: leave it out',
    ('type', 'ball'): 'type = \'ball\' of joint "wrist" is unknown. Known: revolute, continuous, '
    'prismatic, fixed, floating, planar, universal, spherical, screw',
    ('lower', 2.0): 'the range of joint "wrist" is not complete. Give lower and upper [rad], '
    'lower below upper',
}


@pytest.mark.parametrize('mistake', MISTAKES)
def test_a_mistake_is_one_line_about_the_argument(mistake):
    argument, value = mistake
    line = refusal(SettingError, hand, **{argument: value})
    assert line.rstrip('.') == MISTAKES[mistake]


def test_a_mimic_joint_has_one_leader_and_no_gear():
    builder = hand()
    assert refusal(SettingError, builder.add_mimic, 'grip', leader='hinges') == (
        'leader = \'hinges\' is unknown. Did you mean "hinge"?'
    )
    for name in ('wrist', 'grip'):
        assert refusal(SettingError, builder.add_mimic, name, leader='hinge') == (
            f'joint "{name}" takes no leader: it is fixed, has several axes, or has a leader'
        )
    assert 'mimics "hinge", so it has no motor and no gear' in refusal(
        SettingError, builder.add_gear, 'grip', rotor_inertia=1e-4
    )


def sliding(**slide):
    """Return a builder of an arm with a puck on a planar joint."""
    builder = frs.ArmBuilder('robot')
    for name in ('arm', 'puck'):
        builder.add_rigid(name, mass=2.0, centre=(0.5, 0, 0), inertia=INERTIA)
    builder.add_joint('hinge', parent='base', child='arm', axis='z', type='continuous')
    return builder.add_joint('slide', parent='arm', child='puck', type='planar', **slide)


def test_a_planar_joint_has_three_values_of_limits_friction_and_spring():
    builder = sliding(
        axis=(0.6, 0, 0.8),
        lower=(-0.1, None, -3),
        upper=(0.2, None, 3),
        viscous_friction=(2, 3, 0.1),
        spring_stiffness=np.array([80.0, 50.0, 3.0]),
    )
    by_hand = robot(
        link('arm', inertia=INERTIA),
        link('puck', inertia=INERTIA),
        joint(),
        joint('slide', 'planar', 'arm', 'puck', '<axis xyz="0.6 0 0.8"/>'),
        flexibility(
            '<joint name="slide_x" lower="-0.1" upper="0.2" viscous_friction="2" '
            'spring_stiffness="80"/>'
            '<joint name="slide_y" viscous_friction="3" spring_stiffness="50"/>'
            '<joint name="slide_theta" lower="-3" upper="3" viscous_friction="0.1" '
            'spring_stiffness="3"/>'
        ),
    )
    q, v = np.array([0.4, 0.1, -0.3, 0.5]), np.array([1.0, 2.0, -1.0, 0.5])
    expected = frs.forward_dynamics(frs.load(by_hand), q, v)
    attached = frs.ArmBuilder('row').attach(builder, parent='base', prefix='a_')
    for arm in (builder.build(), attached.build()):
        assert arm.arrays.upper[1:].tolist() == [0.2, np.inf, 3.0]
        assert frs.forward_dynamics(arm, q, v) == pytest.approx(expected, rel=1e-12)


COORDINATES = '"slide_x", "slide_y" [m] and "slide_theta" [rad]'
MISTAKES_IN_A_PLANE = {
    ('effort', (1, 1, 1)): 'joint "slide" is planar, so it has no effort: leave it out',
    ('lower', 1.0): f'lower of joint "slide" must be three values, of {COORDINATES}; None: no '
    'value',
    ('lower', (2, None, None)): 'the range of joint "slide_x" is not complete. Give lower and '
    'upper [m], lower below upper',
}


@pytest.mark.parametrize('mistake', MISTAKES_IN_A_PLANE)
def test_a_mistake_in_a_planar_joint_is_one_line(mistake):
    argument, value = mistake
    line = refusal(SettingError, sliding, **{argument: value})
    assert line.rstrip('.') == MISTAKES_IN_A_PLANE[mistake]
