"""
Derivatives of the force for the motion of an elastic body, by the integrals of its fields.

Equation numbers are those of docs/theory.md; rows of integrals are those of elastic_inertia.py.
"""

from flex_robot_sim.dynamics.composite_bodies import rotated_symmetric
from flex_robot_sim.dynamics.derivative_arrays import BY_ACCELERATION, BY_COORDINATE, BY_RATE
from flex_robot_sim.dynamics.elastic_inertia import (
    elastic_gram_rate,
    set_elastic_bias,
    set_elastic_rows,
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
    set_elastic_rows(arm, i, q, qd, work)
    _add_composite(arm, i, q, qd, qdd, work, arrays)
    for k in range(arm.modes[i]):
        _set_column(arm, i, k, qdd, work, arrays.wrench[column + k], arrays.row[column + k])
    _add_blocks(arm, i, q, qd, qdd, work, M, by_rate, by_coordinate)


@compiled
def _add_composite(arm, i, q, qd, qdd, work, arrays):
    """Add what the coordinates of body i change in its composite (T97)."""
    first, V, dV, R = arm.first[i], work.V[i], work.dV[i], work.base_R[i]
    F, C = arrays.total[0], arrays.composite[i]
    for a in range(6):
        F[a] = 0.0
    sx, sy, sz, xx, yy, zz, xy, xz, yz = set_elastic_bias(arm, i, q, qd, V, F, work)
    wx, wy, wz, ax, ay, az, bx, by, bz = V[0], V[1], V[2], dV[0], dV[1], dV[2], dV[3], dV[4], dV[5]
    ux = uy = uz = hx = hy = hz = 0.0  # rate of S, and h de
    dxx = dyy = dzz = dxy = dxz = dyz = 0.0  # rate of J
    for k in range(arm.modes[i]):
        row, de, dde = work.elastic_row[k], qd[first + k], qdd[first + k]
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
        for a in range(3):
            F[a] += row[9 + a] * dde
            F[3 + a] += row[a] * dde
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
    first, V, dV, R = arm.first[i], work.V[i], work.dV[i], work.base_R[i]
    D, rate, slope = work.elastic_row[k], work.elastic_rate[k], arm.elastic_slope[i, k]
    wx, wy, wz, vx, vy, vz = V[0], V[1], V[2], V[3], V[4], V[5]
    ax, ay, az, bx, by, bz = dV[0], dV[1], dV[2], dV[3], dV[4], dV[5]
    sx, sy, sz, xx, yy, zz, xy, xz, yz, hx, hy, hz = (
        D[0], D[1], D[2], D[3], D[4], D[5], D[6], D[7], D[8], D[9], D[10], D[11],
    )  # fmt: skip
    # sums of S_kj and h_jk with the accelerations
    fx = fy = fz = mx = my = mz = 0.0
    for j in range(arm.modes[i]):
        dde, row_j = qdd[first + j], slope[j]
        fx += row_j[0] * dde
        fy += row_j[1] * dde
        fz += row_j[2] * dde
        mx += row_j[12] * dde
        my += row_j[13] * dde
        mz += row_j[14] * dde
    # dJ/de_k w, w x dS/de_k, and w x of the rates of both
    jx, jy, jz = (
        xx * wx + xy * wy + xz * wz,
        xy * wx + yy * wy + yz * wz,
        xz * wx + yz * wy + zz * wz,
    )
    px, py, pz = wy * sz - wz * sy, wz * sx - wx * sz, wx * sy - wy * sx
    lx, ly, lz = jx + rate[12], jy + rate[13], jz + rate[14]
    mx += xx * ax + xy * ay + xz * az + rate[3] * wx + rate[6] * wy + rate[7] * wz
    my += xy * ax + yy * ay + yz * az + rate[6] * wx + rate[4] * wy + rate[8] * wz
    mz += xz * ax + yz * ay + zz * az + rate[7] * wx + rate[8] * wy + rate[5] * wz
    # acceleration of the root, and w x (dS/de_k x v) + v x (w x dS/de_k) = dS/de_k x (v x w)
    cx, cy, cz = bx + wy * vz - wz * vy, by + wz * vx - wx * vz, bz + wx * vy - wy * vx
    mx += wy * lz - wz * ly + sy * cz - sz * cy
    my += wz * lx - wx * lz + sz * cx - sx * cz
    mz += wx * ly - wy * lx + sx * cy - sy * cx
    ux, uy, uz = px + 2.0 * rate[0], py + 2.0 * rate[1], pz + 2.0 * rate[2]
    fx += ay * sz - az * sy + wy * uz - wz * uy
    fy += az * sx - ax * sz + wz * ux - wx * uz
    fz += ax * sy - ay * sx + wx * uy - wy * ux
    gx, gy, gz = wy * hz - wz * hy, wz * hx - wx * hz, wx * hy - wy * hx
    set_rotated_screw(R, hx, hy, hz, sx, sy, sz, wrench[BY_ACCELERATION])
    set_rotated_screw(R, mx, my, mz, fx, fy, fz, wrench[BY_COORDINATE])
    set_rotated_screw(
        R,
        jx + gx + rate[9] + rate[12],
        jy + gy + rate[10] + rate[13],
        jz + gz + rate[11] + rate[14],
        2.0 * (px + rate[0]),
        2.0 * (py + rate[1]),
        2.0 * (pz + rate[2]),
        wrench[BY_RATE],
    )
    x = gx - jx + rate[9] - rate[12] + 2.0 * (vy * sz - vz * sy)
    y = gy - jy + rate[10] - rate[13] + 2.0 * (vz * sx - vx * sz)
    z = gz - jz + rate[11] - rate[14] + 2.0 * (vx * sy - vy * sx)
    for a in range(3):
        row[0, a] = R[a, 0] * x + R[a, 1] * y + R[a, 2] * z
        row[1, a] = 0.0


@compiled
def _add_blocks(arm, i, q, qd, qdd, work, M, by_rate, by_coordinate):
    """Add the elastic blocks of body i (T98)."""
    first, n = arm.first[i], arm.modes[i]
    V, dV, X, G = work.V[i], work.dV[i], arm.elastic_X[i], arm.elastic_G[i]
    wx, wy, wz, vx, vy, vz = V[0], V[1], V[2], V[3], V[4], V[5]
    ax, ay, az = dV[0], dV[1], dV[2]
    bx, by, bz = dV[3] + wy * vz - wz * vy, dV[4] + wz * vx - wx * vz, dV[5] + wx * vy - wy * vx
    hxx, hyy, hzz, hxy, hxz, hyz = (
        -0.5 * wx * wx,
        -0.5 * wy * wy,
        -0.5 * wz * wz,
        -wx * wy,
        -wx * wz,
        -wy * wz,
    )
    for k in range(n):
        for m in range(n):
            s = arm.elastic_slope[i, k, m]
            by_e = (
                s[0] * bx + s[1] * by + s[2] * bz + s[9] * ax + s[10] * ay + s[11] * az
                + s[3] * hxx + s[4] * hyy + s[5] * hzz + s[6] * hxy + s[7] * hxz + s[8] * hyz
            )  # fmt: skip
            by_de = wx * (s[9] - s[12]) + wy * (s[10] - s[13]) + wz * (s[11] - s[14])
            inertia = 0.0
            for j in range(n):
                by_e += (X[k, j, m] + X[j, k, m]) * qdd[first + j]
                by_de += 2.0 * X[k, m, j] * qd[first + j]
                inertia += (X[k, m, j] + X[m, k, j]) * q[first + j]
            by_coordinate[first + k, first + m] += by_e
            by_rate[first + k, first + m] += by_de
            if m <= k:
                M[first + k, first + m] += arm.modal_mass[i, k, m] + inertia
    for r in range(G.shape[0]):
        g, row, total = work.elastic_gram[r], G[r], elastic_gram_rate(arm, i, r, q, qd, work)
        for k in range(n):
            total += g[k] * qdd[first + k]
        for m in range(n):
            by_de = by_dde = 0.0
            for j in range(n):
                by_de += row[m, j] * qd[first + j]
                by_dde += row[m, j] * qdd[first + j]
            for k in range(n):
                by_coordinate[first + k, first + m] += row[k, m] * total + g[k] * by_dde
                by_rate[first + k, first + m] += 2.0 * g[k] * by_de
                if m <= k:
                    M[first + k, first + m] += g[k] * g[m]
