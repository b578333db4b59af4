"""
Inertia, bias and energy of an elastic body, by the integrals of its fields.

Equation numbers are those of docs/theory.md; the integrals are those of `elastic/`. The inertia of
the undeformed body is in `arm.inertia`, so that only the parts by its coordinates are added here.
Rows of `elastic_constant`, `elastic_slope` and of the rates are, by coordinate k,

    0 : 3  dS/de_k,   3 : 9  dJ/de_k,   9 : 12  h_k,   12 : 15  sum_j h1_jk de_j
"""

from flex_robot_sim.jit.compiled import compiled

ROW, RATE_ROW = 12, 15  # numbers by coordinate, and by pair of coordinates


@compiled
def add_elastic_body(arm, i, q, qd, work):
    """Inertia and bias of the coordinates of elastic body i (T93), (T94)."""
    first, n = arm.first[i], arm.modes[i]
    V, I, B, E, bias, F0 = work.V[i], work.I[i], work.B[i], work.E[i], work.b[i], work.F0[i]
    rows, rates, G, X = work.elastic_row, work.elastic_rate, arm.elastic_G[i], arm.elastic_X[i]
    set_elastic_rows(arm, i, q, qd, work)
    wx, wy, wz, vx, vy, vz = V[0], V[1], V[2], V[3], V[4], V[5]
    sx, sy, sz, xx, yy, zz, xy, xz, yz = set_elastic_bias(arm, i, q, qd, V, F0, work)
    for k in range(n):
        row, rate = rows[k], rates[k]
        for r in range(3):
            B[r, k] = row[9 + r]
            B[3 + r, k] = row[r]
        bias[k] = elastic_bias(arm, i, k, qd, wx, wy, wz, vx, vy, vz, row, rate)
        for m in range(n):
            total = 0.0
            for l in range(n):
                total += X[k, m, l] * q[first + l]
            E[k, m] = total
    for k in range(n):
        for m in range(k):
            E[k, m] += E[m, k] + arm.modal_mass[i, k, m]
        E[k, k] += E[k, k] + arm.modal_mass[i, k, k]
    for r in range(G.shape[0]):
        g, second = work.elastic_gram[r], elastic_gram_rate(arm, i, r, q, qd, work)
        for k in range(n):
            bias[k] += g[k] * second
            for m in range(k + 1):
                E[k, m] += g[k] * g[m]
    I[0, 0] += xx
    I[1, 1] += yy
    I[2, 2] += zz
    I[0, 1] += xy
    I[1, 0] += xy
    I[0, 2] += xz
    I[2, 0] += xz
    I[1, 2] += yz
    I[2, 1] += yz
    # S~ in the upper right block, its transpose in the lower left
    I[0, 4] -= sz
    I[0, 5] += sy
    I[1, 3] += sz
    I[1, 5] -= sx
    I[2, 3] -= sy
    I[2, 4] += sx
    for r in range(3):
        for s in range(3):
            I[3 + s, r] = I[r, 3 + s]


@compiled
def set_elastic_rows(arm, i, q, qd, work):
    """Rows of the coordinates of elastic body i, and their rates, in `work`."""
    first, n = arm.first[i], arm.modes[i]
    for k in range(n):
        row, rate, constant = work.elastic_row[k], work.elastic_rate[k], arm.elastic_constant[i, k]
        for c in range(ROW):
            row[c] = constant[c]
        for c in range(RATE_ROW):
            rate[c] = 0.0
        for m in range(n):
            e, de, slope = q[first + m], qd[first + m], arm.elastic_slope[i, k, m]
            for c in range(ROW):
                row[c] += slope[c] * e
            for c in range(RATE_ROW):
                rate[c] += slope[c] * de


