"""
Inertia and bias of one elastic body: a sum over the mass points of its beam.

Equation numbers are those of docs/theory.md; the points are the Gauss stations of `elastic/`.
"""

from flex_robot_sim.dynamics.elastic_inertia import add_elastic_body, add_elastic_force
from flex_robot_sim.dynamics.sliding_body import add_sliding_body, add_sliding_force
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.body_kinds import COMMON_BEAM, COMMON_SHAPES, ELASTIC, SLIDING


@compiled
def add_beam(arm, i, q, qd, work):
    """Inertia and bias of the beam of body i (T22)."""
    if arm.kind[i] == COMMON_BEAM:
        add_beam_of(
            arm,
            i,
            COMMON_SHAPES[0],
            COMMON_SHAPES[1],
            COMMON_SHAPES[2],
            COMMON_SHAPES[3],
            COMMON_SHAPES[4],
            q,
            qd,
            work,
        )
    elif arm.kind[i] == ELASTIC:
        add_elastic_body(arm, i, q, qd, work)
    elif arm.kind[i] == SLIDING:
        add_sliding_body(arm, i, q, qd, work)
    else:
        count = arm.count[i]
        add_beam_of(arm, i, count[0], count[1], count[2], count[3], arm.reach[i], q, qd, work)


@compiled(inline=True)
def add_beam_of(arm, i, ny, nz, nt, nu, reach, q, qd, work):
    """
    Inertia and bias of the beam of body i: a sum over mass points on its deflected axis (T22).

    A point has the mass m, the position r (T10) and, relative to the root, the velocity N de with
    N = dr/de. Its acceleration is b when neither the root nor the coordinates accelerate:

        I = sum m [-r~ r~, r~; -r~, 1],   B = sum m [r~ N; N],   E = sum m N^T N
        b = omega x (v + omega x r + 2 N de) - x de^T H de                                    (T23)

    E is symmetric; only its rows up to the diagonal are set.
    """
    first, y_end, z_end, t_end = arm.first[i], ny, ny + nz, ny + nz + nt
    n = t_end + nu
    is_banded = reach + 1 < max(ny, nz)  # most beams have few shapes, all of which overlap
    V, h, I, B, E, bias = work.V[i], work.h, work.I[i], work.B[i], work.E[i], work.b[i]
    wx, wy, wz = V[0], V[1], V[2]
    # constant terms: shapes, and rotary inertia of the sections
    tx = ty = tz = 0.0  # its angular momentum by de
    for k in range(n):
        bias[k] = 0.0
        de = qd[first + k]
        tx += arm.rotary[i, 0, k] * de
        ty += arm.rotary[i, 1, k] * de
        tz += arm.rotary[i, 2, k] * de
        for r in range(3):
            B[r, k] = arm.rotary[i, r, k]
            B[3 + r, k] = 0.0
        for m in range(k + 1):
            E[k, m] = arm.modal_mass[i, k, m]
    lx, ly, lz = wy * tz - wz * ty, wz * tx - wx * tz, wx * ty - wy * tx
    fx = fy = fz = 0.0
    mass = mx = my = mz = mxx = myy = mzz = mxy = mxz = myz = 0.0

    for g in range(arm.point_start[i], arm.point_start[i + 1]):
        m, shape, H = arm.point_mass[g], arm.point_shape[g], arm.point_H[g]
        # position, velocity relative to the root, and the gradient h of the shortening
        x, y, w, dx, dy, dw, second = arm.point_x[g], 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
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
            hk = dh = 0.0
            for l in range(low, high):
                hk += H[k, l - low] * q[first + l]
                dh += H[k, l - low] * qd[first + l]
            h[k] = hk
            x -= 0.5 * q[first + k] * hk
            dx -= qd[first + k] * hk
            second -= qd[first + k] * dh

        # velocity-dependent acceleration                                                   (T23)
        ax = V[3] + wy * w - wz * y + 2.0 * dx
        ay = V[4] + wz * x - wx * w + 2.0 * dy
        az = V[5] + wx * y - wy * x + 2.0 * dw
        bx = m * (wy * az - wz * ay + second)
        by = m * (wz * ax - wx * az)
        bz = m * (wx * ay - wy * ax)
        fx += bx
        fy += by
        fz += bz
        lx += y * bz - w * by
        ly += w * bx - x * bz
        lz += x * by - y * bx

        # sums over the points                                                              (T22)
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
        for k in range(ny):
            a, c = m * shape[k], m * h[k]
            B[0, k] -= w * a
            B[1, k] -= w * c
            B[2, k] += x * a + y * c
            B[3, k] -= c
            B[4, k] += a
            bias[k] += shape[k] * by - h[k] * bx
        for k in range(y_end, z_end):
            a, c = m * shape[k], m * h[k]
            B[0, k] += y * a
            B[1, k] -= x * a + w * c
            B[2, k] += y * c
            B[3, k] -= c
            B[5, k] += a
            bias[k] += shape[k] * bz - h[k] * bx
        for k in range(t_end, n):
            a = m * shape[k]
            B[1, k] += w * a
            B[2, k] -= y * a
            B[3, k] += a
            bias[k] += shape[k] * bx
            for l in range(z_end):
                E[k, l] -= a * h[l]
        for k in range(z_end):
            c = m * h[k]
            for l in range(k + 1):
                E[k, l] += c * h[l]

    F0 = work.F0[i]
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
    I[3, 3] += mass
    I[4, 4] += mass
    I[5, 5] += mass
    # r~ in the upper right block, its transpose in the lower left
    I[0, 4] -= mz
    I[0, 5] += my
    I[1, 3] += mz
    I[1, 5] -= mx
    I[2, 3] -= my
    I[2, 4] += mx
    for r in range(3):
        for s in range(3):
            I[3 + s, r] = I[r, 3 + s]


