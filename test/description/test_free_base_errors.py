"""A floating or planar joint that cannot be simulated causes a one-line error."""

import pytest
from arms import complaint, flexibility, joint, link, robot

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
    '4: joint "free" is floating, and constraint "loop" needs a fixed base. Make the joint fixed, '
    'or remove the closed loop.': robot(
        BUS,
        FREE.format(''),
        '<constraint name="loop" type="spherical"><parent link="base"/><child link="bus"/>'
        '</constraint>',
    ),
}


@pytest.mark.parametrize(('message', 'text'), MISTAKES.items())
def test_a_free_base_that_cannot_be_simulated_is_refused(message, text):
    assert complaint(text) == f'<text>:{message}'
