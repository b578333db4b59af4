"""
Stations of elastic bodies: rates of the Jacobian K, and its curvature under a wrench.

Equation numbers are those of docs/theory.md.
"""

from flex_robot_sim.dynamics.elastic_station_derivatives import (
    add_elastic_station_stiffness,
    set_elastic_station_rates,
)
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.body_kinds import ELASTIC
from flex_robot_sim.spatial.exponential import set_turn_curvature, set_turn_rates
from flex_robot_sim.spatial.screws import add_bracket


@compiled
def set_station_derivatives(arm, s, i, order, q, qd, qdd, work, arrays):
    """
    Columns K of station s on body i, and their first and second rates (T60), in base axes.

    Poses and K of the station are in `work`, V and A of the body in `arrays`.

    :param order: ColumnOrder; arrays: DerivativeArrays; receives K, K_rate and K_second.
    """
    if arm.kind[i] == ELASTIC:
        set_elastic_station_rates(arm, s, i, q, qd, qdd, work, arrays)
    else:
        _set_beam_station_rates(arm, s, i, order, q, qd, qdd, work, arrays)
    first, n, r, K = arm.first[i], arm.modes[i], work.station_p[s], work.K[s]
    N, N_rate, N_second = arrays.N, arrays.N_rate, arrays.N_second
    # gradient N of the position r, and the rates of r
    vx = vy = vz = ax = ay = az = 0.0
    for k in range(n):
        de, dde = qd[first + k], qdd[first + k]
        N[k, 0] = K[3, k] - r[1] * K[2, k] + r[2] * K[1, k]
        N[k, 1] = K[4, k] - r[2] * K[0, k] + r[0] * K[2, k]
        N[k, 2] = K[5, k] - r[0] * K[1, k] + r[1] * K[0, k]
        vx += N[k, 0] * de
        vy += N[k, 1] * de
        vz += N[k, 2] * de
        ax += N[k, 0] * dde + N_rate[k, 0] * de
        ay += N[k, 1] * dde + N_rate[k, 1] * de
        az += N[k, 2] * dde + N_rate[k, 2] * de
    R = work.base_R[i]
    for k in range(n):
        x, y, z = K[0, k], K[1, k], K[2, k]
        turn_rate, turn_second = arrays.turn_rate[k], arrays.turn_second[k]
        dx, dy, dz = turn_rate[0], turn_rate[1], turn_rate[2]
        ddx, ddy, ddz = turn_second[0], turn_second[1], turn_second[2]
        column, rate, second = arrays.K[s, k], arrays.K_rate[s, k], arrays.K_second[s, k]
        set_rotated_screw(R, x, y, z, K[3, k], K[4, k], K[5, k], column)
        set_rotated_screw(
            R,
            dx,
            dy,
            dz,
            vy * z - vz * y + r[1] * dz - r[2] * dy + N_rate[k, 0],
            vz * x - vx * z + r[2] * dx - r[0] * dz + N_rate[k, 1],
            vx * y - vy * x + r[0] * dy - r[1] * dx + N_rate[k, 2],
            rate,
        )
        set_rotated_screw(
            R,
            ddx,
            ddy,
            ddz,
            ay * z - az * y + 2.0 * (vy * dz - vz * dy) + r[1] * ddz - r[2] * ddy + N_second[k, 0],
            az * x - ax * z + 2.0 * (vz * dx - vx * dz) + r[2] * ddx - r[0] * ddz + N_second[k, 1],
            ax * y - ay * x + 2.0 * (vx * dy - vy * dx) + r[0] * ddy - r[1] * ddx + N_second[k, 2],
            second,
        )
        # from rates in the body to rates in the base                                       (T60)
        V, A = arrays.V[i], arrays.A[i]
        add_bracket(1.0, A, column, second)
        add_bracket(1.0, V, rate, second)
        add_bracket(1.0, V, column, rate)
        add_bracket(1.0, V, rate, second)


@compiled
def _set_beam_station_rates(arm, s, i, order, q, qd, qdd, work, arrays):
    """Rates of the angular columns of station s of a beam, and of the gradient of its position."""
    first = arm.first[i]
    theta = work.theta
    dtheta = work.dtheta
    ddtheta = work.alpha
    theta[:] = 0.0
    dtheta[:] = 0.0
    ddtheta[:] = 0.0
    for k in range(arm.modes[i]):
        axis, turn = order.axis[i, k], order.turn[s, k]
        theta[axis] += turn * q[first + k]
        dtheta[axis] += turn * qd[first + k]
        ddtheta[axis] += turn * qdd[first + k]
    G_rate, G_second = arrays.G[0], arrays.G[1]
    set_turn_rates(theta, dtheta, ddtheta, G_rate, G_second)
    for k in range(arm.modes[i]):
        axis, turn = order.axis[i, k], order.turn[s, k]
        for a in range(3):
            arrays.turn_rate[k, a] = turn * G_rate[a, axis]
            arrays.turn_second[k, a] = turn * G_second[a, axis]
    _set_gradient_rates(arm, s, i, q, qd, qdd, arrays.N_rate, arrays.N_second)


