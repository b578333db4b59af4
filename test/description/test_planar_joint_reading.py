"""Planar joints within the tree: how they are read and shown, and the line about every mistake."""

import numpy as np
import pytest
from arms import beam, complaint, flexibility, joint, link, robot
from planar_arms import NORMAL

import flex_robot_sim as frs
from flex_robot_sim import read_description
from flex_robot_sim.display.description import display_description

SLIDE = joint('slide', 'planar', 'arm', 'puck', f'<origin xyz="1 2 3" rpy="0.1 0.2 0.5"/>{NORMAL}')
NAMES = ['slide_x', 'slide_y', 'slide_theta']


def carried(elements='', slide=SLIDE, *more):
    """Return an arm with a puck; the planar joint is on line 6, <flexibility> on line 7."""
    inside = [f'<flexibility>{elements}</flexibility>'] if elements else []
    return robot(link(), link('puck'), joint(), slide, *inside, *more)


def test_a_planar_joint_is_two_slides_and_a_hinge_in_series():
    text = carried(
        '<joint name="slide_x" lower="-1" upper="2" spring_stiffness="5" coulomb_friction="0.2"/>'
        '<joint name="slide_theta" lower="-3" upper="3" viscous_friction="0.1"/>'
    )
    description = read_description(text)
    assert description.warnings == ()
    assert description.joint_names == ['hinge', *NAMES]
    assert description.actuated_joint_names == description.urdf_joint_names == ['hinge']
    x, y, theta = (description.joint(name) for name in NAMES)
    assert [one.kind for one in (x, y, theta)] == ['prismatic', 'prismatic', 'revolute']
    assert (x.child, y.child, theta.child) == ('slide_x_link', 'slide_y_link', 'puck')
    assert x.position.tolist() == [1, 2, 3] and not (y.position.any() or theta.position.any())
    assert (x.lower, x.upper, x.spring_stiffness, x.friction[:3]) == (-1, 2, 5, (0, 0.2, 0.2))
    assert (y.lower, y.upper) == (-np.inf, np.inf) and theta.friction.viscous_friction == 0.1


def test_only_a_planar_joint_alone_at_the_root_without_values_makes_a_free_base():
    slide = SLIDE.replace('"arm"', '"base"')
    assert frs.load(robot(link('puck'), slide)).has_free_base
    other = [link(), joint()]
    value = '<flexibility><joint name="slide_y" spring_stiffness="9"/></flexibility>'
    bent = robot(link('puck'), slide.replace('1 2 3', '1 0 0'), flexibility(beam(name='base')))
    bent = bent.replace('<link name="base"/>', link('base'))
    for text in (robot(link('puck'), slide, *other), robot(link('puck'), slide, value), bent):
        description = read_description(text)
        assert description.free_joint is None and {*NAMES} <= {*description.joint_names}


MISTAKES = {
    carried('<joint name="slide" viscous_friction="1"/>'): '7: joint "slide" is planar, so that '
    'it has several coordinates. Describe "slide_x", "slide_y" [m] and "slide_theta" [rad] in its '
    'place.',
    carried('<joint name="slide_x" rotor_inertia="1"/>'): '7: joint "slide_x" has a '
    'rotor_inertia, but neither motor nor gear. Remove rotor_inertia.',
    carried('<joint name="slide_x" lower="1"/>'): '7: the range of joint "slide_x" is not '
    'complete. Give lower and upper [m], lower below upper.',
    carried(slide=SLIDE.replace(NORMAL, NORMAL + '<dynamics damping="1"/>')): '6: planar joint '
    '"slide" has one <dynamics> for lengths and angles. Give friction to its coordinates '
    '"slide_x", "slide_y" [m] and "slide_theta" [rad] in <flexibility>.',
    carried(slide=SLIDE.replace(NORMAL, NORMAL + '<mimic joint="hinge"/>')): '6: joint "slide" '
    'is planar, so that its <mimic> has no effect. Remove the <mimic>.',
    carried(
        '', SLIDE, link('hand'), joint('slide_y', child='hand')
    ): '6: joint "slide" needs the names "slide_y" and "slide_y_link", and one of them is in use. '
    'Rename "slide_y".',
    carried(
        '', SLIDE, link('hand'), joint('grip', child='hand', inside='<mimic joint="slide"/>')
    ): (
        '8: joint "grip" mimics "slide", which has several coordinates. Name one of them: '
        'slide_x, slide_y, slide_theta.'
    ),
}


@pytest.mark.parametrize('text', MISTAKES)
def test_a_mistake_is_one_line_with_its_place(text):
    assert complaint(text) == f'<text>:{MISTAKES[text]}'


def test_a_limit_of_a_planar_joint_is_passed_over_with_a_warning():
    limit = '<limit lower="-1" upper="1" effort="30" velocity="1"/>'
    (line,) = read_description(carried(slide=SLIDE.replace(NORMAL, NORMAL + limit))).warnings
    assert line == (
        '<text>:6: joint "slide" is planar, so that its <limit> has no effect. Give limits to its '
        'coordinates "slide_x", "slide_y" [m] and "slide_theta" [rad] in <flexibility>.'
    )


def test_frames_of_the_display_description_move_with_the_puck():
    pin = pytest.importorskip('pinocchio')
    slide = SLIDE.replace(NORMAL, '<axis xyz="0.6 0 0.8"/><limit effort="0" velocity="0"/>')
    arm = frs.load(carried('<joint name="slide_x" lower="-1" upper="2"/>', slide))
    q = np.array([0.3, 0.4, -0.2, 1.0])
    model = pin.buildModelFromXML(display_description(arm))
    theirs = pin.neutral(model)
    for name, value in zip(arm.joint_names, q):
        one = model.joints[model.getJointId(name)]
        theirs[one.idx_q : one.idx_q + one.nq] = (
            [value] if one.nq == 1 else [np.cos(value), np.sin(value)]
        )
    data = model.createData()
    pin.framesForwardKinematics(model, data, theirs)
    shown = data.oMf[model.getFrameId('puck')].homogeneous
    np.testing.assert_allclose(shown, frs.pose(arm, q, link='puck'), rtol=0, atol=1e-14)
