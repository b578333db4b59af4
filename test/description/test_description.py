"""Meaning of a description: frames, values, order; against closed forms and other parsers."""

import io
import math
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pytest
from arms import SECTION, beam, flexibility, flexible_arm, joint, link, robot
from project_files import ROOT
from scipy.spatial.transform import Rotation

from flex_robot_sim import read_description
from flex_robot_sim.util.share import shipped_robots

PUBLIC_SKELETONS = {path.stem: path for path in (ROOT / 'test/data/robots').glob('*.urdf')}


def arm(text):
    return read_description(text).link('arm')


def test_a_urdf_without_flexibility_is_a_rigid_arm():
    description = read_description(robot(link(), joint()))
    assert [item.beam for item in description.links] == [None, None]
    assert description.joint_names == ['hinge']
    assert description.joint('hinge').stiffness == math.inf


def test_the_beam_frame_has_x_along_the_beam_and_y_across_it():
    inside = beam(end='0 0 -2', more=' y_axis="1 0 5"')
    text = robot(link(centre='0 0 -1'), joint(), flexibility(inside))
    frame = arm(text).beam.axes
    assert frame[:, 0] == pytest.approx([0, 0, -1], abs=1e-15)
    assert frame[:, 1] == pytest.approx([1, 0, 0], abs=1e-15)
    assert frame.T @ frame == pytest.approx(np.eye(3), abs=1e-15)
    assert np.linalg.det(frame) == pytest.approx(1)


def test_mass_per_length_is_the_mass_of_the_link_over_the_length_of_the_beam():
    assert arm(flexible_arm()).beam.mass_per_length == pytest.approx(2.0)


def test_stiffness_by_direction_belongs_to_the_bending_plane():
    stiffness = arm(flexible_arm()).beam.stiffness
    assert [stiffness(d) for d in ('bending_y', 'bending_z', 'torsion', 'stretch')] == [
        30,
        20,
        10,
        1e6,
    ]


def test_a_solid_section_gives_the_textbook_stiffnesses():
    text = flexible_arm(beam('<rod diameter="0.02"/><material E="2e11" G="8e10"/>'))
    second_moment = math.pi * 0.02**4 / 64
    assert arm(text).beam.EIy == pytest.approx(2e11 * second_moment)
    assert arm(text).beam.EIz == pytest.approx(2e11 * second_moment)
    assert arm(text).beam.GJ == pytest.approx(8e10 * 2 * second_moment)
    assert arm(text).beam.EA == pytest.approx(2e11 * math.pi * 0.01**2)


def test_modes_default_to_two_in_bending_one_in_torsion_and_none_in_stretch():
    assert arm(flexible_arm()).beam.coordinates == {
        'bending_y': 2,
        'bending_z': 2,
        'torsion': 1,
        'stretch': 0,
    }


def test_elements_default_to_all_coordinates_except_stretch():
    read = arm(flexible_arm(beam(f'{SECTION}<elements count="3"/>'))).beam
    assert read.elements == 3
    assert read.coordinates == {
        'bending_y': 'all',
        'bending_z': 'all',
        'torsion': 'all',
        'stretch': 0,
    }


def test_a_direction_without_coordinates_needs_no_stiffness():
    inside = '<section EIy="2"/><modes bending_y="0" torsion="0"/>'
    assert math.isnan(arm(flexible_arm(beam(inside))).beam.GJ)


def test_the_section_inertia_is_the_excess_over_a_thin_rod():
    mass, inertia = 2.0, (4e-3, 2 / 12 + 1e-3, 2 / 12 + 3e-3)
    text = robot(link(mass=mass, inertia=inertia), joint(), flexibility(beam()))
    assert arm(text).beam.section_inertia == pytest.approx([4e-3, 1e-3, 3e-3], abs=1e-15)


def test_torsion_without_a_moment_of_inertia_uses_density_and_section():
    mass = 8000 * 0.02 * 0.03
    text = robot(
        link(mass=mass, inertia=(0.0, mass / 12, mass / 12)),
        joint(),
        flexibility(
            beam(
                '<rectangle width="0.02" height="0.03"/><material E="2e11" G="8e10" '
                'density="8000"/>'
            )
        ),
    )
    # density (Iy + Iz) of a rectangle is its mass per length times (b^2 + h^2) / 12
    assert arm(text).beam.section_inertia == pytest.approx(
        [mass * (0.02**2 + 0.03**2) / 12, 0, 0], abs=1e-15
    )


