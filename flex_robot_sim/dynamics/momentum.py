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

from flex_robot_sim.dynamics.beam_inertia import add_beam
from flex_robot_sim.dynamics.composite_bodies import rotated_symmetric
from flex_robot_sim.dynamics.free_base import factor_base, solve_base
from flex_robot_sim.dynamics.kinematics import set_base_poses, set_motion
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.body_kinds import COMMON_BEAM, COMMON_SHAPES, ELASTIC
from flex_robot_sim.spatial.screws import add_to_parent, set_product


@compiled
def set_momentum(arm, q, qd, R0, p0, work):
    """
    Momentum work.y (6,) of an arm in a frame of the base, and its locked inertia work.Y there.

    :param arm: ArmModel with n coordinates; the twists of its bodies and their poses in the base
        are in `work`.
    :param q: coordinates, (n,) [rad, m]; qd are their rates.
    :param R0: pose (R0, p0) of the frame.
    """
    h, I = work.parent_motion, work.Y
    m0 = x0 = y0 = z0 = a0 = b0 = c0 = u0 = v0 = w0 = 0.0
    xx0 = yy0 = zz0 = xy0 = xz0 = yz0 = 0.0
    for i in range(arm.parent.size):
        # in the frame of the body: momentum, mass, first moment, and inertia about the origin
        G, R = arm.inertia[i], work.base_R[i]
        set_product(G, work.V[i], h)
        mass, cx, cy, cz = G[3, 3], G[2, 4], G[0, 5], G[1, 3]
        xx, yy, zz, xy, xz, yz = G[0, 0], G[1, 1], G[2, 2], G[0, 1], G[0, 2], G[1, 2]
        if arm.modes[i] > 0:
            if arm.kind[i] == ELASTIC:
                beam = elastic_momentum(arm, i, q, qd, h, work)
            elif arm.kind[i] == COMMON_BEAM:
                beam = beam_momentum_of(
                    arm,
                    i,
                    COMMON_SHAPES[0],
                    COMMON_SHAPES[1],
                    COMMON_SHAPES[2],
                    COMMON_SHAPES[3],
                    COMMON_SHAPES[4],
                    q,
                    qd,
                    h,
                    work,
                )
            else:
                n = arm.count[i]
                beam = beam_momentum_of(
                    arm, i, n[0], n[1], n[2], n[3], arm.reach[i], q, qd, h, work
                )
            mass += beam[0]
            cx += beam[1]
            cy += beam[2]
            cz += beam[3]
            xx += beam[4]
            yy += beam[5]
            zz += beam[6]
            xy += beam[7]
            xz += beam[8]
            yz += beam[9]
        # in the axes of the base, about p0
        xx, yy, zz, xy, xz, yz = rotated_symmetric(R, xx, yy, zz, xy, xz, yz)
        x, y, z = work.base_p[i, 0] - p0[0], work.base_p[i, 1] - p0[1], work.base_p[i, 2] - p0[2]
        sx = R[0, 0] * cx + R[0, 1] * cy + R[0, 2] * cz
        sy = R[1, 0] * cx + R[1, 1] * cy + R[1, 2] * cz
        sz = R[2, 0] * cx + R[2, 1] * cy + R[2, 2] * cz
        m0 += mass
        x0 += sx + mass * x
        y0 += sy + mass * y
        z0 += sz + mass * z
        sx, sy, sz = 2.0 * sx + mass * x, 2.0 * sy + mass * y, 2.0 * sz + mass * z
        xx0 += xx + y * sy + z * sz
        yy0 += yy + x * sx + z * sz
        zz0 += zz + x * sx + y * sy
        xy0 += xy - 0.5 * (x * sy + y * sx)
        xz0 += xz - 0.5 * (x * sz + z * sx)
        yz0 += yz - 0.5 * (y * sz + z * sy)
        u = R[0, 0] * h[3] + R[0, 1] * h[4] + R[0, 2] * h[5]
        v = R[1, 0] * h[3] + R[1, 1] * h[4] + R[1, 2] * h[5]
        w = R[2, 0] * h[3] + R[2, 1] * h[4] + R[2, 2] * h[5]
        u0 += u
        v0 += v
        w0 += w
        a0 += R[0, 0] * h[0] + R[0, 1] * h[1] + R[0, 2] * h[2] + y * w - z * v
        b0 += R[1, 0] * h[0] + R[1, 1] * h[1] + R[1, 2] * h[2] + z * u - x * w
        c0 += R[2, 0] * h[0] + R[2, 1] * h[1] + R[2, 2] * h[2] + x * v - y * u
    # in the axes of the frame
    for r in range(3):
        work.y[r] = R0[0, r] * a0 + R0[1, r] * b0 + R0[2, r] * c0
        work.y[3 + r] = R0[0, r] * u0 + R0[1, r] * v0 + R0[2, r] * w0
        for s in range(3):
            work.station_turn[r, s] = R0[s, r]
    x = R0[0, 0] * x0 + R0[1, 0] * y0 + R0[2, 0] * z0
    y = R0[0, 1] * x0 + R0[1, 1] * y0 + R0[2, 1] * z0
    z = R0[0, 2] * x0 + R0[1, 2] * y0 + R0[2, 2] * z0
    xx, yy, zz, xy, xz, yz = rotated_symmetric(work.station_turn, xx0, yy0, zz0, xy0, xz0, yz0)
    I[0, 0], I[1, 1], I[2, 2] = xx, yy, zz
    I[0, 1] = I[1, 0] = xy
    I[0, 2] = I[2, 0] = xz
    I[1, 2] = I[2, 1] = yz
    for r in range(3):
        for s in range(3):
            I[3 + r, 3 + s] = m0 if r == s else 0.0
        I[r, 3 + r] = I[3 + r, r] = 0.0
    I[0, 4] = I[4, 0] = -z
    I[0, 5] = I[5, 0] = y
    I[1, 3] = I[3, 1] = z
    I[1, 5] = I[5, 1] = -x
    I[2, 3] = I[3, 2] = -y
    I[2, 4] = I[4, 2] = x


