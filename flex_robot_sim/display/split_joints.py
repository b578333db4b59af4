"""Universal and spherical joints in the display description: one revolute joint per coordinate."""

from flex_robot_sim.description.document import XmlElement
from flex_robot_sim.description.robot import RobotDescription


def split_joints(root: XmlElement, description: RobotDescription) -> None:
    """Replace fixed joints of the document that are universal or spherical, with their links."""
    fixed = {(one.get('name') or '').strip(): one for one in root.findall('joint')}
    for joint in description.joints:
        if not joint.part_of:
            continue
        element = fixed.pop(joint.part_of, None)
        if element is None:  # its first coordinate has the element
            element = _add(root, 'joint')
            _add(element, 'parent', link=joint.parent)
            _add(element, 'child', link=joint.child)
        else:
            for child in [one for tag in ('axis', 'limit') for one in element.findall(tag)]:
                element.remove(child)
            element.find('child').set('link', joint.child)
        element.set('name', joint.name)
        element.set('type', 'continuous')
        _add(element, 'axis', xyz=' '.join(f'{value:g}' for value in joint.axis))
        if not any(one.get('name') == joint.child for one in root.findall('link')):
            _add(root, 'link', name=joint.child)


def _add(parent, tag, **attributes):
    element = parent.makeelement(tag, attributes)
    parent.append(element)
    return element
