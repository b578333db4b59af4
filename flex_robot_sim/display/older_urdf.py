"""Conversion of a URDF to version 1.0, which every ROS release reads."""

from contextlib import suppress

from flex_robot_sim.description.document import XmlElement
from flex_robot_sim.description.orientation import roll_pitch_yaw
from flex_robot_sim.description.urdf_elements import capsule_ends
from flex_robot_sim.description.urdf_version import WITH_OPTIONAL_LIMITS, version_of
from flex_robot_sim.description.values import MAX_VALUE
from flex_robot_sim.display.visuals import origin_of, rotation_of


def convert_to_version_1_0(root: XmlElement) -> None:
    """
    Change a <robot> to version 1.0 in place.

    Quaternions become roll, pitch and yaw; a capsule becomes a cylinder and two spheres; limits of
    effort and velocity, which are optional from version 1.2 on, are written.
    """
    for link in root.findall('link'):
        for tag in ('visual', 'collision'):
            for shape in link.findall(f'{tag}/geometry/capsule'):
                _divide_capsule(link, shape)
    for origin in root.iter('origin'):
        if 'quat_xyzw' in origin.attrib:
            with suppress(ValueError):
                origin.set('rpy', _text(roll_pitch_yaw(rotation_of(origin.attrib))))
                del origin.attrib['quat_xyzw']
    if version_of(root) >= WITH_OPTIONAL_LIMITS:
        for limit in root.iterfind('joint/limit'):
            for name in ('effort', 'velocity'):
                if name not in limit.attrib:
                    limit.set(name, repr(MAX_VALUE))
    if 'version' in root.attrib:
        root.set('version', '1.0')


def _divide_capsule(link, shape):
    """Make a <capsule> a <cylinder>, and add a sphere at both ends to the link."""
    owner = shape.getparent().getparent()
    shape.tag = 'cylinder'
    with suppress(ValueError):  # of an unusable shape
        centre, turn = origin_of(owner)
        radius, length = shape.get('radius', ''), float(shape.get('length', ''))
        for end in capsule_ends(centre, turn, length):
            sphere = owner.makeelement(owner.tag, {})
            sphere.append(owner.makeelement('origin', {'xyz': _text(end)}))
            geometry = owner.makeelement('geometry', {})
            geometry.append(owner.makeelement('sphere', {'radius': radius}))
            sphere.append(geometry)
            for material in owner.findall('material'):
                sphere.append(_copy(material))
            sphere.tail = owner.tail
            link.insert(link.index(owner) + 1, sphere)


def _copy(element):
    copied = element.makeelement(element.tag, dict(element.attrib))
    for child in element.iterchildren('*'):
        copied.append(_copy(child))
    return copied


def _text(values):
    return ' '.join(repr(float(value) + 0.0) for value in values)
