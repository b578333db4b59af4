"""
Motion of all bodies and stations of an arm, base to tip.

Each body has a frame; that of an elastic body is fixed to its root, with x along the beam. A child
of an elastic body is attached to a station: the frame of the cross-section at x, with the pose

    r = (x + u + s, v, w),    s = -1/2 e^T H(x) e,    R = exp(phi, -w', v')                  (T10)

with the deflections u, v, w, the turn phi and the shortening s at x, all functions of the elastic
coordinates e. In a segment of a beam the setback -1/6 int (v', w') (v'^2 + w'^2) joins v and w.
Relative to the root, the station has the twist K de/dt (T11) and the velocity-dependent
acceleration beta (T12). Energies need neither K nor beta: `set_twists` leaves them out.
"""

from flex_robot_sim.dynamics.elastic_station import set_elastic_station, set_elastic_station_pose
from flex_robot_sim.dynamics.free_base import add_base_rates, set_base_body
from flex_robot_sim.dynamics.sliding_station import set_sliding_station, set_sliding_station_pose
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.body_kinds import ELASTIC, SLIDING
from flex_robot_sim.spatial.exponential import set_rotation, set_turn
from flex_robot_sim.spatial.screws import (
    add_bracket,
    add_scaled,
    set_composed,
    set_in_child,
    set_pose,
    set_product,
)


@compiled
def set_motion(arm, q, qd, work):
    """
    Pose in the parent, twist V, and velocity-dependent acceleration c, of every body.

    :param arm: ArmModel with n coordinates.
    :param q: coordinates, (n,) [rad, m]; qd are their rates.
    :param work: Workspace; receives R, origin, V, c of the bodies and K, beta of the stations.
    """
    for i in range(arm.parent.size):
        station, j, c = arm.station[i], arm.joint[i], work.c[i]
        if station >= 0:
            set_station(arm, station, arm.parent[i], q, qd, work)
        set_pose_in_parent(arm, i, q, work)
        set_twist(arm, i, qd, work)
        c[:] = 0.0
        if station >= 0:
            set_in_child(work.R[i], work.origin[i], work.beta[station], c)
        if j >= 0:
            add_bracket(qd[j], work.V[i], arm.screw[i], c)


@compiled
def set_twists(arm, q, qd, work):
    """
    Twist V, and pose in the parent and in the base frame, of every body.

    They are those of `set_motion`, which also computes what accelerations need.
    """
    for i in range(arm.parent.size):
        if arm.station[i] >= 0:
            set_station_twist(arm, arm.station[i], arm.parent[i], q, qd, work)
        set_pose_in_parent(arm, i, q, work)
        set_base_pose(arm, i, work)
        set_twist(arm, i, qd, work)


@compiled(inline=True)
def set_twist(arm, i, qd, work):
    """Twist of body i: that of its station or parent plus the joint motion (8.51), (T13)."""
    parent, station, j = arm.parent[i], arm.station[i], arm.joint[i]
    R, p, V = work.R[i], work.origin[i], work.V[i]
    if parent < 0 and work.base_moves[0] != 0.0:
        set_in_child(R, p, work.root_V, V)
    elif parent < 0:
        V[:] = 0.0
        add_base_rates(arm, qd, V)
    elif station >= 0:
        parent_motion = work.parent_motion
        for r in range(6):
            parent_motion[r] = work.V[parent, r] + work.Ve[station, r]
        set_in_child(R, p, parent_motion, V)
    else:
        set_in_child(R, p, work.V[parent], V)
    if j >= 0:
        add_scaled(qd[j], arm.screw[i], V)


@compiled
def set_pose_in_parent(arm, i, q, work):
    """Pose of body i in its parent; if that is elastic, the pose of the station is already set."""
    s, j, R, p = arm.station[i], arm.joint[i], work.R[i], work.origin[i]
    if arm.parent[i] < 0 and arm.base.shape[0] > 0:
        set_base_body(arm, q, work)
    elif s < 0:
        set_pose(arm.home_R[i], arm.home_p[i], arm.screw[i], q[j] if j >= 0 else 0.0, R, p)
    elif j < 0:
        set_composed(work.station_R[s], work.station_p[s], arm.home_R[i], arm.home_p[i], R, p)
    else:
        set_pose(arm.home_R[i], arm.home_p[i], arm.screw[i], q[j], work.child_R, work.child_p)
        set_composed(work.station_R[s], work.station_p[s], work.child_R, work.child_p, R, p)


@compiled
def set_station(arm, s, i, q, qd, work):
    """Pose, relative twist Ve = K de/dt, Jacobian K and bias beta of station s on body i."""
    set_station_of(arm, s, i, q, qd, True, work)


@compiled
def set_station_twist(arm, s, i, q, qd, work):
    """Pose and relative twist Ve of station s on body i."""
    set_station_of(arm, s, i, q, qd, False, work)


