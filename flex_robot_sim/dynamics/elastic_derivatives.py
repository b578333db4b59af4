"""
Derivatives of the force for the motion of an elastic body, by the integrals of its fields.

Equation numbers are those of docs/theory.md; columns of integrals are those of elastic_inertia.py.
"""

from flex_robot_sim.dynamics.composite_bodies import rotated_symmetric
from flex_robot_sim.dynamics.derivative_arrays import BY_ACCELERATION, BY_COORDINATE, BY_RATE
from flex_robot_sim.dynamics.elastic_inertia import (
    set_elastic_bias,
    set_elastic_rates,
    set_elastic_values,
    set_gram_products,
)
from flex_robot_sim.dynamics.station_derivatives import set_rotated_screw
from flex_robot_sim.jit.compiled import compiled


@compiled
def add_elastic_derivatives(arm, i, column, q, qd, qdd, work, arrays, M, by_rate, by_coordinate):
    """
    Add elastic body i to its composite, its columns and its elastic blocks (T97), (T98).

    :param column: first column of the elastic coordinates of the body.
    :param M: (n, n), added to up to the diagonal; by_rate and by_coordinate: (n, n), added to.
    """
    set_elastic_values(arm, i, q, work)
    set_elastic_rates(arm, i, qd, work)
    _add_composite(arm, i, q, qd, qdd, work, arrays)
    for k in range(arm.modes[i]):
        _set_column(arm, i, k, qdd, work, arrays.wrench[column + k], arrays.row[column + k])
    _add_blocks(arm, i, qd, qdd, work, M, by_rate, by_coordinate)


@compiled
def _add_composite(arm, i, q, qd, qdd, work, arrays):
    """Add what the coordinates of body i change in its composite (T97)."""
    first, n, V, dV, R = arm.first[i], arm.modes[i], work.V[i], work.dV[i], work.base_R[i]
    F, C, D = arrays.total[0], arrays.composite[i], work.elastic_value
    for a in range(6):
        F[a] = 0.0
    sx, sy, sz, xx, yy, zz, xy, xz, yz = set_elastic_bias(arm, i, q, qd, V, F, work)
    wx, wy, wz, ax, ay, az, bx, by, bz = V[0], V[1], V[2], dV[0], dV[1], dV[2], dV[3], dV[4], dV[5]
    ux = uy = uz = hx = hy = hz = 0.0  # rate of S, and h de
    dxx = dyy = dzz = dxy = dxz = dyz = 0.0  # rate of J
    for k in range(n):
        de, dde = qd[first + k], qdd[first + k]
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
        for a in range(3):
            F[a] += D[(9 + a) * n + k] * dde
            F[3 + a] += D[a * n + k] * dde
    F[0] += xx * ax + xy * ay + xz * az + sy * bz - sz * by
    F[1] += xy * ax + yy * ay + yz * az + sz * bx - sx * bz
    F[2] += xz * ax + yz * ay + zz * az + sx * by - sy * bx
    F[3] += ay * sz - az * sy
    F[4] += az * sx - ax * sz
    F[5] += ax * sy - ay * sx
    px, py, pz = wy * sz - wz * sy + ux, wz * sx - wx * sz + uy, wx * sy - wy * sx + uz
    for a in range(3):
        C[1 + a] += R[a, 0] * sx + R[a, 1] * sy + R[a, 2] * sz
        C[10 + a] += R[a, 0] * px + R[a, 1] * py + R[a, 2] * pz
        C[22 + a] += R[a, 0] * F[0] + R[a, 1] * F[1] + R[a, 2] * F[2]
        C[25 + a] += R[a, 0] * F[3] + R[a, 1] * F[4] + R[a, 2] * F[5]
    # U = 2 (v . s 1 - v s^T) + 2 (tr(w~ Z) 1 - w~ Z) + J' - (h de)~, with Z = tr(J) / 2 1 - J
    vx, vy, vz, trace = V[3], V[4], V[5], 0.5 * (xx + yy + zz)
    common = vx * sx + vy * sy + vz * sz
    U = arrays.G[0]
    U[0, 0] = 2.0 * (common - vx * sx + wy * xz - wz * xy) + dxx
    U[0, 1] = -2.0 * (vx * sy - wy * yz - wz * (trace - yy)) + dxy + hz
    U[0, 2] = -2.0 * (vx * sz + wy * (trace - zz) + wz * yz) + dxz - hy
    U[1, 0] = -2.0 * (vy * sx + wz * (trace - xx) + wx * xz) + dxy - hz
    U[1, 1] = 2.0 * (common - vy * sy + wz * xy - wx * yz) + dyy
    U[1, 2] = -2.0 * (vy * sz - wz * xz - wx * (trace - zz)) + dyz + hx
    U[2, 0] = -2.0 * (vz * sx - wx * xy - wy * (trace - xx)) + dxz + hy
    U[2, 1] = -2.0 * (vz * sy + wx * (trace - yy) + wy * xy) + dyz - hx
    U[2, 2] = 2.0 * (common - vz * sz + wx * yz - wy * xz) + dzz
    for a in range(3):
        x, y, z = (
            R[a, 0] * U[0, 0] + R[a, 1] * U[1, 0] + R[a, 2] * U[2, 0],
            R[a, 0] * U[0, 1] + R[a, 1] * U[1, 1] + R[a, 2] * U[2, 1],
            R[a, 0] * U[0, 2] + R[a, 1] * U[1, 2] + R[a, 2] * U[2, 2],
        )
        for b in range(3):
            C[13 + 3 * a + b] += x * R[b, 0] + y * R[b, 1] + z * R[b, 2]
    xx, yy, zz, xy, xz, yz = rotated_symmetric(R, xx, yy, zz, xy, xz, yz)
    C[4] += xx
    C[5] += yy
    C[6] += zz
    C[7] += xy
    C[8] += xz
    C[9] += yz


