"""
Contact forces within the implicit midpoint step.

A step solves A x = f for the accelerations x (T40). With contact forces p and the Jacobian W of
the rates along the axes of the points, both in the middle of the step,

    A x = f + W^T p,   u = W (v + h/2 x) = a + D p,   D = h/2 W A^-1 W^T                     (T117)

and each point has a law between its rate u and its force p, see laws.py. Each iteration of the
step solves all points by block Gauss-Seidel: the normal force, then friction. Coulomb's law has
no potential, so that the number of rounds is bounded. Whatever is left, the energy balance of the
step corrects it (T44). Only points that may touch within the step take part. With closed loops,
the columns of W A^-1 W^T are responses of the closed arm, and the loops are closed once more.
"""

from flex_robot_sim.dynamics.constraints.solution import remove_loop_rates
from flex_robot_sim.dynamics.contact.gaps import rate_by_base, set_contact_jacobian
from flex_robot_sim.dynamics.contact.laws import friction_force, invertible, normal_force
from flex_robot_sim.dynamics.factor_reuse import solve_with_factors
from flex_robot_sim.dynamics.joint_laws.stops import stop_force
from flex_robot_sim.dynamics.kinematics import set_base_poses
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.stops import STOP_DEPTH
from flex_robot_sim.spatial.screws import set_copy

MAX_ROUNDS = 200
TOLERANCE = 1e-13  # of a change of the rates in a round, over the largest one
RATE_MARGIN = 2.0  # a point may approach faster than at the start of the step
ACCELERATION_MARGIN = 20.0  # of points that are near [m/s2]


@compiled
def choose_points(arm, h, work):
    """Note which points may touch in a step h [s]; the forces of all others are zero."""
    for g in range(arm.contact_kind.size):
        gap = work.contact_start[g]
        margin = h * (RATE_MARGIN * abs(work.contact_start_gap_rate[g]) + ACCELERATION_MARGIN * h)
        work.contact_is_near[g] = 1.0 if gap < margin else 0.0
        if gap >= margin:
            for r in range(3):
                work.contact_force[g, r] = 0.0


@compiled
def add_missed_points(arm, work):
    """Whether a point touches at the end of a step that did not consider it; consider it."""
    has_missed = False
    for g in range(arm.contact_kind.size):
        if work.contact_gap[g] < 0.0 and work.contact_is_near[g] == 0.0:
            work.contact_is_near[g] = 1.0
            has_missed = True
    return has_missed


@compiled
def keep_gaps(work):
    """Store gaps and their rates at the end of a step as those at the start of the next one."""
    set_copy(work.contact_gap, work.contact_start)
    set_copy(work.contact_gap_rate, work.contact_start_gap_rate)


@compiled
def add_impulses(h, work):
    """Add the forces of all points over a time h [s] to the impulses of the step."""
    for g in range(work.contact_force.shape[0]):
        for r in range(3):
            work.contact_impulse[g, r] += h * work.contact_force[g, r]


@compiled
def set_mean_forces(h, work):
    """Set the forces of all points to the means over a step h [s] of several parts."""
    for g in range(work.contact_force.shape[0]):
        for r in range(3):
            work.contact_force[g, r] = work.contact_impulse[g, r] / h


@compiled
def has_near_points(arm, work):
    """Whether any point may touch in this step."""
    is_near = False
    for g in range(arm.contact_kind.size):
        is_near = is_near or work.contact_is_near[g] != 0.0
    return is_near


@compiled
def prepare_contacts(arm, qd, h, work, qdd):
    """
    Set W, the responses X = A^-1 W^T, D and the rates at the start; add the present forces.

    :param work: Workspace with the poses of the middle of the step and the factors of A.
    :param qdd: accelerations without contact, (n,); those by the present forces are added.
    """
    W, X, D = work.contact_jacobian, work.contact_response, work.contact_matrix
    set_base_poses(arm, work)
    for g in range(arm.contact_kind.size):
        if work.contact_is_near[g] == 0.0:
            continue
        set_contact_jacobian(arm, g, work)
        for r in range(3 * g, 3 * g + 3):
            solve_with_factors(arm, W[r], work, X[r])
            rate = rate_by_base(arm, g, r - 3 * g, work.start_V, work)
            for k in range(qd.size):
                rate += W[r, k] * qd[k]
            work.contact_start_rate[r] = rate
    for a in range(arm.contact_kind.size):
        if work.contact_is_near[a] == 0.0:
            continue
        for r in range(3 * a, 3 * a + 3):
            x = X[r]
            if arm.constraint_kind.size > 0:
                x = work.cg_vectors[0]
                set_copy(X[r], x)
                remove_loop_rates(arm, work, x)
            for b in range(arm.contact_kind.size):
                if work.contact_is_near[b] != 0.0:
                    for s in range(3 * b, 3 * b + 3):
                        total = 0.0
                        for k in range(qd.size):
                            total += W[s, k] * x[k]
                        D[s, r] = 0.5 * h * total
        for r in range(3):
            force = work.contact_added_force[a, r] = work.contact_force[a, r]
            for k in range(qd.size):
                qdd[k] += force * X[3 * a + r, k]


