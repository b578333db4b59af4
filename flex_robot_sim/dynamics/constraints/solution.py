"""
Forces that keep loops closed, within the implicit midpoint step.

A step solves A x = f for the accelerations x (T40). With closed loops it solves, for the gaps g
at the end of the step and the Jacobian W of the gaps in its middle,

    A x = f + W^T lambda,   g(q + h v + h^2/2 x) = 0                                         (T72)

The factors of A yield the responses X = A^-1 W^T. Newton steps with the matrix D = W X,

    D h^2/2 d_lambda = -g,   x += X d_lambda,                                                (T73)

share the iterations of the step. At its end, v -= X D^-1 (W v), with the Jacobian there, takes out
the closing rates. If constraints are redundant, D is singular: proximal iteration finds the forces
of least norm (Carpentier, Budhiraja & Mansard, RSS 2021).
"""

from math import inf

from numpy import sqrt

from flex_robot_sim.dynamics.constraints.rows import set_gaps, set_jacobian
from flex_robot_sim.dynamics.factor_reuse import solve_with_factors
from flex_robot_sim.dynamics.kinematics import set_motion, set_poses
from flex_robot_sim.jit.compiled import compiled

PROXIMAL_WEIGHT = 1e-10  # added to the unit diagonal of D
PROXIMAL_ROUNDS = 3
CLOSED_GAP = 2e-14  # over the size of the arm; below it, a gap is rounding
MAX_GAP = 1e-12  # above it, a step has not converged
CLOSED_RATE = 2e-14  # over the largest rate; below it, a closing rate is rounding
MAX_RATE = 1e-12
MAX_ROUNDS = 12


@compiled
def factor_constraints(arm, work):
    """Responses X, and the factor of D, from the factors that `eliminate` left in work."""
    rows, matrix, factor = (
        arm.constraint_kind.size,
        work.constraint_matrix[0],
        work.constraint_matrix[1],
    )
    W, X, scale = work.constraint_jacobian, work.constraint_response, work.constraint_scale
    set_jacobian(arm, work)
    for r in range(rows):
        solve_with_factors(arm, W[r], work, X[r])
    for r in range(rows):
        for s in range(r + 1):
            total = 0.0
            for k in range(W.shape[1]):
                total += W[r, k] * X[s, k]
            matrix[r, s] = total
        # a row that no coordinate moves has no force
        scale[r] = 1.0 / sqrt(matrix[r, r]) if matrix[r, r] > 0.0 else 0.0
    for r in range(rows):
        for s in range(r + 1):
            matrix[r, s] *= scale[r] * scale[s]
            matrix[s, r] = matrix[r, s]
            total = matrix[r, s]
            if r == s:
                total += PROXIMAL_WEIGHT if scale[r] > 0.0 else 1.0
            for k in range(s):
                total -= factor[r, k] * factor[s, k]
            # rounding may take more from a redundant row than there is
            factor[r, s] = sqrt(max(total, PROXIMAL_WEIGHT)) if r == s else total / factor[s, s]


@compiled
def solve_rows(arm, right, work, force):
    """
    Solve D force = right by proximal iteration.

    :param right: (c,); if rows are redundant, in the range of D.
    """
    rows, matrix, factor = (
        arm.constraint_kind.size,
        work.constraint_matrix[0],
        work.constraint_matrix[1],
    )
    scale, rest, solution = (
        work.constraint_scale,
        work.constraint_vectors[0],
        work.constraint_vectors[1],
    )
    for r in range(rows):
        solution[r] = 0.0
    for iteration in range(PROXIMAL_ROUNDS):
        for r in range(rows):
            total = scale[r] * right[r]
            if iteration > 0:
                for s in range(rows):
                    total -= matrix[r, s] * solution[s]
            for s in range(r):
                total -= factor[r, s] * rest[s]
            rest[r] = total / factor[r, r]
        for r in range(rows - 1, -1, -1):
            total = rest[r]
            for s in range(r + 1, rows):
                total -= factor[s, r] * rest[s]
            rest[r] = total / factor[r, r]
        for r in range(rows):
            solution[r] += rest[r]
    for r in range(rows):
        force[r] = scale[r] * solution[r]


@compiled
def add_response(arm, force, work, out):
    """Add the accelerations X force, or rates, (n,) to out."""
    for r in range(arm.constraint_kind.size):
        for k in range(out.size):
            out[k] += force[r] * work.constraint_response[r, k]


@compiled
def correct_gaps(arm, q, qd, h, work, end, qdd):
    """
    Take a Newton step towards loops that are closed at the end of a step (T73).

    :param q: coordinates at the start, (n,); qd: rates at the start; h: step [s].
    :param end: receives the coordinates at the end, before the correction, (n,).
    :param qdd: accelerations, (n,), changed, as are work.constraint_force and the poses in work.
    :returns: the largest gap before the correction; without one if it is only rounding.
    """
    change = work.constraint_vectors[2]
    for k in range(q.size):
        end[k] = q[k] + h * (qd[k] + 0.5 * h * qdd[k])
    set_poses(arm, end, arm.parent.size, work)
    largest = set_gaps(arm, end, work)
    if largest > CLOSED_GAP:
        for r in range(arm.constraint_kind.size):
            work.constraint_gap[r] *= -2.0 / (h * h)
        solve_rows(arm, work.constraint_gap, work, change)
        for r in range(arm.constraint_kind.size):
            work.constraint_force[r] += change[r]
        add_response(arm, change, work, qdd)
    return largest


@compiled
def close_step(arm, q, qd, h, work, end, qdd):
    """Take such Newton steps until the loops are closed; return whether they are."""
    largest = inf
    for _ in range(MAX_ROUNDS):
        largest = correct_gaps(arm, q, qd, h, work, end, qdd)
        if not largest > CLOSED_GAP:
            break
    return largest <= MAX_GAP


@compiled
def close_rates(arm, q, qd, work):
    """
    Remove the closing rates from the rates qd (n,) at the end of a step, by impulses.

    :param work: Workspace with responses and factor of this step; its motion is set.
    :returns: whether the closing rates are zero.
    """
    W, right, change = work.constraint_jacobian, work.constraint_gap, work.constraint_vectors[2]
    set_motion(arm, q, qd, work)
    set_jacobian(arm, work)
    fastest = 0.0
    for k in range(qd.size):
        fastest = max(fastest, abs(qd[k]))
    largest = 0.0
    for number in range(MAX_ROUNDS + 1):
        largest = 0.0
        for r in range(arm.constraint_kind.size):
            rate = 0.0
            for k in range(qd.size):
                rate += W[r, k] * qd[k]
            largest = max(largest, abs(rate))
            right[r] = -rate
        if number == MAX_ROUNDS or not largest > CLOSED_RATE * fastest:
            break
        solve_rows(arm, right, work, change)
        add_response(arm, change, work, qd)
    return largest <= MAX_RATE * (1.0 + fastest)