def test_a_wrist_with_a_large_mass_far_along_its_axis_is_accepted():
    far = link('far', mass=1e6, centre='0 0 100', inertia=(0.0, 0.0, 0.0))
    parts = [
        link(inertia=(1e-3, 1e-3, 1e-3), centre='0 0 0'),
        joint(),
        joint('weld', 'fixed', 'arm', 'far', ''),
        far,
    ]
    assert read_description(robot(*parts)).joint_names == ['hinge']


@pytest.mark.long
def test_a_chain_of_three_thousand_flexible_links_is_read():
    # about the first axis, the last links are 3 km away from links of 1 g m2 about themselves
    parts = [link('l0') + joint('j0', child='l0', inside='<axis xyz="1 0 0"/>')]
    parts += [
        link(f'l{i}')
        + joint(
            f'j{i}',
            parent=f'l{i - 1}',
            child=f'l{i}',
            inside=('<origin xyz="1 0 0"/><axis xyz="1 0 0"/>'),
        )
        for i in range(1, 3000)
    ]
    parts.append(flexibility(*(beam(name=f'l{i}') for i in range(3000))))
    assert len(read_description(robot(*parts)).joint_names) == 3000


def test_the_inertial_frame_may_be_rotated():
    roll, pitch, yaw = 0.3, -0.7, 1.9
    text = link().replace('xyz="0.5 0 0"', f'xyz="1 2 3" rpy="{roll} {pitch} {yaw}"')
    read = arm(robot(text, joint())).inertial
    turn = Rotation.from_euler('xyz', [roll, pitch, yaw]).as_matrix()  # fixed axes
    assert read.inertia == pytest.approx(turn @ np.diag([1e-3, 1 / 6, 1 / 6]) @ turn.T, abs=1e-14)
    assert read.centre == pytest.approx([1, 2, 3])


def test_reflected_inertia_grows_with_the_square_of_the_gear_ratio():
    gear = '<joint name="hinge" stiffness="100" rotor_inertia="2e-5" gear_ratio="50"/>'
    hinge = read_description(flexible_arm(beam(), gear)).joint('hinge')
    assert hinge.reflected_inertia == pytest.approx(0.05)
    assert (hinge.stiffness, hinge.damping) == (100, 0)


def test_a_rotor_without_stiffness_belongs_to_a_rigid_drive():
    gear = '<joint name="hinge" rotor_inertia="2e-5"/>'
    assert read_description(flexible_arm(gear)).joint('hinge').stiffness == math.inf


def test_links_are_ordered_base_to_tip_for_any_order_in_the_file():
    parts = [
        joint('c', 'fixed', 'two', 'three', ''),
        link('two'),
        joint('b', child='two', parent='one'),
        link('three'),
        joint('a', child='one'),
        link('one'),
    ]
    description = read_description(robot(*parts))
    assert [item.name for item in description.links] == ['base', 'one', 'two', 'three']
    assert [item.child for item in description.joints] == ['one', 'two', 'three']


def test_several_children_attach_anywhere_along_a_flexible_link():
    parts = [
        joint(f'j{i}', 'fixed', 'arm', f'm{i}', f'<origin xyz="{x} 0.3 0"/>') + link(f'm{i}')
        for i, x in enumerate((0, 0.4, 1))
    ]
    description = read_description(robot(link(), joint(), *parts, flexibility(beam())))
    stations = [
        arm.station(item.position)
        for arm in [description.link('arm').beam]
        for item in description.children('arm')
    ]
    assert stations == pytest.approx([0, 0.4, 1])


def test_a_mimic_joint_is_held_at_its_offset_on_request():
    finger = joint(
        'finger',
        parent='arm',
        child='tip',
        inside='<axis xyz="0 0 1"/><mimic joint="hinge" offset="0.2"/>',
    )
    held = '<flexibility mimic="held"/>'
    description = read_description(robot(link(), joint(), link('tip'), finger, held))
    assert description.joint('finger').held_at == 0.2
    assert description.joint_names == ['hinge']
    assert description.warnings == ()


def test_a_moving_mimic_joint_follows_without_its_limits():
    limit = '<limit lower="0" upper="1" effort="9" velocity="1"/>'
    description = read_description(gripper(f'<mimic joint="hinge" multiplier="-2"/>{limit}'))
    finger = description.joint('finger')
    assert (finger.mimics, finger.mimic_ratio, finger.mimic_offset) == ('hinge', -2.0, 0.0)
    assert finger.moves and (finger.lower, finger.upper) == (-np.inf, np.inf)
    assert description.joint_names == ['hinge', 'finger'] and not description.warnings
    assert description.actuated_joint_names == ['hinge']


