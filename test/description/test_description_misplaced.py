"""A misplaced part of a <flexibility> is reported and never silently ignored."""

import pytest
from arms import SECTION, beam, complaint, flexibility, joint, link, robot

from flex_robot_sim import read_description

NAMESPACE = (
    '<flexibility> stands in a namespace of its own. Write it without a prefix and without xmlns.'
)
# line 5 of a rigid arm, and the complete message after `<text>:5: `
INTENDED = {
    '<flexibilty/>': 'unknown element <flexibilty>. Did you mean "flexibility"?',
    '<Flexibility/>': 'unknown element <Flexibility>. Did you mean "flexibility"?',
    '<flexibility_v2/>': 'unknown element <flexibility_v2>. Did you mean "flexibility"?',
    '<flex/>': 'unknown element <flex>. Did you mean "flexibility"?',
    '<my_flexibility/>': 'unknown element <my_flexibility>. Did you mean "flexibility"?',
    '<f:flexibility xmlns:f="urn:f"/>': NAMESPACE,
    '<f:flexibility/>': NAMESPACE,
    '<flexibility xmlns="urn:f"/>': NAMESPACE,
    '<gazebo><flexibilty/></gazebo>': (
        '<flexibilty> stands in <gazebo>. Move it directly under <robot>.'
    ),
    '<link name="l"><flexibility/></link>': (
        '<flexibility> stands in <link>. Move it directly under <robot>.'
    ),
    flexibility(flexibility()): (
        '<flexibility> stands in <flexibility>. Move it directly under <robot>.'
    ),
    f'<link name="l">{SECTION}</link>': (
        'the element <section> of link "l" stands outside <flexibility>. Move it into '
        '<flexibility>.'
    ),
    '<link name="l" end="1 0 0"/>': (
        'the attribute "end" of link "l" stands outside <flexibility>. Move it into <flexibility>.'
    ),
    joint().replace('<joint', '<joint stiffness="9"'): (
        'the attribute "stiffness" of joint "hinge" stands outside <flexibility>. Move it into '
        '<flexibility>.'
    ),
}


@pytest.mark.parametrize('text, message', INTENDED.items())
def test_a_misplaced_part_of_flexibility_is_reported(text, message):
    assert complaint(robot(link(), joint(), text)) == f'<text>:5: {message}'


def test_words_shared_with_other_tools_are_ignored():
    text = (
        '<gazebo><damping>1</damping><rod/><elements/></gazebo><material name="steel"/>'
        '<link name="l"><visual><material name="steel"/></visual></link>'
    )
    text += joint('weld', 'fixed', 'arm', 'l', '')
    assert read_description(robot(link(), joint(), text, flexibility(beam()))).warnings == ()
