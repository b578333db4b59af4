"""Mistakes about contacts are reported in one line with file, line and remedy."""

import re

import numpy as np
import pytest
from contact_arms import block, slider

import flex_robot_sim as frs
from flex_robot_sim.cli import main
from flex_robot_sim.util.exceptions import DescriptionError, SettingError

OBSTACLE = '<obstacle name="{}"><geometry><box size="1 1 1"/></geometry></obstacle>'


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        (
            slider('with="table"'),
            'contact "tool" has with="table", which is no link. Correct the name, or add what is '
            'missing.',
        ),
        (
            slider(world=''),
            'contact "tool" has nothing to touch. Add a <ground/> or an <obstacle> to '
            '<flexibility>, or give with="link".',
        ),
        (
            slider().replace('<sphere radius="0.1"/>', '<mesh filename="a.stl"/>'),
            'the <collision> of link "ball" is a mesh, which has no contact. Replace it by '
            'spheres, capsules, boxes or cylinders.',
        ),
        (
            slider(world=OBSTACLE.format('crate').replace('box size="1 1 1"', 'mesh')),
            'obstacle "crate" is a mesh, which has no contact. Replace it by spheres, capsules, '
            'boxes or cylinders.',
        ),
        (
            slider().replace('<sphere radius="0.1"/>', '<cylinder radius="0.1" length="0.1"/>'),
            'the cylinder of link "ball" is shorter than its diameter, so that it is no capsule. '
            'Replace it by a sphere or a box.',
        ),
        (
            block(world='<ground/>' + ''.join(OBSTACLE.format(k) for k in range(4))),
            'contact "box" brings the robot above 32 contact points, each counted with each '
            'surface that it may touch. Give the links fewer shapes in <collision>, or leave out '
            'obstacles.',
        ),
        (
            slider('friction="-1"'),
            'friction = -1 must be >= 0. Give friction: coefficient of Coulomb friction; absent: '
            'that of the ground or the obstacle.',
        ),
        (
            slider().replace('<contact ', '<contact name="again" link="ball"/><contact ', 1),
            'contact "tool" has the points of contact "again", which would count twice: both are '
            'between "ball" and "world". Remove one of them, or divide the shapes among links '
            'that are fixed to "ball".',
        ),
        (
            slider(world='<ground/><ground/>'),
            'a second <ground>, in the same line. Keep one of them.',
        ),
        (
            slider(world=OBSTACLE.format('a') * 2),
            '<flexibility> has two obstacles "a". Rename one of them.',
        ),
        (
            slider()
            .replace(
                'type="prismatic"><parent link="base"/>', 'type="fixed"><parent link="base"/>'
            )
            .replace('type="prismatic"', 'type="fixed"'),
            'the link "ball" of contact "tool" does not move relative to "world". Name a link '
            'that a joint moves.',
        ),
    ],
)
def test_message(text, message):
    with pytest.raises(DescriptionError, match=re.escape(f': {message}')) as caught:
        frs.read_description(text)
    assert '\n' not in str(caught.value)


def test_formulations_refuse_contact():
    arm = frs.load(slider())
    with pytest.raises(
        SettingError, match='the contacts of slider need the formulation recursion'
    ):
        frs.Simulation(arm, frs.SimulationSettings(formulation='wrench_dae'))
    with pytest.raises(SettingError, match='no contact "elbow". Known: tool'):
        frs.Simulation(arm).contact('elbow')


def test_arm_from_code_has_the_contacts_of_its_urdf():
    builder = frs.ArmBuilder('press').add_rigid('arm', mass=1.0, centre=(0.2, 0, 0))
    builder.add_joint('hinge', parent='base', child='arm', axis='y')
    builder.add_ground(height=-0.2, friction=0.5)
    builder.add_obstacle('table', shape=frs.Capsule(0.1, 0.2), xyz=(0.5, 0, 0.3))
    builder.add_contact('tool', link='arm', shape=frs.Capsule(0.02, 0.1), xyz=(0.4, 0, 0))
    arrays = builder.build().arrays
    assert arrays.contact_point[:, 2].tolist() == [0.05, 0.05, -0.05, -0.05]
    assert arrays.contact_friction.tolist() == [0.5, 0.0, 0.5, 0.0]
    # 40 Hz with the inertia 0.04 kg m2 about the hinge, at a lever of its height and 0.4 m
    lever = 0.4**2 + 0.05**2
    expected = 0.04 / lever * (2 * 3.141592653589793 * 40) ** 2
    assert arrays.contact_stiffness == pytest.approx(expected)
    for mistake, message in (
        (lambda: builder.add_ground(), 'the arm already has a ground'),
        (lambda: builder.add_contact('tool', link='arm'), '"tool" is in use'),
        (lambda: builder.add_contact('b', link='arm'), 'add shapes to it by add_collision'),
        (lambda: builder.add_collision('amr', shape=frs.Sphere(0.1)), 'Did you mean "arm"?'),
        (lambda: builder.add_contact('b', link='amr'), 'Did you mean "arm"?'),
        (lambda: builder.add_obstacle('b', shape=3), 'must be a Box'),
    ):
        with pytest.raises(SettingError, match=re.escape(message)):
            mistake()


