"""
Composite bodies: inertia, momentum and wrench of a subtree, and how they change with its motion.

A composite body consists of mass points m at r with the velocity u, in the axes of the base and
from the origin of a body. Its row of `DerivativeArrays.composite` has

     0       sum m                              the mass
     1 : 4   sum m r
     4 : 10  J = sum m (r.r 1 - r r^T)          xx, yy, zz, xy, xz, yz
    10 : 13  P = sum m u                        the momentum
    13 : 22  U x = 2 sum m r x (x x u)          and x x (angular momentum of turning sections)
    22 : 28  F                                  wrench that the motion needs, without dead loads'
    28 : 37  W x = sum x x m + p x (x x f)      of dead loads: moments m, forces f at p
    37 : 40  f                                  sum of their forces

so that all of it adds up. A screw X = (x, v) of the whole composite then gives the wrenches

    inertia I X = (J x + m r x v, m v - m r x x),    2 B X = (U x, 2 x x P),
    dead loads L X = (W x, x x f).                                                            (T61)
"""

from flex_robot_sim.jit.compiled import compiled


@compiled
def add_inertia_wrench(factor, C, X, out):
    """Wrench factor I X."""
    m, cx, cy, cz = C[0], C[1], C[2], C[3]
    x = factor * X[0]
    y = factor * X[1]
    z = factor * X[2]
    a = factor * X[3]
    b = factor * X[4]
    c = factor * X[5]
    out[0] += C[4] * x + C[7] * y + C[8] * z + cy * c - cz * b
    out[1] += C[7] * x + C[5] * y + C[9] * z + cz * a - cx * c
    out[2] += C[8] * x + C[9] * y + C[6] * z + cx * b - cy * a
    out[3] += m * a + y * cz - z * cy
    out[4] += m * b + z * cx - x * cz
    out[5] += m * c + x * cy - y * cx


@compiled
def add_velocity_wrench(C, X, out):
    """Wrench 2 B X, by the rotation of X alone."""
    x, y, z = X[0], X[1], X[2]
    px, py, pz = 2.0 * C[10], 2.0 * C[11], 2.0 * C[12]
    out[0] += C[13] * x + C[14] * y + C[15] * z
    out[1] += C[16] * x + C[17] * y + C[18] * z
    out[2] += C[19] * x + C[20] * y + C[21] * z
    out[3] += y * pz - z * py
    out[4] += z * px - x * pz
    out[5] += x * py - y * px


@compiled
def add_load_wrench(C, X, out):
    """Wrench L X, by the rotation of X alone."""
    x, y, z, fx, fy, fz = X[0], X[1], X[2], C[37], C[38], C[39]
    out[0] += C[28] * x + C[29] * y + C[30] * z
    out[1] += C[31] * x + C[32] * y + C[33] * z
    out[2] += C[34] * x + C[35] * y + C[36] * z
    out[3] += y * fz - z * fy
    out[4] += z * fx - x * fz
    out[5] += x * fy - y * fx


@compiled
def add_velocity_row(C, X, out):
    """Row (3,) of (2 B)^T X: the power on X of the wrench 2 B per rotation."""
    x, y, z, a, b, c = X[0], X[1], X[2], 2.0 * X[3], 2.0 * X[4], 2.0 * X[5]
    px, py, pz = C[10], C[11], C[12]
    out[0] += C[13] * x + C[16] * y + C[19] * z + py * c - pz * b
    out[1] += C[14] * x + C[17] * y + C[20] * z + pz * a - px * c
    out[2] += C[15] * x + C[18] * y + C[21] * z + px * b - py * a


@compiled
def add_load_row(C, X, out):
    """Row (3,) of L^T X."""
    x, y, z, a, b, c = X[0], X[1], X[2], X[3], X[4], X[5]
    fx, fy, fz = C[37], C[38], C[39]
    out[0] += C[28] * x + C[31] * y + C[34] * z + fy * c - fz * b
    out[1] += C[29] * x + C[32] * y + C[35] * z + fz * a - fx * c
    out[2] += C[30] * x + C[33] * y + C[36] * z + fx * b - fy * a


