"""
Momentum of an arm, and the projection that keeps that of a free base.

Let P be the momentum of the whole arm about the base (moment first), and I its inertia there with
all joints and links locked. The arm that is locked and moves as a whole with P has the twist
I^-1 P and the kinetic energy T_P = 1/2 P^T I^-1 P. The remainder of the motion has no momentum, so
that T = T_P + T_i exactly. After a step, with the momentum P' that the loads and gravity make of
that before it, the rates become

    V = I^-1 P' + s (V - I^-1 P),   qd = s qd,   s^2 = (T' - T_P') / T_i                     (T112)

for the energy T' of (T44). The momentum is stored about the centre of mass, where gravity has no
moment, together with this centre; the base moves so that the centre follows the momentum. There,
I separates into the mass and an inertia, which are inverted in closed form.
"""

from flex_robot_sim.dynamics.energy import sum_with_momentum
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
def set_locked_arm(arm, work):
    """
    Inertia of the locked arm about its centre of mass, in the axes of the world.

    Sets work.Y[3:, 3:] to the inertia, and work.Y[:3, :3] to its inverse. In a plane, that is the
    rate about the normal of the plane due to its share of an angular momentum.

    :param work: Workspace with the sums of `sum_with_momentum`.
    :returns: mass, and the centre of mass from the origin of body 0, as three numbers.
    """
    C, Y, R = work.composite, work.Y, work.base_R[0]
    mass = C[0]
    x, y, z = C[1] / mass, C[2] / mass, C[3] / mass
    xx, xy = C[4] - mass * (y * y + z * z), C[7] + mass * x * y
    yy, xz = C[5] - mass * (x * x + z * z), C[8] + mass * x * z
    zz, yz = C[6] - mass * (x * x + y * y), C[9] + mass * y * z
    Y[3, 3], Y[4, 4], Y[5, 5] = xx, yy, zz
    Y[3, 4] = Y[4, 3] = xy
    Y[3, 5] = Y[5, 3] = xz
    Y[4, 5] = Y[5, 4] = yz
    if arm.base.shape[0] == 6:
        a, b, c = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
        d, e, f = xx * zz - xz * xz, xy * xz - xx * yz, xx * yy - xy * xy
        scale = 1.0 / (xx * a + xy * b + xz * c)
    else:
        u, v, w = R[0, 2], R[1, 2], R[2, 2]
        a, b, c, d, e, f = u * u, u * v, u * w, v * v, v * w, w * w
        scale = 1.0 / (a * xx + d * yy + f * zz + 2.0 * (b * xy + c * xz + e * yz))
    Y[0, 0], Y[1, 1], Y[2, 2] = scale * a, scale * d, scale * f
    Y[0, 1] = Y[1, 0] = scale * b
    Y[0, 2] = Y[2, 0] = scale * c
    Y[1, 2] = Y[2, 1] = scale * e
    return mass, x, y, z


@compiled
def angular_rate(Y, x, y, z):
    """Angular velocity of the locked arm with the angular momentum (x, y, z), three numbers."""
    return (
        Y[0, 0] * x + Y[0, 1] * y + Y[0, 2] * z,
        Y[1, 0] * x + Y[1, 1] * y + Y[1, 2] * z,
        Y[2, 0] * x + Y[2, 1] * y + Y[2, 2] * z,
    )


@compiled
def set_base_twist(work, wx, wy, wz, px, py, pz, out):
    """
    Twist (6,) of body 0, in its axes, if the locked arm turns with w and has the momentum p.

    Both are in the axes of the world.
    """
    R, C = work.base_R[0], work.composite
    inverse = 1.0 / C[0]
    vx = inverse * (px - (wy * C[3] - wz * C[2]))
    vy = inverse * (py - (wz * C[1] - wx * C[3]))
    vz = inverse * (pz - (wx * C[2] - wy * C[1]))
    for r in range(3):
        out[r] = R[0, r] * wx + R[1, r] * wy + R[2, r] * wz
        out[3 + r] = R[0, r] * vx + R[1, r] * vy + R[2, r] * vz


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
def along_normal(arm, work, x, y, z):
    """Component of a vector along the normal of a planar base, three numbers; else zeros."""
    if arm.base.shape[0] == 6:
        return 0.0, 0.0, 0.0
    R = work.base_R[0]
    along = R[0, 2] * x + R[1, 2] * y + R[2, 2] * z
    return along * R[0, 2], along * R[1, 2], along * R[2, 2]


