"""
Gaps of contact points, and the energy of the springs that they press.

A point is a sphere around a centre that is fixed to a body; its gap to a surface is the distance
of the centre, negative inside, less the radius. Normals point out of the surface.
"""

from math import sqrt

from flex_robot_sim.dynamics.constraints.rows import cross, placed, set_relative_screws, turned
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.contact_rows import BOX, CAPSULE, CYLINDER, PLANE, WORLD_BODY


@compiled
def set_contact_gaps(arm, work):
    """
    Gaps and their rates of all points, for poses in the base frame and twists of the bodies.

    :returns: energy of the springs [J].
    """
    energy = 0.0
    for g in range(arm.contact_kind.size):
        gap, normal, at = gap_and_normal(arm, g, work)
        ux, uy, uz = velocity_of(arm.contact_body[g, 1], at, work)
        wx, wy, wz = velocity_of(arm.contact_body[g, 0], at, work)
        work.contact_gap[g] = gap
        work.contact_gap_rate[g] = (
            normal[0] * (ux - wx) + normal[1] * (uy - wy) + normal[2] * (uz - wz)
        )
        if gap < 0.0:
            energy += 0.5 * arm.contact_stiffness[g] * gap * gap
    return energy


@compiled
def velocity_of(i, at, work):
    """Velocity of the point of body i at a place in the world; -1: the base, or WORLD_BODY."""
    if i == WORLD_BODY or (i < 0 and work.base_moves[0] == 0.0):
        return 0.0, 0.0, 0.0
    V, p = (work.V[i], work.base_p[i]) if i >= 0 else (work.root_V, work.root_p)
    wx, wy, wz = turned(work, i, (V[0], V[1], V[2]))
    vx, vy, vz = turned(work, i, (V[3], V[4], V[5]))
    a, b, c = at[0] - p[0], at[1] - p[1], at[2] - p[2]
    return vx + wy * c - wz * b, vy + wz * a - wx * c, vz + wx * b - wy * a


@compiled
def gap_and_normal(arm, g, work):
    """Gap of point g, and the normal and the place of the contact in the world."""
    i, R, p = arm.contact_body[g, 0], arm.contact_R[g], arm.contact_p[g]
    x, y, z = placed(work, arm.contact_body[g, 1], arm.contact_point[g])
    if i >= 0 or (i != WORLD_BODY and work.base_moves[0] != 0.0):  # into the body of the surface
        Q, o = (work.base_R[i], work.base_p[i]) if i >= 0 else (work.root_R, work.root_p)
        a, b, c = x - o[0], y - o[1], z - o[2]
        u = Q[0, 0] * a + Q[1, 0] * b + Q[2, 0] * c
        v = Q[0, 1] * a + Q[1, 1] * b + Q[2, 1] * c
        w = Q[0, 2] * a + Q[1, 2] * b + Q[2, 2] * c
    else:
        u, v, w = x, y, z
    u, v, w = u - p[0], v - p[1], w - p[2]
    distance, n = distance_and_normal(
        arm.contact_kind[g],
        arm.contact_size[g],
        R[0, 0] * u + R[1, 0] * v + R[2, 0] * w,
        R[0, 1] * u + R[1, 1] * v + R[2, 1] * w,
        R[0, 2] * u + R[1, 2] * v + R[2, 2] * w,
    )
    normal = (
        R[0, 0] * n[0] + R[0, 1] * n[1] + R[0, 2] * n[2],
        R[1, 0] * n[0] + R[1, 1] * n[1] + R[1, 2] * n[2],
        R[2, 0] * n[0] + R[2, 1] * n[1] + R[2, 2] * n[2],
    )
    if i != WORLD_BODY:
        normal = turned(work, i, normal)
    r = arm.contact_radius[g]
    return distance - r, normal, (x - r * normal[0], y - r * normal[1], z - r * normal[2])


@compiled
def distance_and_normal(kind, size, x, y, z):
    """Distance of a point (x, y, z) from a surface in its frame, and the normal there."""
    if kind == PLANE:
        return z, (0.0, 0.0, 1.0)
    if kind == BOX:
        return distance_from_box(size, x, y, z)
    if kind == CYLINDER:
        return distance_from_cylinder(size, x, y, z)
    if kind == CAPSULE:
        z -= min(max(z, -size[1]), size[1])
    distance = sqrt(x * x + y * y + z * z)
    if distance == 0.0:
        return -size[0], (1.0, 0.0, 0.0)
    return distance - size[0], (x / distance, y / distance, z / distance)