def test_a_mimic_joint_that_cannot_move_is_held_with_a_warning():
    mimic = '<mimic joint="hinge" offset="0.1"/>'
    cases = {
        gripper(mimic, tip='<link name="tip"/>'): '<text>:6: joint "finger" mimics "hinge" and is '
        'held at 0.1, because it moves nothing that has mass. Give the links that it moves an '
        '<inertial> if it is to move.',
        gripper(mimic).replace('"continuous"', '"fixed"', 1): '<text>:6: joint "finger" mimics '
        '"hinge" and is held at 0.1. Remove <mimic>, or let "hinge" move.',
    }
    for text, warning in cases.items():
        description = read_description(text)
        assert not description.joint('finger').moves
        assert warning in description.warnings


def gripper(inside, tip=None):
    """Return a robot whose joint "finger", in line 6, moves if it is a mimic joint."""
    finger = joint('finger', parent='arm', child='tip', inside=f'<axis xyz="0 0 1"/>{inside}')
    return robot(link(), joint(), tip or link('tip'), finger)


def test_frames_without_inertia_on_fixed_joints_cause_no_warning():
    frame = '<link name="frame"/>' + joint('weld', 'fixed', 'arm', 'frame', '')
    assert read_description(robot(link(), joint(), frame)).warnings == ()


def test_extensions_of_other_tools_are_ignored():
    extensions = (
        '<gazebo reference="arm"><mu1>1</mu1></gazebo><transmission name="t"/>'
        '<ros2_control name="r" type="system"/><sensor:camera name="old"/>'
    )
    description = read_description(robot(link(), joint(), extensions))
    assert description.warnings == ()


@pytest.mark.parametrize('name', sorted(shipped_robots()))
def test_every_shipped_robot_reads_without_a_warning(name):
    assert read_description(shipped_robots()[name]).warnings == ()


def test_a_shipped_robot_is_found_by_its_name():
    assert read_description('two_link').name == 'two_link'


@pytest.mark.parametrize('name', sorted(shipped_robots() | PUBLIC_SKELETONS))
def test_another_parser_reads_the_same_links_joints_and_inertias(name):
    urdf = pytest.importorskip('urdf_parser_py.urdf')
    path = (shipped_robots() | PUBLIC_SKELETONS)[name]
    with redirect_stderr(io.StringIO()), redirect_stdout(io.StringIO()):
        other = urdf.URDF.from_xml_string(path.read_bytes())
    ours = read_description(path)
    assert {item.name for item in ours.links} == {item.name for item in other.links}
    for theirs in other.joints:
        mine = ours.joint(theirs.name)
        assert (mine.kind, mine.parent, mine.child) == (theirs.type, theirs.parent, theirs.child)
        xyz, rpy = (
            (theirs.origin.xyz, theirs.origin.rpy) if theirs.origin else ([0, 0, 0], [0, 0, 0])
        )
        assert mine.position == pytest.approx(xyz)
        turn = Rotation.from_euler('xyz', rpy or [0, 0, 0]).as_matrix()
        assert mine.rotation == pytest.approx(turn, abs=1e-14)
        if theirs.limit and theirs.type != 'continuous' and not mine.mimics:
            assert (mine.lower, mine.upper, mine.effort) == pytest.approx(
                (theirs.limit.lower, theirs.limit.upper, theirs.limit.effort)
            )
    for theirs in other.links:
        mine = ours.link(theirs.name).inertial
        assert (mine is None) == (theirs.inertial is None)
        if mine:
            assert mine.mass == pytest.approx(theirs.inertial.mass)
            moments = theirs.inertial.inertia.to_matrix()
            assert np.linalg.eigvalsh(mine.inertia) == pytest.approx(
                np.linalg.eigvalsh(moments), abs=1e-15
            )


@pytest.mark.slow
@pytest.mark.parametrize('name', sorted(shipped_robots()))
def test_a_python_urdf_parser_opens_every_shipped_robot(name):
    # the maintained fork of urdfpy, which ignores <flexibility>
    yourdfpy = pytest.importorskip('yourdfpy')
    path = shipped_robots()[name]
    other = yourdfpy.URDF.load(str(path), build_scene_graph=False, load_meshes=False).robot
    ours = read_description(path)
    # links come in the order of the tree here, and in that of the file there
    assert {item.name for item in other.links} == {item.name for item in ours.links}
    for theirs in other.joints:
        mine = ours.joint(theirs.name)
        assert (mine.kind, mine.parent, mine.child) == (theirs.type, theirs.parent, theirs.child)
    for theirs in other.links:
        mine = ours.link(theirs.name).inertial
        if theirs.inertial is not None:
            assert mine.mass == pytest.approx(theirs.inertial.mass)
