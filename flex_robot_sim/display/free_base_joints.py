"""
A free base in the display description: six virtual joints, three along and three about its axes.

robot_state_publisher moves no floating joint, so the joint becomes fixed and the six joints follow
it. Their angles are yaw, pitch and roll from the pose at the start.
"""

import numpy as np

from flex_robot_sim.description.document import XmlElement
from flex_robot_sim.description.links import Joint
from flex_robot_sim.description.robot import RobotDescription

MOTIONS = (
    ('x', 'prismatic', '1 0 0'),
    ('y', 'prismatic', '0 1 0'),
    ('z', 'prismatic', '0 0 1'),
    ('yaw', 'continuous', '0 0 1'),
    ('pitch', 'continuous', '0 1 0'),
    ('roll', 'continuous', '1 0 0'),
)
LIMIT = '1e9'  # of the way of a base, which has none                                     [m]


def joint_names(description: RobotDescription) -> tuple[str, ...]:
    """Names of the six virtual joints, base to tip; none for a fixed base."""
    joint = description.free_joint
    if joint is None:
        return ()
    prefix = _free_prefix(description, joint)
    return tuple(f'{prefix}_{motion}' for motion, _, _ in MOTIONS)


def add_base_joints(root: XmlElement, description: RobotDescription) -> None:
    """Add the six joints of a free base to the document, and the links between them."""
    joint = description.free_joint
    if joint is None:
        return
    element = next(
        one for one in root.findall('joint') if (one.get('name') or '').strip() == joint.name
    )
    element.set('type', 'fixed')
    for axis in element.findall('axis'):
        element.remove(axis)
    parent = f'{_free_prefix(description, joint)}_start'
    element.find('child').set('link', parent)
    _add(root, 'link', name=parent)
    names = joint_names(description)
    for name, (_, kind, axis) in zip(names, MOTIONS):
        child = joint.child if name == names[-1] else f'{name}_link'
        if name != names[-1]:
            _add(root, 'link', name=child)
        added = _add(root, 'joint', name=name, type=kind)
        _add(added, 'parent', link=parent)
        _add(added, 'child', link=child)
        _add(added, 'axis', xyz=axis)
        if kind == 'prismatic':
            _add(added, 'limit', lower=f'-{LIMIT}', upper=LIMIT, effort='0', velocity='0')
        parent = child


def base_joint_positions(R: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Positions (6,) [m, rad] of the joints for a pose of the base link from its start."""
    return np.array(
        [
            *p,
            np.arctan2(R[1, 0], R[0, 0]),
            np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0])),
            np.arctan2(R[2, 1], R[2, 2]),
        ]
    )


def _free_prefix(description: RobotDescription, joint: Joint) -> str:
    """Return a prefix that no name of a link or joint begins with, except that of the joint."""
    used = [*(link.name for link in description.links), *(one.name for one in description.joints)]
    prefix = f'{joint.name}_base'
    while any(name.startswith(prefix) for name in used):
        prefix += '_'
    return prefix


def _add(parent, tag, **attributes):
    element = parent.makeelement(tag, attributes)
    parent.append(element)
    return element