@compiled
def _set_column(arm, i, k, qdd, work, wrench, row):
    """Wrenches and row of coordinate k of body i (T98), in the axes of the base."""
    first, n, V, dV, R = arm.first[i], arm.modes[i], work.V[i], work.dV[i], work.base_R[i]
    D, dD, slope = work.elastic_value, work.elastic_rate, arm.elastic_slope[i]
    turned = (12 + n + arm.elastic_gram[i]) * n
    wx, wy, wz, vx, vy, vz = V[0], V[1], V[2], V[3], V[4], V[5]
    ax, ay, az, bx, by, bz = dV[0], dV[1], dV[2], dV[3], dV[4], dV[5]
    sx, sy, sz, dsx, dsy, dsz = D[k], D[n + k], D[2 * n + k], dD[k], dD[n + k], dD[2 * n + k]
    xx, yy, zz = D[3 * n + k], D[4 * n + k], D[5 * n + k]
    xy, xz, yz = D[6 * n + k], D[7 * n + k], D[8 * n + k]
    dxx, dyy, dzz = dD[3 * n + k], dD[4 * n + k], dD[5 * n + k]
    dxy, dxz, dyz = dD[6 * n + k], dD[7 * n + k], dD[8 * n + k]
    hx, hy, hz = D[9 * n + k], D[10 * n + k], D[11 * n + k]
    # sums of h_kj and h_jk with the rates
    px, py, pz = dD[9 * n + k], dD[10 * n + k], dD[11 * n + k]
    tx, ty, tz = dD[turned + k], dD[turned + n + k], dD[turned + 2 * n + k]
    # sums of S_kj and h_jk with the accelerations
    fx = fy = fz = mx = my = mz = 0.0
    for j in range(n):
        dde, row_j = qdd[first + j], slope[j]
        fx += row_j[k] * dde
        fy += row_j[n + k] * dde
        fz += row_j[2 * n + k] * dde
        mx += row_j[turned + k] * dde
        my += row_j[turned + n + k] * dde
        mz += row_j[turned + 2 * n + k] * dde
    # dJ/de_k w, w x dS/de_k, and w x of the rates of both
    jx, jy, jz = (
        xx * wx + xy * wy + xz * wz,
        xy * wx + yy * wy + yz * wz,
        xz * wx + yz * wy + zz * wz,
    )
    ox, oy, oz = wy * sz - wz * sy, wz * sx - wx * sz, wx * sy - wy * sx
    lx, ly, lz = jx + tx, jy + ty, jz + tz
    mx += xx * ax + xy * ay + xz * az + dxx * wx + dxy * wy + dxz * wz
    my += xy * ax + yy * ay + yz * az + dxy * wx + dyy * wy + dyz * wz
    mz += xz * ax + yz * ay + zz * az + dxz * wx + dyz * wy + dzz * wz
    # acceleration of the root, and w x (dS/de_k x v) + v x (w x dS/de_k) = dS/de_k x (v x w)
    cx, cy, cz = bx + wy * vz - wz * vy, by + wz * vx - wx * vz, bz + wx * vy - wy * vx
    mx += wy * lz - wz * ly + sy * cz - sz * cy
    my += wz * lx - wx * lz + sz * cx - sx * cz
    mz += wx * ly - wy * lx + sx * cy - sy * cx
    ux, uy, uz = ox + 2.0 * dsx, oy + 2.0 * dsy, oz + 2.0 * dsz
    fx += ay * sz - az * sy + wy * uz - wz * uy
    fy += az * sx - ax * sz + wz * ux - wx * uz
    fz += ax * sy - ay * sx + wx * uy - wy * ux
    gx, gy, gz = wy * hz - wz * hy, wz * hx - wx * hz, wx * hy - wy * hx
    set_rotated_screw(R, hx, hy, hz, sx, sy, sz, wrench[BY_ACCELERATION])
    set_rotated_screw(R, mx, my, mz, fx, fy, fz, wrench[BY_COORDINATE])
    set_rotated_screw(
        R,
        jx + gx + px + tx,
        jy + gy + py + ty,
        jz + gz + pz + tz,
        2.0 * (ox + dsx),
        2.0 * (oy + dsy),
        2.0 * (oz + dsz),
        wrench[BY_RATE],
    )
    x = gx - jx + px - tx + 2.0 * (vy * sz - vz * sy)
    y = gy - jy + py - ty + 2.0 * (vz * sx - vx * sz)
    z = gz - jz + pz - tz + 2.0 * (vx * sy - vy * sx)
    for a in range(3):
        row[0, a] = R[a, 0] * x + R[a, 1] * y + R[a, 2] * z
        row[1, a] = 0.0


