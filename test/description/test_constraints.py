"""`<constraint>`: what is read, and the line about every mistake."""

import numpy as np
import pytest
from arms import complaint, joint, link, robot

from flex_robot_sim import read_description
from flex_robot_sim.description.robot_summary import as_text, summarise
from flex_robot_sim.util.share import shipped_robots

ENDS = '<parent link="base"/><child link="hand"/>'


def arm_with(*constraints):
    """Return an arm of two joints with constraints from line 7 on."""
    return robot(
        link(), joint(), link('hand'), joint('wrist', parent='arm', child='hand'), *constraints
    )


def constraint(kind, inside=ENDS, more='', name='rod'):
    return f'<constraint name="{name}" type="{kind}"{more}>{inside}</constraint>'


def test_frames_and_axes_are_read_as_written():
    inside = ENDS + (
        '<parent_origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><child_origin xyz="4 5 6"/>'
        '<parent_axis xyz="0 0 2"/><child_axis xyz="0 3 0"/>'
    )
    (one,) = read_description(arm_with(constraint('universal', inside))).constraints
    assert (one.name, one.kind, one.parent, one.child) == ('rod', 'universal', 'base', 'hand')
    assert one.parent_position.tolist() == [1, 2, 3] and one.child_position.tolist() == [4, 5, 6]
    assert np.array_equal(one.parent_rotation, [[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    assert one.parent_axis.tolist() == [0, 0, 1] and one.child_axis.tolist() == [0, 1, 0]


def test_the_summary_of_a_robot_shows_its_loops():
    lines = as_text(summarise(read_description(arm_with(constraint('spherical')))))
    assert '  closed loop: rod, spherical, base to hand' in [*lines]


def test_only_joints_of_a_loop_without_effort_are_passive():
    def actuated(text):
        return read_description(text).actuated_joint_names

    limit = '<limit effort="0" velocity="1"/>'
    one_motor = arm_with(constraint('spherical')).replace('</joint>', f'{limit}</joint>', 1)
    first, second = read_description(one_motor).joint_names
    assert actuated(one_motor) == [second]
    assert actuated(arm_with().replace('</joint>', f'{limit}</joint>', 1)) == [first, second]


MISTAKES = {
    constraint('ball'): 'type = "ball" is not one of: fixed, revolute, spherical, universal, '
    'prismatic, distance. Choose one of: fixed, revolute, spherical, universal, prismatic, '
    'distance.',
    constraint('spherical', '<parent link="base"/>'): 'constraint "rod" has no <child>. '
    'Add <child link="..."/>.',
    constraint('spherical', ENDS.replace('hand', 'hend')): 'constraint "rod" has the child '
    '"hend", which is no link. Did you mean "hand"?',
    constraint('spherical', ENDS.replace('base', 'hand')): 'constraint "rod" connects "hand" and '
    '"hand", which do not move relative to each other. Correct its <parent> or its <child>.',
    constraint('distance'): 'distance constraint "rod" has no length. Give length [m].',
    constraint('fixed', more=' length="1"'): 'fixed constraint "rod" has a length. Remove length.',
    constraint('revolute'): 'revolute constraint "rod" has no <parent_axis>. '
    'Add <parent_axis xyz="..."/>.',
    constraint('spherical', ENDS + '<child_axis/>'): 'spherical constraint "rod" has a '
    '<child_axis>, which it does not use. Remove it, or choose another type.',
    constraint('fixed', ENDS + '<compliance/>'): 'the <compliance> of constraint "rod" has no '
    'stiffness. Give stiffness [N/m] or rotational_stiffness [N m/rad].',
    constraint('fixed', ENDS + '<compliance damping="1"/>'): 'constraint "rod" has a damping but '
    'no stiffness. Give stiffness, or leave out damping: without it, translation is rigid.',
    constraint('spherical', ENDS + '<compliance rotational_stiffness="1"/>'): 'spherical '
    'constraint "rod" has a rotational_stiffness, but no rotation opens it. Remove it, or choose '
    'another type.',
    constraint('spherical', ENDS + '<origin/>'): 'unknown element <origin>. '
    'Did you mean "child_origin"?',
}


@pytest.mark.parametrize('text', MISTAKES)
def test_a_mistake_is_one_line_with_its_place(text):
    assert complaint(arm_with(text)) == f'<text>:7: {MISTAKES[text]}'


def test_two_constraints_have_two_names():
    message = complaint(arm_with(constraint('spherical'), constraint('fixed')))
    assert message == (
        '<text>:8: a second constraint "rod", after the one in line 7. Rename one constraint.'
    )


@pytest.mark.parametrize(
    'foreign, instead',
    [
        ('<loop_joint name="x" type="revolute"/>', '<constraint type="revolute">'),
        ('<loop_joint name="x" type="odd"/>', '<constraint>'),
        ('<drake:ball_constraint/>', '<constraint type="spherical">'),
        ('<drake:linear_bushing_rpy/>', '<constraint type="fixed"> with <compliance>'),
        (
            '<gazebo><joint name="x" type="ball"><parent>base</parent><child>hand</child></joint>'
            '</gazebo>',
            '<constraint type="spherical">',
        ),
    ],
)
def test_a_loop_in_an_element_of_another_program_causes_a_warning(foreign, instead):
    (line,) = read_description(arm_with(foreign)).warnings
    assert line.startswith('<text>:7: ') and line.endswith(
        f'describes a closed loop, which is passed over. Write it as {instead}.'
    )


@pytest.mark.parametrize('element', ['joint', 'drake:joint'])
@pytest.mark.parametrize('kind, name', [('ball', 'spherical'), ('universal', 'universal')])
def test_a_joint_type_of_another_program_is_named_with_its_word(element, kind, name):
    ends = '<parent link="arm"/><child link="tip"/>'
    foreign = f'<{element} name="x" type="{kind}">{ends}</{element}>'
    assert complaint(arm_with('<link name="tip"/>', foreign)) == (
        f'<text>:8: joint "x" is {name}, which URDF does not know. Write type="fixed" here, and '
        f'<joint name="x" type="{name}"/> in <flexibility>.'
    )


def test_a_constraint_between_two_robots_is_reported_in_its_line():
    ends = '<parent link="arm"/><child link="other"/>'
    message = complaint(arm_with('<link name="other"/>', constraint('fixed', ends)))
    assert message == (
        '<text>:8: constraint "rod" connects two robots, with the bases "base" and "other". '
        'Connect the bases by a <joint>, which may be fixed.'
    )


@pytest.mark.slow
def test_pinocchio_and_yourdfpy_skip_constraints():
    pin, yourdfpy = pytest.importorskip('pinocchio'), pytest.importorskip('yourdfpy')
    for path in shipped_robots().values():
        robot = read_description(path)
        base = 0 if robot.free_joint is None else 6
        assert pin.buildModelFromXML(path.read_text('utf-8')).nv == base + len(robot.joint_names)
        other = yourdfpy.URDF.load(str(path), build_scene_graph=False, load_meshes=False)
        assert {*other.joint_map} == {one.name for one in robot.joints}
