"""
Search for joint positions that bring a frame to a pose: damped least squares with restarts.

With the position error p_t - p, the rotation vector of R_t R^T times a length, and the offset of
an axis of the frame from a point, stacked in e, and their Jacobian J in base axes,

    (J^T J + mu |e|^2 1) dq = J^T e                                                          (T84)

A coordinate at a limit that J^T e pushes outward stays there. The damping mu shrinks after each
step that reduces |e|^2 by a fair share of its prediction dq^T J^T e, and grows after other ones
(Levenberg and Marquardt; that it shrinks with the error is from Sugihara, IEEE Trans. Robotics 27
(2011) 984). A search that stalls starts again.
"""

from typing import NamedTuple

import numpy as np
from numpy import sqrt

from flex_robot_sim.analysis.jacobians import set_jacobian
from flex_robot_sim.analysis.twists import HYBRID
from flex_robot_sim.dynamics.forward_dynamics_derivatives import (
    set_cholesky_factor,
    solve_with_factor,
)
from flex_robot_sim.jit.array_table import pass_by_pointer
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.spatial.exponential import set_rotation_vector
from flex_robot_sim.spatial.screws import dot, set_copy, set_product

MAX_STEPS = 60  # of one search, and again from the nearest pose
MINIMA = 10  # of the nearest ends of searches
PATIENCE = 5  # stalled steps after which a search starts again
STALLED = 0.95  # ratio of successive |e|^2 from which a step counts as stalled
FIRST_DAMPING, LEAST_DAMPING, DAMPING_RATIO = 0.1, 1e-8, 4.0
MIN_GAIN = 0.25  # reduction of |e|^2 over its prediction after which the damping shrinks
LEAST_REGULARISATION = 1e-14  # of the matrix, relative to its trace
TINY = 1e-300  # keeps the matrix of an arm that cannot move regular


@pass_by_pointer
class PoseSearch(NamedTuple):
    """Target of a search, and its work arrays."""

    frame_R: np.ndarray  # (3, 3), of the frame that moves, in its body
    frame_p: np.ndarray  # (3,)
    goal_R: np.ndarray  # (3, 3), in the base frame
    goal_p: np.ndarray  # (3,)
    weights: np.ndarray  # (3,)  of position, turn [m] and axis; 0: free
    axis: np.ndarray  # (3,)  in the frame, a unit vector
    centre: np.ndarray  # (3,)  point on the axis, in the base frame
    leader: np.ndarray  # (joints,)  joint that each mimic joint follows; -1: none
    ratio: np.ndarray  # (joints,)  position over that of the leader
    follower_offset: np.ndarray  # (joints,)  position where the leader is at zero
    lower: np.ndarray  # (joints,)
    upper: np.ndarray  # (joints,)
    best: np.ndarray  # (joints,)
    columns: np.ndarray  # (n, 6)  of the Jacobian of the frame
    rows: np.ndarray  # (joints, 9)  of that of e; (n, 9) in closed loops
    e: np.ndarray  # (9,)
    M: np.ndarray  # (joints, joints)
    step: np.ndarray  # (joints, 1)
    turn: np.ndarray  # (3, 3)
    vector: np.ndarray  # (3,)


@compiled
def search_pose(arm, body, starts, errors, tolerance, q, search, work):
    """
    Set the joints in q to the first pose within the tolerance, or to the nearest pose found.

    :param body: body of the frame that moves.
    :param starts: joint positions from which searches start, (searches, joints) [rad, m]; then
        those at which they end.
    :param errors: |e|^2 there, (searches,) [m2].
    :param tolerance: of |e| [m].
    :param q: coordinates, (n,); those of elastic parts stay as they are.
    :returns: number of searches, negative if none has succeeded.
    """
    joints, searches = search.lower.size, starts.shape[0]
    for k in range(searches):
        for j in range(joints):
            q[j] = min(max(starts[k, j], search.lower[j]), search.upper[j])
        errors[k] = descend(arm, body, tolerance, PATIENCE, q, search, work)
        if sqrt(errors[k]) <= tolerance:
            return k + 1
        set_copy(q[:joints], starts[k])
    least = -1.0
    for _ in range(min(MINIMA, searches)):  # to the minima, which stalled searches are only near
        k = np.argmin(errors)
        errors[k] = np.inf
        set_copy(starts[k], q[:joints])
        found = descend(arm, body, tolerance, MAX_STEPS, q, search, work)
        if least < 0.0 or found < least:
            least = found
            set_copy(q[:joints], search.best)
        if sqrt(least) <= tolerance:
            break
    set_copy(search.best, q[:joints])
    return searches if sqrt(least) <= tolerance else -searches


