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
w mu s. Sections begin to turn at the mouth: with the jump of their turn by s, kappa, and their
inertia J per length

    F0 += J kappa ds^2,   b_s += 1/2 kappa . J kappa ds^2                                    (T120)
"""

from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.slide_columns import INERTIA, LENGTH, MASS_PER_LENGTH, OFFSET, SHORTENS


@compiled
def free_length(arm, i, q):
    """Free length of sliding body i [m]."""
    return q[arm.slide[i]] + arm.slide_data[i, OFFSET]


@compiled
def set_sliding_point(arm, i, g, q, qd, work):
    """
    Motion of Gauss point g of sliding body i, relative to the guide (T119).

    :param work: Workspace; slide_jacobian (6, n + 1) receives turn and displacement by
        coordinate, slide_motion (3, 6) the position, and rate and bias of turn and displacement.
    """
    first, n = arm.first[i], arm.modes[i]
    y_end = arm.count[i, 0]
    z_end = y_end + arm.count[i, 1]
    data, shape, H = arm.slide_data[i], arm.slide_shape[i, g], arm.slide_H[i, g]
    J, motion = work.slide_jacobian, work.slide_motion
    s, ds = free_length(arm, i, q), qd[arm.slide[i]]
    xi, inverse = arm.slide_xi[g], 1.0 / s
    a = (1.0 - xi) * inverse
    for r in range(6):
        motion[0, r] = motion[1, r] = motion[2, r] = 0.0
        for k in range(n + 1):
            J[r, k] = 0.0
    shortening = by_s = second = 0.0  # of e^T H e / s
    for direction in range(3):
        start, end = 0, y_end
        if direction == 1:
            start, end = y_end, z_end
        elif direction == 2:
            start, end = z_end, n
        f1 = f2 = f3 = df1 = df2 = rate = 0.0
        for k in range(start, end):
            e, de = q[first + k], qd[first + k]
            rate += shape[0, k] * de
            f1 += shape[1, k] * e
            f2 += shape[2, k] * e
            f3 += shape[3, k] * e
            df1 += shape[1, k] * de
            df2 += shape[2, k] * de
        bias = (f2 * a * a - 2.0 * f1 * a * inverse) * ds * ds + 2.0 * df1 * a * ds
        if direction == 2:  # twist
            J[0, n] = f1 * a
            motion[1, 0], motion[2, 0] = rate + f1 * a * ds, bias
            for k in range(start, end):
                J[0, k] = shape[0, k]
            continue
        axis = 4 + direction
        turn, sign = (2, 1.0) if direction == 0 else (1, -1.0)
        J[axis, n] = f1 * a
        motion[1, axis], motion[2, axis] = rate + f1 * a * ds, bias
        slope_by_s = (f2 * a - f1 * inverse) * inverse
        J[turn, n] = sign * slope_by_s
        motion[1, turn] = sign * (df1 * inverse + slope_by_s * ds)
        slope_bias = (f3 * a * a - 4.0 * f2 * a * inverse + 2.0 * f1 * inverse * inverse) * ds
        motion[2, turn] = sign * inverse * ds * (slope_bias + 2.0 * (df2 * a - df1 * inverse))
        p0 = p1 = p2 = 0.0  # e^T H e and its rates
        for k in range(start, end):
            motion[0, axis] += shape[0, k] * q[first + k]
            J[axis, k] = shape[0, k]
            J[turn, k] = sign * shape[1, k] * inverse
            h = dh = 0.0
            for m in range(start, end):
                h += H[k, m] * q[first + m]
                dh += H[k, m] * qd[first + m]
            J[3, k] = -h * inverse
            p0 += h * q[first + k]
            p1 += 2.0 * h * qd[first + k]
            p2 += 2.0 * dh * qd[first + k]
        d0, d1 = data[SHORTENS] * f1 * f1, 2.0 * data[SHORTENS] * f1 * df1
        dd = 2.0 * data[SHORTENS] * f1 * f2
        shortening += p0 * inverse
        by_s += (d0 * a - p0 * inverse) * inverse
        second += inverse * (
            (dd * a * a - 4.0 * d0 * a * inverse + 2.0 * p0 * inverse * inverse) * ds * ds
            + 2.0 * (d1 * a - p1 * inverse) * ds
            + p2
        )
    motion[0, 3] = s * xi - 0.5 * shortening
    J[3, n] = 1.0 - 0.5 * by_s
    motion[2, 3] = -0.5 * second
    motion[1, 3] = J[3, n] * ds
    for k in range(z_end):
        motion[1, 3] += J[3, k] * qd[first + k]


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
def add_sliding_body(arm, i, q, qd, work):
    """Inertia and bias of sliding body i (T22), (T23), with n + 1 coordinates."""
    n = arm.modes[i]
    V, I, B, E, bias, F0 = work.V[i], work.I[i], work.B[i], work.E[i], work.b[i], work.F0[i]
    data, J, motion = arm.slide_data[i], work.slide_jacobian, work.slide_motion
    wx, wy, wz = V[0], V[1], V[2]
    s, ds = free_length(arm, i, q), qd[arm.slide[i]]
    jx, jy, jz = data[INERTIA] * s, data[INERTIA + 1] * s, data[INERTIA + 2] * s
    for k in range(n + 1):
        bias[k] = 0.0
        for r in range(6):
            B[r, k] = 0.0
        for m in range(k + 1):
            E[k, m] = 0.0
    # straight part in the guide: first and second moment
    hidden = data[LENGTH] - s
    mass = data[MASS_PER_LENGTH] * hidden
    mx, mxx = -0.5 * mass * hidden, mass * hidden * hidden / 3.0
    ax, ay, az = mass * (V[3] + 2.0 * ds), mass * V[4] + wz * mx, mass * V[5] - wy * mx
    fx, fy, fz = wy * az - wz * ay, wz * ax - wx * az, wx * ay - wy * ax
    bias[n] += fx
    ax, ay, az = mx * (V[3] + 2.0 * ds), mx * V[4] + wz * mxx, mx * V[5] - wy * mxx
    lx, ly, lz = 0.0, -(wx * ay - wy * ax), wz * ax - wx * az
    B[3, n] = E[n, n] = mass
    tx, ty, tz, force = mouth_terms(arm, i, q, qd)
    lx, ly, lz = lx + tx, ly + ty, lz + tz
    bias[n] += force
    tx = ty = tz = 0.0  # angular momentum of the sections
    my = mz = myy = mzz = mxy = mxz = myz = 0.0
    for g in range(arm.slide_xi.size):
        set_sliding_point(arm, i, g, q, qd, work)
        weight = arm.slide_weight[g]
        m = weight * s * data[MASS_PER_LENGTH]
        x, y, w = motion[0, 3], motion[0, 4], motion[0, 5]
        ax = V[3] + wy * w - wz * y + 2.0 * motion[1, 3]
        ay = V[4] + wz * x - wx * w + 2.0 * motion[1, 4]
        az = V[5] + wx * y - wy * x + 2.0 * motion[1, 5]
        bx = m * (wy * az - wz * ay + motion[2, 3])
        by = m * (wz * ax - wx * az + motion[2, 4])
        bz = m * (wx * ay - wy * ax + motion[2, 5])
        ux, uy, uz = weight * jx, weight * jy, weight * jz
        tx += ux * motion[1, 0]
        ty += uy * motion[1, 1]
        tz += uz * motion[1, 2]
        cx, cy, cz = ux * motion[2, 0], uy * motion[2, 1], uz * motion[2, 2]
        fx += bx
        fy += by
        fz += bz
        lx += y * bz - w * by + cx
        ly += w * bx - x * bz + cy
        lz += x * by - y * bx + cz
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
        for k in range(n + 1):
            a, b, c = J[0, k], J[1, k], J[2, k]
            u, v, t = J[3, k], J[4, k], J[5, k]
            bias[k] += u * bx + v * by + t * bz + a * cx + b * cy + c * cz
            a, b, c, u, v, t = ux * a, uy * b, uz * c, m * u, m * v, m * t
            B[0, k] += a + y * t - w * v
            B[1, k] += b + w * u - x * t
            B[2, k] += c + x * v - y * u
            B[3, k] += u
            B[4, k] += v
            B[5, k] += t
            for l in range(k + 1):
                E[k, l] += u * J[3, l] + v * J[4, l] + t * J[5, l]
                E[k, l] += a * J[0, l] + b * J[1, l] + c * J[2, l]
    F0[0] += lx + wy * tz - wz * ty
    F0[1] += ly + wz * tx - wx * tz
    F0[2] += lz + wx * ty - wy * tx
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
    first, n, j = arm.first[i], arm.modes[i], arm.slide[i]
    V, dV, F = work.V[i], work.dV[i], work.F[i]
    data, J, motion = arm.slide_data[i], work.slide_jacobian, work.slide_motion
    wx, wy, wz, dwx, dwy, dwz = V[0], V[1], V[2], dV[0], dV[1], dV[2]
    s, ds = free_length(arm, i, q), qd[j]
    for k in range(n):
        force[first + k] = 0.0
    # straight part in the guide
    hidden = data[LENGTH] - s
    mass = data[MASS_PER_LENGTH] * hidden
    mx, mxx = -0.5 * mass * hidden, mass * hidden * hidden / 3.0
    ax, ay, az = mass * (V[3] + 2.0 * ds), mass * V[4] + wz * mx, mass * V[5] - wy * mx
    fx = wy * az - wz * ay + mass * (dV[3] + qdd[j])
    fy = wz * ax - wx * az + mass * dV[4] + dwz * mx
    fz = wx * ay - wy * ax + mass * dV[5] - dwy * mx
    force[j] = fx
    ax, ay, az = mx * (V[3] + 2.0 * ds), mx * V[4] + wz * mxx, mx * V[5] - wy * mxx
    lx = 0.0
    ly = -(wx * ay - wy * ax + mx * dV[5] - dwy * mxx)
    lz = wz * ax - wx * az + mx * dV[4] + dwz * mxx
    tx, ty, tz, on_length = mouth_terms(arm, i, q, qd)
    lx, ly, lz = lx + tx, ly + ty, lz + tz
    force[j] += on_length
    tx = ty = tz = 0.0
    for g in range(arm.slide_xi.size):
        set_sliding_point(arm, i, g, q, qd, work)
        weight = arm.slide_weight[g] * s
        m = weight * data[MASS_PER_LENGTH]
        x, y, w = motion[0, 3], motion[0, 4], motion[0, 5]
        for k in range(n + 1):
            a = qdd[j] if k == n else qdd[first + k]
            for r in range(6):
                motion[2, r] += J[r, k] * a
        ax = V[3] + wy * w - wz * y + 2.0 * motion[1, 3]
        ay = V[4] + wz * x - wx * w + 2.0 * motion[1, 4]
        az = V[5] + wx * y - wy * x + 2.0 * motion[1, 5]
        bx = m * (wy * az - wz * ay + motion[2, 3] + dV[3] + dwy * w - dwz * y)
        by = m * (wz * ax - wx * az + motion[2, 4] + dV[4] + dwz * x - dwx * w)
        bz = m * (wx * ay - wy * ax + motion[2, 5] + dV[5] + dwx * y - dwy * x)
        ux, uy, uz = (
            weight * data[INERTIA],
            weight * data[INERTIA + 1],
            weight * data[INERTIA + 2],
        )
        tx += ux * motion[1, 0]
        ty += uy * motion[1, 1]
        tz += uz * motion[1, 2]
        cx, cy, cz = ux * motion[2, 0], uy * motion[2, 1], uz * motion[2, 2]
        fx += bx
        fy += by
        fz += bz
        lx += y * bz - w * by + cx
        ly += w * bx - x * bz + cy
        lz += x * by - y * bx + cz
        cx, cy, cz = cx + ux * dwx, cy + uy * dwy, cz + uz * dwz
        for k in range(n + 1):
            total = J[3, k] * bx + J[4, k] * by + J[5, k] * bz
            total += J[0, k] * cx + J[1, k] * cy + J[2, k] * cz
            if k == n:
                force[j] += total
            else:
                force[first + k] += total
    F[0] += lx + wy * tz - wz * ty
    F[1] += ly + wz * tx - wx * tz
    F[2] += lz + wx * ty - wy * tx
    F[3] += fx
    F[4] += fy
    F[5] += fz


@compiled
def sliding_energy(arm, i, q, qd, V, work):
    """Kinetic energy of sliding body i [J], its mass [kg] and first moments [kg m]."""
    data, motion = arm.slide_data[i], work.slide_motion
    wx, wy, wz = V[0], V[1], V[2]
    s, ds = free_length(arm, i, q), qd[arm.slide[i]]
    hidden = data[LENGTH] - s
    mass = data[MASS_PER_LENGTH] * hidden
    mx, my, mz = -0.5 * mass * hidden, 0.0, 0.0
    x = V[3] + ds
    kinetic = 0.5 * mass * (x * x + V[4] * V[4] + V[5] * V[5])
    kinetic += mx * (V[4] * wz - V[5] * wy)
    kinetic += mass * hidden * hidden / 6.0 * (wy * wy + wz * wz)
    for g in range(arm.slide_xi.size):
        set_sliding_point(arm, i, g, q, qd, work)
        weight = arm.slide_weight[g] * s
        m = weight * data[MASS_PER_LENGTH]
        x, y, z = motion[0, 3], motion[0, 4], motion[0, 5]
        u = V[3] + wy * z - wz * y + motion[1, 3]
        v = V[4] + wz * x - wx * z + motion[1, 4]
        w = V[5] + wx * y - wy * x + motion[1, 5]
        kinetic += 0.5 * m * (u * u + v * v + w * w)
        for r in range(3):
            rate = motion[1, r]
            kinetic += weight * data[INERTIA + r] * rate * (V[r] + 0.5 * rate)
        mass += m
        mx += m * x
        my += m * y
        mz += m * z
    return kinetic, mass, mx, my, mz
