"""
Stations of a sliding link: its tip at xi = 1, and its rear end in the guide.

Both are as in kinematics.py, with the free length as the last coordinate: r at the tip is (T119),
and its turn exp(theta) with theta = (phi_t e, -w', v').
"""

from flex_robot_sim.dynamics.sliding_body import free_length
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.slide_columns import LENGTH
from flex_robot_sim.spatial.exponential import set_rotation, set_turn
from flex_robot_sim.spatial.screws import add_bracket, set_product


@compiled
def is_rear(arm, s):
    """Whether station s of a sliding link is its rear end."""
    return arm.station_x[s] == 0.0


@compiled
def set_tip(arm, s, i, q, work):
    """Position of the tip station s of sliding body i, its turn work.theta, and gradient h."""
    first, z_end, n = arm.first[i], arm.count[i, 0] + arm.count[i, 1], arm.modes[i]
    shape, slope, H = arm.station_shape[s], arm.station_slope[s], arm.slide_tip_H[i]
    theta, r, h = work.theta, work.station_p[s], work.h
    length = free_length(arm, i, q)
    inverse = 1.0 / length
    theta[:] = 0.0
    r[0], r[1], r[2] = length, 0.0, 0.0
    for k in range(n):
        e = q[first + k]
        if k >= z_end:
            theta[0] += shape[k] * e
            continue
        h[k] = 0.0
        for m in range(z_end):
            h[k] += H[k, m] * q[first + m] * inverse
        r[0] -= 0.5 * e * h[k]
        if k < arm.count[i, 0]:
            r[1] += shape[k] * e
            theta[2] += slope[k] * e * inverse
        else:
            r[2] += shape[k] * e
            theta[1] -= slope[k] * e * inverse


@compiled
def set_sliding_station_pose(arm, s, i, q, work):
    """Pose of station s of sliding body i; see `set_station_pose`."""
    R, r = work.station_R[s], work.station_p[s]
    if is_rear(arm, s):
        for a in range(3):
            r[a] = 0.0
            for b in range(3):
                R[a, b] = 1.0 if a == b else 0.0
        r[0] = free_length(arm, i, q) - arm.slide_data[i, LENGTH]
        return
    set_tip(arm, s, i, q, work)
    set_rotation(work.theta, R)


@compiled
def set_sliding_station(arm, s, i, q, qd, work):
    """Pose, relative twist, Jacobian and bias of station s of sliding body i."""
    first, y_end, n = arm.first[i], arm.count[i, 0], arm.modes[i]
    z_end = y_end + arm.count[i, 1]
    K, Ve, beta, ds = work.K[s], work.Ve[s], work.beta[s], qd[arm.slide[i]]
    for a in range(6):
        Ve[a] = beta[a] = 0.0
        for k in range(n + 1):
            K[a, k] = 0.0
    if is_rear(arm, s):
        set_sliding_station_pose(arm, s, i, q, work)
        K[3, n], Ve[3] = 1.0, ds
        add_bracket(1.0, work.V[i], Ve, beta)
        return
    set_tip(arm, s, i, q, work)
    shape, slope, H = arm.station_shape[s], arm.station_slope[s], arm.slide_tip_H[i]
    theta, dtheta, r, dr, h = work.theta, work.dtheta, work.station_p[s], work.dr, work.h
    inverse = 1.0 / free_length(arm, i, q)
    # rates, and second rates when no coordinate accelerates
    dtheta[0] = -0.0
    dtheta[1], dtheta[2] = -theta[1] * inverse * ds, -theta[2] * inverse * ds
    ddy, ddz = 2.0 * theta[1] * (inverse * ds) ** 2, 2.0 * theta[2] * (inverse * ds) ** 2
    stretch = 0.0  # e^T H e / s
    dr[1] = dr[2] = 0.0
    dr[0], second_x = 0.0, 0.0
    for k in range(n):
        e, de = q[first + k], qd[first + k]
        if k >= z_end:
            dtheta[0] += shape[k] * de
            continue
        stretch += e * h[k]
        dh = 0.0
        for m in range(z_end):
            dh += H[k, m] * qd[first + m] * inverse
        dr[0] -= de * h[k]
        second_x -= de * dh - 2.0 * de * h[k] * inverse * ds
        if k < y_end:
            dr[1] += shape[k] * de
            dtheta[2] += slope[k] * de * inverse
            ddz -= 2.0 * slope[k] * de * inverse * inverse * ds
        else:
            dr[2] += shape[k] * de
            dtheta[1] -= slope[k] * de * inverse
            ddy += 2.0 * slope[k] * de * inverse * inverse * ds
    by_s = 1.0 + 0.5 * stretch * inverse
    dr[0] += by_s * ds
    second_x -= stretch * inverse * inverse * ds * ds
    # Jacobian (T11), twist and its bias (T12)
    G, alpha, angular = work.G, work.alpha, work.angular_rate
    set_turn(theta, dtheta, work.station_R[s], G, alpha)
    for a in range(3):
        alpha[a] += G[a, 1] * ddy + G[a, 2] * ddz
    for k in range(n + 1):
        if k == n:
            ty, tz = -theta[1] * inverse, -theta[2] * inverse
            x = G[0, 1] * ty + G[0, 2] * tz
            y = G[1, 1] * ty + G[1, 2] * tz
            w = G[2, 1] * ty + G[2, 2] * tz
        else:
            axis, turn = 0, shape[k]
            if k < y_end:
                axis, turn = 2, slope[k] * inverse
            elif k < z_end:
                axis, turn = 1, -slope[k] * inverse
            x, y, w = G[0, axis] * turn, G[1, axis] * turn, G[2, axis] * turn
        K[0, k], K[1, k], K[2, k] = x, y, w
        K[3, k] = r[1] * w - r[2] * y
        K[4, k] = r[2] * x - r[0] * w
        K[5, k] = r[0] * y - r[1] * x
        if k < z_end:
            K[3, k] -= h[k]
            K[4 if k < y_end else 5, k] += shape[k]
    K[3, n] += by_s
    set_product(G, dtheta, angular)
    for a in range(3):
        Ve[a] = angular[a]
        beta[a] = alpha[a]
    Ve[3] = r[1] * Ve[2] - r[2] * Ve[1] + dr[0]
    Ve[4] = r[2] * Ve[0] - r[0] * Ve[2] + dr[1]
    Ve[5] = r[0] * Ve[1] - r[1] * Ve[0] + dr[2]
    beta[3] = dr[1] * Ve[2] - dr[2] * Ve[1] + r[1] * alpha[2] - r[2] * alpha[1] + second_x
    beta[4] = dr[2] * Ve[0] - dr[0] * Ve[2] + r[2] * alpha[0] - r[0] * alpha[2]
    beta[5] = dr[0] * Ve[1] - dr[1] * Ve[0] + r[0] * alpha[1] - r[1] * alpha[0]
    add_bracket(1.0, work.V[i], Ve, beta)