@compiled
def add_beam_force(arm, i, q, qd, qdd, work, force):
    """Force for the accelerations of the beam of body i."""
    if arm.kind[i] == COMMON_BEAM:
        add_beam_force_of(
            arm,
            i,
            COMMON_SHAPES[0],
            COMMON_SHAPES[1],
            COMMON_SHAPES[2],
            COMMON_SHAPES[3],
            COMMON_SHAPES[4],
            q,
            qd,
            qdd,
            work,
            force,
        )
    elif arm.kind[i] == ELASTIC:
        add_elastic_force(arm, i, q, qd, qdd, work, force)
    elif arm.kind[i] == SLIDING:
        add_sliding_force(arm, i, q, qd, qdd, work, force)
    else:
        count = arm.count[i]
        add_beam_force_of(
            arm, i, count[0], count[1], count[2], count[3], arm.reach[i], q, qd, qdd, work, force
        )


@compiled(inline=True)
def add_beam_force_of(arm, i, ny, nz, nt, nu, reach, q, qd, qdd, work, force):
    """
    Force for the accelerations dV of the root and qdd of the modes of the beam of body i.

    The same sum as in `add_beam`, multiplied out: the force on every point is m times its
    acceleration, and no inertia matrix is formed.

    :param force: receives the forces on the modes, (n,); the wrench is added to work.F[i].
    """
    first, y_end, z_end, t_end = arm.first[i], ny, ny + nz, ny + nz + nt
    n = t_end + nu
    is_banded = reach + 1 < max(ny, nz)
    V, dV, F, h = work.V[i], work.dV[i], work.F[i], work.h
    wx, wy, wz, dwx, dwy, dwz = V[0], V[1], V[2], dV[0], dV[1], dV[2]
    # constant terms
    tx = ty = tz = lx = ly = lz = 0.0
    for k in range(n):
        rx = arm.rotary[i, 0, k]
        ry = arm.rotary[i, 1, k]
        rz = arm.rotary[i, 2, k]
        de = qd[first + k]
        dde = qdd[first + k]
        tx += rx * de
        ty += ry * de
        tz += rz * de
        lx += rx * dde
        ly += ry * dde
        lz += rz * dde
        total = rx * dwx + ry * dwy + rz * dwz
        for m in range(n):
            total += arm.modal_mass[i, k, m] * qdd[first + m]
        force[first + k] = total
    lx += wy * tz - wz * ty
    ly += wz * tx - wx * tz
    lz += wx * ty - wy * tx
    fx = fy = fz = 0.0

    for g in range(arm.point_start[i], arm.point_start[i + 1]):
        m, shape, H = arm.point_mass[g], arm.point_shape[g], arm.point_H[g]
        x, y, w, dx, dy, dw, along = arm.point_x[g], 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        ddx = ddy = ddw = 0.0  # due to the shapes, whose inertia is in modal_mass
        for k in range(ny):
            y += shape[k] * q[first + k]
            dy += shape[k] * qd[first + k]
            ddy += shape[k] * qdd[first + k]
        for k in range(y_end, z_end):
            w += shape[k] * q[first + k]
            dw += shape[k] * qd[first + k]
            ddw += shape[k] * qdd[first + k]
        for k in range(t_end, n):
            x += shape[k] * q[first + k]
            dx += shape[k] * qd[first + k]
            ddx += shape[k] * qdd[first + k]
        for k in range(z_end):
            low, high = (0, y_end) if k < y_end else (y_end, z_end)
            if is_banded:
                low, high = max(low, k - reach), min(high, k + reach + 1)
            hk = dh = 0.0
            for l in range(low, high):
                hk += H[k, l - low] * q[first + l]
                dh += H[k, l - low] * qd[first + l]
            h[k] = hk
            x -= 0.5 * q[first + k] * hk
            dx -= qd[first + k] * hk
            along -= qd[first + k] * dh + qdd[first + k] * hk

        # acceleration due to root and shortening                                           (T23)
        ax = V[3] + wy * w - wz * y + 2.0 * dx
        ay = V[4] + wz * x - wx * w + 2.0 * dy
        az = V[5] + wx * y - wy * x + 2.0 * dw
        bx = m * (wy * az - wz * ay + along + dV[3] + dwy * w - dwz * y)
        by = m * (wz * ax - wx * az + dV[4] + dwz * x - dwx * w)
        bz = m * (wx * ay - wy * ax + dV[5] + dwx * y - dwy * x)
        for k in range(t_end, n):
            force[first + k] += shape[k] * bx
        bx += m * ddx
        for k in range(ny):
            force[first + k] += shape[k] * by - h[k] * bx
        for k in range(y_end, z_end):
            force[first + k] += shape[k] * bz - h[k] * bx
        by += m * ddy
        bz += m * ddw
        fx += bx
        fy += by
        fz += bz
        lx += y * bz - w * by
        ly += w * bx - x * bz
        lz += x * by - y * bx

    F[0] += lx
    F[1] += ly
    F[2] += lz
    F[3] += fx
    F[4] += fy
    F[5] += fz
