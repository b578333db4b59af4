"""
The description that robot_state_publisher reads: the user's own, with the bending in joints.

Between a flexible link and the joints that it carries stand six virtual joints, whose values
(joints.py) put the carried frames where the deflected link has them. The frames of links keep
their names, and the joints of the arm theirs, so TF, rviz and scripts see the robot that the user
wrote. It is for drawing only: as a robot to simulate it would be a rigid arm with free hinges.

A URDF draws a link in one piece, so a bending link cannot be drawn by it. By default its visuals
are taken out, because `bending_markers` draws it as it bends, and a straight one beside it would
be wrong; what only sits on it, a motor housing or a flange at the root or where something is
carried, stays and rides along. Meshes cannot be told apart and are taken out.

Each flexible link also gets the fixed frame LINK/undeformed_tip, in which its tip deflection is
told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flex_robot_sim.description.document import Document
from flex_robot_sim.display.places import MOTIONS, axes_of_motions, places, station_point
from flex_robot_sim.display.turns import roll_pitch_yaw
from flex_robot_sim.display.visuals import read_visuals

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel

MARK = 'display description of flex_robot_sim'
_NOTE = (f'<!-- {MARK}: joints called ..._flex_... carry the deflections that\n'
         '     display_joint_states brings. Simulate and control the original, not this. -->\n')


def display_description(arm: ArmModel, keep_straight: bool = False) -> str:
    """
    Return the text of the display description of an ArmModel.

    :param keep_straight: draw flexible links as the user did, rigid and straight, too.
    """
    document = Document(arm.description.source, arm.description.text.encode())
    root = document.root
    for element in root.findall('flexibility'):
        root.remove(element)
    joints, links = _by_name(root, 'joint'), _by_name(root, 'link')
    found = places(arm)
    for place in found:
        beam = arm.description.beam(place.link)
        links[place.name] = _add_virtual_joints(root, place, beam)
        for name in place.joints:
            offset = arm.description.joint(name).position - station_point(beam, place)
            joints[name].find('parent').set('link', place.name)
            _put(joints[name], offset)
    for link in arm.segments:
        _add_undeformed_tip(root, link, arm.description.beam(link), {*links, *joints})
    if not keep_straight:
        for link in arm.segments:
            beam = arm.description.beam(link)
            _sort_visuals(root, links, link, beam, [p for p in found if p.link == link])
    return _NOTE + document.changed_text()


def is_display_description(text: str) -> bool:
    """Whether `text` is what `display_description` made, and so no robot to simulate."""
    return MARK in text


def _by_name(root, tag):
    return {(element.get('name') or '').strip(): element for element in root.findall(tag)}


def _add_virtual_joints(root, place, beam):
    """Add the six joints of a place and the links between them; return the last link."""
    carrier = place.link
    farthest = {'prismatic': 2 * beam.length, 'revolute': np.pi}
    names = place.joint_names
    for name, (_, kind, _), axis in zip(names, MOTIONS, axes_of_motions(beam)):
        child = place.name if name == names[-1] else f'{name}_link'
        link = _add(root, 'link', name=child)
        joint = _add(root, 'joint', name=name, type=kind)
        if name == names[0]:
            _add(joint, 'origin', xyz=_numbers(station_point(beam, place)))
        _add(joint, 'parent', link=carrier)
        _add(joint, 'child', link=child)
        _add(joint, 'axis', xyz=_numbers(axis))
        _add(joint, 'limit', lower=repr(-farthest[kind]), upper=repr(farthest[kind]),
             effort='0', velocity='0')
        carrier = child
    return link


def _add_undeformed_tip(root, link, beam, taken):
    """Add the frame at the tip of the straight link, x along the beam, if its name is free."""
    name = undeformed_tip(link)
    if name in taken:
        return
    _add(root, 'link', name=name)
    joint = _add(root, 'joint', name=f'{name}_joint', type='fixed')
    turn = roll_pitch_yaw(beam.axes)
    _add(joint, 'origin', xyz=_numbers(beam.end), rpy=_numbers(turn))
    _add(joint, 'parent', link=link)
    _add(joint, 'child', link=name)


def undeformed_tip(link: str) -> str:
    """Name of the frame in which the tip deflection of a flexible link is told."""
    return f'{link}/undeformed_tip'


def _sort_visuals(root, links, link, beam, found):
    """Keep the visuals at the root, move those at a place there, and take out the others."""
    for visual in read_visuals(root, link, beam):
        if visual.is_at(0.0, beam.length):
            continue
        _keep_material(root, visual.element)
        place = min((place for place in found if visual.is_at(place.along, beam.length)),
                    key=lambda place: abs(place.along - visual.centre[0]), default=None)
        if place is None:
            visual.element.getparent().remove(visual.element)
        else:
            _put(visual.element, beam.axes @ visual.centre - station_point(beam, place))
            links[place.name].append(visual.element)


def _keep_material(root, visual):
    """Put a material that a visual defines at the top, for others that only name it."""
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


def _put(element, position):
    """Give a joint or a visual another position; its turn stays."""
    origin = element.find('origin')
    if origin is None:
        origin = element.makeelement('origin', {})
        element.insert(0, origin)
    origin.set('xyz', _numbers(position))


def _add(parent, tag, **attributes):
    """Add an element on a line of its own."""
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
