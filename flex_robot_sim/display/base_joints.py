"""
A free or moved base in the display description: six virtual joints, along and about its axes.

robot_state_publisher moves no floating joint, so the joint becomes fixed and the six joints follow
it. Their angles are yaw, pitch and roll from the pose at the start. The joints of a moved base
begin at a new root link, the world.
"""

import numpy as np

from flex_robot_sim.description.document import XmlElement
from flex_robot_sim.description.robot import RobotDescription

MOTIONS = (
    ('x', 'prismatic', '1 0 0'),
    ('y', 'prismatic', '0 1 0'),
    ('z', 'prismatic', '0 0 1'),
    ('yaw', 'continuous', '0 0 1'),
    ('pitch', 'continuous', '0 1 0'),
    ('roll', 'continuous', '1 0 0'),
)
WORLD = 'world'  # frame of a moved base
LIMIT = '1e9'  # of the way of a base, which has none                                     [m]


def is_base_shown(description: RobotDescription) -> bool:
    """Whether the base is free, or moved as described."""
    return description.free_joint is not None or description.base_motion is not None


def base_frames(description: RobotDescription) -> tuple[str, str]:
    """Names of the frame in which a free or moved base has its pose, and of the base link."""
    joint = description.free_joint
    if joint is not None:
        return joint.parent, joint.child
    return _unused_prefix(description, WORLD), description.links[0].name


def root_frame(description: RobotDescription) -> str:
    """Name of the frame that does not move: the root link, or the world of a moved base."""
    if description.base_motion is not None:
        return base_frames(description)[0]
    return description.links[0].name


def joint_names(description: RobotDescription) -> tuple[str, ...]:
    """Names of the six virtual joints, base to tip; none for a base that stands."""
    if not is_base_shown(description):
        return ()
    prefix = _base_prefix(description)
    return tuple(f'{prefix}_{motion}' for motion, _, _ in MOTIONS)


def add_base_joints(root: XmlElement, description: RobotDescription) -> None:
    """Add the six joints of a free or moved base to the document, and the links between them."""
    if not is_base_shown(description):
        return
    parent, base = base_frames(description)
    joint = description.free_joint
    if joint is not None:
        element = next(
            one for one in root.findall('joint') if (one.get('name') or '').strip() == joint.name
        )
        element.set('type', 'fixed')
        for axis in element.findall('axis'):
            element.remove(axis)
        parent = f'{_base_prefix(description)}_start'
        element.find('child').set('link', parent)
    _add(root, 'link', name=parent)
    names = joint_names(description)
    for name, (_, kind, axis) in zip(names, MOTIONS):
        child = base if name == names[-1] else f'{name}_link'
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


def _base_prefix(description):
    joint = description.free_joint
    start = description.links[0].name if joint is None else joint.name
    return _unused_prefix(description, f'{start}_base')


def _unused_prefix(description, prefix):
    """Return a prefix that no name of a link or joint begins with."""
    used = [*(link.name for link in description.links), *(one.name for one in description.joints)]
    while any(name.startswith(prefix) for name in used):
        prefix += '_'
    return prefix


def _add(parent, tag, **attributes):
    element = parent.makeelement(tag, attributes)
    parent.append(element)
    return element
