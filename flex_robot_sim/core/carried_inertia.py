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

from flex_robot_sim.core.exponential import set_rotation
from flex_robot_sim.description.bodies import Moments, moments_of

if TYPE_CHECKING:
    from flex_robot_sim.description.robot import Joint, RobotDescription

MomentsByLink: TypeAlias = dict[str, Moments]

POSES = 64      # tried beside zero, anywhere in the ranges of all joints


def moments_beyond(
        description: RobotDescription,
        position: Mapping[str, float] | None = None) -> tuple[MomentsByLink, MomentsByLink]:
    """
    Moments of what each link carries, and of that with the link itself, in the frame of the link.

    :param position: of joints by name [rad, m]; the others are at zero, or where they are held.
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
                                                  joint.position + joint.rotation @ way)
    return beyond, moved


def joint_pose(joint: Joint, position: float) -> tuple[np.ndarray, np.ndarray]:
    """Turn (3, 3) and way (3,) [m] of the child of a joint in the joint frame."""
    turn, way = np.eye(3), np.zeros(3)
    if joint.kind == 'prismatic':
        way = joint.axis * position
    elif position:
        set_rotation(joint.axis * position, turn)
    return turn, way


def largest_inertias(description: RobotDescription) -> np.ndarray:
    """
    Inertia [kg m2, kg] that each moving joint feels at most over its range and those beyond it.

    All other joints stand, nothing bends, and rotors of rigid drives count.
    """
    joints = [joint for joint in description.joints if joint.moves]
    ranges = np.array([_range(joint) for joint in joints]).reshape(-1, 2)
    shares = np.random.default_rng(0).uniform(size=(POSES, len(joints)))
    poses = np.vstack([np.zeros(len(joints)), ranges[:, 0] + shares * (ranges[:, 1]
                                                                       - ranges[:, 0])])
    places = dict(zip((joint.name for joint in joints), poses.T))
    # of all links beyond a link and of itself, in all poses at once, in its frame
    masses, firsts, seconds = {}, {}, {}
    for link in description.links:
        own = moments_of(link.inertial)
        masses[link.name] = own.mass
        firsts[link.name] = np.tile(own.first, (len(poses), 1))
        seconds[link.name] = np.tile(own.second, (len(poses), 1, 1))
    largest = dict.fromkeys(places, 0.0)
    for joint in reversed(description.joints):
        mass, first, second = masses[joint.child], firsts[joint.child], seconds[joint.child]
        if joint.moves:
            largest[joint.name] = _about(joint, mass, second).max()
        place = places.get(joint.name, np.full(len(poses), joint.held_at or 0.0))
        turn, way = joint_poses(joint, place)
        R, p = joint.rotation @ turn, joint.position + way @ joint.rotation.T
        first = np.einsum('kij,kj->ki', R, first)
        across = first[:, :, None] * p[:, None]
        masses[joint.parent] += mass
        firsts[joint.parent] += first + mass * p
        seconds[joint.parent] += (R @ second @ R.transpose(0, 2, 1) + across
                                  + across.transpose(0, 2, 1) + mass * p[:, :, None] * p[:, None])
    return np.array([largest[joint.name] for joint in joints])


def joint_poses(joint: Joint, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Turns (k, 3, 3) and ways (k, 3) [m] of the child of a joint at positions (k,)."""
    if joint.kind == 'prismatic':
        return np.tile(np.eye(3), (len(positions), 1, 1)), positions[:, None] * joint.axis
    x, y, z = joint.axis
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    turn = np.eye(3) + np.sin(positions)[:, None, None] * K + (
        1 - np.cos(positions))[:, None, None] * (K @ K)
    return turn, np.zeros((len(positions), 3))


def _range(joint):
    """Positions between which a joint moves; a turn where nothing else is said."""
    lower, upper = joint.lower, joint.upper
    if joint.kind == 'prismatic':
        return (lower if np.isfinite(lower) else -1.0), (upper if np.isfinite(upper) else 1.0)
    return max(lower, -np.pi), min(upper, np.pi)


def _about(joint, mass, second):
    """Inertia (k,) about the axis of a joint, or mass along it, of what it moves."""
    if joint.kind == 'prismatic':
        inertia = np.full(len(second), mass)
    else:
        inertia = np.trace(second, axis1=1, axis2=2) - joint.axis @ (second @ joint.axis).T
    return inertia + (joint.reflected_inertia if np.isinf(joint.stiffness) else 0.0)
