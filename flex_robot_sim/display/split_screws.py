"""
Screw joints in the display description: their rotation, and a prismatic joint that mimics it.

`display_joint_states` has the positions of both. Programs that follow `<mimic>` only need that of
the rotation.
"""

from flex_robot_sim.description.document import XmlElement
from flex_robot_sim.description.links import Joint
from flex_robot_sim.description.robot import RobotDescription

MAX_TRAVEL_M = 1e3  # the range of the rotation bounds the travel


def travel_names(description: RobotDescription) -> dict[str, str]:
    """Return the name of the prismatic joint of each moving screw joint, by its name."""
    used = {joint.name for joint in description.joints} | {link.name for link in description.links}
    names: dict[str, str] = {}
    for joint in description.joints:
        if joint.pitch and joint.moves:
            name = f'{joint.name}_travel'
            while {name, f'{name}_link'} & used:
                name += '_'
            names[joint.name] = name
    return names


def split_screws(root: XmlElement, description: RobotDescription) -> None:
    """Insert the prismatic joint of each screw joint between the joint and its child."""
    for name, travel in travel_names(description).items():
        _split(root, description.joint(name), travel)


def _split(root, joint: Joint, travel: str) -> None:
    (rotation,) = (
        one for one in root.findall('joint') if (one.get('name') or '').strip() == joint.name
    )
    rotation.find('child').set('link', f'{travel}_link')
    _add(root, 'link', name=f'{travel}_link')
    element = _add(root, 'joint', name=travel, type='prismatic')
    _add(element, 'parent', link=f'{travel}_link')
    _add(element, 'child', link=joint.child)
    _add(element, 'axis', xyz=' '.join(repr(float(value)) for value in joint.axis))
    limits = {'lower': repr(-MAX_TRAVEL_M), 'upper': repr(MAX_TRAVEL_M)}
    _add(element, 'limit', **limits, effort='0', velocity='0')
    _add(element, 'mimic', joint=joint.name, multiplier=repr(joint.travel_per_radian))


def _add(parent, tag, **attributes):
    element = parent.makeelement(tag, attributes)
    parent.append(element)
    return element