@compiled
def restore_momentum(arm, q, qd, stored, work):
    """
    Give a free base the twist and position of a stored momentum, after a change of other numbers.

    :param q: coordinates between two steps, (n,); qd: their rates, changed in place.
    :param stored: momentum and centre of mass (9,), as of `set_total_momentum`.
    """
    set_twists(arm, q, qd, work)
    sum_with_momentum(arm, q, qd, work)
    _, cx, cy, cz = set_locked_arm(arm, work)
    C, Y, p, twist = work.composite, work.Y, work.base_p[0], work.parent_motion
    wx, wy, wz = angular_rate(
        Y,
        stored[0] - (C[10] - (cy * C[15] - cz * C[14])),
        stored[1] - (C[11] - (cz * C[13] - cx * C[15])),
        stored[2] - (C[12] - (cx * C[14] - cy * C[13])),
    )
    set_base_twist(
        work, wx, wy, wz, stored[3] - C[13], stored[4] - C[14], stored[5] - C[15], twist
    )
    for b in range(arm.base.shape[0]):
        qd[arm.base[b, 0]] += twist[arm.base[b, 1]]
    x, y, z = stored[6] - (cx + p[0]), stored[7] - (cy + p[1]), stored[8] - (cz + p[2])
    nx, ny, nz = along_normal(arm, work, x, y, z)
    work.base_pose[0] += x - nx
    work.base_pose[1] += y - ny
    work.base_pose[2] += z - nz


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
    p, stored, J, C, g = work.base_p[0], work.momentum, work.impulse, work.composite, work.theta
    mass, cx, cy, cz = set_locked_arm(arm, work)
    twist, locked, Y = work.parent_motion, work.base_force, work.Y
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

    # momentum that the arm has, and its change to the stored one; a plane takes a part of both
    ax, ay, az = (
        C[10] - (cy * C[15] - cz * C[14]),
        C[11] - (cz * C[13] - cx * C[15]),
        C[12] - (cx * C[14] - cy * C[13]),
    )
    dx, dy, dz = stored[0] - ax, stored[1] - ay, stored[2] - az
    px, py, pz = stored[3] - C[13], stored[4] - C[14], stored[5] - C[15]
    nx, ny, nz = along_normal(arm, work, px, py, pz)
    px, py, pz = px - nx, py - ny, pz - nz
    wx, wy, wz = angular_rate(Y, dx, dy, dz)
    if arm.base.shape[0] < 6:
        dx = Y[3, 3] * wx + Y[3, 4] * wy + Y[3, 5] * wz
        dy = Y[4, 3] * wx + Y[4, 4] * wy + Y[4, 5] * wz
        dz = Y[5, 3] * wx + Y[5, 4] * wy + Y[5, 5] * wz
        stored[0], stored[1], stored[2] = ax + dx, ay + dy, az + dz
        stored[3], stored[4], stored[5] = C[13] + px, C[14] + py, C[15] + pz
    set_base_twist(work, wx, wy, wz, px, py, pz, twist)
    ux, uy, uz = angular_rate(Y, stored[0], stored[1], stored[2])
    set_base_twist(work, ux, uy, uz, stored[3], stored[4], stored[5], locked)
    for b in range(arm.base.shape[0]):
        qd[arm.base[b, 0]] += twist[arm.base[b, 1]]
        locked[b] = locked[arm.base[b, 1]]
    # energies of the locked arm: that of the old momentum, and the change
    ux, uy, uz = angular_rate(Y, ax, ay, az)
    nx, ny, nz = along_normal(arm, work, C[13], C[14], C[15])
    qx, qy, qz = C[13] - nx, C[14] - ny, C[15] - nz
    kinetic = 0.5 * (ax * ux + ay * uy + az * uz + (qx * qx + qy * qy + qz * qz) / mass)
    change = ax * wx + ay * wy + az * wz + (qx * px + qy * py + qz * pz) / mass
    change += 0.5 * (dx * wx + dy * wy + dz * wz + (px * px + py * py + pz * pz) / mass)

    # move the base so that the centre of mass follows
    x, y, z = stored[6] - (cx + p[0]), stored[7] - (cy + p[1]), stored[8] - (cz + p[2])
    nx, ny, nz = along_normal(arm, work, x, y, z)
    g[0], g[1], g[2] = x - nx, y - ny, z - nz
    stored[6], stored[7], stored[8] = stored[6] - nx, stored[7] - ny, stored[8] - nz
    for r in range(3):
        work.origin[0, r] += g[r]
        change += mass * arm.base_acceleration[3 + r] * g[r]
    return change, max(work.energy[0] - kinetic, 0.0)
