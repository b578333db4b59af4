"""
Inertia, bias and energy of an elastic body, by the integrals of its fields.

Equation numbers are those of docs/theory.md; the integrals are those of `elastic/`. The inertia of
the undeformed body is in `arm.inertia`, so that only the parts by its coordinates are added here.

With n coordinates and r rows G, the columns of `elastic_slope`, of which a row is the slope with
one coordinate, and of `elastic_value` and `elastic_rate`, which are their sums, are

    c n + k              c = 0 : 3  dS/de_k,  3 : 9  dJ/de_k,  9 : 12  h_k
    12 n + k n + m       sum_l X_kml e_l
    12 n + n n + k r + g     g_k of row g
    12 n + n n + n r + c n + k     sum_j h1_jk e_j

so that two sums of long rows are most of the work. `elastic_constant` has the first 12 n columns
of the undeformed body.
"""

from flex_robot_sim.jit.compiled import compiled


@compiled
def add_elastic_body(arm, i, q, qd, work):
    """Inertia and bias of the coordinates of elastic body i (T93), (T94)."""
    n, count = arm.modes[i], arm.elastic_gram[i]
    V, I, B, E, bias, F0 = work.V[i], work.I[i], work.B[i], work.E[i], work.b[i], work.F0[i]
    value, X, G = work.elastic_value, 12 * n, (12 + n) * n
    set_elastic_values(arm, i, q, work)
    set_elastic_rates(arm, i, qd, work)
    set_gram_products(arm, i, qd, work)
    sx, sy, sz, xx, yy, zz, xy, xz, yz = set_elastic_bias(arm, i, q, qd, V, F0, work)
    for c in range(3):
        for k in range(n):
            B[c, k] = value[(9 + c) * n + k]
            B[3 + c, k] = value[c * n + k]
    set_elastic_bias_forces(arm, i, qd, V, 0, work, bias)
    for k in range(n):
        for m in range(k + 1):
            total = value[X + k * n + m] + value[X + m * n + k] + arm.modal_mass[i, k, m]
            for g in range(count):
                total += value[G + k * count + g] * value[G + m * count + g]
            E[k, m] = total
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
def set_elastic_values(arm, i, q, work):
    """Values of body i at q, but for those that only rates need, in `work`."""
    n = arm.modes[i]
    value, constant = work.elastic_value, arm.elastic_constant[i]
    for c in range(12 * n):
        value[c] = constant[c]
    width = (12 + n + arm.elastic_gram[i]) * n
    for c in range(12 * n, width):
        value[c] = 0.0
    add_combination(arm.elastic_slope[i], q, arm.first[i], n, width, value)


@compiled
def set_elastic_rates(arm, i, qd, work):
    """Rates of all values of body i, in `work`."""
    n = arm.modes[i]
    width = (15 + n + arm.elastic_gram[i]) * n
    for c in range(width):
        work.elastic_rate[c] = 0.0
    add_combination(arm.elastic_slope[i], qd, arm.first[i], n, width, work.elastic_rate)


@compiled
def add_combination(rows, x, first, n, width, out):
    """Add sum_l x[first + l] rows[l] of n rows, four at a time, which halves the time."""
    l = 0
    while l + 4 <= n:
        a, b, c, d = x[first + l], x[first + l + 1], x[first + l + 2], x[first + l + 3]
        A, B, C, D = rows[l], rows[l + 1], rows[l + 2], rows[l + 3]
        for k in range(width):
            out[k] += a * A[k] + b * B[k] + c * C[k] + d * D[k]
        l += 4
    while l < n:
        a, A = x[first + l], rows[l]
        for k in range(width):
            out[k] += a * A[k]
        l += 1


