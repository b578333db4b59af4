"""
A free base: its pose, and the coordinates by which a step moves it.

The pose T0, `work.base_pose`, is the one where the coordinates x = (omega, v) are zero; every step
begins there. At x, the base has the pose

    T = T0 cay(x),   cay(x) = (1 - [x]/2)^-1 (1 + [x]/2)                                     (T110)

with the matrix [x] (4, 4) of a screw. The rotation of cay is that of the quaternion (omega/2, 1),
and its translation is (1 - [omega]/2)^-1 v. In a state, the rates of these coordinates are the
twist of the base in its own axes. A body that turns about a fixed axis keeps the axis exactly, and
the midpoint rule for x keeps the momentum of a rigid body. At x, the twist V changes x by

    [dx/dt] = (1 + [x]/2) [V] (1 - [x]/2).                                                   (T111)

A planar base has three of these coordinates, with z along the normal of the plane.
"""

from numpy import sqrt

from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.spatial.screws import dot, set_copy

FIRST_ROW_IN_PLANE = 2  # of the twist: wz, vx, vy


@compiled
def set_base_body(arm, q, work):
    """Pose of body 0, a free base, in the world (T110); its coordinates are among q (n,)."""
    R, p, pose, x, turned = work.R[0], work.origin[0], work.base_pose, work.y, work.theta
    set_base_screw(arm, q, x)
    set_rotation_of(pose[3], pose[4], pose[5], pose[6], R)
    # translation (1 - [u])^-1 v = (v + u x v + u (u . v)) / (1 + u . u) with u = omega / 2
    a, b, c = 0.5 * x[0], 0.5 * x[1], 0.5 * x[2]
    along, scale = a * x[3] + b * x[4] + c * x[5], 1.0 / (1.0 + a * a + b * b + c * c)
    turned[0] = scale * (x[3] + b * x[5] - c * x[4] + along * a)
    turned[1] = scale * (x[4] + c * x[3] - a * x[5] + along * b)
    turned[2] = scale * (x[5] + a * x[4] - b * x[3] + along * c)
    for r in range(3):
        p[r] = pose[r] + R[r, 0] * turned[0] + R[r, 1] * turned[1] + R[r, 2] * turned[2]
    set_rotation_of(*turned_quaternion(pose, a, b, c), R)


@compiled
def set_base_screw(arm, values, out):
    """Screw (6,) with the values (n,) of the coordinates of a free base, or of their rates."""
    for r in range(6):
        out[r] = 0.0
    for b in range(arm.base.shape[0]):
        out[arm.base[b, 1]] = values[arm.base[b, 0]]


@compiled
def turned_quaternion(pose, a, b, c):
    """Quaternion of a pose (7,) times (a, b, c, 1): not a unit one."""
    x, y, z, w = pose[3], pose[4], pose[5], pose[6]
    return (
        x + w * a + y * c - z * b,
        y + w * b + z * a - x * c,
        z + w * c + x * b - y * a,
        w - x * a - y * b - z * c,
    )


@compiled
def set_rotation_of(x, y, z, w, R):
    """Rotation matrix of a quaternion of any length."""
    s = 2.0 / (x * x + y * y + z * z + w * w)
    R[0, 0], R[0, 1], R[0, 2] = 1.0 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w)
    R[1, 0], R[1, 1], R[1, 2] = s * (x * y + z * w), 1.0 - s * (x * x + z * z), s * (y * z - x * w)
    R[2, 0], R[2, 1], R[2, 2] = s * (x * z - y * w), s * (y * z + x * w), 1.0 - s * (x * x + y * y)


@compiled
def move_base_pose(arm, q, work):
    """Move the pose T0 of a free base by its coordinates, and set these to zero."""
    set_base_body(arm, q, work)
    begin_at_base_body(arm, q, work)


@compiled
def begin_at_base_body(arm, q, work):
    """Do the same where body 0 has its pose at q already; its position may be corrected."""
    pose, x = work.base_pose, work.y
    for r in range(3):
        pose[r] = work.origin[0, r]
    set_base_screw(arm, q, x)
    i, j, k, w = turned_quaternion(pose, 0.5 * x[0], 0.5 * x[1], 0.5 * x[2])
    scale = 1.0 / sqrt(i * i + j * j + k * k + w * w)
    pose[3], pose[4], pose[5], pose[6] = scale * i, scale * j, scale * k, scale * w
    for b in range(arm.base.shape[0]):
        q[arm.base[b, 0]] = 0.0