@compiled(inline=True)
def beam_momentum_of(arm, i, ny, nz, nt, nu, reach, q, qd, h, work):
    """
    Add the momentum of the beam of body i to h (6,); see `beam_energy_of` for the points.

    :returns: mass, first moment (x, y, z) and inertia (xx, yy, zz, xy, xz, yz) of the points.
    """
    first, y_end, z_end, t_end = arm.first[i], ny, ny + nz, ny + nz + nt
    n = t_end + nu
    is_banded = reach + 1 < max(ny, nz)
    V = work.V[i]
    mass = mx = my = mz = mxx = myy = mzz = mxy = mxz = myz = 0.0
    lx = ly = lz = ax = ay = az = 0.0
    for k in range(n):
        ax += arm.rotary[i, 0, k] * qd[first + k]
        ay += arm.rotary[i, 1, k] * qd[first + k]
        az += arm.rotary[i, 2, k] * qd[first + k]
    for g in range(arm.point_start[i], arm.point_start[i + 1]):
        m, shape, H = arm.point_mass[g], arm.point_shape[g], arm.point_H[g]
        x, y, z, dx, dy, dz = arm.point_x[g], 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(ny):
            y += shape[k] * q[first + k]
            dy += shape[k] * qd[first + k]
        for k in range(y_end, z_end):
            z += shape[k] * q[first + k]
            dz += shape[k] * qd[first + k]
        for k in range(t_end, n):
            x += shape[k] * q[first + k]
            dx += shape[k] * qd[first + k]
        for k in range(z_end):
            low, high = (0, y_end) if k < y_end else (y_end, z_end)
            if is_banded:
                low, high = max(low, k - reach), min(high, k + reach + 1)
            slope = 0.0
            for l in range(low, high):
                slope += H[k, l - low] * q[first + l]
            x -= 0.5 * q[first + k] * slope
            dx -= qd[first + k] * slope
        ux = m * (V[3] + V[1] * z - V[2] * y + dx)
        uy = m * (V[4] + V[2] * x - V[0] * z + dy)
        uz = m * (V[5] + V[0] * y - V[1] * x + dz)
        lx += ux
        ly += uy
        lz += uz
        ax += y * uz - z * uy
        ay += z * ux - x * uz
        az += x * uy - y * ux
        mass += m
        mx += m * x
        my += m * y
        mz += m * z
        mxx += m * x * x
        myy += m * y * y
        mzz += m * z * z
        mxy += m * x * y
        mxz += m * x * z
        myz += m * y * z
    h[0] += ax
    h[1] += ay
    h[2] += az
    h[3] += lx
    h[4] += ly
    h[5] += lz
    return mass, mx, my, mz, myy + mzz, mxx + mzz, mxx + myy, -mxy, -mxz, -myz