@compiled
def set_elastic_bias(arm, i, q, qd, V, F0, work):
    """
    Add the bias wrench of the coordinates of body i to F0 (T94), for its rows in `work`.

    :returns: what they add to first moment (x, y, z) and inertia (xx, yy, zz, xy, xz, yz).
    """
    first = arm.first[i]
    wx, wy, wz, vx, vy, vz = V[0], V[1], V[2], V[3], V[4], V[5]
    sx = sy = sz = xx = yy = zz = xy = xz = yz = 0.0
    ux = uy = uz = dxx = dyy = dzz = dxy = dxz = dyz = 0.0  # rates of S and J
    hx = hy = hz = fx = fy = fz = mx = my = mz = 0.0
    for k in range(arm.modes[i]):
        row, rate, constant = work.elastic_row[k], work.elastic_rate[k], arm.elastic_constant[i, k]
        half, de = 0.5 * q[first + k], qd[first + k]
        sx += half * (row[0] + constant[0])
        sy += half * (row[1] + constant[1])
        sz += half * (row[2] + constant[2])
        xx += half * (row[3] + constant[3])
        yy += half * (row[4] + constant[4])
        zz += half * (row[5] + constant[5])
        xy += half * (row[6] + constant[6])
        xz += half * (row[7] + constant[7])
        yz += half * (row[8] + constant[8])
        ux += row[0] * de
        uy += row[1] * de
        uz += row[2] * de
        dxx += row[3] * de
        dyy += row[4] * de
        dzz += row[5] * de
        dxy += row[6] * de
        dxz += row[7] * de
        dyz += row[8] * de
        hx += row[9] * de
        hy += row[10] * de
        hz += row[11] * de
        fx += rate[0] * de
        fy += rate[1] * de
        fz += rate[2] * de
        mx += rate[9] * de
        my += rate[10] * de
        mz += rate[11] * de
    # angular momentum L and momentum P of the coordinates
    lx = xx * wx + xy * wy + xz * wz + sy * vz - sz * vy + hx
    ly = xy * wx + yy * wy + yz * wz + sz * vx - sx * vz + hy
    lz = xz * wx + yz * wy + zz * wz + sx * vy - sy * vx + hz
    px, py, pz = wy * sz - wz * sy + ux, wz * sx - wx * sz + uy, wx * sy - wy * sx + uz
    F0[0] += (
        dxx * wx + dxy * wy + dxz * wz + uy * vz - uz * vy + mx
        + wy * lz - wz * ly + vy * pz - vz * py
    )  # fmt: skip
    F0[1] += (
        dxy * wx + dyy * wy + dyz * wz + uz * vx - ux * vz + my
        + wz * lx - wx * lz + vz * px - vx * pz
    )  # fmt: skip
    F0[2] += (
        dxz * wx + dyz * wy + dzz * wz + ux * vy - uy * vx + mz
        + wx * ly - wy * lx + vx * py - vy * px
    )  # fmt: skip
    F0[3] += wy * uz - wz * uy + fx + wy * pz - wz * py
    F0[4] += wz * ux - wx * uz + fy + wz * px - wx * pz
    F0[5] += wx * uy - wy * ux + fz + wx * py - wy * px
    return sx, sy, sz, xx, yy, zz, xy, xz, yz


@compiled(inline=True)
def elastic_bias(arm, i, k, qd, wx, wy, wz, vx, vy, vz, row, rate):
    """Bias force on coordinate k of body i (T94), without the rows G."""
    first, n, X = arm.first[i], arm.modes[i], arm.elastic_X[i]
    total = (
        wx * (rate[9] - rate[12])
        + wy * (rate[10] - rate[13])
        + wz * (rate[11] - rate[14])
        - vx * (wy * row[2] - wz * row[1])
        - vy * (wz * row[0] - wx * row[2])
        - vz * (wx * row[1] - wy * row[0])
        - 0.5 * (row[3] * wx * wx + row[4] * wy * wy + row[5] * wz * wz)
        - (row[6] * wx * wy + row[7] * wx * wz + row[8] * wy * wz)
    )
    for m in range(n):
        part = 0.0
        for l in range(n):
            part += X[k, m, l] * qd[first + l]
        total += part * qd[first + m]
    return total


@compiled
def elastic_gram_rate(arm, i, r, q, qd, work):
    """Set g = G e of row r of body i in `work`, and return de G de."""
    first, n, G, g, second = (
        arm.first[i],
        arm.modes[i],
        arm.elastic_G[i, r],
        work.elastic_gram[r],
        0.0,
    )
    for k in range(n):
        total = rate = 0.0
        for m in range(n):
            total += G[k, m] * q[first + m]
            rate += G[k, m] * qd[first + m]
        g[k] = total
        second += rate * qd[first + k]
    return second


