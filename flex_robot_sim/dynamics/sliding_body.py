"""
Inertia and bias of a sliding link: an elastic beam that slides out of a guide.

The frame of the body is fixed to the guide, with its origin at the mouth and x along the link. The
free length s = q_j + offset belongs to the joint j of the guide. It is the last of the n + 1
coordinates of the body. A material point at the share xi of the free length has the position

    r = (s xi - 1/(2 s) e^T H(xi) e, phi_y(xi) e, phi_z(xi) e),   xi = 1 - (L - X)/s        (T119)

for its distance X from the rear end of a link of the length L, with the shapes phi of a unit
beam and their shortening H = int phi' phi'^T. Sections turn by theta = (phi_t e, -w', v'). The
part inside the guide is straight. With N = dr/d(e, s) at constant X, and b the acceleration when
no coordinate accelerates, the sums of (T22) and (T23) hold; the mass of a Gauss point is
w mu s. Turns are linear in e, so that their sums are integrals of the unit beam, which
model/sliding_rows.py has, times powers of s. Sections begin to turn at the mouth: with the jump
of their turn by s, kappa, and their inertia J per length

    F0 += J kappa ds^2,   b_s += 1/2 kappa . J kappa ds^2                                    (T120)
"""

from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.body_kinds import COMMON_SHAPES
from flex_robot_sim.model.guide_range import MAX_FREE_RATIO, MIN_FREE_RATIO
from flex_robot_sim.model.slide_columns import INERTIA, LENGTH, MASS_PER_LENGTH, OFFSET
from flex_robot_sim.spatial.screws import is_finite


@compiled
def free_length(arm, i, q):
    """Free length of sliding body i [m]."""
    return q[arm.slide[i]] + arm.slide_data[i, OFFSET]


@compiled
def is_outside_guide(arm, q):
    """Whether a sliding link is outside its guide."""
    for i in range(arm.slide_data.shape[0]):
        if arm.slide[i] >= 0:
            ratio = free_length(arm, i, q) / arm.slide_data[i, LENGTH]
            if ratio < MIN_FREE_RATIO or ratio > MAX_FREE_RATIO:
                return True
    return False


@compiled
def is_valid(arm, q):
    """Whether coordinates (n,) are finite, with all sliding links in their guides."""
    return is_finite(q) and not is_outside_guide(arm, q)


@compiled(inline=True)
def plane_motion(shape, H, first, start, end, q, qd, h):
    """
    Motion of a Gauss point in one plane of bending, by the coordinates from start to end.

    :param shape: phi, chi, zeta and phi' of a unit beam, (4, n); see model/sliding_rows.py.
    :param h: receives H e of these coordinates.
    :returns: phi e, chi e, zeta e, phi' e, phi de, chi de, e^T H e, e^T H de, de^T H de.
    """
    y = by_s = second = slope = rate = rate_by_s = p0 = p1 = p2 = 0.0
    for k in range(start, end):
        e, de = q[first + k], qd[first + k]
        y += shape[0, k] * e
        by_s += shape[1, k] * e
        second += shape[2, k] * e
        slope += shape[3, k] * e
        rate += shape[0, k] * de
        rate_by_s += shape[1, k] * de
        hk = dh = 0.0
        for m in range(start, end):
            hk += H[k, m] * q[first + m]
            dh += H[k, m] * qd[first + m]
        h[k] = hk
        p0 += hk * e
        p1 += hk * de
        p2 += dh * de
    return y, by_s, second, slope, rate, rate_by_s, p0, p1, p2


