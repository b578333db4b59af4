"""The display description: the kinematics of another reader give the frames of the simulation."""

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from arms import SECTION, Z, beam, flexibility, joint, link, robot
from free_arms import SPACE_ARM
from random_arms import every_feature, random_robot, random_state
from scipy.spatial.transform import Rotation
from walked_urdf import poses

import flex_robot_sim as frs
from flex_robot_sim import Simulation, load
from flex_robot_sim.display.description import (
    display_description,
    is_display_description,
    undeformed_tip,
)
from flex_robot_sim.display.display_joints import DisplayJoints
from flex_robot_sim.display.places import places
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.share import shipped_robots

pytestmark = pytest.mark.slow

ROBOTS = {
    **{name: str(path) for name, path in shipped_robots().items()},
    'every_feature': every_feature(),
    'space_arm': SPACE_ARM,
    'planar_base': SPACE_ARM.replace('"floating">', '"planar"><axis xyz="0.6 0 0.8"/>'),
    **{f'random_{seed}': random_robot(seed, links=7) for seed in range(12)},
}


@pytest.mark.parametrize('name', ROBOTS)
def test_every_frame_is_where_the_simulation_has_it(name):
    arm = load(ROBOTS[name])
    simulation, display, text = Simulation(arm), DisplayJoints(arm), display_description(arm)
    for seed in range(3):
        if arm.closed_loops:  # random positions do not close them
            simulation.step(20)
        else:
            simulation.set_state(q=random_state(arm, seed)[0])
        q = simulation.q
        positions = display.positions(q)
        assert np.isfinite(positions).all()
        values = dict(zip(display.names, positions))
        if arm.has_free_base:
            values[arm.description.free_joint.name] = simulation.base_pose
        found = poses(text, values)
        for frame in arm.frames:
            # rounding over some twenty joints of a few metres
            np.testing.assert_allclose(found[frame], simulation.pose(frame), atol=1e-9)


@pytest.mark.parametrize('name', ['two_link', 'rcm', 'every_feature', 'random_3'])
def test_frames_of_an_arm_with_other_lengths_are_where_the_simulation_has_them(name):
    arm = load(ROBOTS[name])
    changes = {
        path: ('+', 0.01) if path.endswith('origin_x') else ('*', 1.1)
        for path in frs.parameters(arm)
        if path.endswith(('origin_x', '.length'))
    }
    changed = frs.with_parameters(arm, changes)
    simulation, display = Simulation(changed), DisplayJoints(changed)
    q, _ = random_state(changed, 1)
    simulation.set_state(q=q)
    found = poses(display_description(changed), dict(zip(display.names, display.positions(q))))
    moved = 0
    for frame in changed.frames:
        np.testing.assert_allclose(found[frame], simulation.pose(frame), atol=1e-9)
        moved += not np.allclose(found[frame], frs.pose(arm, q, link=frame), atol=1e-3)
    assert moved


@pytest.mark.parametrize('name', ['two_link', 'canadarm2', 'every_feature', 'random_3'])
def test_pinocchio_finds_the_frames_too(name):
    pin = pytest.importorskip('pinocchio')
    arm = load(ROBOTS[name])
    display, simulation = DisplayJoints(arm), Simulation(arm)
    model = pin.buildModelFromXML(display_description(arm))
    q, _ = random_state(arm, 5)
    simulation.set_state(q=q)
    values, configuration = dict(zip(display.names, display.positions(q))), pin.neutral(model)
    assert set(model.names) - {'universe'} == set(display.names)
    for j in range(1, model.njoints):
        value, start = values[model.names[j]], model.joints[j].idx_q
        configuration[start : start + model.joints[j].nq] = (
            [np.cos(value), np.sin(value)] if model.joints[j].nq == 2 else value
        )
    data = model.createData()
    pin.framesForwardKinematics(model, data, configuration)
    for frame in arm.frames:
        found = data.oMf[model.getFrameId(frame, pin.FrameType.BODY)].homogeneous
        np.testing.assert_allclose(found, simulation.pose(frame), atol=1e-9)  # rounding


