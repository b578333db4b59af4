"""
Derivatives of the force for the motion of one elastic body: a sum over the mass points of its beam.

Equation numbers are those of docs/theory.md.
"""

from flex_robot_sim.dynamics.composite_bodies import rotated_symmetric
from flex_robot_sim.dynamics.derivative_arrays import BY_ACCELERATION, BY_COORDINATE, BY_RATE
from flex_robot_sim.dynamics.station_derivatives import set_rotated_screw
from flex_robot_sim.jit.compiled import compiled


@compiled
def add_beam_derivatives(arm, i, column, q, qd, qdd, work, arrays, M, by_rate, by_coordinate):
    """
    Add the beam of body i to the composite of the body, its columns and its elastic blocks (T63).

    A point has the mass m, the position r, the gradient N = dr/de, the velocity u, and the
    acceleration a with gravity. At constant motion of the root, its coordinates change a by

        da/de = (dw~ + w~ w~) N + 2 w x dN + ddN,    da/d(de) = 2 (w x N + dN)              (T63)

    with the angular velocity w, and dN = (-de^T H, 0, 0), ddN = (-dde^T H, 0, 0) in bending.

    :param column: first column of the elastic coordinates of the body.
    :param M: (n, n), added to up to the diagonal; by_rate and by_coordinate: (n, n), added to.
    """
    first, n = arm.first[i], arm.modes[i]
    y_end, z_end = arm.count[i, 0], arm.count[i, 0] + arm.count[i, 1]
    t_end, reach = z_end + arm.count[i, 2], arm.reach[i]
    V, dV, R, C = work.V[i], work.dV[i], work.base_R[i], arrays.composite[i]
    N, N_second, N_rate, h = arrays.N, arrays.N_second, arrays.N_rate, arrays.h
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
    dxx = dxy = dxz = dyx = dyy = dyz = dzx = dzy = dzz = 0.0      # sum m u r^T
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
            group, end = (0, y_end) if k < y_end else (y_end, z_end)
            low, high = max(group, k - reach), min(end, k + reach + 1)
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
        ux, uy, uz = (V[3] + wy * z - wz * y + dx, V[4] + wz * x - wx * z + dy,
                      V[5] + wx * y - wy * x + dz)
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
        for k in range(n):
            if z_end <= k < t_end:
                continue            # torsion moves no point
            nx = ny = nz = dh = ddh = 0.0
            if k < z_end:
                nx, dh, ddh = -h[k, 0], h[k, 1], h[k, 2]
            if k < y_end:
                ny = shape[k]
            elif k < z_end:
                nz = shape[k]
            else:
                nx = shape[k]
            sx = oxx * nx + oxy * ny + oxz * nz - ddh
            sy = oyx * nx + oyy * ny + oyz * nz - 2.0 * dh * wz
            sz = ozx * nx + ozy * ny + ozz * nz + 2.0 * dh * wy
            qx = 2.0 * (wy * nz - wz * ny - dh)
            qy = 2.0 * (wz * nx - wx * nz)
            qz = 2.0 * (wx * ny - wy * nx)
            # times the mass, except for N
            N[k, 0], N[k, 1], N[k, 2] = nx, ny, nz
            sx, sy, sz, qx, qy, qz = m * sx, m * sy, m * sz, m * qx, m * qy, m * qz
            N_second[k, 0], N_second[k, 1], N_second[k, 2] = sx, sy, sz
            N_rate[k, 0], N_rate[k, 1], N_rate[k, 2] = qx, qy, qz
            nx, ny, nz = m * nx, m * ny, m * nz
            wrench, row = arrays.wrench[column + k], arrays.row[column + k]
            wrench[BY_ACCELERATION, 0] += y * nz - z * ny
            wrench[BY_ACCELERATION, 1] += z * nx - x * nz
            wrench[BY_ACCELERATION, 2] += x * ny - y * nx
            wrench[BY_ACCELERATION, 3] += nx
            wrench[BY_ACCELERATION, 4] += ny
            wrench[BY_ACCELERATION, 5] += nz
            wrench[BY_COORDINATE, 0] += ny * az - nz * ay + y * sz - z * sy
            wrench[BY_COORDINATE, 1] += nz * ax - nx * az + z * sx - x * sz
            wrench[BY_COORDINATE, 2] += nx * ay - ny * ax + x * sy - y * sx
            wrench[BY_COORDINATE, 3] += sx
            wrench[BY_COORDINATE, 4] += sy
            wrench[BY_COORDINATE, 5] += sz
            wrench[BY_RATE, 0] += y * qz - z * qy
            wrench[BY_RATE, 1] += z * qx - x * qz
            wrench[BY_RATE, 2] += x * qy - y * qx
            wrench[BY_RATE, 3] += qx
            wrench[BY_RATE, 4] += qy
            wrench[BY_RATE, 5] += qz
            row[0, 0] += 2.0 * (uy * nz - uz * ny)
            row[0, 1] += 2.0 * (uz * nx - ux * nz)
            row[0, 2] += 2.0 * (ux * ny - uy * nx)

        # elastic blocks; the products of shapes are in modal_mass
        for k in range(n):
            if z_end <= k < t_end:
                continue
            nx, ny, nz = N[k, 0], N[k, 1], N[k, 2]
            for l in range(n):
                if z_end <= l < t_end:
                    continue
                by_coordinate[first + k, first + l] += (
                    nx * N_second[l, 0] + ny * N_second[l, 1] + nz * N_second[l, 2])
                by_rate[first + k, first + l] += (
                    nx * N_rate[l, 0] + ny * N_rate[l, 1] + nz * N_rate[l, 2])
                if l <= k and l < z_end:
                    M[first + k, first + l] += m * nx * N[l, 0]
        for k in range(z_end):
            group, end = (0, y_end) if k < y_end else (y_end, z_end)
            low, high = max(group, k - reach), min(end, k + reach + 1)
            for l in range(low, high):
                by_coordinate[first + k, first + l] -= m * ax * H[k, l - low]

    # to the axes of the base
    C[0] += mass
    for a in range(3):
        C[1 + a] += R[a, 0] * mx + R[a, 1] * my + R[a, 2] * mz
        C[10 + a] += R[a, 0] * px + R[a, 1] * py + R[a, 2] * pz
        C[22 + a] += R[a, 0] * lx + R[a, 1] * ly + R[a, 2] * lz
        C[25 + a] += R[a, 0] * fx + R[a, 1] * fy + R[a, 2] * fz
    xx, yy, zz, xy, xz, yz = rotated_symmetric(R, myy + mzz, mxx + mzz, mxx + myy, -mxy, -mxz,
                                               -myz)
    C[4] += xx
    C[5] += yy
    C[6] += zz
    C[7] += xy
    C[8] += xz
    C[9] += yz
    trace = dxx + dyy + dzz
    for a in range(3):
        # row a of R U, for U = 2 (trace - sum m u r^T) - t~
        ux = R[a, 0] * 2.0 * (trace - dxx) - R[a, 1] * (2.0 * dyx + tz) - R[a, 2] * (2.0 * dzx - ty)
        uy = R[a, 1] * 2.0 * (trace - dyy) - R[a, 0] * (2.0 * dxy - tz) - R[a, 2] * (2.0 * dzy + tx)
        uz = R[a, 2] * 2.0 * (trace - dzz) - R[a, 0] * (2.0 * dxz + ty) - R[a, 1] * (2.0 * dyz - tx)
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
