"""
What the joints of a description move, as rigid bodies: in the zero pose, and in all poses.

An arm that stands upright at zero has a waist that feels a thousandth there of what it feels with
the arm stretched out. What must do in every pose takes the largest inertia over poses all over the
range.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.description.bodies import Moments, moments_of

if TYPE_CHECKING:
    from flex_robot_sim.description.robot import Joint, RobotDescription

MomentsByLink: TypeAlias = dict[str, Moments]

POSES = 64      # tried beside zero, anywhere in the ranges of all joints


def moments_beyond(
        description: RobotDescription,
        position: Mapping[str, ArrayLike] | None = None) -> tuple[MomentsByLink, MomentsByLink]:
    """
    Moments of what each link carries, and of that with the link itself, in the frame of the link.

    :param position: of joints by name, one or (poses,) [rad, m]; the others are at zero, or where
        they are held.
    :returns: two mappings from the names of links to Moments.
    """
    beyond = {link.name: moments_of(None) for link in description.links}
    own = {link.name: moments_of(link.inertial) for link in description.links}
    position, moved = position or {}, {}
    for joint in reversed(description.joints):
        name = joint.child
        moved[name] = beyond[name] + own[name]
        turn, way = joint_pose(joint, position.get(joint.name, joint.held_at or 0.0))
        beyond[joint.parent] += moved[name].moved(joint.rotation @ turn,
                                                  joint.position + way @ joint.rotation.T)
    return beyond, moved


def joint_pose(joint: Joint, position: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Turn (..., 3, 3) and way (..., 3) [m] of the child of a joint in the joint frame."""
    turn, way = np.eye(3), np.zeros(3)
    if joint.kind == 'prismatic':
        return turn, np.multiply.outer(position, joint.axis)
    x, y, z = joint.axis
    hat = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return turn + (np.multiply.outer(np.sin(position), hat)
                   + np.multiply.outer(1.0 - np.cos(position), hat @ hat)), way


def largest_inertias(description: RobotDescription) -> np.ndarray:
    """
    Inertia [kg m2, kg] that each moving joint feels at most over its range and those beyond it.

    All other joints stand, nothing bends, and rotors of rigid drives count.
    """
    joints = [joint for joint in description.joints if joint.moves]
    ranges = np.array([_range(joint) for joint in joints]).reshape(-1, 2)
    shares = np.random.default_rng(0).uniform(size=(POSES, len(joints)))
    poses = np.vstack([np.zeros(len(joints)),
                       ranges[:, 0] + shares * (ranges[:, 1] - ranges[:, 0])])
    _, moved = moments_beyond(description, {joint.name: column
                                            for joint, column in zip(joints, poses.T)})
    return np.array([np.max(_about(joint, moved[joint.child])) for joint in joints])


def _range(joint):
    """Positions between which a joint moves; a turn where nothing else is said."""
    lower, upper = joint.lower, joint.upper
    if joint.kind == 'prismatic':
        return (lower if np.isfinite(lower) else -1.0), (upper if np.isfinite(upper) else 1.0)
    return max(lower, -np.pi), min(upper, np.pi)


def _about(joint, moments):
    """Inertia about the axis of a joint, or mass along it, of what it moves."""
    if joint.kind == 'prismatic':
        inertia = moments.mass
    else:
        inertia = (np.trace(moments.second, axis1=-2, axis2=-1)
                   - joint.axis @ moments.second @ joint.axis)
    return inertia + (joint.reflected_inertia if np.isinf(joint.stiffness) else 0.0)
