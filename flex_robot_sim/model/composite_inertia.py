"""
Composite inertia: the rigid bodies that the joints of a description move, in one or many poses.

The inertia about the waist of an arm that is upright at zero can be a thousandth of that of the
extended arm. Quantities that must hold in every pose use the maximum over poses in the whole
range.
"""

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.description.bodies import Moments, moments_of
from flex_robot_sim.description.links import Joint
from flex_robot_sim.description.robot import RobotDescription

MomentsByLink: TypeAlias = dict[str, Moments]

RANDOM_POSES = 64  # random ones within all joint ranges, in addition to zero


def moments_beyond(
    description: RobotDescription, position: Mapping[str, ArrayLike] | None = None
) -> tuple[MomentsByLink, MomentsByLink]:
    """
    Mass moments of all links beyond each link, and of these with the link, in the link frame.

    :param position: of joints by name, one or (poses,) [rad, m]; missing joints are at zero, or at
        their fixed position.
    :returns: two mappings from the names of links to Moments.
    """
    beyond = {link.name: moments_of(None) for link in description.links}
    link_moments = {link.name: moments_of(link.inertial) for link in description.links}
    position, moved = position or {}, {}
    for joint in reversed(description.joints):
        name = joint.child
        moved[name] = beyond[name] + link_moments[name]
        rotation, translation = joint_pose(joint, position.get(joint.name, joint.held_at or 0.0))
        beyond[joint.parent] += moved[name].moved(
            joint.rotation @ rotation, joint.position + translation @ joint.rotation.T
        )
    return beyond, moved


def joint_pose(joint: Joint, position: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Rotation (..., 3, 3) and translation (..., 3) [m] of the child link in the joint frame."""
    rotation, translation = np.eye(3), np.zeros(3)
    if joint.pitch:
        translation = np.multiply.outer(joint.travel_per_radian * np.asarray(position), joint.axis)
    if joint.type.translates:
        translation = np.multiply.outer(position, joint.axis)
    if not joint.type.rotates:
        return rotation, translation
    x, y, z = joint.axis
    hat = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return rotation + (
        np.multiply.outer(np.sin(position), hat)
        + np.multiply.outer(1.0 - np.cos(position), hat @ hat)
    ), translation


def largest_inertias(description: RobotDescription) -> np.ndarray:
    """
    Maximum composite inertia [kg m2, kg] of each movable joint over the joint ranges.

    All other joints are locked, links are rigid, and rotors of rigid drives are included.
    """
    joints = [joint for joint in description.joints if joint.moves]
    moved = _moved_in_poses(description, joints)
    return np.array([np.max(_inertia_about(joint, moved[joint.child])) for joint in joints])


def base_inertias(description: RobotDescription, components: np.ndarray) -> np.ndarray:
    """
    Largest inertia over the joint ranges [kg m2, kg] by each coordinate of a free base.

    :param components: of its twist (angular, linear), (b,) from 0 to 5.
    """
    if not len(components):
        return np.zeros(0)
    joints = [joint for joint in description.joints if joint.moves]
    moments = _moved_in_poses(description, joints)[description.joints[0].child]
    # an upper bound about any axis
    about = np.max(np.trace(moments.second, axis1=-2, axis2=-1))
    return np.where(components < 3, about, moments.mass)


def _moved_in_poses(description, joints):
    """Moments of each link with all links beyond it, in random poses of the joints."""
    ranges = np.array([_range(joint) for joint in joints]).reshape(-1, 2)
    shares = np.random.default_rng(0).uniform(size=(RANDOM_POSES, len(joints)))
    poses = np.vstack(
        [np.zeros(len(joints)), ranges[:, 0] + shares * (ranges[:, 1] - ranges[:, 0])]
    )
    _, moved = moments_beyond(
        description, {joint.name: column for joint, column in zip(joints, poses.T)}
    )
    return moved


def _range(joint):
    """Range of a joint; by default one revolution, or 1 m either way."""
    lower, upper = joint.lower, joint.upper
    if joint.type.translates:
        return (lower if np.isfinite(lower) else -1.0), (upper if np.isfinite(upper) else 1.0)
    return max(lower, -np.pi), min(upper, np.pi)


def _inertia_about(joint, moments):
    """Inertia about the axis of a joint, or mass along it, of the links that it moves."""
    if joint.type.translates:
        inertia = moments.mass
    else:
        inertia = (
            np.trace(moments.second, axis1=-2, axis2=-1) - joint.axis @ moments.second @ joint.axis
        )
        if joint.pitch:
            inertia = inertia + joint.travel_per_radian**2 * moments.mass
    return inertia + (joint.reflected_inertia if np.isinf(joint.stiffness) else 0.0)