@compiled(inline=True)
def add_points(arm, i, ny, nz, q, qd, V, B, E, b, work):
    """
    Add the Gauss points of sliding body i, with ny and nz shapes in y and z, to B, E and b.

    :returns: wrench of their bias (6), and moments of their mass: m, mx, my, mz, mxx, myy, mzz,
        mxy, mxz, myz.
    """
    first, z_end, n = arm.first[i], ny + nz, arm.modes[i]
    data, h = arm.slide_data[i], work.h
    wx, wy, wz = V[0], V[1], V[2]
    s, ds = free_length(arm, i, q), qd[arm.slide[i]]
    inverse = 1.0 / s
    share = inverse * ds
    mu = s * data[MASS_PER_LENGTH]
    lx = ly = lz = fx = fy = fz = 0.0
    mass = mx = my = mz = mxx = myy = mzz = mxy = mxz = myz = 0.0
    for g in range(arm.slide_xi.size):
        m, shape, H = arm.slide_weight[g] * mu, arm.slide_shape[i, g], arm.slide_H[i, g]
        y, vy, ay, slope_y, dy, dvy, p0, p1, p2 = plane_motion(shape, H, first, 0, ny, q, qd, h)
        w, vz, az, slope_z, dw, dvz, r0, r1, r2 = plane_motion(
            shape, H, first, ny, z_end, q, qd, h
        )
        p0, p1, p2 = p0 + r0, p1 + r1, p2 + r2
        # position, column of the free length, and rate and bias of the position (T119)
        x = arm.slide_xi[g] * s - 0.5 * inverse * p0
        u = 1.0 - 0.5 * inverse * inverse * (slope_y * vy + slope_z * vz - p0)
        v, t = inverse * vy, inverse * vz
        dx, dy, dw = u * ds - inverse * p1, dy + v * ds, dw + t * ds
        second = (slope_y * ay + slope_z * az + p0) * share
        second += 2.0 * (slope_y * dvy + slope_z * dvz - p1)
        bx = -inverse * (second * share + p2)
        by = (ay * share + 2.0 * dvy) * share
        bz = (az * share + 2.0 * dvz) * share
        ax = V[3] + wy * w - wz * y + 2.0 * dx
        ay = V[4] + wz * x - wx * w + 2.0 * dy
        az = V[5] + wx * y - wy * x + 2.0 * dw
        bx = m * (wy * az - wz * ay + bx)
        by = m * (wz * ax - wx * az + by)
        bz = m * (wx * ay - wy * ax + bz)
        fx += bx
        fy += by
        fz += bz
        lx += y * bz - w * by
        ly += w * bx - x * bz
        lz += x * by - y * bx
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
        b[n] += u * bx + v * by + t * bz
        E[n, n] += m * (u * u + v * v + t * t)
        u, v, t = m * u, m * v, m * t
        B[0, n] += y * t - w * v
        B[1, n] += w * u - x * t
        B[2, n] += x * v - y * u
        B[3, n] += u
        B[4, n] += v
        B[5, n] += t
        for k in range(ny):
            h[k] *= inverse
            a, c = m * shape[0, k], m * h[k]
            b[k] += shape[0, k] * by - h[k] * bx
            E[n, k] += shape[0, k] * v - h[k] * u
            B[0, k] -= w * a
            B[1, k] -= w * c
            B[2, k] += x * a + y * c
            B[3, k] -= c
            B[4, k] += a
        for k in range(ny, z_end):
            h[k] *= inverse
            a, c = m * shape[0, k], m * h[k]
            b[k] += shape[0, k] * bz - h[k] * bx
            E[n, k] += shape[0, k] * t - h[k] * u
            B[0, k] += y * a
            B[1, k] -= x * a + w * c
            B[2, k] += y * c
            B[3, k] -= c
            B[5, k] += a
        for k in range(z_end):
            c = m * h[k]
            for l in range(k + 1):
                E[k, l] += c * h[l]
    return lx, ly, lz, fx, fy, fz, mass, mx, my, mz, mxx, myy, mzz, mxy, mxz, myz