STATIC = 'fixed', 'floating'  # joints without a position


@pytest.mark.parametrize('name', ROBOTS)
def test_names_are_unique_and_joints_are_those_of_the_description(name):
    arm = load(ROBOTS[name])
    root = ElementTree.fromstring(display_description(arm))
    links = [element.get('name') for element in root.findall('link')]
    joints = [element.get('name') for element in root.findall('joint')]
    assert len(set(links)) == len(links) and len(set(joints)) == len(joints)
    assert not set(links) & set(joints) - {*arm.frames}
    moving = [e.attrib['name'] for e in root.findall('joint') if e.get('type') not in STATIC]
    assert sorted(DisplayJoints(arm).names) == sorted(moving)
    assert set(arm.frames) <= set(links)


@pytest.mark.parametrize('name', [*shipped_robots(), 'every_feature'])
def test_ros_urdf_parser_reads_it_without_a_word(name, capfd):
    parser = pytest.importorskip('urdf_parser_py.urdf')
    arm = load(ROBOTS[name])
    urdf = parser.URDF.from_xml_string(display_description(arm))
    assert urdf.get_root() == arm.description.links[0].name
    assert capfd.readouterr() == ('', '')  # it prints warnings about unknown tags


@pytest.mark.parametrize('name', ['two_link', 'canadarm2', 'rig'])
def test_a_straight_arm_has_virtual_joints_at_zero(name):
    arm = load(name)
    display = DisplayJoints(arm)
    q = np.zeros(arm.size)
    q[: len(arm.joint_names)] = 0.3
    n = len(arm.joint_names)
    assert display.positions(q)[n:] == pytest.approx(np.zeros(len(display.names) - n), abs=1e-15)


def test_virtual_joints_say_how_the_tip_moved():
    arm, link = load('two_link'), 'upper_arm'
    simulation, display = Simulation(arm), DisplayJoints(arm)
    q, _ = random_state(arm, 1, bend=0.02)
    simulation.set_state(q=q)
    values = dict(zip(display.names, display.positions(q)))
    (place,) = (place for place in places(arm) if place.link == link)
    x, y, z, about_z, about_x, about_y = (values[name] for name in place.joint_names)
    moved = simulation.deflection[link]
    assert (x, y, z) == pytest.approx(moved[:3], abs=1e-15)
    turn = Rotation.from_euler('ZXY', [about_z, about_x, about_y]).as_rotvec()
    assert turn == pytest.approx(moved[3:], abs=1e-12)  # rounding


@pytest.mark.parametrize('name', ['two_link', 'canadarm2', 'every_feature', 'random_3'])
def test_tip_deflections_have_a_frame_in_which_they_lead_to_the_tip(name):
    arm = load(ROBOTS[name])
    simulation, display = Simulation(arm), DisplayJoints(arm)
    q, _ = random_state(arm, 7)
    simulation.set_state(q=q)
    found = poses(display_description(arm), dict(zip(display.names, display.positions(q))))
    for name in arm.tips:
        moved, deflection = np.eye(4), simulation.deflection[name]
        moved[:3, :3] = Rotation.from_rotvec(deflection[3:]).as_matrix()
        moved[:3, 3] = deflection[:3]
        np.testing.assert_allclose(
            found[undeformed_tip(name)] @ moved, simulation.pose(name, station='tip'), atol=1e-9
        )  # rounding


def test_a_frame_of_the_user_called_like_that_of_the_tip_stays_his():
    text = robot(
        link(),
        joint(),
        '<link name="arm/undeformed_tip"/>',
        joint('mount', 'fixed', 'arm', 'arm/undeformed_tip', '<origin xyz="1 0 0"/>'),
        flexibility(beam()),
    )
    assert display_description(load(text)).count('<link name="arm/undeformed_tip"/>') == 1


