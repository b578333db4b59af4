"""
Derivatives of the force for the motion of an elastic body: a sum over the points of its beam.

Equation numbers are those of docs/theory.md.
"""

from flex_robot_sim.dynamics.composite_bodies import rotated_symmetric
from flex_robot_sim.dynamics.derivative_arrays import BY_ACCELERATION, BY_COORDINATE, BY_RATE
from flex_robot_sim.dynamics.elastic_derivatives import add_elastic_derivatives
from flex_robot_sim.dynamics.station_derivatives import set_rotated_screw
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.body_kinds import COMMON_BEAM, COMMON_SHAPES, ELASTIC


@compiled
def add_beam_derivatives(arm, i, column, q, qd, qdd, work, arrays, M, by_rate, by_coordinate):
    """Add the beam of body i to its composite, its columns and its elastic blocks (T63)."""
    if arm.kind[i] == COMMON_BEAM:
        add_beam_derivatives_of(
            arm,
            i,
            column,
            COMMON_SHAPES[0],
            COMMON_SHAPES[1],
            COMMON_SHAPES[2],
            COMMON_SHAPES[3],
            COMMON_SHAPES[4],
            q,
            qd,
            qdd,
            work,
            arrays,
            M,
            by_rate,
            by_coordinate,
        )
    elif arm.kind[i] == ELASTIC:
        add_elastic_derivatives(
            arm, i, column, q, qd, qdd, work, arrays, M, by_rate, by_coordinate
        )
    else:
        count = arm.count[i]
        add_beam_derivatives_of(
            arm,
            i,
            column,
            count[0],
            count[1],
            count[2],
            count[3],
            arm.reach[i],
            q,
            qd,
            qdd,
            work,
            arrays,
            M,
            by_rate,
            by_coordinate,
        )