@compiled
def descend(arm, body, tolerance, patience, q, search, work):
    """
    Move the joints in q to a minimum of |e|^2, which is returned.

    :param patience: stalled steps after which it ends.
    """
    joints, lower, upper, step = search.lower.size, search.lower, search.upper, search.step
    square = set_errors(arm, body, q, search, work)
    damping, stalled, is_last = FIRST_DAMPING, 0, False
    for _ in range(MAX_STEPS):
        is_last = sqrt(square) <= tolerance  # one step more: it converges quadratically
        set_equations(q, square * damping, search)
        set_cholesky_factor(search.M)
        solve_with_factor(search.M, step)
        predicted = 0.0  # reduction of |e|^2, at least
        for j in range(joints):
            old = q[j]
            q[j] = min(max(old + step[j, 0], lower[j]), upper[j])
            predicted += (q[j] - old) * dot(search.rows[j], search.e)
            step[j, 0] = old
        new = set_errors(arm, body, q, search, work)
        if new < square:
            stalled = stalled + 1 if new > STALLED * square else 0
            is_gain = square - new > MIN_GAIN * predicted
            square = new
        else:
            for j in range(joints):
                q[j] = step[j, 0]
            set_errors(arm, body, q, search, work)
            stalled, is_gain = stalled + 1, False
        damping = (
            max(damping / DAMPING_RATIO, LEAST_DAMPING) if is_gain else damping * DAMPING_RATIO
        )
        if is_last or stalled > patience:
            break
    return square


@compiled
def set_equations(q, damping, search):
    """Set the matrix and the right side of (T84); a joint that stays at a limit has a row of 1."""
    rows, e, M, step, joints, trace = (
        search.rows,
        search.e,
        search.M,
        search.step,
        search.lower.size,
        0.0,
    )
    for j in range(joints):
        step[j, 0] = dot(rows[j], e)
        for k in range(j, joints):
            M[j, k] = M[k, j] = dot(rows[j], rows[k])
        trace += M[j, j]
    for j in range(joints):
        M[j, j] += damping + LEAST_REGULARISATION * trace + TINY
        pushes_up = q[j] >= search.upper[j] and step[j, 0] > 0.0
        if pushes_up or (q[j] <= search.lower[j] and step[j, 0] < 0.0):
            for k in range(joints):
                M[j, k] = M[k, j] = 0.0
            M[j, j], step[j, 0] = 1.0, 0.0


@compiled
def set_errors(arm, body, q, search, work):
    """Set the errors e of (T84) and the transpose of their Jacobian, `rows`; return |e|^2."""
    columns, e, goal_R, vector = search.columns, search.e, search.goal_R, search.vector
    linear, turn_weight, axis_weight = search.weights[0], search.weights[1], search.weights[2]
    for j in range(search.leader.size):
        if search.leader[j] >= 0:
            q[j] = search.ratio[j] * q[search.leader[j]] + search.follower_offset[j]
    set_jacobian(arm, body, search.frame_R, search.frame_p, q, HYBRID, columns, work)
    R, p, along = work.child_R, work.child_p, 0.0
    for r in range(3):
        e[r] = linear * (search.goal_p[r] - p[r])
        e[3 + r] = e[6 + r] = 0.0
    if turn_weight > 0.0:
        for r in range(3):
            for s in range(3):
                search.turn[r, s] = dot(goal_R[r], R[s])
        set_rotation_vector(search.turn, vector)
        for r in range(3):
            e[3 + r] = turn_weight * vector[r]
    if axis_weight > 0.0:
        set_product(R, search.axis, vector)
        for r in range(3):
            along += vector[r] * (search.centre[r] - p[r])
        for r in range(3):
            e[6 + r] = axis_weight * (search.centre[r] - p[r] - along * vector[r])
    set_rows(search, p, along)
    return dot(e, e)


@compiled
def set_rows(search, p, along):
    """Set `rows` from `columns`; p is the origin of the frame, along: from it to the centre."""
    rows, columns = search.rows, search.columns
    linear, turn_weight, axis_weight = search.weights[0], search.weights[1], search.weights[2]
    for j in range(rows.shape[0]):
        for r in range(3):
            rows[j, r] = linear * columns[j, 3 + r]
            rows[j, 3 + r] = turn_weight * columns[j, r]
            rows[j, 6 + r] = 0.0
        if axis_weight > 0.0:
            set_offset_slope(columns[j], search.vector, p, search.centre, along, rows[j])
            for r in range(6, 9):
                rows[j, r] *= axis_weight
    for j in range(search.leader.size):
        if search.leader[j] >= 0:
            for r in range(9):
                rows[search.leader[j], r] += search.ratio[j] * rows[j, r]
                rows[j, r] = 0.0


@compiled
def set_offset_slope(column, u, p, centre, along, row):
    """
    Set how the offset of a point from the axis u through p decreases with a coordinate, row[6:9].

    With d = centre - p and du = omega x u, the offset d - (d . u) u has the rate
    -(v - (v . u) u) - (d . du) u - (d . u) du.

    :param column: twist (omega, v) of the frame by the coordinate.
    :param along: d . u [m].
    """
    x = column[1] * u[2] - column[2] * u[1]
    y = column[2] * u[0] - column[0] * u[2]
    z = column[0] * u[1] - column[1] * u[0]
    speed = column[3] * u[0] + column[4] * u[1] + column[5] * u[2]
    turned = x * (centre[0] - p[0]) + y * (centre[1] - p[1]) + z * (centre[2] - p[2])
    row[6] = column[3] + (turned - speed) * u[0] + along * x
    row[7] = column[4] + (turned - speed) * u[1] + along * y
    row[8] = column[5] + (turned - speed) * u[2] + along * z
