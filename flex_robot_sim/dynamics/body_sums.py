"""
Sums over the bodies of an arm: energy, mass, momentum and inertia in one pass.

They are computed from the velocities of bodies and mass points, without the inertia of the modes.
Only a free base needs momentum and inertia. The functions are inlined, and the compiler removes
sums that a caller does not use. Equation numbers are those of docs/theory.md.
"""

from flex_robot_sim.dynamics.composite_bodies import rotated_symmetric
from flex_robot_sim.dynamics.elastic_inertia import add_elastic_momentum, elastic_energy
from flex_robot_sim.dynamics.sliding_body import sliding_sums
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.body_kinds import COMMON_BEAM, COMMON_SHAPES, ELASTIC, SLIDING


@compiled(inline=True)
def sum_bodies(arm, q, qd, has_momentum, work):
    """
    Kinetic energy of the bodies, without rotors, and their potential energy in gravity [J].

    :param q: coordinates, (n,) [rad, m]; qd are their rates. Twists and base poses of the bodies
        are in `work`.
    :param has_momentum: whether to set work.composite, the sums of the arm as one composite body:
        mass, first moment, inertia xx yy zz xy xz yz, angular and linear momentum, about body 0
        and in the axes of the world, (16,).
    """
    kinetic = potential = 0.0
    origin, C, h = work.base_p[0], work.composite, work.parent_motion
    if has_momentum:
        for k in range(16):
            C[k] = 0.0
    for i in range(arm.parent.size):
        V, I, R, p = work.V[i], arm.inertia[i], work.base_R[i], work.base_p[i]
        for r in range(6):
            momentum = 0.0
            for s in range(6):
                momentum += I[r, s] * V[s]
            kinetic += 0.5 * V[r] * momentum
            if has_momentum:
                h[r] = momentum
        # the inertia of the body contains its mass and first moment
        mass, x, y, z = I[3, 3], I[2, 4], I[0, 5], I[1, 3]
        if has_momentum:
            xx, yy, zz, xy, xz, yz = I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]
        if arm.kind[i] == ELASTIC:
            # its mass and the moments of the undeformed body are in the inertia
            elastic_kinetic, mx, my, mz = elastic_energy(arm, i, q, qd, V, work)
            kinetic += elastic_kinetic
            x += mx
            y += my
            z += mz
            if has_momentum:
                added = add_elastic_momentum(arm, i, q, qd, h, work)
                xx += added[0]
                yy += added[1]
                zz += added[2]
                xy += added[3]
                xz += added[4]
                yz += added[5]
        elif arm.modes[i] > 0:
            beam = beam_sums(arm, i, q, qd, V, work)
            kinetic += beam[0]
            mass += beam[1]
            x += beam[2]
            y += beam[3]
            z += beam[4]
            if has_momentum:
                xx += beam[6] + beam[7]
                yy += beam[5] + beam[7]
                zz += beam[5] + beam[6]
                xy -= beam[8]
                xz -= beam[9]
                yz -= beam[10]
                for r in range(6):
                    h[r] += beam[11 + r]
        for r in range(3):
            potential += arm.base_acceleration[3 + r] * (
                mass * p[r] + R[r, 0] * x + R[r, 1] * y + R[r, 2] * z
            )
        if has_momentum:
            inertia = rotated_symmetric(R, xx, yy, zz, xy, xz, yz)
            add_to_composite(R, p, origin, mass, x, y, z, inertia, h, C)
    return kinetic, potential


@compiled(inline=True)
def add_to_composite(R, p, origin, mass, cx, cy, cz, inertia, h, C):
    """
    Add a body to the sums of the arm about a point.

    :param R: pose (R, p) of the body; cx, cy, cz: its first moment in its axes.
    :param inertia: xx, yy, zz, xy, xz, yz about its origin, in the axes of the world.
    :param h: its momentum, moment first, about its origin and in its axes, (6,).
    """
    x, y, z = p[0] - origin[0], p[1] - origin[1], p[2] - origin[2]
    sx = R[0, 0] * cx + R[0, 1] * cy + R[0, 2] * cz
    sy = R[1, 0] * cx + R[1, 1] * cy + R[1, 2] * cz
    sz = R[2, 0] * cx + R[2, 1] * cy + R[2, 2] * cz
    C[0] += mass
    C[1] += sx + mass * x
    C[2] += sy + mass * y
    C[3] += sz + mass * z
    sx, sy, sz = 2.0 * sx + mass * x, 2.0 * sy + mass * y, 2.0 * sz + mass * z
    C[4] += inertia[0] + y * sy + z * sz
    C[5] += inertia[1] + x * sx + z * sz
    C[6] += inertia[2] + x * sx + y * sy
    C[7] += inertia[3] - 0.5 * (x * sy + y * sx)
    C[8] += inertia[4] - 0.5 * (x * sz + z * sx)
    C[9] += inertia[5] - 0.5 * (y * sz + z * sy)
    u = R[0, 0] * h[3] + R[0, 1] * h[4] + R[0, 2] * h[5]
    v = R[1, 0] * h[3] + R[1, 1] * h[4] + R[1, 2] * h[5]
    w = R[2, 0] * h[3] + R[2, 1] * h[4] + R[2, 2] * h[5]
    C[10] += R[0, 0] * h[0] + R[0, 1] * h[1] + R[0, 2] * h[2] + y * w - z * v
    C[11] += R[1, 0] * h[0] + R[1, 1] * h[1] + R[1, 2] * h[2] + z * u - x * w
    C[12] += R[2, 0] * h[0] + R[2, 1] * h[1] + R[2, 2] * h[2] + x * v - y * u
    C[13] += u
    C[14] += v
    C[15] += w


