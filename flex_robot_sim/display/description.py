"""
Description for robot_state_publisher: the original with virtual joints for the bending.

Six virtual joints are inserted between a flexible link and its child joints. Their values
(joints.py) place the child frames on the deflected link. Links and joints keep their names, so
that TF, rviz and scripts find the original robot. The description is for drawing only: simulated,
it would be a rigid arm with free hinges. Its version of URDF is 1.0, which all ROS releases read.

The visuals of a URDF link are rigid. By default the visuals of flexible links are removed,
because `bending_markers` draws the deflected link. Small parts, such as a motor housing or a
flange, stay if they are at the root or at a child joint, and move with it. Meshes cannot be
classified and are removed.

The joint of a free base is floating: its pose comes on TF (base_frames.py).

A robot without any visual gets a stick figure.

Each flexible link also gets the fixed frame LINK/undeformed_tip, the reference of its tip
deflection. An IMU away from the origin of its link gets a frame with its name. On a flexible link,
this is limited to the root and to the places of child joints, whose frames exist.
"""

import numpy as np

from flex_robot_sim.description import read_recorded_text
from flex_robot_sim.description.document import Document
from flex_robot_sim.description.orientation import roll_pitch_yaw
from flex_robot_sim.display.base_frames import make_base_floating
from flex_robot_sim.display.older_urdf import convert_to_version_1_0
from flex_robot_sim.display.places import MOTIONS, axes_of_motions, places, station_point
from flex_robot_sim.display.split_joints import split_joints
from flex_robot_sim.display.split_screws import split_screws
from flex_robot_sim.display.visuals import read_visuals
from flex_robot_sim.model.arm_model import ArmModel

MARK = 'display description of flex_robot_sim'
RADIUS_SHARE = 0.012  # radius of a stick, over the length of all
MAX_RADIUS = 0.03  # [m]
JOINT_RADIUS_SHARE = 1.5  # radius of the sphere at a joint, over that of a stick
SAME_PLACE = 1e-3  # distance of an IMU from a place that counts as none, over the length
MIN_LENGTH = 1e-3  # between two joints that a stick is drawn for                    [m]
_NOTE = (
    f'<!-- {MARK}: joints called ..._flex_... carry the deflections that\n'
    '     display_joint_states brings. Simulate and control the original, not this. -->\n'
)


def display_description(arm: ArmModel, keep_straight: bool = False) -> str:
    """Return its text; `keep_straight`: with the rigid visuals of flexible links."""
    document = Document(arm.description.source, arm.description.text.encode())
    root = document.root
    for element in [*root.findall('flexibility'), *root.findall('constraint')]:
        root.remove(element)
    split_joints(root, arm.description)
    make_base_floating(root, arm.description)
    split_screws(root, arm.description)
    joints, links = _by_name(root, 'joint'), _by_name(root, 'link')
    _move_joints(joints, arm)
    if root.find('link/visual') is None:
        _draw_sticks(links, arm)
    found = places(arm)
    for place in found:
        beam = arm.description.beam(place.link)
        links[place.name] = _add_virtual_joints(root, place, beam)
        for name in place.joints:
            offset = arm.description.joint(name).position - station_point(beam, place)
            joints[name].find('parent').set('link', place.name)
            _set_position(joints[name], offset)
    for link in arm.segments:
        _add_undeformed_tip(root, link, arm.description.beam(link), {*links, *joints})
    for link in arm.description.links:
        for imu in link.imus:
            _add_imu(root, link, imu, [place for place in found if place.link == link.name])
    if not keep_straight:
        for link in arm.segments:
            beam = arm.description.beam(link)
            if beam.reduced is not None:
                continue
            _assign_visuals(root, links, link, beam, [p for p in found if p.link == link])
    convert_to_version_1_0(root)
    return _NOTE + document.changed_text()


def is_display_description(text: str) -> bool:
    """Whether `text` is a result of `display_description`, which cannot be simulated."""
    return MARK in text


def _move_joints(joints, arm):
    """Move joints whose positions differ from the text, as of an arm with other parameters."""
    # the files of reduced links may be missing
    described, _ = read_recorded_text(arm.description.text)
    for joint in arm.description.joints:
        if (joint.position != described.joint(joint.name).position).any():
            _set_position(joints[joint.name], joint.position)


def _by_name(root, tag):
    return {(element.get('name') or '').strip(): element for element in root.findall(tag)}


def _draw_sticks(links, arm):
    """Add a cylinder from each joint to the next, and a sphere at each joint that moves."""
    joints = arm.description.joints
    lengths = [float(np.linalg.norm(joint.position)) for joint in joints]
    radius = min(RADIUS_SHARE * sum(lengths), MAX_RADIUS)
    for joint, length in zip(joints, lengths):
        if joint.moves:
            _add_shape(
                links[joint.child],
                'sphere',
                np.zeros(3),
                np.zeros(3),
                radius=JOINT_RADIUS_SHARE * radius,
            )
        if length > MIN_LENGTH and joint.parent not in arm.segments:
            x, y, z = joint.position / length
            _add_shape(
                links[joint.parent],
                'cylinder',
                joint.position / 2,
                (0.0, np.arccos(z), np.arctan2(y, x)),
                radius=radius,
                length=length,
            )