@compiled
def set_elastic_bias(arm, i, q, qd, V, F0, work):
    """
    Add the bias wrench of the coordinates of body i to F0 (T94), for its values in `work`.

    :returns: what they add to first moment (x, y, z) and inertia (xx, yy, zz, xy, xz, yz).
    """
    first, n, D, constant = arm.first[i], arm.modes[i], work.elastic_value, arm.elastic_constant[i]
    dD = work.elastic_rate
    wx, wy, wz, vx, vy, vz = V[0], V[1], V[2], V[3], V[4], V[5]
    sx = sy = sz = xx = yy = zz = xy = xz = yz = 0.0
    ux = uy = uz = dxx = dyy = dzz = dxy = dxz = dyz = 0.0  # rates of S and J
    hx = hy = hz = fx = fy = fz = mx = my = mz = 0.0
    for k in range(n):
        half, de = 0.5 * q[first + k], qd[first + k]
        sx += half * (D[k] + constant[k])
        sy += half * (D[n + k] + constant[n + k])
        sz += half * (D[2 * n + k] + constant[2 * n + k])
        xx += half * (D[3 * n + k] + constant[3 * n + k])
        yy += half * (D[4 * n + k] + constant[4 * n + k])
        zz += half * (D[5 * n + k] + constant[5 * n + k])
        xy += half * (D[6 * n + k] + constant[6 * n + k])
        xz += half * (D[7 * n + k] + constant[7 * n + k])
        yz += half * (D[8 * n + k] + constant[8 * n + k])
        ux += D[k] * de
        uy += D[n + k] * de
        uz += D[2 * n + k] * de
        dxx += D[3 * n + k] * de
        dyy += D[4 * n + k] * de
        dzz += D[5 * n + k] * de
        dxy += D[6 * n + k] * de
        dxz += D[7 * n + k] * de
        dyz += D[8 * n + k] * de
        hx += D[9 * n + k] * de
        hy += D[10 * n + k] * de
        hz += D[11 * n + k] * de
        fx += dD[k] * de
        fy += dD[n + k] * de
        fz += dD[2 * n + k] * de
        mx += dD[9 * n + k] * de
        my += dD[10 * n + k] * de
        mz += dD[11 * n + k] * de
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


@compiled
def set_gram_products(arm, i, qd, work):
    """Products de G de of the rows G of body i, in `work`."""
    first, n, count = arm.first[i], arm.modes[i], arm.elastic_gram[i]
    G, product, rate = (12 + n) * n, work.elastic_product, work.elastic_rate
    for g in range(count):
        product[g] = 0.0
    for k in range(n):
        for g in range(count):
            product[g] += rate[G + k * count + g] * qd[first + k]


@compiled
def set_elastic_bias_forces(arm, i, qd, V, start, work, out):
    """
    Set out[start + k] to the bias forces (T94), for values and products of body i in `work`.

    With the products de G de + g . dde, these contain the forces of the rows G for dde.
    """
    first, n, count, D, dD = (
        arm.first[i],
        arm.modes[i],
        arm.elastic_gram[i],
        work.elastic_value,
        work.elastic_rate,
    )
    X, G, turned = 12 * n, (12 + n) * n, (12 + n + count) * n
    wx, wy, wz, vx, vy, vz = V[0], V[1], V[2], V[3], V[4], V[5]
    # v x w and the products of w with J
    cx, cy, cz = vy * wz - vz * wy, vz * wx - vx * wz, vx * wy - vy * wx
    hxx, hyy, hzz = -0.5 * wx * wx, -0.5 * wy * wy, -0.5 * wz * wz
    hxy, hxz, hyz = -wx * wy, -wx * wz, -wy * wz
    for k in range(n):
        total = (
            wx * (dD[9 * n + k] - dD[turned + k])
            + wy * (dD[10 * n + k] - dD[turned + n + k])
            + wz * (dD[11 * n + k] - dD[turned + 2 * n + k])
            - (cx * D[k] + cy * D[n + k] + cz * D[2 * n + k])
            + (hxx * D[3 * n + k] + hyy * D[4 * n + k] + hzz * D[5 * n + k])
            + (hxy * D[6 * n + k] + hxz * D[7 * n + k] + hyz * D[8 * n + k])
        )
        for m in range(n):
            total += dD[X + k * n + m] * qd[first + m]
        for g in range(count):
            total += D[G + k * count + g] * work.elastic_product[g]
        out[start + k] = total