@compiled(inline=True)
def beam_sums(arm, i, q, qd, V, work):
    """Sums of `beam_sums_of` for body i, a beam or a sliding link."""
    if arm.kind[i] == COMMON_BEAM:
        return beam_sums_of(
            arm,
            i,
            COMMON_SHAPES[0],
            COMMON_SHAPES[1],
            COMMON_SHAPES[2],
            COMMON_SHAPES[3],
            COMMON_SHAPES[4],
            q,
            qd,
            V,
        )
    if arm.kind[i] == SLIDING:
        return sliding_sums(arm, i, q, qd, V, work)
    count = arm.count[i]
    return beam_sums_of(arm, i, count[0], count[1], count[2], count[3], arm.reach[i], q, qd, V)


@compiled(inline=True)
def beam_sums_of(arm, i, ny, nz, nt, nu, reach, q, qd, V):
    """
    Kinetic energy of the beam of body i [J], and sums over its points, in the axes of its root.

    A point at r has the velocity u = v + omega x r due to the root, and N de relative to it, and
    contributes m/2 (u + N de)^2; the constant part of (T22) is added once for all points.

    :param V: twist of the root, (6,).
    :returns: kinetic energy, mass, first moments x y z, second moments xx yy zz xy xz yz, and
        momentum, moment first; 17 numbers.
    """
    first, y_end, z_end, t_end = arm.first[i], ny, ny + nz, ny + nz + nt
    n = t_end + nu
    is_banded = reach + 1 < max(ny, nz)
    wx, wy, wz = V[0], V[1], V[2]
    kinetic = mass = mx = my = mz = mxx = myy = mzz = mxy = mxz = myz = 0.0
    hx = hy = hz = px = py = pz = 0.0
    for k in range(n):
        momentum = wx * arm.rotary[i, 0, k] + wy * arm.rotary[i, 1, k] + wz * arm.rotary[i, 2, k]
        for m in range(n):
            momentum += 0.5 * arm.modal_mass[i, k, m] * qd[first + m]
        kinetic += momentum * qd[first + k]
        hx += arm.rotary[i, 0, k] * qd[first + k]
        hy += arm.rotary[i, 1, k] * qd[first + k]
        hz += arm.rotary[i, 2, k] * qd[first + k]
    for g in range(arm.point_start[i], arm.point_start[i + 1]):
        m, shape, H = arm.point_mass[g], arm.point_shape[g], arm.point_H[g]
        # as in add_beam: position, velocity relative to the root, and its part due to shortening
        x, y, w, dx, dy, dw, shortening_rate = arm.point_x[g], 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(ny):
            y += shape[k] * q[first + k]
            dy += shape[k] * qd[first + k]
        for k in range(y_end, z_end):
            w += shape[k] * q[first + k]
            dw += shape[k] * qd[first + k]
        for k in range(t_end, n):
            x += shape[k] * q[first + k]
            dx += shape[k] * qd[first + k]
        for k in range(z_end):
            low, high = (0, y_end) if k < y_end else (y_end, z_end)
            if is_banded:
                low, high = max(low, k - reach), min(high, k + reach + 1)
            h = 0.0
            for l in range(low, high):
                h += H[k, l - low] * q[first + l]
            x -= 0.5 * q[first + k] * h
            shortening_rate -= qd[first + k] * h
        ux, uy, uz = V[3] + wy * w - wz * y, V[4] + wz * x - wx * w, V[5] + wx * y - wy * x
        kinetic += m * (
            0.5 * (ux * ux + uy * uy + uz * uz)
            + ux * (dx + shortening_rate)
            + uy * dy
            + uz * dw
            + shortening_rate * (dx + 0.5 * shortening_rate)
        )
        mass += m
        mx += m * x
        my += m * y
        mz += m * w
        mxx += m * x * x
        myy += m * y * y
        mzz += m * w * w
        mxy += m * x * y
        mxz += m * x * w
        myz += m * y * w
        ux, uy, uz = m * (ux + dx + shortening_rate), m * (uy + dy), m * (uz + dw)
        px += ux
        py += uy
        pz += uz
        hx += y * uz - w * uy
        hy += w * ux - x * uz
        hz += x * uy - y * ux
    return (
        kinetic, mass, mx, my, mz, mxx, myy, mzz, mxy, mxz, myz, hx, hy, hz, px, py, pz
    )  # fmt: skip