@compiled
def add_turns(arm, i, q, qd, B, E, b, momentum, bias):
    """
    Add the rotary inertia of the sections of sliding body i to B, E and b.

    :param momentum: receives their angular momentum by de and ds (3,); bias: its rate when no
        coordinate accelerates.
    """
    first, n, turn, gram = arm.first[i], arm.modes[i], arm.slide_turn[i], arm.slide_gram[i]
    y_end = arm.count[i, 0]
    z_end = y_end + arm.count[i, 1]
    s = free_length(arm, i, q)
    inverse = 1.0 / s
    share = inverse * qd[arm.slide[i]]
    for axis in range(3):  # of torsion, bending in z, bending in y
        start, end, linear, square = z_end, n, s, s
        if axis > 0:  # these turn by slopes, with a factor 1/s
            start, end, linear, square = (
                (y_end, z_end, 1.0, inverse) if axis == 1 else (0, y_end, 1.0, inverse)
            )
        rate = by_s = second = 0.0
        for k in range(start, end):
            e, de = q[first + k], qd[first + k]
            rate += turn[0, k] * de + turn[1, k] * e * share
            by_s += turn[1, k] * e
            second += (turn[2, k] * e * share + 2.0 * turn[1, k] * de) * share
            B[axis, k] += linear * turn[0, k]
            mixed = own = force = on_length = 0.0
            for m in range(start, end):
                f, df = q[first + m], qd[first + m]
                mixed += gram[1, k, m] * f
                own += gram[2, k, m] * f
                force += gram[3, k, m] * f * share + 2.0 * gram[1, k, m] * df
                on_length += gram[4, k, m] * f * share + 2.0 * gram[2, k, m] * df
            for m in range(start, k + 1):
                E[k, m] += square * gram[0, k, m]
            b[k] += square * share * force
            E[n, k] += square * inverse * mixed
            E[n, n] += square * inverse * inverse * e * own
            b[n] += square * inverse * share * e * on_length
        B[axis, n] += linear * inverse * by_s
        momentum[axis], bias[axis] = linear * rate, linear * second


@compiled
def mouth_terms(arm, i, q, qd):
    """
    Terms of the sections that begin to turn at the mouth (T120).

    :returns: moments about x, y, z [N m], and the force on the free length [N].
    """
    first, n = arm.first[i], arm.modes[i]
    y_end = arm.count[i, 0]
    z_end = y_end + arm.count[i, 1]
    data, root = arm.slide_data[i], arm.slide_root[i]
    ds, inverse = qd[arm.slide[i]], 1.0 / free_length(arm, i, q)
    x = y = z = 0.0
    for k in range(n):
        strain = root[k] * q[first + k] * inverse
        if k < y_end:
            z += strain * inverse
        elif k < z_end:
            y -= strain * inverse
        else:
            x += strain
    mx, my, mz = data[INERTIA] * x, data[INERTIA + 1] * y, data[INERTIA + 2] * z
    square = ds * ds
    return mx * square, my * square, mz * square, 0.5 * square * (mx * x + my * y + mz * z)


@compiled
def set_sliding_terms(arm, i, q, qd, work, B, E, b):
    """
    Set coupling B (6, n + 1), inertia E and bias b of the coordinates of sliding body i.

    :returns: wrench of the bias and moments of the mass; see `add_points`.
    """
    n, V, data = arm.modes[i], work.V[i], arm.slide_data[i]
    y_end = arm.count[i, 0]
    z_end = y_end + arm.count[i, 1]
    s, ds = free_length(arm, i, q), qd[arm.slide[i]]
    for k in range(n + 1):
        b[k] = 0.0
        for r in range(6):
            B[r, k] = 0.0
        for m in range(k + 1):
            E[k, m] = s * arm.slide_gram[i, 5, k, m] if k < n else 0.0
    momentum, bias = work.angular_rate, work.alpha
    add_turns(arm, i, q, qd, B, E, b, momentum, bias)
    if y_end == COMMON_SHAPES[0] and z_end == COMMON_SHAPES[0] + COMMON_SHAPES[1]:
        sums = add_points(arm, i, COMMON_SHAPES[0], COMMON_SHAPES[1], q, qd, V, B, E, b, work)
    else:
        sums = add_points(arm, i, y_end, z_end - y_end, q, qd, V, B, E, b, work)
    lx, ly, lz, fx, fy, fz, mass, mx, my, mz, mxx, myy, mzz, mxy, mxz, myz = sums
    # straight part in the guide: mass, first and second moment
    hidden = data[LENGTH] - s
    m = data[MASS_PER_LENGTH] * hidden
    x, xx = -0.5 * m * hidden, m * hidden * hidden / 3.0
    wx, wy, wz = V[0], V[1], V[2]
    ax, ay, az = m * (V[3] + 2.0 * ds), m * V[4] + wz * x, m * V[5] - wy * x
    force = wy * az - wz * ay
    fx, fy, fz = fx + force, fy + wz * ax - wx * az, fz + wx * ay - wy * ax
    ax, ay, az = x * (V[3] + 2.0 * ds), x * V[4] + wz * xx, x * V[5] - wy * xx
    ly, lz = ly - wx * ay + wy * ax, lz + wz * ax - wx * az
    B[3, n] += m
    E[n, n] += m
    # turns of the sections
    tx, ty, tz, on_length = mouth_terms(arm, i, q, qd)
    b[n] += force + on_length
    lx += tx + bias[0] + wy * momentum[2] - wz * momentum[1]
    ly += ty + bias[1] + wz * momentum[0] - wx * momentum[2]
    lz += tz + bias[2] + wx * momentum[1] - wy * momentum[0]
    return lx, ly, lz, fx, fy, fz, mass + m, mx + x, my, mz, mxx + xx, myy, mzz, mxy, mxz, myz


