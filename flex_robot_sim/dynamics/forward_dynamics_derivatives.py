"""
Derivatives of forward dynamics, from those of inverse dynamics at the accelerations that it gives.

With M q'' + h(q, q') = S u, all forces but those of the motors in h, small changes obey

    dq'' = M^-1 (S du - (dh/dq + d(M q'')/dq) dq - dh/dq' dq')                                (T65)

M is factored once, and all columns share the two sweeps of a solution.
"""

from numpy import sqrt  # uncompiled, math.sqrt raises where this returns nan

from flex_robot_sim.dynamics.force_slopes import add_smooth_slopes
from flex_robot_sim.dynamics.forward_dynamics import forward_dynamics
from flex_robot_sim.dynamics.inverse_dynamics_derivatives import set_derivatives_in_motion
from flex_robot_sim.dynamics.loads import set_loads
from flex_robot_sim.dynamics.motor_laws import ripple_factor, ripple_slope
from flex_robot_sim.jit.compiled import compiled


@compiled
def forward_dynamics_derivatives(
    arm, loads, order, q, qd, effort, work, arrays, qdd, M, by_rate, by_coordinate, slopes
):
    """
    Derivatives of the accelerations qdd (n,) by coordinates, rates and efforts (T65).

    The forces of sticking joints and of stops count as constant.

    :param qdd: receives the accelerations, (n,).
    :param M: (n, n), receives the Cholesky factor of the mass matrix, with its diagonal inverted.
    :param by_rate: receives the slopes of all forces but those of motors with the rates, (n, n),
        and by_coordinate: with the coordinates.
    :param slopes: receives the derivatives by q, qd and effort in columns, (n, 2 n + joints).
    :returns: whether no joint sticks or touches a stop.
    """
    set_loads(arm, loads, q, work)
    forward_dynamics(arm, q, qd, effort, work, qdd)
    set_derivatives_in_motion(
        arm, loads, order, q, qd, qdd, work, arrays, M, by_rate, by_coordinate
    )
    is_smooth = add_smooth_slopes(arm, q, qd, by_rate, by_coordinate)
    n = q.size
    for k in range(n):
        for l in range(n):
            slopes[k, l] = -by_coordinate[k, l]
            slopes[k, n + l] = -by_rate[k, l]
        for j in range(arm.motor.size):
            slopes[k, 2 * n + j] = 0.0
    for j in range(arm.motor.size):
        k = j if arm.motor[j] < 0 else arm.motor[j]
        slopes[k, 2 * n + j] = 1.0
        if arm.has_motor_law[j] != 0.0:
            slopes[k, 2 * n + j] = ripple_factor(arm, j, q[k])
            slopes[k, k] += effort[j] * ripple_slope(arm, j, q[k])
    set_cholesky_factor(M)
    solve_with_factor(M, slopes)
    return is_smooth


@compiled
def set_cholesky_factor(M):
    """Replace a positive definite M by U of U^T U = M, with the diagonal of U inverted."""
    n = M.shape[0]
    for k in range(n):
        inverse = 1.0 / sqrt(M[k, k])
        M[k, k] = inverse
        for l in range(k + 1, n):
            M[k, l] *= inverse
        for i in range(k + 1, n):
            factor = M[k, i]
            if factor != 0.0:
                for l in range(i, n):
                    M[i, l] -= factor * M[k, l]


@compiled
def solve_with_factor(U, columns):
    """Replace columns (n, k) by M^-1 times them, with U of `set_cholesky_factor`."""
    n, width = columns.shape
    for k in range(n):
        for c in range(width):
            columns[k, c] *= U[k, k]
        for i in range(k + 1, n):
            factor = U[k, i]
            if factor != 0.0:
                for c in range(width):
                    columns[i, c] -= factor * columns[k, c]
    for k in range(n - 1, -1, -1):
        for c in range(width):
            columns[k, c] *= U[k, k]
        for i in range(k):
            factor = U[i, k]
            if factor != 0.0:
                for c in range(width):
                    columns[i, c] -= factor * columns[k, c]