def _add_shape(link, tag, centre, rpy, **size):
    visual = _add(link, 'visual')
    _add(visual, 'origin', xyz=_numbers(centre), rpy=_numbers(rpy))
    _add(_add(visual, 'geometry'), tag, **{name: repr(value) for name, value in size.items()})


def _add_virtual_joints(root, place, beam):
    """Add the six joints of a place and the links between them; return the last link."""
    parent = place.link
    limits = {'prismatic': 2 * beam.length, 'revolute': np.pi}
    names = place.joint_names
    for name, (_, kind, _), axis in zip(names, MOTIONS, axes_of_motions(beam)):
        child = place.name if name == names[-1] else f'{name}_link'
        link = _add(root, 'link', name=child)
        joint = _add(root, 'joint', name=name, type=kind)
        if name == names[0]:
            _add(joint, 'origin', xyz=_numbers(station_point(beam, place)))
        _add(joint, 'parent', link=parent)
        _add(joint, 'child', link=child)
        _add(joint, 'axis', xyz=_numbers(axis))
        _add(
            joint,
            'limit',
            lower=repr(-limits[kind]),
            upper=repr(limits[kind]),
            effort='0',
            velocity='0',
        )
        parent = child
    return link


def _add_undeformed_tip(root, link, beam, used_names):
    """Add the frame at the tip of the straight link, x along the beam, if its name is free."""
    name = undeformed_tip(link)
    if name in used_names:
        return
    _add(root, 'link', name=name)
    joint = _add(root, 'joint', name=f'{name}_joint', type='fixed')
    turn = roll_pitch_yaw(beam.section_pose(beam.length)[0])
    _add(joint, 'origin', xyz=_numbers(beam.end), rpy=_numbers(turn))
    _add(joint, 'parent', link=link)
    _add(joint, 'child', link=name)


def _add_imu(root, link, imu, place_list):
    """Add the frame of an IMU, unless it is the link frame, or between the places of a beam."""
    parent, origin = link.name, np.zeros(3)
    if imu.is_at_origin:
        return
    if link.beam is not None and link.beam.station(imu.position) > SAME_PLACE * link.beam.length:
        along, tolerance = link.beam.station(imu.position), SAME_PLACE * link.beam.length
        place = min(place_list, key=lambda place: abs(place.along - along), default=None)
        if place is None or abs(place.along - along) > tolerance:
            return
        parent, origin = place.name, station_point(link.beam, place)
    if any(element.get('name') == imu.name for element in root.findall('link')):
        return
    _add(root, 'link', name=imu.name)
    joint = _add(root, 'joint', name=f'{imu.name}/imu_joint', type='fixed')
    _add(
        joint,
        'origin',
        xyz=_numbers(imu.position - origin),
        rpy=_numbers(roll_pitch_yaw(imu.rotation)),
    )
    _add(joint, 'parent', link=parent)
    _add(joint, 'child', link=imu.name)


def undeformed_tip(link: str) -> str:
    """Name of the reference frame of the tip deflection of a flexible link."""
    return f'{link}/undeformed_tip'


def _assign_visuals(root, links, link, beam, place_list):
    """Keep visuals at the root, attach those at a Place to it, and remove the others."""
    for visual in read_visuals(root, link, beam):
        if visual.is_at(0.0, beam.length):
            continue
        _share_material(root, visual.element)
        place = min(
            (place for place in place_list if visual.is_at(place.along, beam.length)),
            key=lambda place: abs(place.along - visual.centre[0]),
            default=None,
        )
        if place is None:
            visual.element.getparent().remove(visual.element)
        else:
            _set_position(visual.element, beam.axes @ visual.centre - station_point(beam, place))
            links[place.name].append(visual.element)


def _share_material(root, visual):
    """Copy a material of a removed visual to the root, for visuals that refer to it."""
    material = visual.find('material')
    if material is None or not len(material) or not material.get('name'):
        return
    if material.get('name') not in {known.get('name') for known in root.findall('material')}:
        root.insert(0, _copy(root, material))


def _copy(root, element):
    copied = root.makeelement(element.tag, dict(element.attrib))
    for child in element.iterchildren('*'):
        copied.append(_copy(root, child))
    return copied


def _set_position(element, position):
    """Set the position of a joint or a visual and keep its orientation."""
    origin = element.find('origin')
    if origin is None:
        origin = element.makeelement('origin', {})
        element.insert(0, origin)
    origin.set('xyz', _numbers(position))


def _add(parent, tag, **attributes):
    """Add an element on a separate line."""
    element = parent.makeelement(tag, attributes)
    depth = 1 + sum(1 for _ in parent.iterancestors())
    if len(parent):
        parent[-1].tail = '\n' + '  ' * depth
    else:
        parent.text = '\n' + '  ' * depth
    element.tail = '\n' + '  ' * (depth - 1)
    parent.append(element)
    return element


def _numbers(values):
    return ' '.join(repr(float(value) + 0.0) for value in values)