@compiled
def add_sliding_body(arm, i, q, qd, work):
    """Inertia and bias of sliding body i (T22), (T23), with n + 1 coordinates."""
    I, F0 = work.I[i], work.F0[i]
    sums = set_sliding_terms(arm, i, q, qd, work, work.B[i], work.E[i], work.b[i])
    lx, ly, lz, fx, fy, fz, mass, mx, my, mz, mxx, myy, mzz, mxy, mxz, myz = sums
    F0[0] += lx
    F0[1] += ly
    F0[2] += lz
    F0[3] += fx
    F0[4] += fy
    F0[5] += fz
    I[0, 0] += myy + mzz
    I[1, 1] += mxx + mzz
    I[2, 2] += mxx + myy
    I[0, 1] -= mxy
    I[1, 0] -= mxy
    I[0, 2] -= mxz
    I[2, 0] -= mxz
    I[1, 2] -= myz
    I[2, 1] -= myz
    for r in range(3):
        I[3 + r, 3 + r] += mass
    I[0, 4] -= mz
    I[0, 5] += my
    I[1, 3] += mz
    I[1, 5] -= mx
    I[2, 3] -= my
    I[2, 4] += mx
    for r in range(3):
        for c in range(3):
            I[3 + c, r] = I[r, 3 + c]


@compiled
def add_sliding_force(arm, i, q, qd, qdd, work, force):
    """
    Force for the accelerations of sliding body i; see `add_beam_force`.

    The force on the free length is set, as no other body has its joint.
    """
    n, own, dV, F = arm.modes[i], arm.own[i], work.dV[i], work.F[i]
    B, E, b = work.slide_B, work.slide_E, work.slide_b
    sums = set_sliding_terms(arm, i, q, qd, work, B, E, b)
    lx, ly, lz, fx, fy, fz, mass, mx, my, mz, mxx, myy, mzz, mxy, mxz, myz = sums
    a, c, d, u, v, t = dV[0], dV[1], dV[2], dV[3], dV[4], dV[5]
    F[0] += lx + (myy + mzz) * a - mxy * c - mxz * d + my * t - mz * v
    F[1] += ly + (mxx + mzz) * c - mxy * a - myz * d + mz * u - mx * t
    F[2] += lz + (mxx + myy) * d - mxz * a - myz * c + mx * v - my * u
    F[3] += fx + mass * u + c * mz - d * my
    F[4] += fy + mass * v + d * mx - a * mz
    F[5] += fz + mass * t + a * my - c * mx
    for k in range(n + 1):
        total, a = b[k], qdd[own[k]]
        for r in range(6):
            total += B[r, k] * dV[r]
            F[r] += B[r, k] * a
        for m in range(n + 1):
            total += (E[k, m] if m <= k else E[m, k]) * qdd[own[m]]
        force[own[k]] = total


@compiled
def sliding_sums(arm, i, q, qd, V, work):
    """Kinetic energy of sliding body i [J], and sums over its points; see `beam_sums_of`."""
    if arm.count[i, 0] == COMMON_SHAPES[0] and arm.count[i, 1] == COMMON_SHAPES[1]:
        return sliding_sums_of(arm, i, COMMON_SHAPES[0], COMMON_SHAPES[1], q, qd, V, work)
    return sliding_sums_of(arm, i, arm.count[i, 0], arm.count[i, 1], q, qd, V, work)