@compiled
def add_moved_wrench(C, X, out):
    """Wrench ad^*_X F of the wrench F of the composite, which moves along with X."""
    x, y, z, a, b, c = X[0], X[1], X[2], X[3], X[4], X[5]
    mx, my, mz, fx, fy, fz = C[22], C[23], C[24], C[25], C[26], C[27]
    out[0] += y * mz - z * my + b * fz - c * fy
    out[1] += z * mx - x * mz + c * fx - a * fz
    out[2] += x * my - y * mx + a * fy - b * fx
    out[3] += y * fz - z * fy
    out[4] += z * fx - x * fz
    out[5] += x * fy - y * fx


@compiled
def add_rigid_body(G, R, V, A, C):
    """
    Add a rigid body to a composite.

    :param G: its inertia in its own axes, (6, 6); R: these axes in the base, (3, 3).
    :param V: its twist, (6,), and A its rate, in the axes of the base.
    """
    m, c0, c1, c2 = G[3, 3], G[2, 4], G[0, 5], G[1, 3]
    cx = R[0, 0] * c0 + R[0, 1] * c1 + R[0, 2] * c2
    cy = R[1, 0] * c0 + R[1, 1] * c1 + R[1, 2] * c2
    cz = R[2, 0] * c0 + R[2, 1] * c1 + R[2, 2] * c2
    xx, yy, zz, xy, xz, yz = rotated_symmetric(
        R, G[0, 0], G[1, 1], G[2, 2], G[0, 1], G[0, 2], G[1, 2]
    )
    x, y, z, a, b, c = V[0], V[1], V[2], V[3], V[4], V[5]
    dx, dy, dz, da, db, dc = A[0], A[1], A[2], A[3], A[4], A[5]
    # momentum and angular momentum
    px, py, pz = m * a + y * cz - z * cy, m * b + z * cx - x * cz, m * c + x * cy - y * cx
    hx = xx * x + xy * y + xz * z + cy * c - cz * b
    hy = xy * x + yy * y + yz * z + cz * a - cx * c
    hz = xz * x + yz * y + zz * z + cx * b - cy * a
    C[0] += m
    C[1] += cx
    C[2] += cy
    C[3] += cz
    C[4] += xx
    C[5] += yy
    C[6] += zz
    C[7] += xy
    C[8] += xz
    C[9] += yz
    C[10] += px
    C[11] += py
    C[12] += pz
    # sum m u r^T = v c^T + x x (sum m r r^T)
    trace = 0.5 * (xx + yy + zz)
    sx, sy, sz = trace - xx, trace - yy, trace - zz
    common = a * cx + b * cy + c * cz
    C[13] += 2.0 * (common - a * cx + y * xz - z * xy)
    C[14] -= 2.0 * (a * cy - y * yz - z * sy)
    C[15] -= 2.0 * (a * cz + y * sz + z * yz)
    C[16] -= 2.0 * (b * cx + z * sx + x * xz)
    C[17] += 2.0 * (common - b * cy + z * xy - x * yz)
    C[18] -= 2.0 * (b * cz - z * xz - x * sz)
    C[19] -= 2.0 * (c * cx - x * xy - y * sx)
    C[20] -= 2.0 * (c * cy + x * sy + y * xy)
    C[21] += 2.0 * (common - c * cz + x * yz - y * xz)
    C[22] += xx * dx + xy * dy + xz * dz + cy * dc - cz * db + y * hz - z * hy + b * pz - c * py
    C[23] += xy * dx + yy * dy + yz * dz + cz * da - cx * dc + z * hx - x * hz + c * px - a * pz
    C[24] += xz * dx + yz * dy + zz * dz + cx * db - cy * da + x * hy - y * hx + a * py - b * px
    C[25] += m * da + dy * cz - dz * cy + y * pz - z * py
    C[26] += m * db + dz * cx - dx * cz + z * px - x * pz
    C[27] += m * dc + dx * cy - dy * cx + x * py - y * px