@compiled
def add_elastic_force(arm, i, q, qd, qdd, work, force):
    """
    Force for the accelerations dV of the root and qdd of the coordinates of elastic body i.

    :param force: receives the forces on the coordinates, (n,); the wrench is added to work.F[i].
    """
    first, n = arm.first[i], arm.modes[i]
    V, dV, F, X, G = work.V[i], work.dV[i], work.F[i], arm.elastic_X[i], arm.elastic_G[i]
    set_elastic_rows(arm, i, q, qd, work)
    wx, wy, wz, vx, vy, vz = V[0], V[1], V[2], V[3], V[4], V[5]
    ax, ay, az, bx, by, bz = dV[0], dV[1], dV[2], dV[3], dV[4], dV[5]
    sx, sy, sz, xx, yy, zz, xy, xz, yz = set_elastic_bias(arm, i, q, qd, V, F, work)
    F[0] += xx * ax + xy * ay + xz * az + sy * bz - sz * by
    F[1] += xy * ax + yy * ay + yz * az + sz * bx - sx * bz
    F[2] += xz * ax + yz * ay + zz * az + sx * by - sy * bx
    F[3] += ay * sz - az * sy
    F[4] += az * sx - ax * sz
    F[5] += ax * sy - ay * sx
    for k in range(n):
        row, dde = work.elastic_row[k], qdd[first + k]
        total = elastic_bias(arm, i, k, qd, wx, wy, wz, vx, vy, vz, row, work.elastic_rate[k]) + (
            row[9] * ax + row[10] * ay + row[11] * az + row[0] * bx + row[1] * by + row[2] * bz
        )
        for m in range(n):
            inertia = arm.modal_mass[i, k, m]
            for l in range(n):
                inertia += (X[k, m, l] + X[m, k, l]) * q[first + l]
            total += inertia * qdd[first + m]
        force[first + k] = total
        for r in range(3):
            F[r] += row[9 + r] * dde
            F[3 + r] += row[r] * dde
    for r in range(G.shape[0]):
        g, second = work.elastic_gram[r], elastic_gram_rate(arm, i, r, q, qd, work)
        for k in range(n):
            second += g[k] * qdd[first + k]
        for k in range(n):
            force[first + k] += g[k] * second


@compiled
def elastic_energy(arm, i, q, qd, V):
    """Kinetic energy of the coordinates of body i [J], and the first moments they add [kg m]."""
    first, n, X, G = arm.first[i], arm.modes[i], arm.elastic_X[i], arm.elastic_G[i]
    wx, wy, wz, vx, vy, vz = V[0], V[1], V[2], V[3], V[4], V[5]
    kinetic = sx = sy = sz = 0.0
    px, py, pz = vx, vy, vz
    for k in range(n):
        constant, e, de = arm.elastic_constant[i, k], q[first + k], qd[first + k]
        dx, dy, dz, hx, hy, hz = (
            constant[0],
            constant[1],
            constant[2],
            constant[9],
            constant[10],
            constant[11],
        )
        jxx, jyy, jzz, jxy, jxz, jyz = (
            constant[3],
            constant[4],
            constant[5],
            constant[6],
            constant[7],
            constant[8],
        )
        half_x, half_y, half_z, mass = dx, dy, dz, 0.0
        for m in range(n):
            slope, em = arm.elastic_slope[i, k, m], q[first + m]
            dx += slope[0] * em
            dy += slope[1] * em
            dz += slope[2] * em
            half = 0.5 * em
            half_x += slope[0] * half
            half_y += slope[1] * half
            half_z += slope[2] * half
            jxx += slope[3] * half
            jyy += slope[4] * half
            jzz += slope[5] * half
            jxy += slope[6] * half
            jxz += slope[7] * half
            jyz += slope[8] * half
            hx += slope[9] * em
            hy += slope[10] * em
            hz += slope[11] * em
            part = 0.5 * arm.modal_mass[i, k, m]
            for l in range(n):
                part += X[k, m, l] * q[first + l]
            mass += part * qd[first + m]
        sx += half_x * e
        sy += half_y * e
        sz += half_z * e
        kinetic += de * (mass + wx * hx + wy * hy + wz * hz + px * dx + py * dy + pz * dz)
        kinetic += e * (
            0.5 * (jxx * wx * wx + jyy * wy * wy + jzz * wz * wz)
            + jxy * wx * wy + jxz * wx * wz + jyz * wy * wz
        )  # fmt: skip
    kinetic += vx * (wy * sz - wz * sy) + vy * (wz * sx - wx * sz) + vz * (wx * sy - wy * sx)
    for r in range(G.shape[0]):
        rate = 0.0
        for k in range(n):
            part = 0.0
            for m in range(n):
                part += G[r, k, m] * q[first + m]
            rate += part * qd[first + k]
        kinetic += 0.5 * rate * rate
    return kinetic, sx, sy, sz