@compiled(inline=True)
def sliding_sums_of(arm, i, ny, nz, q, qd, V, work):
    """Compute `sliding_sums`; see `add_points` for ny and nz."""
    first, z_end, data = arm.first[i], ny + nz, arm.slide_data[i]
    wx, wy, wz = V[0], V[1], V[2]
    s, ds = free_length(arm, i, q), qd[arm.slide[i]]
    inverse = 1.0 / s
    share = inverse * ds
    # a rod inside the guide
    hidden = data[LENGTH] - s
    mass = data[MASS_PER_LENGTH] * hidden
    mx, my, mz = -0.5 * mass * hidden, 0.0, 0.0
    mxx, myy, mzz, mxy, mxz, myz = mass * hidden * hidden / 3.0, 0.0, 0.0, 0.0, 0.0, 0.0
    x = V[3] + ds
    kinetic = 0.5 * mass * (x * x + V[4] * V[4] + V[5] * V[5])
    kinetic += mx * (V[4] * wz - V[5] * wy)
    kinetic += mass * hidden * hidden / 6.0 * (wy * wy + wz * wz)
    px, py, pz = mass * x, mass * V[4] + mx * wz, mass * V[5] - mx * wy
    turns, hx, hy, hz = sums_of_turns(arm, i, q, qd)
    kinetic += turns + wx * hx + wy * hy + wz * hz
    hy, hz = hy + mxx * wy - mx * V[5], hz + mxx * wz + mx * V[4]
    mu = s * data[MASS_PER_LENGTH]
    for g in range(arm.slide_xi.size):
        m, shape, H = arm.slide_weight[g] * mu, arm.slide_shape[i, g], arm.slide_H[i, g]
        y, vy, _, slope_y, dy, _, p0, p1, _ = plane_motion(shape, H, first, 0, ny, q, qd, work.h)
        z, vz, _, slope_z, dz, _, r0, r1, _ = plane_motion(
            shape, H, first, ny, z_end, q, qd, work.h
        )
        x = arm.slide_xi[g] * s - 0.5 * inverse * (p0 + r0)
        u = 1.0 - 0.5 * inverse * inverse * (slope_y * vy + slope_z * vz - p0 - r0)
        u = V[3] + wy * z - wz * y + u * ds - inverse * (p1 + r1)
        v = V[4] + wz * x - wx * z + dy + vy * share
        w = V[5] + wx * y - wy * x + dz + vz * share
        kinetic += 0.5 * m * (u * u + v * v + w * w)
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
        px += m * u
        py += m * v
        pz += m * w
        hx += m * (y * w - z * v)
        hy += m * (z * u - x * w)
        hz += m * (x * v - y * u)
    return (
        kinetic, mass, mx, my, mz, mxx, myy, mzz, mxy, mxz, myz, hx, hy, hz, px, py, pz
    )  # fmt: skip


@compiled
def sums_of_turns(arm, i, q, qd):
    """
    Sum the turns of the sections of sliding body i relative to its root.

    :returns: kinetic energy of the turns alone [J], and their angular momentum x y z [kg m^2/s].
    """
    first, n, turn, gram = arm.first[i], arm.modes[i], arm.slide_turn[i], arm.slide_gram[i]
    y_end = arm.count[i, 0]
    z_end = y_end + arm.count[i, 1]
    s = free_length(arm, i, q)
    share, energy, hx, hy, hz = qd[arm.slide[i]] / s, 0.0, 0.0, 0.0, 0.0
    for k in range(n):
        start, end, linear, square = z_end, n, s, s
        if k < z_end:
            linear, square = 1.0, 1.0 / s
            start, end = (0, y_end) if k < y_end else (y_end, z_end)
        de, change = qd[first + k], q[first + k] * share
        momentum = linear * (turn[0, k] * de + turn[1, k] * change)
        if k < y_end:
            hz += momentum
        elif k < z_end:
            hy += momentum
        else:
            hx += momentum
        total = 0.0
        for m in range(start, end):
            other = q[first + m] * share
            total += de * (0.5 * gram[0, k, m] * qd[first + m] + gram[1, k, m] * other)
            total += 0.5 * change * gram[2, k, m] * other
        energy += square * total
    return energy, hx, hy, hz