@compiled
def rotated_symmetric(R, xx, yy, zz, xy, xz, yz):
    """Matrix R S R^T of a symmetric matrix S, each as xx, yy, zz, xy, xz, yz."""
    ax = R[0, 0] * xx + R[0, 1] * xy + R[0, 2] * xz
    ay = R[0, 0] * xy + R[0, 1] * yy + R[0, 2] * yz
    az = R[0, 0] * xz + R[0, 1] * yz + R[0, 2] * zz
    bx = R[1, 0] * xx + R[1, 1] * xy + R[1, 2] * xz
    by = R[1, 0] * xy + R[1, 1] * yy + R[1, 2] * yz
    bz = R[1, 0] * xz + R[1, 1] * yz + R[1, 2] * zz
    cx = R[2, 0] * xx + R[2, 1] * xy + R[2, 2] * xz
    cy = R[2, 0] * xy + R[2, 1] * yy + R[2, 2] * yz
    cz = R[2, 0] * xz + R[2, 1] * yz + R[2, 2] * zz
    return (
        ax * R[0, 0] + ay * R[0, 1] + az * R[0, 2],
        bx * R[1, 0] + by * R[1, 1] + bz * R[1, 2],
        cx * R[2, 0] + cy * R[2, 1] + cz * R[2, 2],
        ax * R[1, 0] + ay * R[1, 1] + az * R[1, 2],
        ax * R[2, 0] + ay * R[2, 1] + az * R[2, 2],
        bx * R[2, 0] + by * R[2, 1] + bz * R[2, 2],
    )


@compiled
def set_shifted(C, d, out):
    """Set the composite C about another origin; d is the offset of the old origin from it."""
    x, y, z, m = d[0], d[1], d[2], C[0]
    cx, cy, cz = C[1], C[2], C[3]
    px, py, pz, fx, fy, fz = C[10], C[11], C[12], C[25], C[26], C[27]
    for k in range(28):
        out[k] = C[k]
    # twice the centre of both, so that J += d.s 1 - (d s^T + s d^T) / 2 with s = 2 m r + m d
    sx, sy, sz = 2.0 * cx + m * x, 2.0 * cy + m * y, 2.0 * cz + m * z
    out[1] += m * x
    out[2] += m * y
    out[3] += m * z
    out[4] += y * sy + z * sz
    out[5] += x * sx + z * sz
    out[6] += x * sx + y * sy
    out[7] -= 0.5 * (x * sy + y * sx)
    out[8] -= 0.5 * (x * sz + z * sx)
    out[9] -= 0.5 * (y * sz + z * sy)
    out[13] += 2.0 * (y * py + z * pz)
    out[14] -= 2.0 * px * y
    out[15] -= 2.0 * px * z
    out[16] -= 2.0 * py * x
    out[17] += 2.0 * (x * px + z * pz)
    out[18] -= 2.0 * py * z
    out[19] -= 2.0 * pz * x
    out[20] -= 2.0 * pz * y
    out[21] += 2.0 * (x * px + y * py)
    out[22] += y * fz - z * fy
    out[23] += z * fx - x * fz
    out[24] += x * fy - y * fx


@compiled
def set_shifted_loads(C, d, out):
    """Set the dead loads of `set_shifted`."""
    x, y, z, fx, fy, fz = d[0], d[1], d[2], C[37], C[38], C[39]
    for k in range(28, 40):
        out[k] = C[k]
    out[28] += y * fy + z * fz
    out[29] -= fx * y
    out[30] -= fx * z
    out[31] -= fy * x
    out[32] += x * fx + z * fz
    out[33] -= fy * z
    out[34] -= fz * x
    out[35] -= fz * y
    out[36] += x * fx + y * fy


@compiled
def add_dead_load(mx, my, mz, fx, fy, fz, x, y, z, C):
    """Add a dead load, a moment m and a force f at (x, y, z), to W and f of a composite."""
    C[28] += y * fy + z * fz
    C[29] += mz - fx * y
    C[30] += -my - fx * z
    C[31] += -mz - fy * x
    C[32] += x * fx + z * fz
    C[33] += mx - fy * z
    C[34] += my - fz * x
    C[35] += -mx - fz * y
    C[36] += x * fx + y * fy
    C[37] += fx
    C[38] += fy
    C[39] += fz
