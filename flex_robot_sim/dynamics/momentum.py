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

from flex_robot_sim.dynamics.composite_bodies import rotated_symmetric
from flex_robot_sim.dynamics.energy import sum_with_momentum
from flex_robot_sim.dynamics.free_base import factor_base, solve_base
from flex_robot_sim.dynamics.kinematics import set_base_poses, set_twists
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.spatial.screws import add_to_parent


@compiled
def set_total_momentum(arm, q, qd, out, work):
    """
    Momentum about the centre of mass (6,) and this centre (3,), in the axes of the world.

    :param q: coordinates, (n,) [rad, m]; qd are their rates.
    :param out: receives both, (9,) [N m s, N s, m]; without a mass, zeros.
    """
    set_twists(arm, q, qd, work)
    sum_with_momentum(arm, q, qd, work)
    store_momentum(1.0, work, out)


@compiled
def store_momentum(factor, work, out):
    """Set out (9,), as of `set_total_momentum`, from the sums in `work` for rates times factor."""
    p, C = work.base_p[0], work.composite
    mass, cx, cy, cz = C[0], 0.0, 0.0, 0.0
    if mass > 0.0:
        cx, cy, cz = C[1] / mass, C[2] / mass, C[3] / mass
    out[0] = factor * (C[10] - (cy * C[15] - cz * C[14]))
    out[1] = factor * (C[11] - (cz * C[13] - cx * C[15]))
    out[2] = factor * (C[12] - (cx * C[14] - cy * C[13]))
    out[3], out[4], out[5] = factor * C[13], factor * C[14], factor * C[15]
    out[6], out[7], out[8] = p[0] + cx, p[1] + cy, p[2] + cz


@compiled
def set_locked_arm(work):
    """
    Inertia work.Y of the arm, locked, about body 0, and its momentum work.y, in the axes of both.

    :param work: Workspace with the sums of `sum_with_momentum`.
    :returns: mass, and the centre of mass as three numbers.
    """
    R, C, I, P, turn = work.base_R[0], work.composite, work.Y, work.y, work.station_turn
    for r in range(3):
        P[r] = R[0, r] * C[10] + R[1, r] * C[11] + R[2, r] * C[12]
        P[3 + r] = R[0, r] * C[13] + R[1, r] * C[14] + R[2, r] * C[15]
        for s in range(3):
            turn[r, s] = R[s, r]
    x = R[0, 0] * C[1] + R[1, 0] * C[2] + R[2, 0] * C[3]
    y = R[0, 1] * C[1] + R[1, 1] * C[2] + R[2, 1] * C[3]
    z = R[0, 2] * C[1] + R[1, 2] * C[2] + R[2, 2] * C[3]
    xx, yy, zz, xy, xz, yz = rotated_symmetric(turn, C[4], C[5], C[6], C[7], C[8], C[9])
    for r in range(6):
        for s in range(6):
            I[r, s] = 0.0
    mass = C[0]
    I[0, 0], I[1, 1], I[2, 2] = xx, yy, zz
    I[3, 3] = I[4, 4] = I[5, 5] = mass
    I[0, 1] = I[1, 0] = xy
    I[0, 2] = I[2, 0] = xz
    I[1, 2] = I[2, 1] = yz
    I[0, 4] = I[4, 0] = -z
    I[0, 5] = I[5, 0] = y
    I[1, 3] = I[3, 1] = z
    I[1, 5] = I[5, 1] = -x
    I[2, 3] = I[3, 2] = -y
    I[2, 4] = I[4, 2] = x
    return mass, x / mass, y / mass, z / mass


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
def set_momentum_about_base(R, cx, cy, cz, stored, out):
    """Stored momentum about the origin of body 0 (6,), in its axes; centre of mass (x, y, z)."""
    for r in range(3):
        out[r] = out[3 + r] = 0.0
        for s in range(3):
            out[r] += R[s, r] * stored[s]
            out[3 + r] += R[s, r] * stored[3 + s]
    out[0] += cy * out[5] - cz * out[4]
    out[1] += cz * out[3] - cx * out[5]
    out[2] += cx * out[4] - cy * out[3]


@compiled
def restore_momentum(arm, q, qd, stored, work):
    """
    Give a free base the twist and position of a stored momentum, after a change of other numbers.

    :param q: coordinates between two steps, (n,); qd: their rates, changed in place.
    :param stored: momentum and centre of mass (9,), as of `set_total_momentum`.
    """
    set_twists(arm, q, qd, work)
    sum_with_momentum(arm, q, qd, work)
    _, cx, cy, cz = set_locked_arm(work)
    R, p, twist, count = work.base_R[0], work.base_p[0], work.base_force, arm.base.shape[0]
    I, P, due, move = work.Y, work.y, work.parent_motion, work.theta
    set_momentum_about_base(R, cx, cy, cz, stored, due)
    factor_base(arm, I, work.base_factor)
    for b in range(count):
        twist[b] = due[arm.base[b, 1]] - P[arm.base[b, 1]]
    solve_base(count, work.base_factor, twist)
    along = 0.0
    for b in range(count):
        qd[arm.base[b, 0]] += twist[b]
    for r in range(3):
        move[r] = stored[6 + r] - (R[r, 0] * cx + R[r, 1] * cy + R[r, 2] * cz + p[r])
        along += R[r, 2] * move[r]
    for r in range(3):
        work.base_pose[r] += move[r] - (along * R[r, 2] if count < 6 else 0.0)


@compiled
def meet_momentum(arm, h, qd, work):
    """
    Give the base the momentum that loads and gravity make of the stored one; store it (T112).

    The origin of body 0 moves so that the centre of mass follows the momentum.

    :param h: step [s]; qd: rates at its end, (n,), changed in place.
    :param work: Workspace with poses of the bodies and sums of `sum_bodies` at the end.
    :returns: change of the energy, and kinetic energy of the motion without momentum [J];
        work.base_force holds the base coordinates of the motion with this momentum.
    """
    R, p, stored = work.base_R[0], work.base_p[0], work.momentum
    mass, cx, cy, cz = set_locked_arm(work)
    I, P, J, g = work.Y, work.y, work.impulse, work.theta
    locked, old, due = work.base_force, work.F[0], work.parent_motion
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
    set_momentum_about_base(R, cx, cy, cz, stored, due)

    # twists of the locked arm with the momentum that it has and is due, and their energies
    count = arm.base.shape[0]
    factor_base(arm, I, work.base_factor)
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
        work.origin[0, r] += g[r]
        potential += mass * arm.base_acceleration[3 + r] * g[r]
    return kinetic_due - kinetic_old + potential, max(work.energy[0] - kinetic_old, 0.0)
