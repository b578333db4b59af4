"""
Accelerations and constraint forces of closed loops at an instant.

The second rate of a gap follows from the motion of the two bodies. With a, alpha and omega of the
parent, and d = p_B - p_A,

    ALONG       u . (d'' - alpha x d - omega x (omega x d) - 2 omega x (d' - omega x d))
    ANGLE       u'' . b + 2 u' . b' + u . b''
    DISTANCE    n . d'' + (|d'|^2 - (n . d')^2) / |d|                                        (T74)

Forces make it zero: D lambda = -g'', with D of (T73).
"""

from numpy import sqrt

from flex_robot_sim.dynamics.constraints.compliance import is_compliant, set_present_forces
from flex_robot_sim.dynamics.constraints.responses import (
    add_response,
    factor_constraints,
    remove_rates,
)
from flex_robot_sim.dynamics.constraints.rows import (
    cross,
    mimic_difference,
    placed,
    set_jacobian,
    turned,
)
from flex_robot_sim.dynamics.moved_base import set_base_acceleration
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.constraint_rows import ALONG, ANGLE, MIMIC

ROUNDS = 8  # of the solution for the forces


@compiled
def constrain_accelerations(arm, qd, work, qdd):
    """
    Change accelerations so that closed loops stay closed.

    The motion of all bodies in `work` is that of the unconstrained accelerations, and its factors
    are those of the last `solve_dynamics`.

    :param qd: rates, (n,).
    :param qdd: accelerations, (n,), changed; work.constraint_force receives the forces.
    """
    set_jacobian(arm, work)
    set_present_forces(arm, qd, work)
    factor_constraints(arm, work)
    for r in range(arm.constraint_kind.size):
        if arm.constraint_kind[r] == MIMIC:
            work.constraint_gap[r] = mimic_difference(arm, r, qdd)
        else:
            work.constraint_gap[r] = second_rate(arm, r, work)
    W, change = work.constraint_jacobian, work.cg_vectors[0]
    change[:] = 0.0
    add_response(arm, 1.0, work.constraint_force, work, change)
    for r in range(arm.constraint_kind.size):
        if is_compliant(arm, r):
            work.constraint_gap[r] = 0.0
            for k in range(change.size):
                work.constraint_gap[r] -= W[r, k] * change[k]
    remove_rates(arm, W, 0.0, ROUNDS, work, change)
    for r in range(arm.constraint_kind.size):
        work.constraint_force[r] += work.constraint_impulse[r]
    add_response(arm, 1.0, work.constraint_force, work, qdd)


@compiled
def second_rate(arm, r, work):
    """Second rate of the gap of row r, for the motion V, dV of the bodies in `work` (T74)."""
    a, b, kind = arm.constraint_body[r, 0], arm.constraint_body[r, 1], arm.constraint_kind[r]
    wa, aa = angular_motion(a, work)
    wb, ab = angular_motion(b, work)
    u = turned(work, a, arm.constraint_axis[r, 0])
    if kind == ANGLE:
        v = turned(work, b, arm.constraint_axis[r, 1])
        du, ddu = cross(wa, u), turning_acceleration(wa, aa, u)
        dv, ddv = cross(wb, v), turning_acceleration(wb, ab, v)
        return product(ddu, v) + 2.0 * product(du, dv) + product(u, ddv)
    p = placed(work, a, arm.constraint_point[r, 0])
    e = placed(work, b, arm.constraint_point[r, 1])
    vp, ap = linear_motion(arm, a, arm.constraint_point[r, 0], work)
    ve, ae = linear_motion(arm, b, arm.constraint_point[r, 1], work)
    d, dd, ddd = difference(e, p), difference(ve, vp), difference(ae, ap)
    if kind == ALONG:
        du, ddu = cross(wa, u), turning_acceleration(wa, aa, u)
        return product(ddu, d) + 2.0 * product(du, dd) + product(u, ddd)
    distance = sqrt(product(d, d))
    along = product(d, dd) / distance
    return (product(d, ddd) + product(dd, dd) - along * along) / distance


@compiled
def angular_motion(i, work):
    """Angular velocity and acceleration of body i, in the axes of the base; -1: the base."""
    if i < 0 and work.base_moves[0] == 0.0:
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    if i < 0:
        return turned(work, i, work.root_V), turned(work, i, work.root_rate)
    return turned(work, i, work.V[i]), turned(work, i, work.dV[i])


@compiled
def linear_motion(arm, i, point, work):
    """Velocity, and acceleration less gravity, of a point of body i, in the axes of the base."""
    if i < 0 and work.base_moves[0] == 0.0:
        g = arm.base_acceleration
        return (0.0, 0.0, 0.0), (g[3], g[4], g[5])
    V, dV = work.root_V, work.parent_motion
    if i < 0:
        set_base_acceleration(arm, work, dV)
    else:
        V, dV = work.V[i], work.dV[i]
    w, alpha = (V[0], V[1], V[2]), (dV[0], dV[1], dV[2])
    x = point[0], point[1], point[2]
    at = cross(w, x)
    v = V[3] + at[0], V[4] + at[1], V[5] + at[2]
    tangential, centripetal = cross(alpha, x), cross(w, v)
    a = (
        dV[3] + tangential[0] + centripetal[0],
        dV[4] + tangential[1] + centripetal[1],
        dV[5] + tangential[2] + centripetal[2],
    )
    return turned(work, i, v), turned(work, i, a)


@compiled
def turning_acceleration(w, alpha, u):
    """Second rate of a vector u that is fixed to a turning body."""
    x, y = cross(alpha, u), cross(w, cross(w, u))
    return x[0] + y[0], x[1] + y[1], x[2] + y[2]


@compiled
def product(a, b):
    """Scalar product of two triples of numbers."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@compiled
def difference(a, b):
    """Difference of two triples of numbers."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]
