"""
Joint-space inertia in a pose, and its range over all poses.

It may vary by a factor of a thousand, as at a vertical axis of an arm that is upright or stretched
out. So choose the pose, the least or the largest value when you design gains or a stop.
"""

from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.loop_motion import motion_by_drives
from flex_robot_sim.analysis.loop_poses import followed_pose, hanging_pose, pose_of_drives
from flex_robot_sim.analysis.tangent import spring_stiffness
from flex_robot_sim.dynamics.forward_dynamics import inverse_dynamics
from flex_robot_sim.dynamics.mass_matrix import mass_matrix
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.workspace import make_workspace

DEFAULT_POSE_COUNT = 24  # poses in addition to the middle of the range
DEFAULT_ROTARY_RANGE = np.pi  # to either side, of a rotary joint without stops           [rad]
DEFAULT_LINEAR_RANGE = 1.0  # to either side, of a prismatic joint without stops          [m]
RANGE_RATIO = 0.98  # share of the range in use: contact with a stop adds a spring


class JointSpaceInertia(NamedTuple):
    """Rigid-body inertia (joints,) at each drive, with its rotor; 0 without [kg m2, kg]."""

    least: np.ndarray
    largest: np.ndarray


def joint_space_inertia(arm: ArmModel) -> JointSpaceInertia:
    """Return the JointSpaceInertia over the range of an ArmModel."""
    inertias = [np.diag(rigid_inertia(arm, pose)) for pose in poses_within(arm)]
    return JointSpaceInertia(np.min(inertias, axis=0), np.max(inertias, axis=0))


def poses_within(arm: ArmModel, count: int = DEFAULT_POSE_COUNT) -> np.ndarray:
    """
    Return joint positions (poses, joints) over the range of an arm [rad, m].

    The first pose is the middle of the range. The pose nearest to zero follows if it differs, then
    `count` pseudorandom poses, the same in every call. In closed loops, passive joints follow the
    drives from the start pose, and a pose that cannot close is replaced by the last one on the
    way to it. In trees, passive joints hang at their equilibrium.
    """
    lower, upper = arm.arrays.lower.copy(), arm.arrays.upper.copy()
    half = default_range(arm)
    lower = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper, 0.0) - half)
    upper = np.where(np.isfinite(upper), upper, lower + 2 * half)
    middle, half = (lower + upper) / 2, RANGE_RATIO * (upper - lower) / 2
    samples = np.random.default_rng(0).uniform(-1.0, 1.0, (count, middle.size))
    zero = np.clip(np.zeros(middle.size), middle - half, middle + half)
    poses = [middle] if np.allclose(zero, middle) else [middle, zero]
    rows = np.vstack([*poses, middle + half * samples])
    if arm.closed_loops:
        return np.array([followed_pose(arm, row)[0] for row in rows])
    return np.array([hanging_pose(arm, np.where(arm.actuated, row, zero)) for row in rows])


def default_range(arm: ArmModel) -> np.ndarray:
    """Range (joints,) to either side of joints without stops [rad, m]."""
    return np.where(
        [unit == 'rad' for unit in arm.units], DEFAULT_ROTARY_RANGE, DEFAULT_LINEAR_RANGE
    )


def rigid_inertia(arm: ArmModel, position: np.ndarray) -> np.ndarray:
    """Return the inertia (joints, joints) of the rigid arm in a pose [kg m2, kg m, kg]."""
    if arm.closed_loops or arm.has_free_base or not arm.actuated.all():
        q = rigid_coordinates(arm, position)
        moves = rigid_moves(arm, q)
        return moves.T @ mass_matrix(arm.arrays, q) @ moves
    joint_columns = rigid_moves(arm)
    arrays, work = arm.arrays._replace(base_acceleration=np.zeros(6)), make_workspace(arm.arrays)
    q, zero_rates, force = np.zeros((3, arm.size))
    q[:] = joint_columns @ position
    M = np.empty((joint_columns.shape[1],) * 2)
    for k, column in enumerate(joint_columns.T):
        inverse_dynamics(arrays, q, zero_rates, np.ascontiguousarray(column), work, force)
        M[k] = force @ joint_columns
    return (M + M.T) / 2


def rigid_coordinates(arm: ArmModel, position: np.ndarray) -> np.ndarray:
    """Return all coordinates (n,) of the rigid arm; passive joints of closed loops follow."""
    q = np.zeros(arm.size)
    arm.set_joints(q, pose_of_drives(arm, position))
    return q


def rigid_moves(arm: ArmModel, q: np.ndarray | None = None) -> np.ndarray:
    """
    Return the motion (n, joints) of all coordinates by each joint of the rigid arm.

    In closed loops, passive joints and links follow the drives with the least strain, and then
    with the least motion where nothing holds them.

    A free base moves so that the arm has no momentum.

    :param q: coordinates (n,) of a closed loop, of a tree whose passive joints follow, or of an
        arm with a free base.
    """
    if arm.closed_loops or (q is not None and not arm.actuated.all()):
        assert q is not None
        return motion_by_drives(arm, q, spring_stiffness(arm, q))
    columns = np.zeros((arm.size, len(arm.joint_names)))
    for joint, motor in enumerate(arm.arrays.motor):
        columns[joint, joint] = 1.0
        if motor >= 0:
            columns[motor, joint] = 1.0
    if arm.has_free_base:
        assert q is not None
        M, base = mass_matrix(arm.arrays, q), arm.base_q
        columns[base] = -np.linalg.solve(M[base, base], M[base] @ columns)
    return columns
