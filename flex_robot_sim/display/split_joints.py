"""Joints with several coordinates in the display description: one joint per coordinate."""

import numpy as np

from flex_robot_sim.description.document import XmlElement
from flex_robot_sim.description.robot import RobotDescription

NO_LIMIT_M = '1e9'  # of a coordinate along a plane without limits


def split_joints(root: XmlElement, description: RobotDescription) -> None:
    """Replace universal, spherical and planar joints of the document, and add their links."""
    elements = {(one.get('name') or '').strip(): one for one in root.findall('joint')}
    for joint in description.joints:
        if not joint.part_of:
            continue
        element = elements.pop(joint.part_of, None)
        if element is None:  # its first coordinate has the element
            element = _add(root, 'joint')
            _add(element, 'parent', link=joint.parent)
            _add(element, 'child', link=joint.child)
        else:
            for child in [one for tag in ('axis', 'limit') for one in element.findall(tag)]:
                element.remove(child)
            element.find('child').set('link', joint.child)
        element.set('name', joint.name)
        element.set('type', 'prismatic' if joint.type.translates else 'continuous')
        _add(element, 'axis', xyz=' '.join(repr(float(value)) for value in joint.axis))
        if joint.type.translates:
            _add_limit(element, joint)
        if not any(one.get('name') == joint.child for one in root.findall('link')):
            _add(root, 'link', name=joint.child)


def _add_limit(element, joint):
    """Add the range of a coordinate along a plane, which rviz and URDF need."""
    lower, upper = (
        repr(float(value)) if np.isfinite(value) else sign + NO_LIMIT_M
        for value, sign in ((joint.lower, '-'), (joint.upper, ''))
    )
    _add(element, 'limit', lower=lower, upper=upper, effort='0', velocity='0')


def _add(parent, tag, **attributes):
    element = parent.makeelement(tag, attributes)
    parent.append(element)
    return element
