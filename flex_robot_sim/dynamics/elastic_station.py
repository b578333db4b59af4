"""
Stations of elastic bodies, whose fields have three components and a second order.

With the fields U and Q of a station, its rotation vector and displacement are

    (theta, u) = U e + 1/2 sum_ij Q_ij e_i e_j,    R = exp(theta) R0,    r = r0 + u          (T95)

K is (T11) with d(theta, u)/de in the place of Theta and dr/de, and beta is (T12) with the second
rates of both. Equation numbers are those of docs/theory.md.
"""

from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.spatial.exponential import set_rotation, set_turn
from flex_robot_sim.spatial.screws import add_bracket


@compiled(inline=True)
def set_elastic_station(arm, s, i, q, qd, has_jacobian, work):
    """
    Pose and relative twist Ve of station s on body i (T95).

    :param has_jacobian: whether the Jacobian K and the bias beta are set, too; a constant.
    """
    first, n = arm.first[i], arm.modes[i]
    theta, dtheta, r, dr = work.theta, work.dtheta, work.station_p[s], work.dr
    K, G, alpha, turn = work.K[s], work.G, work.alpha, work.station_turn
    Ve, beta = work.Ve[s], work.beta[s]
    for a in range(3):
        theta[a] = dtheta[a] = dr[a] = 0.0
        r[a] = arm.station_home_p[s, a]
    ax = ay = az = bx = by = bz = 0.0  # second rates of theta and r
    for k in range(n):
        e, de, u = q[first + k], qd[first + k], arm.station_U[s, k]
        u0, u1, u2, u3, u4, u5 = u[0], u[1], u[2], u[3], u[4], u[5]
        h0, h1, h2, h3, h4, h5 = u0, u1, u2, u3, u4, u5  # with half of the second order
        for m in range(n):
            Q, em, rate = arm.station_Q[s, k, m], q[first + m], de * qd[first + m]
            half = 0.5 * em
            u0 += Q[0] * em
            u1 += Q[1] * em
            u2 += Q[2] * em
            u3 += Q[3] * em
            u4 += Q[4] * em
            u5 += Q[5] * em
            h0 += Q[0] * half
            h1 += Q[1] * half
            h2 += Q[2] * half
            h3 += Q[3] * half
            h4 += Q[4] * half
            h5 += Q[5] * half
            ax += Q[0] * rate
            ay += Q[1] * rate
            az += Q[2] * rate
            bx += Q[3] * rate
            by += Q[4] * rate
            bz += Q[5] * rate
        theta[0] += h0 * e
        theta[1] += h1 * e
        theta[2] += h2 * e
        r[0] += h3 * e
        r[1] += h4 * e
        r[2] += h5 * e
        dtheta[0] += u0 * de
        dtheta[1] += u1 * de
        dtheta[2] += u2 * de
        dr[0] += u3 * de
        dr[1] += u4 * de
        dr[2] += u5 * de
        if has_jacobian:
            K[0, k], K[1, k], K[2, k], K[3, k], K[4, k], K[5, k] = u0, u1, u2, u3, u4, u5
    set_turn(theta, dtheta, turn, G, alpha)
    set_turned(turn, arm.station_home_R[s], work.station_R[s])
    # angular part G dtheta/de, linear part r x angular + dr/de                             (T11)
    for k in range(n if has_jacobian else 0):
        x, y, z = K[0, k], K[1, k], K[2, k]
        wx = G[0, 0] * x + G[0, 1] * y + G[0, 2] * z
        wy = G[1, 0] * x + G[1, 1] * y + G[1, 2] * z
        wz = G[2, 0] * x + G[2, 1] * y + G[2, 2] * z
        K[0, k], K[1, k], K[2, k] = wx, wy, wz
        K[3, k] += r[1] * wz - r[2] * wy
        K[4, k] += r[2] * wx - r[0] * wz
        K[5, k] += r[0] * wy - r[1] * wx
    for a in range(3):
        Ve[a] = G[a, 0] * dtheta[0] + G[a, 1] * dtheta[1] + G[a, 2] * dtheta[2]
        if has_jacobian:
            beta[a] = alpha[a] + G[a, 0] * ax + G[a, 1] * ay + G[a, 2] * az
    Ve[3] = r[1] * Ve[2] - r[2] * Ve[1] + dr[0]
    Ve[4] = r[2] * Ve[0] - r[0] * Ve[2] + dr[1]
    Ve[5] = r[0] * Ve[1] - r[1] * Ve[0] + dr[2]
    if not has_jacobian:
        return
    beta[3] = dr[1] * Ve[2] - dr[2] * Ve[1] + r[1] * beta[2] - r[2] * beta[1] + bx
    beta[4] = dr[2] * Ve[0] - dr[0] * Ve[2] + r[2] * beta[0] - r[0] * beta[2] + by
    beta[5] = dr[0] * Ve[1] - dr[1] * Ve[0] + r[0] * beta[1] - r[1] * beta[0] + bz
    add_bracket(1.0, work.V[i], Ve, beta)


@compiled
def set_elastic_station_pose(arm, s, i, q, work):
    """Pose of station s on elastic body i in the frame of its root (T95)."""
    first, n = arm.first[i], arm.modes[i]
    theta, r = work.theta, work.station_p[s]
    for a in range(3):
        theta[a] = 0.0
        r[a] = arm.station_home_p[s, a]
    for k in range(n):
        e = q[first + k]
        for a in range(3):
            turn, move = arm.station_U[s, k, a], arm.station_U[s, k, 3 + a]
            for m in range(n):
                half = 0.5 * q[first + m]
                turn += arm.station_Q[s, k, m, a] * half
                move += arm.station_Q[s, k, m, 3 + a] * half
            theta[a] += turn * e
            r[a] += move * e
    set_rotation(theta, work.station_turn)
    set_turned(work.station_turn, arm.station_home_R[s], work.station_R[s])


@compiled
def set_turned(turn, home, out):
    """Product of two rotations, (3, 3)."""
    for a in range(3):
        for b in range(3):
            out[a, b] = turn[a, 0] * home[0, b] + turn[a, 1] * home[1, b] + turn[a, 2] * home[2, b]