@compiled
def _add_blocks(arm, i, qd, qdd, work, M, by_rate, by_coordinate):
    """Add the elastic blocks of body i (T98)."""
    first, n, count = arm.first[i], arm.modes[i], arm.elastic_gram[i]
    V, dV, D, dD, slope = (
        work.V[i],
        work.dV[i],
        work.elastic_value,
        work.elastic_rate,
        arm.elastic_slope[i],
    )
    product, X, G, turned = work.elastic_product, 12 * n, (12 + n) * n, (12 + n + count) * n
    wx, wy, wz, vx, vy, vz = V[0], V[1], V[2], V[3], V[4], V[5]
    ax, ay, az = dV[0], dV[1], dV[2]
    bx, by, bz = dV[3] + wy * vz - wz * vy, dV[4] + wz * vx - wx * vz, dV[5] + wx * vy - wy * vx
    # products of w with J of -1/2 w . J w
    hxx, hyy, hzz = -0.5 * wx * wx, -0.5 * wy * wy, -0.5 * wz * wz
    hxy, hxz, hyz = -wx * wy, -wx * wz, -wy * wz
    set_gram_products(arm, i, qd, work)
    for k in range(n):
        for g in range(count):
            product[g] += D[G + k * count + g] * qdd[first + k]
    for m in range(n):
        s = slope[m]
        for k in range(n):
            by_e = (
                s[k] * bx + s[n + k] * by + s[2 * n + k] * bz
                + s[9 * n + k] * ax + s[10 * n + k] * ay + s[11 * n + k] * az
                + s[3 * n + k] * hxx + s[4 * n + k] * hyy + s[5 * n + k] * hzz
                + s[6 * n + k] * hxy + s[7 * n + k] * hxz + s[8 * n + k] * hyz
            )  # fmt: skip
            by_de = 2.0 * dD[X + k * n + m] + (
                wx * (s[9 * n + k] - s[turned + k])
                + wy * (s[10 * n + k] - s[turned + n + k])
                + wz * (s[11 * n + k] - s[turned + 2 * n + k])
            )
            for j in range(n):
                by_e += (s[X + k * n + j] + s[X + j * n + k]) * qdd[first + j]
            for g in range(count):
                by_e += s[G + k * count + g] * product[g]
                by_de += 2.0 * D[G + k * count + g] * dD[G + m * count + g]
            by_coordinate[first + k, first + m] += by_e
            by_rate[first + k, first + m] += by_de
            if m <= k:
                inertia = arm.modal_mass[i, k, m] + D[X + k * n + m] + D[X + m * n + k]
                for g in range(count):
                    inertia += D[G + k * count + g] * D[G + m * count + g]
                M[first + k, first + m] += inertia
    # g_k (G dde)_m
    for m in range(n):
        for g in range(count):
            product[g] = 0.0
            for j in range(n):
                product[g] += slope[j, G + m * count + g] * qdd[first + j]
        for k in range(n):
            by_e = 0.0
            for g in range(count):
                by_e += D[G + k * count + g] * product[g]
            by_coordinate[first + k, first + m] += by_e
