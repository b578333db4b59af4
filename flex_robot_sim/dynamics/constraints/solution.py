"""
Forces that keep loops closed, within the implicit midpoint step.

A step solves A x = f for the accelerations x (T40). With closed loops it solves, for the gaps g
at the end of the step and the Jacobian W of the gaps in its middle,

    A x = f + W^T lambda,   g(q + h v + h^2/2 x) = 0                                         (T72)

The gaps at both ends differ by h W (v + h/2 x) and a term of the third order in h. So the
iterations of the step make W (v + h/2 x) zero, which takes no further poses. After them, Newton
steps with W_1, the Jacobian at the end, close the gaps there, and impulses remove the closing
rates W_1 v. All three use the responses X and the factor of D = W X, and iterate because W_1
differs from W. Next to a singular pose, W loses a rank, and its smallest part changes its size
within the step: there, new responses to W_1 replace X.
"""

from math import inf

from flex_robot_sim.dynamics.constraints.compliance import (
    is_compliant,
    keep_rates,
    set_law_gaps,
    set_open_rates,
    start_compliance,
)
from flex_robot_sim.dynamics.constraints.end_motion import set_end_poses
from flex_robot_sim.dynamics.constraints.responses import add_response, remove_rates, set_responses
from flex_robot_sim.dynamics.constraints.rows import set_mimic_gaps, set_rows
from flex_robot_sim.jit.compiled import compiled

CLOSED_GAP = 2e-14  # over the size of the arm; below it, a gap is rounding
MAX_GAP = 1e-12  # above it, a step has not converged
CLOSED_RATE = 2e-14  # over the largest rate; below it, a closing rate is rounding
MAX_RATE = 1e-12
MIDDLE_ROUNDS = 1  # in each iteration
CONTACT_ROUNDS = 4  # where contacts are near, so that a body at rest does not creep
LINEAR_ROUNDS = 9  # of solutions with the Jacobian at the end
MAX_NEWTON_STEPS = 8
MAX_RATIO = 0.1  # of gaps in a Newton step, and of what it leaves; above it X is replaced


@compiled
def set_start_gaps(arm, q, qd, h, work):
    """Prepare compliant rows, if any, for a step h [s] from coordinates q (n,)."""
    for r in range(arm.constraint_kind.size):
        if is_compliant(arm, r):
            set_end_poses(arm, q, qd, work)
            set_rows(arm, work, work.constraint_end_jacobian)
            start_compliance(arm, h, work)
            break


@compiled
def ties_to_world(arm):
    """Whether a row acts between a body and the world, which takes momentum then."""
    for r in range(arm.constraint_kind.size):
        if arm.constraint_body[r, 0] < 0 or arm.constraint_body[r, 1] < 0:
            return True
    return False


@compiled
def close_middle(arm, qd, h, rounds, work, rates, qdd):
    """
    Make the rates of the rows zero in the middle of a step (T73).

    :param qd: rates at the start, (n,); h: step [s]; rates: temporary, (n,).
    :param rounds: largest number of corrections.
    :param qdd: accelerations, (n,), changed, as is work.constraint_force.
    """
    for k in range(qd.size):
        rates[k] = qd[k] + 0.5 * h * qdd[k]
    set_open_rates(arm, h, work)
    remove_rates(arm, work.constraint_jacobian, 0.0, rounds, work, rates)
    add_impulse(arm, 2.0 / h, work, qdd)


@compiled
def remove_loop_rates(arm, work, rates):
    """Add impulses to the rates (n,) that other forces cause, so that loops stay closed."""
    for r in range(arm.constraint_kind.size):
        work.constraint_gap[r] = 0.0
    remove_rates(arm, work.constraint_jacobian, 0.0, CONTACT_ROUNDS, work, rates)


@compiled
def add_impulse(arm, factor, work, qdd):
    """Add factor times the impulses of `remove_rates` to the forces, and their effect to qdd."""
    for r in range(arm.constraint_kind.size):
        work.constraint_force[r] += factor * work.constraint_impulse[r]
    add_response(arm, factor, work.constraint_impulse, work, qdd)


@compiled
def close_step(arm, q, qd, h, work, end, change, qdd):
    """
    Close the gaps at the end of a step by Newton's method.

    :param q: coordinates at the start, (n,); qd: rates at the start; h: step [s].
    :param end: receives the coordinates at the end, (n,); change: temporary, (n,).
    :param qdd: accelerations, (n,), changed, as is work.constraint_force.
    :returns: whether the gaps are zero; poses and Jacobian in `work` are those of the end.
    """
    W, largest, is_replaced = work.constraint_end_jacobian, inf, False
    for number in range(MAX_NEWTON_STEPS):
        for k in range(q.size):
            end[k] = q[k] + h * (qd[k] + 0.5 * h * qdd[k])
            change[k] = 0.0
        set_end_poses(arm, end, qd, work)
        previous = largest
        largest = max(set_rows(arm, work, W), set_mimic_gaps(arm, end, work))
        largest = max(largest, set_law_gaps(arm, h, work))
        if not largest > CLOSED_GAP or number == MAX_NEWTON_STEPS - 1:
            break
        left = inf
        if not is_replaced and largest <= MAX_RATIO * previous:
            left = remove_rates(arm, W, 0.25 * CLOSED_GAP, LINEAR_ROUNDS, work, change)
        if not left <= MAX_RATIO * largest:
            if not is_replaced:
                set_responses(arm, W, work)
                is_replaced = True
            elif not largest < previous:
                break
            change[:] = 0.0
            remove_rates(arm, W, 0.25 * CLOSED_GAP, LINEAR_ROUNDS, work, change)
        add_impulse(arm, 2.0 / (h * h), work, qdd)
    return largest <= MAX_GAP


@compiled
def close_rates(arm, qd, work):
    """
    Remove the closing rates from the rates qd (n,) at the end of a step, by impulses.

    :param work: Workspace after `close_step`.
    :returns: whether the closing rates are zero.
    """
    fastest = 0.0
    for k in range(qd.size):
        fastest = max(fastest, abs(qd[k]))
    W, limit = work.constraint_end_jacobian, CLOSED_RATE * fastest
    keep_rates(arm, W, qd, work)
    largest = remove_rates(arm, W, limit, LINEAR_ROUNDS, work, qd)
    if not largest <= limit:
        set_responses(arm, W, work)
        keep_rates(arm, W, qd, work)
        largest = remove_rates(arm, W, limit, LINEAR_ROUNDS, work, qd)
    return largest <= MAX_RATE * (1.0 + fastest)