@compiled(inline=True)
def set_station_of(arm, s, i, q, qd, has_jacobian, work):
    """
    Pose and relative twist Ve of station s on body i.

    :param has_jacobian: whether the Jacobian K and the bias beta are set, too; a constant.
    """
    if arm.kind[i] == ELASTIC:
        set_elastic_station(arm, s, i, q, qd, has_jacobian, work)
        return
    if arm.kind[i] == SLIDING:
        set_sliding_station(arm, s, i, q, qd, work)
        return
    first = arm.first[i]
    ny = arm.count[i, 0]
    nz = arm.count[i, 1]
    nt = arm.count[i, 2]
    nu = arm.count[i, 3]
    y_end, z_end, t_end, n = ny, ny + nz, ny + nz + nt, ny + nz + nt + nu
    shape, slope, H = arm.station_shape[s], arm.station_slope[s], arm.station_H[s]
    reach = arm.reach[i]
    is_banded = reach + 1 < max(ny, nz)
    theta, dtheta, r, dr = work.theta, work.dtheta, work.station_p[s], work.dr
    theta[:] = 0.0
    dtheta[:] = 0.0
    dr[:] = 0.0
    r[0], r[1], r[2] = arm.station_x[s], 0.0, 0.0

    # deflection and turn of the section
    for k in range(ny):
        e, de = q[first + k], qd[first + k]
        r[1] += shape[k] * e
        dr[1] += shape[k] * de
        theta[2] += slope[k] * e
        dtheta[2] += slope[k] * de
    for k in range(y_end, z_end):
        e, de = q[first + k], qd[first + k]
        r[2] += shape[k] * e
        dr[2] += shape[k] * de
        theta[1] -= slope[k] * e
        dtheta[1] -= slope[k] * de
    for k in range(z_end, t_end):
        theta[0] += shape[k] * q[first + k]
        dtheta[0] += shape[k] * qd[first + k]
    for k in range(t_end, n):
        r[0] += shape[k] * q[first + k]
        dr[0] += shape[k] * qd[first + k]

    # shortening of the axis, its gradient h, and its second rate
    h, second_x = work.h, 0.0
    for k in range(z_end):
        h[k] = 0.0
    for first_row, end in ((0, y_end), (y_end, z_end)):
        for k in range(first_row, end):
            low, high = first_row, end
            if is_banded:
                low, high = max(low, k - reach), min(high, k + reach + 1)
            dh = 0.0
            for m in range(low, high):
                h[k] += H[k, m - low] * q[first + m]
                dh += H[k, m - low] * qd[first + m]
            r[0] -= 0.5 * q[first + k] * h[k]
            dr[0] -= qd[first + k] * h[k]
            second_x -= qd[first + k] * dh

    # setback of segments, its gradient, and its second rate
    setback, gradient, second_y, second_z = arm.station_setback[s], work.setback_gradient, 0.0, 0.0
    if setback.shape[0] > 0:
        second_y, second_z = add_setback(setback, q, qd, first, y_end, z_end, r, dr, gradient)

    # Jacobian: angular part G Theta, linear part r x angular + gradient of r                 (T11)
    G, K, alpha = work.G, work.K[s], work.alpha
    set_turn(theta, dtheta, work.station_R[s], G, alpha)
    if has_jacobian:
        for k in range(n):
            if k < y_end:
                axis, turn = 2, slope[k]
            elif k < z_end:
                axis, turn = 1, -slope[k]
            elif k < t_end:
                axis, turn = 0, shape[k]
            else:
                axis, turn = 0, 0.0
            x, y, w = G[0, axis] * turn, G[1, axis] * turn, G[2, axis] * turn
            K[0, k], K[1, k], K[2, k] = x, y, w
            K[3, k] = r[1] * w - r[2] * y
            K[4, k] = r[2] * x - r[0] * w
            K[5, k] = r[0] * y - r[1] * x
            if k < z_end:
                K[3, k] -= h[k]
                K[4 if k < y_end else 5, k] += shape[k]
                if setback.shape[0] > 0:
                    K[4, k] -= gradient[0, k]
                    K[5, k] -= gradient[1, k]
            elif k >= t_end:
                K[3, k] += shape[k]

    # relative twist, and the velocity-dependent part of its rate                             (T12)
    Ve, beta, angular_rate = work.Ve[s], work.beta[s], work.angular_rate
    set_product(G, dtheta, angular_rate)
    for a in range(3):
        Ve[a] = angular_rate[a]
    Ve[3] = r[1] * Ve[2] - r[2] * Ve[1] + dr[0]
    Ve[4] = r[2] * Ve[0] - r[0] * Ve[2] + dr[1]
    Ve[5] = r[0] * Ve[1] - r[1] * Ve[0] + dr[2]
    if not has_jacobian:
        return
    for a in range(3):
        beta[a] = alpha[a]
    beta[3] = dr[1] * Ve[2] - dr[2] * Ve[1] + r[1] * alpha[2] - r[2] * alpha[1] + second_x
    beta[4] = dr[2] * Ve[0] - dr[0] * Ve[2] + r[2] * alpha[0] - r[0] * alpha[2] + second_y
    beta[5] = dr[0] * Ve[1] - dr[1] * Ve[0] + r[0] * alpha[1] - r[1] * alpha[0] + second_z
    add_bracket(1.0, work.V[i], Ve, beta)


