"""
Momentum of an arm, and the projection that keeps that of a free base.

Let P be the momentum of the whole arm about the base (moment first), and I its inertia there with
all joints and links locked. The arm that is locked and moves as a whole with P has the twist
I^-1 P and the kinetic energy T_P = 1/2 P^T I^-1 P. The remainder of the motion has no momentum, so
that T = T_P + T_i exactly. After a step, with the momentum P' that the loads and gravity make of
that before it, the rates become

    V = I^-1 P' + s (V - I^-1 P),   qd = s qd,   s^2 = (T' - T_P') / T_i                     (T112)

for the energy T' of (T44). The momentum is stored about the centre of mass, where gravity has no
moment, together with this centre; the base moves so that the centre follows the momentum.
"""

from flex_robot_sim.dynamics.forward_dynamics import set_bodies
from flex_robot_sim.dynamics.free_base import factor_base, solve_base
from flex_robot_sim.dynamics.kinematics import set_base_poses
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.spatial.screws import add_inertia_to_parent, add_to_parent, set_product


@compiled
def set_momentum(arm, q, qd, work):
    """
    Locked inertia work.I and momentum work.F of each body with all bodies beyond it, in its frame.

    :param arm: ArmModel with n coordinates.
    :param q: coordinates, (n,) [rad, m]; qd are their rates.
    """
    set_bodies(arm, q, qd, work)
    for i in range(arm.parent.size):
        F, first = work.F[i], arm.first[i]
        set_product(work.I[i], work.V[i], F)
        for k in range(arm.modes[i]):
            for r in range(6):
                F[r] += work.B[i, r, k] * qd[first + k]
    for i in range(arm.parent.size - 1, -1, -1):
        parent = arm.parent[i]
        if parent >= 0:
            add_inertia_to_parent(work.R[i], work.origin[i], work.I[i], work.I[parent])
            add_to_parent(work.R[i], work.origin[i], work.F[i], work.F[parent])


@compiled
def set_total_momentum(arm, q, qd, out, work):
    """
    Momentum about the centre of mass (6,) and this centre (3,), in the axes of the base frame.

    :param q: coordinates, (n,) [rad, m]; qd are their rates.
    :param out: receives both, (9,) [N m s, N s, m]; without a mass, zeros.
    """
    set_momentum(arm, q, qd, work)
    P, I = work.y, work.Y
    P[:] = 0.0
    I[:] = 0.0
    for i in range(arm.parent.size):
        if arm.parent[i] < 0:
            add_inertia_to_parent(work.R[i], work.origin[i], work.I[i], I)
            add_to_parent(work.R[i], work.origin[i], work.F[i], P)
    mass = I[3, 3]
    cx, cy, cz = (
        (I[2, 4] / mass, I[0, 5] / mass, I[1, 3] / mass) if mass > 0.0 else (0.0, 0.0, 0.0)
    )
    out[0] = P[0] - (cy * P[5] - cz * P[4])
    out[1] = P[1] - (cz * P[3] - cx * P[5])
    out[2] = P[2] - (cx * P[4] - cy * P[3])
    out[3], out[4], out[5] = P[3], P[4], P[5]
    out[6], out[7], out[8] = cx, cy, cz


@compiled
def set_impulse(arm, loads, h, work):
    """Impulse of the loads over a step h [s], about the origin of the world, at its middle."""
    work.impulse[:] = 0.0
    if loads.body.size > 0:
        set_base_poses(arm, work)
        for i in range(arm.parent.size):
            add_to_parent(work.base_R[i], work.base_p[i], work.load[i], work.impulse)
        for r in range(6):
            work.impulse[r] *= h


@compiled
def meet_momentum(arm, h, q, qd, work):
    """
    Give the base the momentum that loads and gravity make of the stored one; store it (T112).

    The centre of mass moves as the momentum demands.

    :param h: step [s]; q: coordinates at its end, (n,); qd: their rates, changed in place.
    :returns: change of the energy, and kinetic energy of the motion without momentum [J];
        work.base_force holds the base coordinates of the motion with this momentum.
    """
    set_momentum(arm, q, qd, work)
    I, P, R, p, stored = work.I[0], work.F[0], work.R[0], work.origin[0], work.momentum
    locked, old, due, J, g = work.base_force, work.y, work.parent_motion, work.impulse, work.theta
    mass = I[3, 3]
    cx, cy, cz = I[2, 4] / mass, I[0, 5] / mass, I[1, 3] / mass
    # gravity has no moment about the centre of mass, which moves with the mean momentum
    for r in range(3):
        g[r] = J[3 + r] - h * mass * arm.base_acceleration[3 + r]
    mx, my, mz = (
        stored[6] + 0.25 * h / mass * (2.0 * stored[3] + g[0]),
        stored[7] + 0.25 * h / mass * (2.0 * stored[4] + g[1]),
        stored[8] + 0.25 * h / mass * (2.0 * stored[5] + g[2]),
    )
    stored[0] += J[0] - (my * J[5] - mz * J[4])
    stored[1] += J[1] - (mz * J[3] - mx * J[5])
    stored[2] += J[2] - (mx * J[4] - my * J[3])
    for r in range(3):
        stored[6 + r] += h / mass * (stored[3 + r] + 0.5 * g[r])
        stored[3 + r] += g[r]
    # momentum about the base, in its axes
    for r in range(3):
        due[r] = due[3 + r] = 0.0
        for s in range(3):
            due[r] += R[s, r] * stored[s]
            due[3 + r] += R[s, r] * stored[3 + s]
    due[0] += cy * due[5] - cz * due[4]
    due[1] += cz * due[3] - cx * due[5]
    due[2] += cx * due[4] - cy * due[3]

    # twists of the locked arm with the momentum that it has and is due, and their energies
    count = arm.base.shape[0]
    factor_base(arm, work)
    for b in range(count):
        old[b], locked[b] = P[arm.base[b, 1]], due[arm.base[b, 1]]
    solve_base(count, work.base_factor, old)
    solve_base(count, work.base_factor, locked)
    kinetic_old = kinetic_due = 0.0
    for b in range(count):
        r = arm.base[b, 1]
        kinetic_old += 0.5 * P[r] * old[b]
        kinetic_due += 0.5 * due[r] * locked[b]
    for b in range(count):
        qd[arm.base[b, 0]] += locked[b] - old[b]

    # move the base so that the centre of mass follows
    along = 0.0
    for r in range(3):
        g[r] = stored[6 + r] - (R[r, 0] * cx + R[r, 1] * cy + R[r, 2] * cz + p[r])
        along += R[r, 2] * g[r]
    if count < 6:
        # the plane guides the other components of momentum and centre
        for b in range(count):
            for r in range(6):
                P[r] += I[r, arm.base[b, 1]] * (locked[b] - old[b])
        x = P[0] - (cy * P[5] - cz * P[4])
        y = P[1] - (cz * P[3] - cx * P[5])
        z = P[2] - (cx * P[4] - cy * P[3])
        for r in range(3):
            stored[r] = R[r, 0] * x + R[r, 1] * y + R[r, 2] * z
            stored[3 + r] = R[r, 0] * P[3] + R[r, 1] * P[4] + R[r, 2] * P[5]
        for r in range(3):
            g[r] -= along * R[r, 2]
            stored[6 + r] -= along * R[r, 2]
    potential = 0.0
    for r in range(3):
        work.base_pose[r] += g[r]
        potential += mass * arm.base_acceleration[3 + r] * g[r]
    return kinetic_due - kinetic_old + potential, max(work.energy[0] - kinetic_old, 0.0)