ELASTICA = robot(
    link(),
    joint(inside=Z),
    '<link name="tool"/>',
    joint('mount', 'fixed', 'arm', 'tool', '<origin xyz="1 0 0"/>'),
    flexibility(beam(SECTION + '<modes bending_y="2" bending_z="2" torsion="1" segments="8"/>')),
)


@pytest.mark.parametrize('direction', ['bending_y', 'bending_z'])
def test_a_link_may_curl_up_without_a_jump_of_any_joint(direction):
    arm = load(ELASTICA)
    display = DisplayJoints(arm)
    curl = np.array([f'/{direction}_1' in name for name in arm.coordinate_names])
    # each of eight segments turns by some 25 degrees at most: 200 degrees in all
    steps = np.array([display.positions(size * curl) for size in np.linspace(0.0, 0.024, 400)])
    assert abs(steps[-1, 1:]).max() > 1.8  # beyond a quarter turn
    inside = np.abs(steps[:, 4:]).max(axis=1) < 3.1  # before the angle wraps at half a turn
    assert np.abs(np.diff(steps[inside], axis=0)).max() < 0.02


def test_a_name_in_use_is_not_used_again():
    text = robot(
        link(),
        joint(),
        '<link name="arm_flex_1"/>',
        joint('arm_flex_1_x', 'fixed', 'arm', 'arm_flex_1', '<origin xyz="1 0 0"/>'),
        flexibility(beam()),
    )
    arm = load(text)
    (place,) = places(arm)
    assert place.name == 'arm_flex___1' and place.joints == ('arm_flex_1_x',)
    names = re.findall(r'<(link|joint) name="([^"]*)"', display_description(arm))
    assert len(set(names)) == len(names)


def test_children_at_one_station_share_six_joints_and_others_have_their_own():
    frames = [
        part
        for name, x in (('a', 1), ('b', 1), ('c', 0.5), ('d', 0.0))
        for part in (
            f'<link name="{name}"/>',
            joint(f'to_{name}', 'fixed', 'arm', name, f'<origin xyz="{x} 0 0"/>'),
        )
    ]
    arm = load(robot(link(), joint(), *frames, flexibility(beam())))
    assert [(place.along, place.joints) for place in places(arm)] == [
        (0.0, ('to_d',)),
        (0.5, ('to_c',)),
        (1.0, ('to_a', 'to_b')),
    ]
    assert len(DisplayJoints(arm).names) == 1 + 3 * 6


def drawn(*visuals):
    """Return an arm of one flexible link of 1 m with these visuals, and a tool at its end."""
    arm = link().replace('</link>', ''.join(f'<visual>{v}</visual>' for v in visuals) + '</link>')
    return robot(
        '<material name="grey"><color rgba="1 1 1 1"/></material>',
        arm,
        joint(),
        '<link name="tool"><visual><geometry><box size="1 1 1"/></geometry>'
        '<material name="blue"/></visual></link>',
        joint('mount', 'fixed', 'arm', 'tool', '<origin xyz="1 0.1 0" rpy="0 0 1"/>'),
        '<transmission name="t"><type>any</type></transmission>',
        flexibility(beam()),
    )


LONG = '<origin xyz="0.5 0 0"/><geometry><box size="1 0.1 0.1"/></geometry>'
HOUSING = '<geometry><cylinder radius="0.1" length="0.3"/></geometry>'
FLANGE = '<origin xyz="0.98 0 0.05" rpy="0 0.5 0"/><geometry><sphere radius="0.05"/></geometry>'
MESH = '<geometry><mesh filename="package://some_robot/meshes/arm.stl" scale="2 2 2"/></geometry>'


def shapes(text):
    """Return {link: its visuals as (shape, xyz)}."""
    return {
        element.get('name'): [
            (
                next(visual.iterfind('geometry/*')).tag,
                next((origin.get('xyz') for origin in visual.iterfind('origin')), None),
            )
            for visual in element.findall('visual')
        ]
        for element in ElementTree.fromstring(text).findall('link')
    }


