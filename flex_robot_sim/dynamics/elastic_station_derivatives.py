"""
Stations of elastic bodies (T95): rates of the Jacobian K, and its curvature under a wrench.

With u_k = d(theta, r)/de_k = U_k + sum_j Q_kj e_j and the G of `set_turn`, the angular column is
G u_k. Its rates contain those of u_k, Q_kj de_j and Q_kj dde_j. Equation numbers: docs/theory.md.
"""

from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.spatial.exponential import set_turn, set_turn_curvature, set_turn_rates


@compiled
def set_elastic_station_rates(arm, s, i, q, qd, qdd, work, arrays):
    """Rates of the angular columns of station s, and of the gradient of its position (T60)."""
    first, n = arm.first[i], arm.modes[i]
    theta, dtheta, ddtheta, G = work.theta, work.dtheta, work.dr, work.G
    for a in range(3):
        theta[a] = dtheta[a] = ddtheta[a] = 0.0
    for k in range(n):
        U, e, de, dde = arm.station_U[s, k], q[first + k], qd[first + k], qdd[first + k]
        for a in range(3):
            half = u = U[a]
            rate = second = 0.0
            for m in range(n):
                Q = arm.station_Q[s, k, m, a]
                half += 0.5 * Q * q[first + m]
                u += Q * q[first + m]
                rate += Q * qd[first + m]
                second += Q * qdd[first + m]
            theta[a] += half * e
            dtheta[a] += u * de
            ddtheta[a] += u * dde + rate * de
            # rates of u_k, replaced below by those of G u_k
            arrays.N[k, a], arrays.turn_rate[k, a], arrays.turn_second[k, a] = u, rate, second
            rate = second = 0.0
            for m in range(n):
                Q = arm.station_Q[s, k, m, 3 + a]
                rate += Q * qd[first + m]
                second += Q * qdd[first + m]
            arrays.N_rate[k, a], arrays.N_second[k, a] = rate, second
    set_turn(theta, dtheta, work.station_turn, G, work.alpha)
    G_rate, G_second = arrays.G[0], arrays.G[1]
    set_turn_rates(theta, dtheta, ddtheta, G_rate, G_second)
    for k in range(n):
        u, rate, second = arrays.N[k], arrays.turn_rate[k], arrays.turn_second[k]
        x, y, z, dx, dy, dz = u[0], u[1], u[2], rate[0], rate[1], rate[2]
        ddx, ddy, ddz = second[0], second[1], second[2]
        for a in range(3):
            rate[a] = (
                G_rate[a, 0] * x + G_rate[a, 1] * y + G_rate[a, 2] * z
                + G[a, 0] * dx + G[a, 1] * dy + G[a, 2] * dz
            )  # fmt: skip
            second[a] = (
                G_second[a, 0] * x + G_second[a, 1] * y + G_second[a, 2] * z
                + 2.0 * (G_rate[a, 0] * dx + G_rate[a, 1] * dy + G_rate[a, 2] * dz)
                + G[a, 0] * ddx + G[a, 1] * ddy + G[a, 2] * ddz
            )  # fmt: skip


@compiled
def add_elastic_station_stiffness(arm, s, i, q, mx, my, mz, fx, fy, fz, work, arrays, slopes):
    """
    Add y . dK_l/de_k at station s of body i to its elastic block of slopes (n, n) (T64).

    :param mx: moment (mx, my, mz) and force (fx, fy, fz) of the wrench y, in the axes of body i.
    :param arrays: DerivativeArrays, whose N and G are overwritten.
    """
    first, n = arm.first[i], arm.modes[i]
    r, K, theta, y, X = work.station_p[s], work.K[s], work.theta, work.dtheta, arrays.G[2]
    for a in range(3):
        theta[a] = 0.0
    for k in range(n):
        for a in range(3):
            half = u = arm.station_U[s, k, a]
            for m in range(n):
                half += 0.5 * arm.station_Q[s, k, m, a] * q[first + m]
                u += arm.station_Q[s, k, m, a] * q[first + m]
            theta[a] += half * q[first + k]
            arrays.N[k, a] = u
    y[0] = mx - r[1] * fz + r[2] * fy
    y[1] = my - r[2] * fx + r[0] * fz
    y[2] = mz - r[0] * fy + r[1] * fx
    set_turn_curvature(theta, y, X)
    set_turn(theta, y, work.station_turn, work.G, work.alpha)
    G = work.G
    # y^T G, the moment on the rates of theta
    tx = y[0] * G[0, 0] + y[1] * G[1, 0] + y[2] * G[2, 0]
    ty = y[0] * G[0, 1] + y[1] * G[1, 1] + y[2] * G[2, 1]
    tz = y[0] * G[0, 2] + y[1] * G[1, 2] + y[2] * G[2, 2]
    for k in range(n):
        u = arrays.N[k]
        cx = u[0] * X[0, 0] + u[1] * X[1, 0] + u[2] * X[2, 0]
        cy = u[0] * X[0, 1] + u[1] * X[1, 1] + u[2] * X[2, 1]
        cz = u[0] * X[0, 2] + u[1] * X[1, 2] + u[2] * X[2, 2]
        nx = K[3, k] - r[1] * K[2, k] + r[2] * K[1, k]
        ny = K[4, k] - r[2] * K[0, k] + r[0] * K[2, k]
        nz = K[5, k] - r[0] * K[1, k] + r[1] * K[0, k]
        # N . (a x f) = a . (f x N)
        px, py, pz = fy * nz - fz * ny, fz * nx - fx * nz, fx * ny - fy * nx
        for m in range(n):
            v, Q = arrays.N[m], arm.station_Q[s, k, m]
            slopes[first + k, first + m] += (
                cx * v[0] + cy * v[1] + cz * v[2]
                + px * K[0, m] + py * K[1, m] + pz * K[2, m]
                + tx * Q[0] + ty * Q[1] + tz * Q[2] + fx * Q[3] + fy * Q[4] + fz * Q[5]
            )  # fmt: skip
