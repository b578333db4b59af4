"""
The inertia that joints feel, where the arm is and over all its poses.

It may be a thousand times larger in one pose than in another: that of a vertical axis under an arm
that stands upright or is stretched out. So whoever sizes something by it, gains or a stop, takes
the pose, or the least or the largest over the range, as its purpose needs.
"""

from typing import NamedTuple

import numpy as np

from flex_robot_sim.dynamics.forward_dynamics import inverse_dynamics
from flex_robot_sim.model.arm_model import ArmModel, make_workspace

POSES = 24              # beside the middle of the range
TURN = np.pi            # to either side, of a joint that turns without stops               [rad]
SLIDE = 1.0             # and of one that slides without                                    [m]
INSIDE = 0.98           # of the way to a stop: one that is touched is a spring


class JointSpaceInertia(NamedTuple):
    """Inertia (joints,) that each drive moves, rotor included, while nothing bends [kg m2, kg]."""

    least: np.ndarray
    largest: np.ndarray


def joint_space_inertia(arm: ArmModel, count: int = POSES) -> JointSpaceInertia:
    """Return the JointSpaceInertia over the poses of an ArmModel."""
    felt = [np.diag(rigid_inertia(arm, pose)) for pose in poses_within(arm, count)]
    return JointSpaceInertia(np.min(felt, axis=0), np.max(felt, axis=0))


def poses_within(arm: ArmModel, count: int = POSES) -> np.ndarray:
    """
    Joint positions (poses, joints) all over the range of an arm [rad, m].

    The middle of the range comes first, then the pose nearest to zero, as robots are drawn, if it
    is another one, then `count` others, the same ones for every call.
    """
    lower, upper = arm.arrays.lower.copy(), arm.arrays.upper.copy()
    turns = [unit == 'rad' for unit in arm.units]
    free = np.where(turns, TURN, SLIDE)
    lower = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper, 0.0) - free)
    upper = np.where(np.isfinite(upper), upper, lower + 2 * free)
    middle, half = (lower + upper) / 2, INSIDE * (upper - lower) / 2
    random = np.random.default_rng(0).uniform(-1.0, 1.0, (count, middle.size))
    zero = np.clip(np.zeros(middle.size), middle - half, middle + half)
    first = [middle] if np.allclose(zero, middle) else [middle, zero]
    return np.vstack([*first, middle + half * random])


def rigid_inertia(arm: ArmModel, position: np.ndarray) -> np.ndarray:
    """Inertia (joints, joints) of the arm in a pose if nothing bends [kg m2, kg m, kg]."""
    moves = rigid_moves(arm)
    arrays, work = arm.arrays._replace(base_acceleration=np.zeros(6)), make_workspace(arm.arrays)
    q, rest, force = np.zeros((3, arm.size))
    q[:] = moves @ position
    M = np.empty((moves.shape[1],) * 2)
    for k, unit in enumerate(moves.T):
        inverse_dynamics(arrays, q, rest, np.ascontiguousarray(unit), work, force)
        M[k] = force @ moves
    return (M + M.T) / 2


def rigid_moves(arm: ArmModel) -> np.ndarray:
    """Coordinates (n, joints) that move with each joint while nothing bends, with its motor."""
    moves = np.zeros((arm.size, len(arm.joint_names)))
    for joint, motor in enumerate(arm.arrays.motor):
        moves[joint, joint] = 1.0
        if motor >= 0:
            moves[motor, joint] = 1.0
    return moves
