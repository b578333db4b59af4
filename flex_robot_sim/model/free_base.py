"""
Pose and twist of a free base, as users see them: those of the child link of the joint at the root.

Body 0 has the axes of this link if the joint is floating, and z along the normal of a planar one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.description.links import Joint
from flex_robot_sim.description.multi_dof_joint import plane_axes
from flex_robot_sim.model.arguments import array_or_nan
from flex_robot_sim.model.arm_arrays import home_pose
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.spatial.turns import are_unit, quaternion, rotation
from flex_robot_sim.util.exceptions import SettingError

PLANE_TOLERANCE = 1e-6  # of a pose or twist in the plane of a planar joint            [rad, m]
# of half the turn from the pose at the start: at half a turn, coordinates are infinite; pose and
# coordinates then agree within 1e-7 rad, and 1e-7 of the way
MIN_COSINE = 1e-8


def base_axes(joint: Joint) -> np.ndarray:
    """Axes (3, 3) of body 0 in the frame of the link that a free joint carries."""
    if joint.kind == 'floating':
        return np.eye(3)
    return plane_axes(joint.axis)


def free_joint(arm: ArmModel) -> Joint:
    """Return the floating or planar joint of an arm; SettingError if its base is not free."""
    joint = arm.description.free_joint
    if joint is None:
        raise SettingError(
            f'the base of "{arm.description.name}" is not free: give it a floating or planar '
            'joint at the root, or prescribe its motion by Simulation.move_base'
        )
    return joint


def link_pose(arm: ArmModel, base_pose: np.ndarray) -> np.ndarray:
    """Pose (7,) of the base link, from that of body 0 (7,)."""
    R = rotation(base_pose[3:]) @ base_axes(free_joint(arm)).T
    return np.concatenate([base_pose[:3], quaternion(R)])


def body_pose(arm: ArmModel, pose: ArrayLike | None) -> np.ndarray:
    """
    Return the pose (7,) of body 0, from a pose (7,) of the base link; None: as described.

    :raises SettingError: for anything but a position [m] and a quaternion x y z w, and for a pose
        outside the plane of a planar joint.
    """
    joint = free_joint(arm)
    home = home_pose(arm.arrays)
    if pose is None:
        return home
    values = array_or_nan(pose)
    if values.shape != (7,) or not np.isfinite(values).all() or not are_unit(values[3:]):
        raise SettingError(
            'base_pose must be seven finite numbers: position x y z [m] and unit quaternion '
            'x y z w'
        )
    turn = rotation(values[3:] / np.linalg.norm(values[3:])) @ base_axes(joint)
    if joint.kind == 'planar':
        normal = rotation(home[3:])[:, 2]
        distance = abs(normal @ (values[:3] - home[:3]))
        if max(distance, float(np.abs(turn[:, 2] - normal).max())) > PLANE_TOLERANCE:
            raise SettingError(
                f'base_pose is outside the plane of the joint "{joint.name}": give a pose in it'
            )
    return np.concatenate([values[:3], quaternion(turn)])


def is_tied(arm: ArmModel) -> bool:
    """Whether a constraint joins the arm to the world, as `solution.ties_to_world` does."""
    return bool((arm.arrays.constraint_body < 0).any())


def moved_to(arm: ArmModel, pose: np.ndarray) -> ArmModel:
    """Return the arm with another pose (7,) of body 0, its free base, at the start."""
    home_R, home_p = arm.arrays.home_R.copy(), arm.arrays.home_p.copy()
    home_R[0], home_p[0] = rotation(pose[3:]), pose[:3]
    return replace(arm, arrays=arm.arrays._replace(home_R=home_R, home_p=home_p))


def coordinate_rates(arm: ArmModel, x: np.ndarray) -> np.ndarray:
    """Rates (b, b) of the base coordinates at x (b,), by the rates of a state, see (T111)."""
    components = arm.arrays.base[:, 1]
    screws = np.zeros((1 + components.size, 6))
    screws[0, components], screws[1:, components] = x, np.eye(components.size)
    half, *units = (_screw_matrix(screw) for screw in screws)
    half, one = half / 2, np.eye(4)
    changes = [(one + half) @ unit @ (one - half) for unit in units]
    rates = [[X[2, 1], X[0, 2], X[1, 0], *X[:3, 3]] for X in changes]
    return np.array(rates).reshape(-1, 6)[:, components].T


def with_base_at_rest(arm: ArmModel) -> ArmModel:
    """Return the arm without the motion of its base, at rest at the origin of the world."""
    if arm.description.base_motion is None:
        return arm
    return replace(arm, description=replace(arm.description, base_motion=None))


def without_free_fall(arm: ArmModel) -> ArmModel:
    """
    Return the arm without the gravity in which a free base falls: this part loads no joint.

    A floating base leaves none, and a planar one that along the normal of its plane. A base that a
    constraint ties to the world does not fall.
    """
    if not arm.has_free_base or is_tied(arm):
        return arm
    gravity = np.zeros(6)
    if free_joint(arm).kind == 'planar':
        normal = rotation(home_pose(arm.arrays)[3:])[:, 2]
        gravity[3:] = normal * (normal @ arm.arrays.base_acceleration[3:])
    return replace(arm, arrays=arm.arrays._replace(base_acceleration=gravity))


def _screw_matrix(screw):
    X = np.zeros((4, 4))
    X[:3, :3], X[:3, 3] = np.cross(np.eye(3), screw[:3]), screw[3:]
    return X


def base_coordinates(arm: ArmModel, base_pose: np.ndarray) -> np.ndarray:
    """Coordinates (b,) that move body 0 from its pose at the start to a pose (7,), see (T110)."""
    return coordinates_of_poses(arm, home_pose(arm.arrays)[None], base_pose[None])[0]


def coordinates_of_poses(arm: ArmModel, starts: np.ndarray, poses: np.ndarray) -> np.ndarray:
    """Coordinates (k, b) that move bodies from poses (k, 7) at the start to other poses (k, 7)."""
    u, w = -starts[:, 3:6], starts[:, 6:]  # the inverse turn
    a, b = poses[:, 3:6], poses[:, 6:]
    cosine = w * b - (u * a).sum(axis=1, keepdims=True)
    half_turn = (w * a + b * u + np.cross(u, a)) / np.copysign(
        np.maximum(abs(cosine), MIN_COSINE), cosine
    )
    move = poses[:, :3] - starts[:, :3]
    move = move + 2.0 * np.cross(u, np.cross(u, move) + w * move)
    screws = np.hstack([2.0 * half_turn, move - np.cross(half_turn, move)])
    return screws[:, arm.arrays.base[:, 1]]


def link_twist(arm: ArmModel, v: np.ndarray) -> np.ndarray:
    """Twist (6,) of the base link in its own axes, angular first, from the rates (nv,)."""
    axes, V = base_axes(free_joint(arm)), np.zeros(6)
    V[arm.arrays.base[:, 1]] = v[arm.arrays.base[:, 0]]
    return np.concatenate([axes @ V[:3], axes @ V[3:]])


def base_rates(arm: ArmModel, twist: ArrayLike) -> np.ndarray:
    """
    Return the rates (b,) of the base coordinates, from a twist (6,) of the base link.

    :raises SettingError: for anything but six finite numbers, and for a twist out of the plane of
        a planar joint.
    """
    joint, values = free_joint(arm), array_or_nan(twist)
    if values.shape != (6,) or not np.isfinite(values).all():
        raise SettingError(
            'base_twist must be six finite numbers, in the axes of the base link: angular '
            '[rad/s] and linear [m/s]'
        )
    axes = base_axes(joint)
    V = np.concatenate([axes.T @ values[:3], axes.T @ values[3:]])
    components = arm.arrays.base[:, 1]
    if np.abs(np.delete(V, components)).max(initial=0.0) > PLANE_TOLERANCE:
        raise SettingError(
            f'base_twist leaves the plane of the joint "{joint.name}": give one within it'
        )
    return V[components]
