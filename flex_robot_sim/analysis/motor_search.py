"""
Search for motor positions that bring a frame to a pose, where other coordinates follow them.

In closed loops, passive joints follow, and in sagging arms, elastic parts, in equilibrium. Errors
and damped least squares are those of `pose_search` (T84), with the Jacobian by the motors. Every
step closes the loops, from the last pose.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress

import numpy as np

from flex_robot_sim.analysis.loop_poses import followed_pose
from flex_robot_sim.analysis.pose_search import (
    DAMPING_RATIO,
    FIRST_DAMPING,
    LEAST_DAMPING,
    LEAST_REGULARISATION,
    MAX_STEPS,
    MIN_GAIN,
    PATIENCE,
    STALLED,
    TINY,
    PoseSearch,
    set_errors,
)
from flex_robot_sim.analysis.workspace_pool import borrowed
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import SettingError

MAX_STEP = 0.3  # of a motor                                                        [rad, m]
WITHIN = 1e-7  # error with which a search has succeeded                            [m]

Place = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Coordinates (n,) of an arm at a closed pose (joints,), and their motion (n, joints) by each."""


def search_motors(
    arm: ArmModel,
    body: int,
    search: PoseSearch,
    starts: Iterable[np.ndarray],
    tolerance: float,
    place: Place,
    patience: int = PATIENCE,
) -> tuple[np.ndarray, float, int]:
    """
    Return the coordinates (n,) nearest to the target, their |e| [m], and the number of searches.

    :param body: body of the frame that moves; search: its `rows` are (n, 9).
    :param starts: closed poses (joints,) [rad, m] from which searches start.
    :param tolerance: of |e|, after which the search takes one step more [m]. Near a singular pose,
        where one step is too few, more follow.
    :param patience: stalled steps after which a search ends.
    """
    best, least, tried = np.zeros(arm.size), np.inf, 0
    for start in starts:
        tried += 1
        q, error = _descend(arm, body, search, start, tolerance, place, patience)
        if error < least:
            best, least = q, error
        if least <= tolerance:
            break
    return best, least, tried


def _descend(arm, body, search, pose, tolerance, place, patience):
    """Return coordinates (n,) with least errors near a closed pose, and |e| there."""
    motors, lower, upper = np.flatnonzero(arm.actuated), arm.arrays.lower, arm.arrays.upper
    damping, stalled, (q, moves) = FIRST_DAMPING, 0, place(pose)
    square, slopes, errors = _errors(arm, body, search, q)
    for _ in range(MAX_STEPS):
        is_last = np.sqrt(square) <= tolerance  # one step more: it converges quadratically
        columns = slopes.T @ moves[:, motors]
        force, M = columns.T @ errors, columns.T @ columns
        M += (square * damping + LEAST_REGULARISATION * np.trace(M) + TINY) * np.eye(motors.size)
        at = pose[motors]
        free = ~((at >= upper[motors]) & (force > 0.0) | (at <= lower[motors]) & (force < 0.0))
        step = np.zeros(motors.size)
        step[free] = np.linalg.solve(M[np.ix_(free, free)], force[free])
        step *= min(1.0, MAX_STEP / max(np.abs(step).max(initial=0.0), MAX_STEP))
        goal = pose.copy()
        goal[motors] = np.clip(at + step, lower[motors], upper[motors])
        trial = followed_pose(arm, goal, pose)[0] if arm.closed_loops else goal
        new, new_q = np.inf, q
        if ((trial >= lower) & (trial <= upper)).all():
            with suppress(SettingError):  # no equilibrium there: a shorter step is next
                new_q, new_moves = place(trial)
                new, new_slopes, new_errors = _errors(arm, body, search, new_q)
        if new < square:
            stalled = stalled + 1 if new > STALLED * square else 0
            is_gain = square - new > MIN_GAIN * ((trial - pose)[motors] @ force)
            pose, q, square = trial, new_q, new
            moves, slopes, errors = new_moves, new_slopes, new_errors
        else:
            stalled, is_gain = stalled + 1, False
        damping = (
            max(damping / DAMPING_RATIO, LEAST_DAMPING) if is_gain else damping * DAMPING_RATIO
        )
        if is_last and np.sqrt(square) <= WITHIN or stalled > patience:
            break
    return q, float(np.sqrt(square))


def _errors(arm, body, search, q):
    """Return |e|^2, its slopes (n, 9) by the coordinates q (n,), and e (9,)."""
    with borrowed(arm) as scratch:
        square = scratch.call(set_errors, arm.arrays, body, q, search, scratch.work)
    return float(square), search.rows.copy(), search.e.copy()