@compiled
def set_coordinate_rates(arm, q, qd, work, out):
    """Time derivatives (n,) of the coordinates q at the rates qd of a state (T111)."""
    set_copy(qd, out)
    if arm.base.shape[0] == 0:
        return
    x, V = work.y, work.parent_motion
    set_base_screw(arm, q, x)
    set_base_screw(arm, qd, V)
    a, b, c, d, e, f = x[0], x[1], x[2], x[3], x[4], x[5]
    wx, wy, wz, vx, vy, vz = V[0], V[1], V[2], V[3], V[4], V[5]
    # s = omega_V x v_x, and the rate of v_x: v_V + (omega_x x v_V - s) / 2 - omega_x x s / 4
    sx, sy, sz = wy * f - wz * e, wz * d - wx * f, wx * e - wy * d
    along = 0.25 * (a * wx + b * wy + c * wz)
    V[0] = wx + 0.5 * (b * wz - c * wy) + along * a
    V[1] = wy + 0.5 * (c * wx - a * wz) + along * b
    V[2] = wz + 0.5 * (a * wy - b * wx) + along * c
    V[3] = vx + 0.5 * (b * vz - c * vy - sx) - 0.25 * (b * sz - c * sy)
    V[4] = vy + 0.5 * (c * vx - a * vz - sy) - 0.25 * (c * sx - a * sz)
    V[5] = vz + 0.5 * (a * vy - b * vx - sz) - 0.25 * (a * sy - b * sx)
    for k in range(arm.base.shape[0]):
        out[arm.base[k, 0]] = V[arm.base[k, 1]]


@compiled
def factor_base(arm, I, L):
    """Cholesky factor L of the inertia I of a free base, with its diagonal inverted."""
    if arm.base.shape[0] == 6:  # a constant size takes half of the time
        factor_rows(6, 0, I, L)
    else:
        factor_rows(arm.base.shape[0], FIRST_ROW_IN_PLANE, I, L)


@compiled(inline=True)
def factor_rows(count, first, I, L):
    """Factor `count` rows of I from the row `first` on."""
    for b in range(count):
        for c in range(b + 1):
            total = I[first + b, first + c]
            for k in range(c):
                total -= L[b, k] * L[c, k]
            L[b, c] = 1.0 / sqrt(total) if b == c else total * L[c, c]


@compiled
def solve_base(count, L, force):
    """Solve L L^T x = force in place, for the first `count` numbers and a factor as above."""
    if count == 6:
        solve_rows(6, L, force)
    else:
        solve_rows(count, L, force)


@compiled(inline=True)
def solve_rows(count, L, force):
    """Solve as `solve_base`."""
    for b in range(count):
        for k in range(b):
            force[b] -= L[b, k] * force[k]
        force[b] *= L[b, b]
    for b in range(count - 1, -1, -1):
        for k in range(b + 1, count):
            force[b] -= L[k, b] * force[k]
        force[b] *= L[b, b]


@compiled
def add_base_acceleration(arm, work, qdd):
    """Accelerations of a free base from the factors, in qdd (n,) and in work.dV of its body."""
    force, dV = work.base_force, work.dV[0]
    for b in range(arm.base.shape[0]):
        r = arm.base[b, 1]
        force[b] = work.force[arm.base[b, 0]] - work.F0[0, r] - dot(work.I[0, r], dV)
    solve_base(arm.base.shape[0], work.base_factor, force)
    for b in range(arm.base.shape[0]):
        qdd[arm.base[b, 0]] = force[b]
        dV[arm.base[b, 1]] += force[b]


@compiled
def add_base_rates(arm, rates, out):
    """Add the values (n,) of the coordinates of a free base to a screw (6,) of its body."""
    for b in range(arm.base.shape[0]):
        out[arm.base[b, 1]] += rates[arm.base[b, 0]]