@compiled
def distance_from_box(size, x, y, z):
    """Distance from a box with these half edges, and its normal."""
    a, b, c = abs(x) - size[0], abs(y) - size[1], abs(z) - size[2]
    sx, sy, sz = -1.0 if x < 0.0 else 1.0, -1.0 if y < 0.0 else 1.0, -1.0 if z < 0.0 else 1.0
    if max(a, b, c) <= 0.0:  # inside: the nearest face
        if a >= b and a >= c:
            return a, (sx, 0.0, 0.0)
        if b >= c:
            return b, (0.0, sy, 0.0)
        return c, (0.0, 0.0, sz)
    a, b, c = max(a, 0.0), max(b, 0.0), max(c, 0.0)
    distance = sqrt(a * a + b * b + c * c)
    return distance, (sx * a / distance, sy * b / distance, sz * c / distance)


@compiled
def distance_from_cylinder(size, x, y, z):
    """Distance from a cylinder with this radius and half length along z, and its normal."""
    across, sz = sqrt(x * x + y * y), -1.0 if z < 0.0 else 1.0
    ux, uy = (x / across, y / across) if across > 0.0 else (1.0, 0.0)
    a, b = across - size[0], abs(z) - size[1]
    if a <= 0.0 and b <= 0.0:
        return (a, (ux, uy, 0.0)) if a >= b else (b, (0.0, 0.0, sz))
    a, b = max(a, 0.0), max(b, 0.0)
    distance = sqrt(a * a + b * b)
    return distance, (ux * a / distance, uy * a / distance, sz * b / distance)


@compiled
def set_axes(arm, g, work):
    """Set the axes and the place of point g in the base frame; return its gap."""
    gap, n, at = gap_and_normal(arm, g, work)
    # the first tangent is normal to the base axis that is closest to the plane
    if abs(n[0]) <= abs(n[1]) and abs(n[0]) <= abs(n[2]):
        t = cross(n, (1.0, 0.0, 0.0))
    elif abs(n[1]) <= abs(n[2]):
        t = cross(n, (0.0, 1.0, 0.0))
    else:
        t = cross(n, (0.0, 0.0, 1.0))
    length = sqrt(t[0] * t[0] + t[1] * t[1] + t[2] * t[2])
    t = t[0] / length, t[1] / length, t[2] / length
    s = cross(n, t)
    axes = work.contact_axes[g]
    for k in range(3):
        axes[0, k], axes[1, k], axes[2, k] = n[k], t[k], s[k]
        work.contact_at[g, k] = at[k]
    return gap


@compiled
def set_contact_jacobian(arm, g, work):
    """Rows of the Jacobian of point g, for the base poses and Jacobians of stations in `work`."""
    set_axes(arm, g, work)
    S, W, axes, at = (
        work.relative_screw,
        work.contact_jacobian,
        work.contact_axes[g],
        (work.contact_at[g, 0], work.contact_at[g, 1], work.contact_at[g, 2]),
    )
    set_relative_screws(arm, max(arm.contact_body[g, 0], -1), arm.contact_body[g, 1], at, work, S)
    for r in range(3):
        for k in range(S.shape[0]):
            W[3 * g + r, k] = axes[r, 0] * S[k, 3] + axes[r, 1] * S[k, 4] + axes[r, 2] * S[k, 5]


@compiled
def rate_by_base(arm, g, r, V, work):
    """
    Rate along axis r of point g that a moved base adds to those by the coordinates.

    :param V: twist of the base in its axes, (6,).
    """
    if work.base_moves[0] == 0.0 or arm.contact_body[g, 0] != WORLD_BODY:
        return 0.0  # both bodies move with the base
    a, at, p = work.contact_axes[g, r], work.contact_at[g], work.root_p
    wx, wy, wz = turned(work, -1, (V[0], V[1], V[2]))
    vx, vy, vz = turned(work, -1, (V[3], V[4], V[5]))
    x, y, z = at[0] - p[0], at[1] - p[1], at[2] - p[2]
    return (
        a[0] * (vx + wy * z - wz * y)
        + a[1] * (vy + wz * x - wx * z)
        + a[2] * (vz + wx * y - wy * x)
    )
