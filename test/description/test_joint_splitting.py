"""Universal and spherical joints: how they are read, and the line about every mistake."""

import io

import numpy as np
import pytest
from arms import complaint, joint, link, robot

import flex_robot_sim as frs
from flex_robot_sim import read_description
from flex_robot_sim.display.description import display_description
from flex_robot_sim.display.display_joints import DisplayJoints
from flex_robot_sim.util.share import shipped_robots

ORIGIN = '<origin xyz="1 2 3" rpy="0 0 0.5"/>'
FIXED = joint('ball', 'fixed', 'base', 'arm', ORIGIN)


def hung(attributes='type="spherical"', fixed=FIXED, more=''):
    """Return a link on a joint whose element in <flexibility> is on line 6."""
    element = f'<joint name="ball" {attributes}/>'
    return robot(link(), fixed, '<flexibility>', f'{element}{more}', '</flexibility>')


def test_a_spherical_joint_is_three_revolute_joints_in_series():
    description = read_description(hung())
    assert description.joint_names == ['ball_x', 'ball_y', 'ball_z']
    assert [one.name for one in description.links] == ['base', 'ball_x_link', 'ball_y_link', 'arm']
    first, *others = description.joints
    assert first.position.tolist() == [1, 2, 3] and first.rotation[1, 0] == pytest.approx(
        np.sin(0.5)
    )
    for one, axis in zip(description.joints, np.eye(3)):
        assert one.part_of == 'ball' and np.array_equal(one.axis, axis)
    assert not any(one.position.any() for one in others)
    assert description.actuated_joint_names == [] and description.warnings == ()


def test_a_universal_joint_has_the_axes_x_and_y():
    description = read_description(hung('type="universal" lower="-1" upper="2"'))
    assert description.joint_names == ['ball_x', 'ball_y']
    assert {(one.lower, one.upper) for one in description.joints} == {(-1.0, 2.0)}


def test_the_element_of_a_coordinate_overrides_that_of_its_joint():
    text = hung(
        'type="spherical" spring_stiffness="5" viscous_friction="0.1" coulomb_friction="0.2"',
        more='<joint name="ball_z" spring_stiffness="9" static_friction="0.4"/>',
    )
    *others, last = read_description(text).joints
    for one in others:
        assert one.spring_stiffness == 5.0 and one.friction[:3] == (0.1, 0.2, 0.2)
    assert last.spring_stiffness == 9.0 and last.friction[:3] == (0.1, 0.2, 0.4)


MISTAKES = {
    hung(fixed=joint('ball')): 'joint "ball" is spherical here and continuous in the URDF. Write '
    'type="fixed" in its <joint>, which other tools read, or remove the type here.',
    hung('type="ball"'): 'type = "ball" is not one of: universal, spherical, screw. Choose '
    'one of: universal, spherical, screw.',
    hung('type="universal" stiffness="9"'): 'joint "ball" has a stiffness, but neither motor nor '
    'gear. Remove stiffness.',
    hung('type="universal" lower="1"'): 'the range of joint "ball" is not complete. Give lower '
    'and upper [rad], lower below upper.',
    hung(
        'type="universal" coulomb_friction="2" static_friction="1"'
    ): 'joint "ball" has a static_friction of 1, less than its coulomb_friction of 2. Correct one '
    'of them.',
    hung('lower="1"', joint('ball')): 'joint "ball" has a lower here, but no type. Give it in the '
    '<limit> or <dynamics> of the joint.',
}


@pytest.mark.parametrize('text', MISTAKES)
def test_a_mistake_is_one_line_with_its_place(text):
    assert complaint(text) == f'<text>:6: {MISTAKES[text]}'


def test_a_name_in_use_is_reported():
    text = hung().replace('</robot>', link('hand') + joint('ball_y', child='hand') + '</robot>')
    assert complaint(text) == (
        '<text>:4: joint "ball" needs the names "ball_y" and "ball_y_link", and one of them is in '
        'use. Rename "ball_y".'
    )


def test_the_display_description_has_its_coordinates():
    arm = frs.load(hung())
    shown = read_description(display_description(arm))
    assert shown.joint_names == [*arm.joint_names]
    for one, other in zip(shown.joints, arm.description.joints):
        assert (one.name, one.parent, one.child) == (other.name, other.parent, other.child)
        assert one.position.tolist() == other.position.tolist()
        assert one.rotation == pytest.approx(other.rotation) and np.array_equal(
            one.axis, other.axis
        )
    display = DisplayJoints(arm)
    assert display.names == arm.joint_names
    assert display.positions(np.array([0.1, 0.2, 0.3])).tolist() == [0.1, 0.2, 0.3]


@pytest.mark.slow
def test_pinocchio_and_yourdfpy_read_every_robot_as_its_tree():
    pin, yourdfpy = pytest.importorskip('pinocchio'), pytest.importorskip('yourdfpy')
    texts = [path.read_text('utf-8') for path in shipped_robots().values()]
    for text in [*texts, hung(), hung('type="universal"')]:
        described = read_description(text)
        moving = {one.name for one in described.joints if one.moves and not one.part_of}
        base = {one.name for one in described.joints if one.is_base}
        model = pin.buildModelFromXML(text)
        assert {*model.names} - {'universe'} == moving | base
        assert {*load(yourdfpy, text).actuated_joint_names} - base == moving


def load(yourdfpy, text):
    return yourdfpy.URDF.load(
        io.BytesIO(text.encode()), build_scene_graph=False, load_meshes=False
    )