@compiled
def add_elastic_force(arm, i, q, qd, qdd, work, force):
    """
    Force for the accelerations dV of the root and qdd of the coordinates of elastic body i.

    :param force: receives the forces on the coordinates, (n,); the wrench is added to work.F[i].
    """
    first, n, count = arm.first[i], arm.modes[i], arm.elastic_gram[i]
    V, dV, F, D, product = (
        work.V[i],
        work.dV[i],
        work.F[i],
        work.elastic_value,
        work.elastic_product,
    )
    X, G = 12 * n, (12 + n) * n
    set_elastic_values(arm, i, q, work)
    set_elastic_rates(arm, i, qd, work)
    ax, ay, az, bx, by, bz = dV[0], dV[1], dV[2], dV[3], dV[4], dV[5]
    sx, sy, sz, xx, yy, zz, xy, xz, yz = set_elastic_bias(arm, i, q, qd, V, F, work)
    F[0] += xx * ax + xy * ay + xz * az + sy * bz - sz * by
    F[1] += xy * ax + yy * ay + yz * az + sz * bx - sx * bz
    F[2] += xz * ax + yz * ay + zz * az + sx * by - sy * bx
    F[3] += ay * sz - az * sy
    F[4] += az * sx - ax * sz
    F[5] += ax * sy - ay * sx
    set_gram_products(arm, i, qd, work)
    for k in range(n):
        dde = qdd[first + k]
        for g in range(count):
            product[g] += D[G + k * count + g] * dde
        for c in range(3):
            F[c] += D[(9 + c) * n + k] * dde
            F[3 + c] += D[c * n + k] * dde
    set_elastic_bias_forces(arm, i, qd, V, first, work, force)
    for k in range(n):
        total = (
            D[9 * n + k] * ax + D[10 * n + k] * ay + D[11 * n + k] * az
            + D[k] * bx + D[n + k] * by + D[2 * n + k] * bz
        )  # fmt: skip
        for m in range(n):
            inertia = arm.modal_mass[i, k, m] + D[X + k * n + m] + D[X + m * n + k]
            total += inertia * qdd[first + m]
        force[first + k] += total


@compiled
def elastic_energy(arm, i, q, qd, V, work):
    """Kinetic energy of the coordinates of body i [J], and the first moments they add [kg m]."""
    first, n, count = arm.first[i], arm.modes[i], arm.elastic_gram[i]
    D, constant, rate = work.elastic_value, arm.elastic_constant[i], work.elastic_product
    X, G = 12 * n, (12 + n) * n
    set_elastic_values(arm, i, q, work)
    wx, wy, wz, vx, vy, vz = V[0], V[1], V[2], V[3], V[4], V[5]
    hxx, hyy, hzz = 0.5 * wx * wx, 0.5 * wy * wy, 0.5 * wz * wz
    hxy, hxz, hyz = wx * wy, wx * wz, wy * wz
    kinetic = sx = sy = sz = 0.0
    for g in range(count):
        rate[g] = 0.0
    for k in range(n):
        half, de, mass = 0.5 * q[first + k], qd[first + k], 0.0
        for m in range(n):
            mass += (0.5 * arm.modal_mass[i, k, m] + D[X + k * n + m]) * qd[first + m]
        for g in range(count):
            rate[g] += D[G + k * count + g] * de
        sx += half * (D[k] + constant[k])
        sy += half * (D[n + k] + constant[n + k])
        sz += half * (D[2 * n + k] + constant[2 * n + k])
        kinetic += de * (
            mass
            + (vx * D[k] + vy * D[n + k] + vz * D[2 * n + k])
            + (wx * D[9 * n + k] + wy * D[10 * n + k] + wz * D[11 * n + k])
        )
        kinetic += half * (
            hxx * (D[3 * n + k] + constant[3 * n + k])
            + hyy * (D[4 * n + k] + constant[4 * n + k])
            + hzz * (D[5 * n + k] + constant[5 * n + k])
            + hxy * (D[6 * n + k] + constant[6 * n + k])
            + hxz * (D[7 * n + k] + constant[7 * n + k])
            + hyz * (D[8 * n + k] + constant[8 * n + k])
        )
    kinetic += vx * (wy * sz - wz * sy) + vy * (wz * sx - wx * sz) + vz * (wx * sy - wy * sx)
    for g in range(count):
        kinetic += 0.5 * rate[g] * rate[g]
    return kinetic, sx, sy, sz


@compiled
def add_elastic_momentum(arm, i, q, qd, h, work):
    """
    Add the momentum by the coordinates of elastic body i to h (6,), moment first.

    :returns: the inertia that they add, xx, yy, zz, xy, xz, yz.
    """
    I, B, V = work.I[i], work.B[i], work.V[i]
    for r in range(6):
        for s in range(6):
            I[r, s] = 0.0
    add_elastic_body(arm, i, q, qd, work)
    for r in range(6):
        for s in range(6):
            h[r] += I[r, s] * V[s]
        for k in range(arm.modes[i]):
            h[r] += B[r, k] * qd[arm.first[i] + k]
    return I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]