@compiled
def add_setback(rows, q, qd, first, y_end, z_end, r, dr, gradient):
    """
    Subtract the setback of a segment from the position r and its rate dr; return second rates.

    :param rows: of `station_setback`, (k, n); coordinates from `first` up to `y_end` bend along
        y, those up to `z_end` along z.
    :param gradient: (2, n), receives the gradients along y and z.
    """
    second_y, second_z = 0.0, 0.0
    for k in range(z_end):
        gradient[0, k] = gradient[1, k] = 0.0
    for g in range(rows.shape[0]):
        a, da, b, db = 0.0, 0.0, 0.0, 0.0
        for k in range(y_end):
            a += rows[g, k] * q[first + k]
            da += rows[g, k] * qd[first + k]
        for k in range(y_end, z_end):
            b += rows[g, k] * q[first + k]
            db += rows[g, k] * qd[first + k]
        yy, yz, zz = 3.0 * a * a + b * b, 2.0 * a * b, a * a + 3.0 * b * b
        r[1] -= a * (a * a + b * b)
        r[2] -= b * (a * a + b * b)
        dr[1] -= yy * da + yz * db
        dr[2] -= yz * da + zz * db
        second_y -= 6.0 * a * da * da + 4.0 * b * da * db + 2.0 * a * db * db
        second_z -= 6.0 * b * db * db + 4.0 * a * da * db + 2.0 * b * da * da
        for k in range(y_end):
            gradient[0, k] += yy * rows[g, k]
            gradient[1, k] += yz * rows[g, k]
        for k in range(y_end, z_end):
            gradient[0, k] += yz * rows[g, k]
            gradient[1, k] += zz * rows[g, k]
    return second_y, second_z


@compiled
def set_poses(arm, q, bodies, work):
    """
    Pose of the first bodies in their parents and in the base frame, from the coordinates alone.

    :param bodies: number of bodies.
    :param work: Workspace; receives R, origin, base_R and base_p of these bodies.
    """
    for i in range(bodies):
        if arm.station[i] >= 0:
            set_station_pose(arm, arm.station[i], arm.parent[i], q, work)
        set_pose_in_parent(arm, i, q, work)
        set_base_pose(arm, i, work)


@compiled
def set_station_pose(arm, s, i, q, work):
    """Pose of station s on body i in the frame of the root (T10); see `set_station`."""
    if arm.kind[i] == ELASTIC:
        set_elastic_station_pose(arm, s, i, q, work)
        return
    if arm.kind[i] == SLIDING:
        set_sliding_station_pose(arm, s, i, q, work)
        return
    first = arm.first[i]
    ny = arm.count[i, 0]
    nz = arm.count[i, 1]
    nt = arm.count[i, 2]
    n = arm.modes[i]
    y_end, z_end, t_end = ny, ny + nz, ny + nz + nt
    shape, slope, H = arm.station_shape[s], arm.station_slope[s], arm.station_H[s]
    theta, r, reach = work.theta, work.station_p[s], arm.reach[i]
    theta[:] = 0.0
    r[0], r[1], r[2] = arm.station_x[s], 0.0, 0.0
    for k in range(z_end):
        e = q[first + k]
        if k < y_end:
            r[1] += shape[k] * e
            theta[2] += slope[k] * e
        else:
            r[2] += shape[k] * e
            theta[1] -= slope[k] * e
        low, high = (0, y_end) if k < y_end else (y_end, z_end)
        low, high = max(low, k - reach), min(high, k + reach + 1)
        for m in range(low, high):
            r[0] -= 0.5 * e * H[k, m - low] * q[first + m]
    rows = arm.station_setback[s]
    for g in range(rows.shape[0]):
        a, b = 0.0, 0.0
        for k in range(y_end):
            a += rows[g, k] * q[first + k]
        for k in range(y_end, z_end):
            b += rows[g, k] * q[first + k]
        r[1] -= a * (a * a + b * b)
        r[2] -= b * (a * a + b * b)
    for k in range(z_end, t_end):
        theta[0] += shape[k] * q[first + k]
    for k in range(t_end, n):
        r[0] += shape[k] * q[first + k]
    set_rotation(theta, work.station_R[s])


@compiled
def set_base_poses(arm, work):
    """Pose of every body in the base frame, from the poses relative to the parents in `work`."""
    for i in range(arm.parent.size):
        set_base_pose(arm, i, work)


@compiled
def set_base_pose(arm, i, work):
    """Pose of body i in the base frame, from its pose relative to the parent."""
    parent, R, p = arm.parent[i], work.base_R[i], work.base_p[i]
    if parent < 0:
        set_composed(work.root_R, work.root_p, work.R[i], work.origin[i], R, p)
    else:
        set_composed(work.base_R[parent], work.base_p[parent], work.R[i], work.origin[i], R, p)
