"""
Search for motor positions of closed loops that bring a frame to a pose.

Errors and damped least squares are those of `pose_search` (T84). The unknowns are the motors; the
other coordinates follow them as in `rigid_moves`. Every step closes the loops, from the last pose.
"""

from collections.abc import Callable

import numpy as np

from flex_robot_sim.analysis.joint_space_inertia import rigid_moves
from flex_robot_sim.analysis.loop_poses import followed_pose
from flex_robot_sim.analysis.pose_search import (
    DAMPING_RATIO,
    FIRST_DAMPING,
    LEAST_DAMPING,
    LEAST_REGULARISATION,
    MAX_STEPS,
    PATIENCE,
    STALLED,
    TINY,
    PoseSearch,
    set_errors,
)
from flex_robot_sim.analysis.workspace_pool import borrowed
from flex_robot_sim.model.arm_model import ArmModel

MAX_STEP = 0.3  # of a motor                                                        [rad, m]

Place = Callable[[np.ndarray], np.ndarray]
"""Coordinates (n,) of an arm at a closed pose (joints,)."""


def search_loop(
    arm: ArmModel,
    body: int,
    search: PoseSearch,
    starts: np.ndarray,
    tolerance: float,
    place: Place,
) -> tuple[np.ndarray, float, int]:
    """
    Return the nearest closed pose (joints,) found, its error |e| [m], and the number of searches.

    :param body: body of the frame that moves; search: its `rows` are (n, 9).
    :param starts: poses (searches, joints) [rad, m], which the loops follow as far as they close.
    :param tolerance: of |e|, at which the search ends [m].
    """
    best, least, tried = starts[0], np.inf, 0
    for start in starts:
        tried += 1
        pose = followed_pose(arm, start)[0]
        pose, error = _descend(arm, body, search, pose, tolerance, place)
        if error < least:
            best, least = pose, error
        if least <= tolerance:
            break
    return best, least, tried


def _descend(arm, body, search, pose, tolerance, place):
    """Return a pose (joints,) with least errors near a closed one, and |e| there."""
    motors, lower, upper = np.flatnonzero(arm.actuated), arm.arrays.lower, arm.arrays.upper
    damping, stalled, q = FIRST_DAMPING, 0, place(pose)
    square, slopes, errors = _errors(arm, body, search, q)
    for _ in range(MAX_STEPS):
        is_last = np.sqrt(square) <= tolerance  # one step more: it converges quadratically
        columns = slopes.T @ rigid_moves(arm, q)[:, motors]
        force, M = columns.T @ errors, columns.T @ columns
        M += (square * damping + LEAST_REGULARISATION * np.trace(M) + TINY) * np.eye(motors.size)
        at = pose[motors]
        free = ~((at >= upper[motors]) & (force > 0.0) | (at <= lower[motors]) & (force < 0.0))
        step = np.zeros(motors.size)
        step[free] = np.linalg.solve(M[np.ix_(free, free)], force[free])
        step *= min(1.0, MAX_STEP / max(np.abs(step).max(initial=0.0), MAX_STEP))
        goal = pose.copy()
        goal[motors] = np.clip(at + step, lower[motors], upper[motors])
        trial = followed_pose(arm, goal, pose)[0]
        new, new_q = np.inf, q
        if ((trial >= lower) & (trial <= upper)).all():
            new_q = place(trial)
            new, new_slopes, new_errors = _errors(arm, body, search, new_q)
        if new < square:
            stalled = stalled + 1 if new > STALLED * square else 0
            pose, q, square = trial, new_q, new
            slopes, errors = new_slopes, new_errors
            damping = max(damping / DAMPING_RATIO, LEAST_DAMPING)
        else:
            stalled, damping = stalled + 1, damping * DAMPING_RATIO
        if is_last or stalled > PATIENCE:
            break
    return pose, float(np.sqrt(square))


def _errors(arm, body, search, q):
    """Return |e|^2, its slopes (n, 9) by the coordinates q (n,), and e (9,)."""
    with borrowed(arm) as scratch:
        square = scratch.call(set_errors, arm.arrays, body, q, search, scratch.work)
    return float(square), search.rows.copy(), search.e.copy()