def test_a_ground_that_nothing_touches_is_a_warning():
    text = re.sub('<contact [^>]*/>', '', slider())
    (line,) = frs.read_description(text).warnings
    assert line.endswith(
        'no link touches the <ground>, because no <contact> has with="world". Add <contact '
        'name="tool" link="LINK" with="world"/>, or remove it.'
    )
    assert not frs.read_description(slider()).warnings


BALL = '<contact name="ball" link="post" with="plate"/>'
PAD = '<contact name="pad" link="plate" with="post"/>'
POST = (
    '<obstacle name="pin"><origin xyz="0 0 -0.02"/><geometry>'
    '<cylinder radius="0.02" length="0.04"/></geometry></obstacle>'
)


def plate(contacts, shape='<box size="0.2 0.1 0.02"/>', more=''):
    """Return a plate of 2 kg that moves down on a ball."""
    return f"""<robot name="press"><link name="base"/>
<link name="post"><collision><geometry><sphere radius="0.02"/></geometry></collision></link>
<joint name="stand" type="fixed"><parent link="base"/><child link="post"/></joint>
<joint name="z" type="prismatic"><parent link="base"/><child link="plate"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="100" velocity="9"/></joint>
<link name="plate"><inertial><mass value="2"/>
<inertia ixx="0.01" iyy="0.02" izz="0.025" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry>{shape}</geometry></collision>{more}</link>
<flexibility>{contacts}</flexibility></robot>"""


@pytest.mark.parametrize(
    ('text', 'what', 'remedy'),
    [
        (
            plate(PAD),
            '"pad": "post" fits between the points by which the box of link "plate" touches, '
            '0.2 m',
            'Add a <contact> with link="post" and with="plate".',
        ),
        (
            plate(PAD.replace('post', 'world') + POST, '<cylinder radius="0.02" length="0.3"/>'),
            '"pad": "pin" fits between the points by which the cylinder of link "plate" touches, '
            '0.26 m',
            'Add spheres between the points to the <collision> of link "plate".',
        ),
    ],
)
def test_a_surface_that_fits_between_contact_points_is_a_warning(text, what, remedy):
    (line,) = frs.read_description(text).warnings
    assert line.endswith(f'contact {what} apart. {remedy}')


def test_a_surface_that_a_point_touches_is_no_warning():
    pad = '<collision><geometry><sphere radius="0.01"/></geometry></collision>'
    for text in (plate(PAD + BALL), plate(BALL), plate(PAD, more=pad)):
        assert not frs.read_description(text).warnings
        rest = frs.equilibrium(frs.load(text), [0.029], joints='free')
        sunk = 9.81 / (2 * np.pi * 40) ** 2  # the default stiffness
        assert rest.q == pytest.approx([0.03 - sunk], rel=1e-9)


def test_two_shapes_of_a_link_carry_half_its_weight_each():
    builder = frs.ArmBuilder('foot').add_rigid('foot', mass=2.0)
    builder.add_joint(
        'lift', parent='base', child='foot', type='prismatic', axis='z', lower=-1, upper=1
    )
    builder.add_ground()
    for x in (-0.1, 0.1):
        builder.add_collision('foot', shape=frs.Sphere(0.05), xyz=(x, 0, 0))
    builder.add_contact('sole', link='foot', stiffness=1e4)
    sunk = 0.05 - 2.0 * 9.81 / 2e4  # two springs, and the radius
    assert frs.equilibrium(builder.build(), joints='free').q == pytest.approx([sunk], rel=1e-9)


def test_the_check_lists_contacts_and_their_friction(capsys, tmp_path):
    world = '<ground friction="0.8"/>' + OBSTACLE.format('bench')
    (tmp_path / 'block.urdf').write_text(block('stiffness="2e4"', world=world))
    assert main(['check', str(tmp_path / 'block.urdf')]) == 0
    assert (
        '  contact: box, body with ground (friction 0.8), bench (friction 0), 8 points, '
        'stiffness 20000 N/m'
    ) in capsys.readouterr().out
