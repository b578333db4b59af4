"""
Rows with a spring and a damper: their gap opens under load.

Over a step h, the mean rate of the gap g and the force of a row with the stiffness k and the
damping d obey, with the gap g_0 at the start,

    lambda = -k (g_0 + h/2 g') - d g' = -k g_0 - a g',   a = k h/2 + d                       (T75)

This is the change of the energy k g^2 / 2 over that of the gap, and a loss of d g'^2. In impulses
2 lambda / h, the row adds c = 2 / (h a) to the diagonal of D. Rigid rows have c = 0.
"""

from flex_robot_sim.dynamics.constraints.rows import set_gap
from flex_robot_sim.jit.compiled import compiled

LOCKED = 1e200  # c of a row whose force does not change


@compiled(inline=True)
def is_compliant(arm, r):
    """Whether row r has a spring."""
    return arm.constraint_stiffness[r] > 0.0


@compiled
def start_compliance(arm, h, work):
    """Set c of all rows, and store their gaps in `work` as those at the start of a step h [s]."""
    for r in range(arm.constraint_kind.size):
        work.constraint_start[r] = work.constraint_gap[r]
        work.constraint_compliance[r] = 0.0
        if is_compliant(arm, r):
            work.constraint_compliance[r] = 2.0 / (h * resistance(arm, r, h))


@compiled
def resistance(arm, r, h):
    """Force by mean rate of the gap of row r, a of (T75)."""
    return 0.5 * h * arm.constraint_stiffness[r] + arm.constraint_damping[r]


@compiled
def set_open_rates(arm, h, work):
    """Set work.constraint_gap: minus the rate of each gap that belongs to its present force."""
    for r in range(arm.constraint_kind.size):
        work.constraint_gap[r] = 0.0
        if is_compliant(arm, r):
            work.constraint_gap[r] = -opening_rate(arm, r, h, work)


@compiled
def opening_rate(arm, r, h, work):
    """Mean rate of the gap of row r over a step that belongs to its force (T75)."""
    spring = arm.constraint_stiffness[r] * work.constraint_start[r]
    return -(work.constraint_force[r] + spring) / resistance(arm, r, h)


@compiled
def set_law_gaps(arm, h, work):
    """
    Subtract from the gap of each compliant row, at the end of a step, that of its force (T75).

    :returns: the largest difference.
    """
    largest = 0.0
    for r in range(arm.constraint_kind.size):
        if is_compliant(arm, r):
            expected = work.constraint_start[r] + h * opening_rate(arm, r, h, work)
            work.constraint_gap[r] -= expected
            largest = max(largest, abs(work.constraint_gap[r]))
    return largest


@compiled
def keep_rates(arm, W, rates, work):
    """Set work.constraint_gap so that `remove_rates` leaves the law of compliant rows as it is."""
    for r in range(arm.constraint_kind.size):
        work.constraint_gap[r] = 0.0
        if is_compliant(arm, r):
            for k in range(rates.size):
                work.constraint_gap[r] -= W[r, k] * rates[k]


@compiled
def keep_open(arm, work):
    """Set the gaps of compliant rows in `work` to zero: a correction leaves them as they are."""
    for r in range(arm.constraint_kind.size):
        if is_compliant(arm, r):
            work.constraint_gap[r] = 0.0


@compiled
def compliance_loss(arm, h, work):
    """Energy that the dampers of all rows take up in a step h [J]."""
    loss = 0.0
    for r in range(arm.constraint_kind.size):
        if is_compliant(arm, r):
            rate = opening_rate(arm, r, h, work)
            loss += h * arm.constraint_damping[r] * rate * rate
    return loss


@compiled
def compliance_energy(arm, work):
    """Energy of the springs of all rows at the base poses in `work` [J]."""
    energy = 0.0
    for r in range(arm.constraint_kind.size):
        if is_compliant(arm, r):
            set_gap(arm, r, work, work.y)
            gap = work.constraint_gap[r]
            energy += 0.5 * arm.constraint_stiffness[r] * gap * gap
    return energy


@compiled
def set_present_forces(arm, qd, work):
    """
    Set the forces of compliant rows at an instant, and lock them; those of others are zero.

    :param qd: rates, (n,); gaps and Jacobian in `work` are those of the instant.
    """
    for r in range(arm.constraint_kind.size):
        work.constraint_force[r] = work.constraint_compliance[r] = 0.0
        if is_compliant(arm, r):
            rate = 0.0
            for k in range(qd.size):
                rate += work.constraint_jacobian[r, k] * qd[k]
            spring = arm.constraint_stiffness[r] * work.constraint_gap[r]
            work.constraint_force[r] = -spring - arm.constraint_damping[r] * rate
            work.constraint_compliance[r] = LOCKED
