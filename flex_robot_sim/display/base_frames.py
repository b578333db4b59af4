"""
Frames of a free or moved base. Its pose goes to TF as one transform with a quaternion.

Joint angles are unsuitable: tf2 interpolates each joint, and near a pitch of 90 degrees yaw and
roll jump. In the display description, the joint at the root is therefore a floating one, which
robot_state_publisher leaves to the broadcaster.
"""

from flex_robot_sim.description.document import XmlElement
from flex_robot_sim.description.robot import RobotDescription

WORLD = 'world'  # frame of a moved base


def is_base_shown(description: RobotDescription) -> bool:
    """Whether the base is free, or moved as described."""
    return description.free_joint is not None or description.base_motion is not None


def base_frames(description: RobotDescription) -> tuple[str, str]:
    """Names of the frame in which a free or moved base has its pose, and of the base link."""
    joint = description.free_joint
    if joint is not None:
        return joint.parent, joint.child
    world, links = WORLD, {link.name for link in description.links}
    while world in links:
        world += '_'
    return world, description.links[0].name


def root_frame(description: RobotDescription) -> str:
    """Name of the frame that does not move: the root link, or the world of a moved base."""
    if is_base_shown(description):
        return base_frames(description)[0]
    return description.links[0].name


def make_base_floating(root: XmlElement, description: RobotDescription) -> None:
    """Make a planar joint of a free base in the document a floating one."""
    joint = description.free_joint
    if joint is None:
        return
    element = next(
        one for one in root.findall('joint') if (one.get('name') or '').strip() == joint.name
    )
    element.set('type', 'floating')
    for axis in element.findall('axis'):
        element.remove(axis)