def test_what_spans_the_beam_is_left_to_the_markers_and_what_sits_on_it_rides_along():
    found = shapes(display_description(load(drawn(LONG, HOUSING, FLANGE, MESH))))
    assert found['arm'] == [('cylinder', None)]
    assert [kind for kind, _ in found['arm_flex_1']] == ['sphere']
    place = [float(word) for word in found['arm_flex_1'][0][1].split()]
    assert place == pytest.approx([-0.02, 0.0, 0.05])
    assert found['tool'] == [('box', None)]


def test_all_visuals_stay_where_they_are_on_request():
    found = shapes(display_description(load(drawn(LONG, HOUSING, FLANGE, MESH)), True))
    assert [kind for kind, _ in found['arm']] == ['box', 'cylinder', 'sphere', 'mesh']


def test_a_material_outlives_the_visual_that_defined_it():
    blue = '<material name="blue"><color rgba="0 0 1 1"/></material>'
    root = ElementTree.fromstring(display_description(load(drawn(LONG + blue, MESH + blue))))
    assert [material.get('name') for material in root.findall('material')] == ['blue', 'grey']
    assert root.find('material/color').get('rgba') == '0 0 1 1'


def test_a_visual_that_makes_no_sense_is_taken_out_like_a_mesh():
    broken = [
        '<geometry/>',
        '',
        '<origin xyz="1 2"/><geometry><box size="1 1 1"/></geometry>',
        '<geometry><box size="big"/></geometry>',
        '<geometry><box/></geometry>',
    ]
    assert shapes(display_description(load(drawn(*broken))))['arm'] == []


def test_the_rest_of_the_urdf_is_the_users_own():
    text = drawn(LONG).replace('<link name="tool">', '<!-- mine --><link name="tool">')
    text = text.replace('<box size="1 1 1"/>', '<mesh filename="package://some_robot/tool.dae"/>')
    made = display_description(load(text))
    for kept in (
        '<!-- mine -->',
        'package://some_robot/tool.dae',
        '<transmission name="t">',
        'rpy="0 0 1"',
        '<mass value="2.0"/>',
    ):
        assert kept in made
    assert '<flexibility' not in made and 'EIy' not in made


def test_a_mimic_joint_remains_one_and_its_fixed_position_is_included():
    arm = load(ROBOTS['every_feature'])
    assert '<mimic joint="elbow" offset="0.4"/>' in display_description(arm)
    display = DisplayJoints(arm)
    values = dict(zip(display.names, display.positions(random_state(arm, 2)[0])))
    assert values['grip'] == 0.4


def test_xacro_is_expanded(tmp_path):
    path = tmp_path / 'arm.urdf.xacro'
    text = shipped_robots()['two_link'].read_text(encoding='utf-8')
    path.write_text(
        text.replace(
            '<robot name="two_link">',
            (
                '<robot name="two_link" xmlns:xacro="http://www.ros.org/wiki/xacro">'
                '<xacro:property name="reach" value="${0.25 * 2}"/>'
            ),
        ).replace('end="0.5 0 0"', 'end="${reach} 0 0"')
    )
    made = display_description(load(path))
    assert 'xacro:' not in made and 'upper_arm_flex_1_torsion' in made


def test_a_rigid_arm_is_shown_as_it_is():
    arm = load('rcm')
    assert DisplayJoints(arm).names == arm.joint_names
    made, text = (
        re.sub(r'\s', '', words[words.index('<robot') :])
        for words in (display_description(arm), Path(ROBOTS['rcm']).read_text(encoding='utf-8'))
    )
    assert made == text


def test_it_is_distinguished_from_a_robot_to_simulate():
    arm = load('two_link')
    assert is_display_description(display_description(arm))
    assert not is_display_description(arm.description.text)


def test_wrong_coordinates_are_refused():
    arm = load('rig')
    with pytest.raises(SettingError, match='coordinates must be 5 finite numbers'):
        DisplayJoints(arm).positions([0.0, np.nan, 0.0, 0.0])