@compiled(inline=True)
def add_beam_derivatives_of(
    arm, i, column, ny, nz, nt, nu, reach, q, qd, qdd, work, arrays, M, by_rate, by_coordinate
):
    """
    Add the beam of body i to the composite of the body, its columns and its elastic blocks (T63).

    A point has the mass m, the position r, the gradient N = dr/de, the velocity u, and the
    acceleration a with gravity. At constant motion of the root, its coordinates change a by

        da/de = (dw~ + w~ w~) N + 2 w x dN + ddN,    da/d(de) = 2 (w x N + dN)              (T63)

    with the angular velocity w, and dN = (-de^T H, 0, 0), ddN = (-dde^T H, 0, 0) in bending.

    :param column: first column of the elastic coordinates of the body.
    :param M: (n, n), added to up to the diagonal; by_rate and by_coordinate: (n, n), added to.
    """
    first, y_end, z_end, t_end = arm.first[i], ny, ny + nz, ny + nz + nt
    n = t_end + nu
    is_banded = reach + 1 < max(ny, nz)
    V, dV, R, C = work.V[i], work.dV[i], work.base_R[i], arrays.composite[i]
    N_second, N_rate, h = arrays.N_second, arrays.N_rate, arrays.h
    wx, wy, wz, dwx, dwy, dwz = V[0], V[1], V[2], dV[0], dV[1], dV[2]
    # dw~ + w~ w~
    oxx, oyy, ozz = -wy * wy - wz * wz, -wx * wx - wz * wz, -wx * wx - wy * wy
    oxy, oyx = wx * wy - dwz, wx * wy + dwz
    oxz, ozx = wx * wz + dwy, wx * wz - dwy
    oyz, ozy = wy * wz - dwx, wy * wz + dwx

    # rotary inertia of the sections
    tx = ty = tz = lx = ly = lz = 0.0
    for k in range(n):
        rx, ry, rz = arm.rotary[i, 0, k], arm.rotary[i, 1, k], arm.rotary[i, 2, k]
        de, dde = qd[first + k], qdd[first + k]
        tx += rx * de
        ty += ry * de
        tz += rz * de
        lx += rx * dde
        ly += ry * dde
        lz += rz * dde
        wrench, row = arrays.wrench[column + k], arrays.row[column + k]
        for a in range(6):
            wrench[BY_ACCELERATION, a] = wrench[BY_COORDINATE, a] = wrench[BY_RATE, a] = 0.0
        for a in range(3):
            wrench[BY_ACCELERATION, a] = arm.rotary[i, a, k]
            row[1, a] = 0.0
        wrench[BY_RATE, 0] = row[0, 0] = wy * rz - wz * ry
        wrench[BY_RATE, 1] = row[0, 1] = wz * rx - wx * rz
        wrench[BY_RATE, 2] = row[0, 2] = wx * ry - wy * rx
        for m in range(k + 1):
            M[first + k, first + m] += arm.modal_mass[i, k, m]
    lx += wy * tz - wz * ty
    ly += wz * tx - wx * tz
    lz += wx * ty - wy * tx

    fx = fy = fz = px = py = pz = 0.0
    mass = mx = my = mz = mxx = myy = mzz = mxy = mxz = myz = 0.0
    dxx = dxy = dxz = dyx = dyy = dyz = dzx = dzy = dzz = 0.0  # sum m u r^T
    for g in range(arm.point_start[i], arm.point_start[i + 1]):
        m, shape, H = arm.point_mass[g], arm.point_shape[g], arm.point_H[g]
        x, y, z, dx, dy, dz = arm.point_x[g], 0.0, 0.0, 0.0, 0.0, 0.0
        ddx = ddy = ddz = 0.0
        for k in range(y_end):
            y += shape[k] * q[first + k]
            dy += shape[k] * qd[first + k]
            ddy += shape[k] * qdd[first + k]
        for k in range(y_end, z_end):
            z += shape[k] * q[first + k]
            dz += shape[k] * qd[first + k]
            ddz += shape[k] * qdd[first + k]
        for k in range(t_end, n):
            x += shape[k] * q[first + k]
            dx += shape[k] * qd[first + k]
            ddx += shape[k] * qdd[first + k]
        for k in range(z_end):
            low, high = (0, y_end) if k < y_end else (y_end, z_end)
            if is_banded:
                low, high = max(low, k - reach), min(high, k + reach + 1)
            hk = dh = ddh = 0.0
            for l in range(low, high):
                hk += H[k, l - low] * q[first + l]
                dh += H[k, l - low] * qd[first + l]
                ddh += H[k, l - low] * qdd[first + l]
            h[k, 0], h[k, 1], h[k, 2] = hk, dh, ddh
            x -= 0.5 * q[first + k] * hk
            dx -= qd[first + k] * hk
            ddx -= qd[first + k] * dh + qdd[first + k] * hk

        # velocity, and acceleration with that of the base
        ux = V[3] + wy * z - wz * y + dx
        uy = V[4] + wz * x - wx * z + dy
        uz = V[5] + wx * y - wy * x + dz
        ax = dV[3] + wy * (uz + dz) - wz * (uy + dy) + dwy * z - dwz * y + ddx
        ay = dV[4] + wz * (ux + dx) - wx * (uz + dz) + dwz * x - dwx * z + ddy
        az = dV[5] + wx * (uy + dy) - wy * (ux + dx) + dwx * y - dwy * x + ddz

        # composite
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
        px += m * ux
        py += m * uy
        pz += m * uz
        dxx += m * ux * x
        dxy += m * ux * y
        dxz += m * ux * z
        dyx += m * uy * x
        dyy += m * uy * y
        dyz += m * uy * z
        dzx += m * uz * x
        dzy += m * uz * y
        dzz += m * uz * z
        fx += m * ax
        fy += m * ay
        fz += m * az
        lx += m * (y * az - z * ay)
        ly += m * (z * ax - x * az)
        lz += m * (x * ay - y * ax)

        # columns                                                                           (T63)
        add_bending_columns(column, 0, y_end, 1, 2, 1.0, m, shape, x, y, z, ux, uy, uz, ax, ay, az,
                            wx, wy, wz, oxx, oxy, oyx, oyy, ozx, ozy, arrays)  # fmt: skip
        add_bending_columns(column, y_end, z_end, 2, 1, -1.0, m, shape, x, z, y, ux, uz, uy, ax,
                            az, ay, wx, wz, wy, oxx, oxz, ozx, ozz, oyx, oyz, arrays)  # fmt: skip
        for k in range(t_end, n):
            s = m * shape[k]  # N = (s, 0, 0) in stretch
            sx, sb, sc, qb, qc = oxx * s, oyx * s, ozx * s, 2.0 * wz * s, -2.0 * wy * s
            N_second[k, 0], N_second[k, 1], N_second[k, 2] = sx, sb, sc
            N_rate[k, 0], N_rate[k, 1], N_rate[k, 2] = 0.0, qb, qc
            wrench, row = arrays.wrench[column + k], arrays.row[column + k]
            wrench[BY_ACCELERATION, 1] += z * s
            wrench[BY_ACCELERATION, 2] -= y * s
            wrench[BY_ACCELERATION, 3] += s
            wrench[BY_COORDINATE, 0] += y * sc - z * sb
            wrench[BY_COORDINATE, 1] += z * sx - x * sc - s * az
            wrench[BY_COORDINATE, 2] += x * sb - y * sx + s * ay
            wrench[BY_COORDINATE, 3] += sx
            wrench[BY_COORDINATE, 4] += sb
            wrench[BY_COORDINATE, 5] += sc
            wrench[BY_RATE, 0] += y * qc - z * qb
            wrench[BY_RATE, 1] -= x * qc
            wrench[BY_RATE, 2] += x * qb
            wrench[BY_RATE, 4] += qb
            wrench[BY_RATE, 5] += qc
            row[0, 1] += 2.0 * uz * s
            row[0, 2] -= 2.0 * uy * s

        # elastic blocks; the products of shapes are in modal_mass
        for k in range(z_end):
            g, s, p = -h[k, 0], shape[k], 1 if k < y_end else 2
            for l in range(z_end):
                by_coordinate[first + k, first + l] += g * N_second[l, 0] + s * N_second[l, p]
                by_rate[first + k, first + l] += g * N_rate[l, 0] + s * N_rate[l, p]
            for l in range(t_end, n):
                by_coordinate[first + k, first + l] += g * N_second[l, 0] + s * N_second[l, p]
                by_rate[first + k, first + l] += s * N_rate[l, p]
            for l in range(k + 1):
                M[first + k, first + l] -= m * g * h[l, 0]
        for k in range(t_end, n):
            s = shape[k]
            for l in range(z_end):
                by_coordinate[first + k, first + l] += s * N_second[l, 0]
                by_rate[first + k, first + l] += s * N_rate[l, 0]
                M[first + k, first + l] -= m * s * h[l, 0]
            for l in range(t_end, n):
                by_coordinate[first + k, first + l] += s * N_second[l, 0]
        for k in range(z_end):
            low, high = (0, y_end) if k < y_end else (y_end, z_end)
            if is_banded:
                low, high = max(low, k - reach), min(high, k + reach + 1)
            for l in range(low, high):
                by_coordinate[first + k, first + l] -= m * ax * H[k, l - low]

    # to the axes of the base
    C[0] += mass
    for a in range(3):
        C[1 + a] += R[a, 0] * mx + R[a, 1] * my + R[a, 2] * mz
        C[10 + a] += R[a, 0] * px + R[a, 1] * py + R[a, 2] * pz
        C[22 + a] += R[a, 0] * lx + R[a, 1] * ly + R[a, 2] * lz
        C[25 + a] += R[a, 0] * fx + R[a, 1] * fy + R[a, 2] * fz
    xx, yy, zz, xy, xz, yz = rotated_symmetric(
        R, myy + mzz, mxx + mzz, mxx + myy, -mxy, -mxz, -myz
    )
    C[4] += xx
    C[5] += yy
    C[6] += zz
    C[7] += xy
    C[8] += xz
    C[9] += yz
    trace = dxx + dyy + dzz
    for a in range(3):
        # row a of R U, for U = 2 (trace - sum m u r^T) - t~
        r, s, t = R[a, 0], R[a, 1], R[a, 2]
        ux = r * 2.0 * (trace - dxx) - s * (2.0 * dyx + tz) - t * (2.0 * dzx - ty)
        uy = s * 2.0 * (trace - dyy) - r * (2.0 * dxy - tz) - t * (2.0 * dzy + tx)
        uz = t * 2.0 * (trace - dzz) - r * (2.0 * dxz + ty) - s * (2.0 * dyz - tx)
        for b in range(3):
            C[13 + 3 * a + b] += ux * R[b, 0] + uy * R[b, 1] + uz * R[b, 2]
    for k in range(n):
        wrench, row = arrays.wrench[column + k], arrays.row[column + k]
        for kind in range(3):
            w = wrench[kind]
            set_rotated_screw(R, w[0], w[1], w[2], w[3], w[4], w[5], w)
        x, y, z = row[0, 0], row[0, 1], row[0, 2]
        for a in range(3):
            row[0, a] = R[a, 0] * x + R[a, 1] * y + R[a, 2] * z