@compiled
def set_rotated_screw(R, x, y, z, a, b, c, out):
    """Screw ((x, y, z), (a, b, c)) of the axes R (3, 3), in those of the base."""
    for r in range(3):
        out[r] = R[r, 0] * x + R[r, 1] * y + R[r, 2] * z
        out[3 + r] = R[r, 0] * a + R[r, 1] * b + R[r, 2] * c


@compiled
def _set_gradient_rates(arm, s, i, q, qd, qdd, rate, second):
    """First and second rates (n, 3) of the gradient of the position of station s (T10)."""
    first, y_end, z_end = arm.first[i], arm.count[i, 0], arm.count[i, 0] + arm.count[i, 1]
    H, reach, setback = arm.station_H[s], arm.reach[i], arm.station_setback[s]
    for k in range(arm.modes[i]):
        for a in range(3):
            rate[k, a] = second[k, a] = 0.0
    for k in range(z_end):
        group, end = (0, y_end) if k < y_end else (y_end, z_end)
        low, high = max(group, k - reach), min(end, k + reach + 1)
        for m in range(low, high):
            rate[k, 0] -= H[k, m - low] * qd[first + m]
            second[k, 0] -= H[k, m - low] * qdd[first + m]
    for g in range(setback.shape[0]):
        a = da = dda = b = db = ddb = 0.0
        for k in range(y_end):
            a += setback[g, k] * q[first + k]
            da += setback[g, k] * qd[first + k]
            dda += setback[g, k] * qdd[first + k]
        for k in range(y_end, z_end):
            b += setback[g, k] * q[first + k]
            db += setback[g, k] * qd[first + k]
            ddb += setback[g, k] * qdd[first + k]
        x, y, z = a * da, b * db, a * db + b * da
        xx, yy, zz = da * da + a * dda, db * db + b * ddb, a * ddb + 2.0 * da * db + b * dda
        for k in range(y_end):
            rate[k, 1] -= (6.0 * x + 2.0 * y) * setback[g, k]
            rate[k, 2] -= 2.0 * z * setback[g, k]
            second[k, 1] -= (6.0 * xx + 2.0 * yy) * setback[g, k]
            second[k, 2] -= 2.0 * zz * setback[g, k]
        for k in range(y_end, z_end):
            rate[k, 1] -= 2.0 * z * setback[g, k]
            rate[k, 2] -= (2.0 * x + 6.0 * y) * setback[g, k]
            second[k, 1] -= 2.0 * zz * setback[g, k]
            second[k, 2] -= (2.0 * xx + 6.0 * yy) * setback[g, k]


@compiled
def add_station_stiffness(arm, s, i, order, q, mx, my, mz, fx, fy, fz, work, arrays, slopes):
    """
    Add y . dK_l/de_k at station s of body i to its elastic block of slopes (n, n) (T64).

    :param mx: moment (mx, my, mz) and force (fx, fy, fz) of the wrench y, in the axes of body i.
    """
    if arm.kind[i] == ELASTIC:
        add_elastic_station_stiffness(arm, s, i, q, mx, my, mz, fx, fy, fz, work, arrays, slopes)
        return
    first, n = arm.first[i], arm.modes[i]
    y_end, z_end = arm.count[i, 0], arm.count[i, 0] + arm.count[i, 1]
    r, K, theta, X, y = (work.station_p[s], work.K[s], work.theta, arrays.G[2], work.dtheta)
    theta[:] = 0.0
    for k in range(n):
        theta[order.axis[i, k]] += order.turn[s, k] * q[first + k]
    y[0] = mx - r[1] * fz + r[2] * fy
    y[1] = my - r[2] * fx + r[0] * fz
    y[2] = mz - r[0] * fy + r[1] * fx
    set_turn_curvature(theta, y, X)
    for k in range(n):
        row, turn = X[order.axis[i, k]], order.turn[s, k]
        nx = K[3, k] - r[1] * K[2, k] + r[2] * K[1, k]
        ny = K[4, k] - r[2] * K[0, k] + r[0] * K[2, k]
        nz = K[5, k] - r[0] * K[1, k] + r[1] * K[0, k]
        # N . (a x f) = a . (f x N)
        px, py, pz = fy * nz - fz * ny, fz * nx - fx * nz, fx * ny - fy * nx
        for m in range(n):
            slopes[first + k, first + m] += (
                turn * order.turn[s, m] * row[order.axis[i, m]]
                + px * K[0, m]
                + py * K[1, m]
                + pz * K[2, m]
            )
    H, reach, setback = arm.station_H[s], arm.reach[i], arm.station_setback[s]
    for k in range(z_end):
        group, end = (0, y_end) if k < y_end else (y_end, z_end)
        low, high = max(group, k - reach), min(end, k + reach + 1)
        for m in range(low, high):
            slopes[first + k, first + m] -= fx * H[k, m - low]
    for g in range(setback.shape[0]):
        a = b = 0.0
        for k in range(y_end):
            a += setback[g, k] * q[first + k]
        for k in range(y_end, z_end):
            b += setback[g, k] * q[first + k]
        yy = 6.0 * a * fy + 2.0 * b * fz
        yz = 2.0 * (b * fy + a * fz)
        zz = 2.0 * a * fy + 6.0 * b * fz
        for k in range(z_end):
            for m in range(z_end):
                factor = yz if (k < y_end) != (m < y_end) else yy if k < y_end else zz
                slopes[first + k, first + m] -= factor * setback[g, k] * setback[g, m]