@compiled
def elastic_momentum(arm, i, q, qd, h, work):
    """Add the momentum of the coordinates of elastic body i to h; results as above."""
    I, B = work.I[i], work.B[i]
    for r in range(6):
        for s in range(6):
            I[r, s] = 0.0
    add_beam(arm, i, q, qd, work)
    for r in range(6):
        for s in range(6):
            h[r] += I[r, s] * work.V[i, s]
        for k in range(arm.modes[i]):
            h[r] += B[r, k] * qd[arm.first[i] + k]
    return (0.0, I[2, 4], I[0, 5], I[1, 3], I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])


@compiled
def set_total_momentum(arm, q, qd, out, work):
    """
    Momentum about the centre of mass (6,) and this centre (3,), in the axes of the base frame.

    :param q: coordinates, (n,) [rad, m]; qd are their rates.
    :param out: receives both, (9,) [N m s, N s, m]; without a mass, zeros.
    """
    set_motion(arm, q, qd, work)
    set_base_poses(arm, work)
    origin = work.theta
    for r in range(3):
        origin[r] = work.base_p[0, r]
    set_momentum(arm, q, qd, work.root_R, origin, work)
    P, I = work.y, work.Y
    mass = I[3, 3]
    cx, cy, cz = 0.0, 0.0, 0.0
    if mass > 0.0:
        cx, cy, cz = I[2, 4] / mass, I[0, 5] / mass, I[1, 3] / mass
    out[0] = P[0] - (cy * P[5] - cz * P[4])
    out[1] = P[1] - (cz * P[3] - cx * P[5])
    out[2] = P[2] - (cx * P[4] - cy * P[3])
    out[3], out[4], out[5] = P[3], P[4], P[5]
    out[6], out[7], out[8] = origin[0] + cx, origin[1] + cy, origin[2] + cz


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
    set_motion(arm, q, qd, work)
    set_base_poses(arm, work)
    R, p, twist, count = work.base_R[0], work.base_p[0], work.base_force, arm.base.shape[0]
    set_momentum(arm, q, qd, R, p, work)
    I, P, due, move = work.Y, work.y, work.parent_motion, work.theta
    mass = I[3, 3]
    cx, cy, cz = I[2, 4] / mass, I[0, 5] / mass, I[1, 3] / mass
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
def meet_momentum(arm, h, q, qd, work):
    """
    Give the base the momentum that loads and gravity make of the stored one; store it (T112).

    The origin of body 0 moves so that the centre of mass follows the momentum.

    :param h: step [s]; q: coordinates at its end, (n,), with twists and poses of the bodies in
        `work`; qd: their rates, changed in place.
    :returns: change of the energy, and kinetic energy of the motion without momentum [J];
        work.base_force holds the base coordinates of the motion with this momentum.
    """
    R, p, stored = work.base_R[0], work.base_p[0], work.momentum
    set_momentum(arm, q, qd, R, p, work)
    I, P, J, g = work.Y, work.y, work.impulse, work.theta
    locked, old, due = work.base_force, work.F[0], work.parent_motion
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