@compiled
def solve_contacts(arm, qd, h, work, qdd):
    """
    Solve the laws of all points that are near (T117).

    :param qd: rates at the start of the step h [s], (n,).
    :param qdd: accelerations with the present forces, (n,); changed, as are the forces.
    """
    W, X, D, force = (
        work.contact_jacobian,
        work.contact_response,
        work.contact_matrix,
        work.contact_force,
    )
    u, last_rate = work.contact_rate, work.contact_last_rate
    for g in range(arm.contact_kind.size):
        if work.contact_is_near[g] != 0.0:
            for r in range(3 * g, 3 * g + 3):
                u[r] = rate_by_base(arm, g, r - 3 * g, work.root_V, work)
                for k in range(qd.size):
                    u[r] += W[r, k] * (qd[k] + 0.5 * h * qdd[k])
    for _ in range(MAX_ROUNDS):
        set_copy(u, last_rate)
        for g in range(arm.contact_kind.size):
            if work.contact_is_near[g] == 0.0:
                continue
            n, p = 3 * g, force[g]
            new = normal_force(
                D[n, n] * p[0] - u[n],
                D[n, n],
                -work.contact_start_rate[n],
                h,
                -work.contact_start[g],
                arm.contact_stiffness[g],
                arm.contact_damping[g],
            )
            by_normal = new - p[0]
            limit = arm.contact_friction[g] * new
            G = invertible(limit, D[n + 1, n + 1], D[n + 1, n + 2], D[n + 2, n + 2])
            a = (
                u[n + 1] + D[n + 1, n] * by_normal - G[0] * p[1] - G[1] * p[2],
                u[n + 2] + D[n + 2, n] * by_normal - G[1] * p[1] - G[2] * p[2],
            )
            s = 0.5 * work.contact_start_rate[n + 1], 0.5 * work.contact_start_rate[n + 2]
            x, y = friction_force(limit, a, G, s)
            by_x, by_y = x - p[1], y - p[2]
            p[0], p[1], p[2] = new, x, y
            if by_normal == by_x == by_y == 0.0:
                continue
            for b in range(arm.contact_kind.size):
                if work.contact_is_near[b] != 0.0:
                    for r in range(3 * b, 3 * b + 3):
                        u[r] += D[r, n] * by_normal + D[r, n + 1] * by_x + D[r, n + 2] * by_y
        # redundant points may still exchange forces, which change no rate
        change = largest = 0.0
        for g in range(arm.contact_kind.size):
            if work.contact_is_near[g] != 0.0:
                largest = max(largest, D[3 * g, 3 * g] * force[g, 0])
                for r in range(3 * g, 3 * g + 3):
                    change = max(change, abs(u[r] - last_rate[r]))
                    largest = max(largest, abs(u[r]))
        if change <= TOLERANCE * largest:
            break
    for g in range(arm.contact_kind.size):
        if work.contact_is_near[g] != 0.0:
            for r in range(3):
                added = force[g, r] - work.contact_added_force[g, r]
                for k in range(qdd.size):
                    qdd[k] += added * X[3 * g + r, k]


@compiled
def contact_loss(arm, qd, h, work):
    """
    Energy that the dampers and the friction of all points take up in a step h [J].

    :param qd: rates in its middle, (n,), where a moved base is, too.
    """
    W, loss = work.contact_jacobian, 0.0
    for g in range(arm.contact_kind.size):
        if work.contact_is_near[g] == 0.0:
            continue
        for r in range(3):
            rate = rate_by_base(arm, g, r, work.root_V, work)
            for k in range(qd.size):
                rate += W[3 * g + r, k] * qd[k]
            loss -= h * work.contact_force[g, r] * rate
            if r == 0:
                spring, _, _ = stop_force(
                    -rate,
                    -work.contact_start_rate[3 * g],
                    h,
                    -work.contact_start[g],
                    arm.contact_stiffness[g],
                    arm.contact_damping[g],
                    STOP_DEPTH,
                )
                loss += h * spring * rate
    return max(loss, 0.0)  # below zero if the rounds did not suffice


@compiled
def set_contact_efforts(arm, work, out):
    """Generalised forces W^T p (n,) of all points."""
    for k in range(out.size):
        out[k] = 0.0
    for g in range(arm.contact_kind.size):
        if work.contact_is_near[g] != 0.0:
            for r in range(3):
                for k in range(out.size):
                    out[k] += work.contact_force[g, r] * work.contact_jacobian[3 * g + r, k]


@compiled
def is_near_world(arm, work):
    """Whether a point may touch the ground or an obstacle in this step."""
    for g in range(arm.contact_kind.size):
        if arm.contact_body[g, 0] < 0 and work.contact_is_near[g] != 0.0:
            return True
    return False