@compiled(inline=True)
def add_bending_columns(
    column,
    start,
    end,
    p,
    r,
    sign,
    m,
    shape,
    x,
    y,
    z,
    ux,
    uy,
    uz,
    ax,
    ay,
    az,
    wx,
    wy,
    wz,
    oxx,
    oxy,
    oyx,
    oyy,
    ozx,
    ozy,
    arrays,
):
    """
    Add a point to the columns [start, end) of bending along an axis p, with N = (g, s, 0).

    Vectors have the components (x, p, r). Those of vector products change their sign if these axes
    are not right-handed.

    :param p: index of the axis, and r: that of the other one across the beam; sign: 1 or -1.
    """
    N_second, N_rate, h = arrays.N_second, arrays.N_rate, arrays.h
    for k in range(start, end):
        g, s, dh = -m * h[k, 0], m * shape[k], 2.0 * m * h[k, 1]
        sx = oxx * g + oxy * s - m * h[k, 2]
        sy = oyx * g + oyy * s - sign * (dh * wz)
        sz = ozx * g + ozy * s + sign * (dh * wy)
        g2, s2 = 2.0 * g, 2.0 * s
        qx, qy, qz = -sign * (wz * s2) - dh, sign * (wz * g2), sign * (wx * s2 - wy * g2)
        N_second[k, 0], N_second[k, p], N_second[k, r] = sx, sy, sz
        N_rate[k, 0], N_rate[k, p], N_rate[k, r] = qx, qy, qz
        wrench, row = arrays.wrench[column + k], arrays.row[column + k]
        wrench[BY_ACCELERATION, 0] -= sign * (z * s)
        wrench[BY_ACCELERATION, p] += sign * (z * g)
        wrench[BY_ACCELERATION, r] += sign * (x * s - y * g)
        wrench[BY_ACCELERATION, 3] += g
        wrench[BY_ACCELERATION, 3 + p] += s
        wrench[BY_COORDINATE, 0] += sign * (s * az + y * sz - z * sy)
        wrench[BY_COORDINATE, p] += sign * (z * sx - x * sz - g * az)
        wrench[BY_COORDINATE, r] += sign * (g * ay - s * ax + x * sy - y * sx)
        wrench[BY_COORDINATE, 3] += sx
        wrench[BY_COORDINATE, 3 + p] += sy
        wrench[BY_COORDINATE, 3 + r] += sz
        wrench[BY_RATE, 0] += sign * (y * qz - z * qy)
        wrench[BY_RATE, p] += sign * (z * qx - x * qz)
        wrench[BY_RATE, r] += sign * (x * qy - y * qx)
        wrench[BY_RATE, 3] += qx
        wrench[BY_RATE, 3 + p] += qy
        wrench[BY_RATE, 3 + r] += qz
        row[0, 0] -= sign * (uz * s2)
        row[0, p] += sign * (uz * g2)
        row[0, r] += sign * (ux * s2 - uy * g2)
