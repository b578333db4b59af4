"""
Internal damping of the links of an arm: the same fraction of critical damping in every mode.

With the stiffness K and the inertia M of all elastic coordinates, of the arm at zero with its
joints locked, and with the modes psi (psi^T K psi = 1, rates omega), the matrix

    D = 2 zeta sum (K psi) 1/omega (K psi)^T                                                  (T4)

gives every mode the ratio zeta. It couples bodies, so that only a part of it can enter the
elimination. With a mode omega_r above which the ratio may be higher, it is split into

    D = 2 zeta/omega_r K + S S^T,   S = [K psi (2 zeta (1/omega - 1/omega_r))^(1/2)]          (T5)

The first part stays within each body. Both are positive semidefinite, also if zeta differs from
link to link: then the square root of zeta multiplies the rows of S.
"""

import numpy as np

from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.arm_arrays import ArmArrays
from flex_robot_sim.model.body_kinds import ELASTIC, SLIDING, direction_slices
from flex_robot_sim.model.slide_columns import LENGTH, MASS_PER_LENGTH, OFFSET
from flex_robot_sim.util.eigenproblem import block_diagonal

MAX_DAMPED_MODES = 40  # modes with the exact ratio; higher modes are damped more
MAX_DENSE_COORDINATES = 400  # up to this number, all modes are computed


def damping_matrices(
    arrays: ArmArrays, M: np.ndarray, ratio: np.ndarray, time: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """
    Damping inside every body, (i, n, n), and S (e, r) of (T5) for all e elastic coordinates.

    :param arrays: ArmArrays, complete except for the damping; M: their `elastic_inertia`, (e, e).
    :param ratio: fraction of critical damping by body, (i,); time: damping / stiffness, (i,) [s].
    """
    local = time[:, None, None] * arrays.stiffness
    sizes = arrays.modes
    root_ratio = np.repeat(np.sqrt(ratio), sizes)
    if not root_ratio.any():
        return local, np.zeros((root_ratio.size, 0))
    bodies = np.flatnonzero(sizes)
    count = MAX_DAMPED_MODES if bodies.size > 1 else len(M)
    inverse_rates, forces = _modes(
        M, [arrays.stiffness[i, : sizes[i], : sizes[i]] for i in bodies], count
    )
    lowest = inverse_rates[-1]
    local += 2 * lowest * ratio[:, None, None] * arrays.stiffness
    S = root_ratio[:, None] * forces * np.sqrt(2 * (inverse_rates - lowest))
    if bodies.size == 1:
        local[bodies[0], : len(M), : len(M)] += S @ S.T
        S = S[:, :0]
    return local, np.ascontiguousarray(S)


@compiled
def add_shared_damping_force(arm, factor, rates, work, out):
    """Add `factor` S S^T times the rates (n,) to out (n,)."""
    start = rates.size - arm.shared.shape[0]
    for k in range(work.shared.size):
        rate = 0.0
        for n in range(arm.shared.shape[0]):
            rate += arm.shared_T[k, n] * rates[start + n]
        work.shared[k] = factor * rate
    for n in range(arm.shared.shape[0]):
        force = 0.0
        for k in range(work.shared.size):
            force += arm.shared[n, k] * work.shared[k]
        out[start + n] += force


@compiled
def shared_damping_power(arm, qd):
    """Power dissipated by the dampers S S^T [W]."""
    start, power = qd.size - arm.shared.shape[0], 0.0
    for k in range(arm.shared_T.shape[0]):
        rate = 0.0
        for n in range(arm.shared_T.shape[1]):
            rate += arm.shared_T[k, n] * qd[start + n]
        power += rate * rate
    return power


def _modes(M, blocks, count):
    """Inverse rates 1/omega (r,), descending, and K psi (e, r) of the `count` slowest modes."""
    factors = [np.linalg.cholesky(K) for K in blocks]
    ends = np.cumsum([len(L) for L in factors])
    parts = [slice(end - len(L), end) for L, end in zip(factors, ends)]

    def blockwise(solve, columns):
        return np.concatenate([solve(L, columns[part]) for L, part in zip(factors, parts)])

    # with K = L L^T: L^-1 M L^-T y = y / omega^2, psi = L^-T y, and K psi = L y
    scaled = blockwise(np.linalg.solve, blockwise(np.linalg.solve, M).T)
    size = len(M)
    if count < size > MAX_DENSE_COORDINATES:
        from scipy.sparse.linalg import LinearOperator, eigsh

        product = LinearOperator((size, size), lambda v: scaled @ v)
        eigenvalues, y = eigsh(product, count, which='LA', v0=np.linspace(1.0, 2.0, size))
    else:
        eigenvalues, y = np.linalg.eigh((scaled + scaled.T) / 2)
    order = np.argsort(eigenvalues)[: -count - 1 : -1]
    # a coordinate without mass has the square 0, apart from rounding
    return (
        np.sqrt(np.maximum(eigenvalues[order], 0.0)),
        blockwise(lambda L, rows: L @ rows, y[:, order]),
    )


def elastic_inertia(arrays: ArmArrays) -> np.ndarray:
    """Inertia (e, e) of all elastic coordinates, at zero and with the joints locked [SI]."""
    bodies, sizes = arrays.parent.size, arrays.modes
    first = np.cumsum(sizes) - sizes
    M = block_diagonal(*(E[:n, :n] for E, n in zip(arrays.modal_mass, sizes)))
    # coordinates that move each body, and the Jacobian by them
    coordinates, J = [np.zeros(0, int)] * bodies, [np.zeros((6, 0))] * bodies
    for i in range(bodies):
        parent, s = arrays.parent[i], arrays.station[i]
        if parent >= 0:
            R, p = arrays.home_R[i], arrays.home_p[i]
            coordinates[i], twists = coordinates[parent], J[parent]
            if s >= 0:
                n = sizes[parent]
                coordinates[i] = np.concatenate([coordinates[i], first[parent] + np.arange(n)])
                twists = np.hstack([twists, _station_motion(arrays, s, parent, n)])
                if arrays.kind[parent] == ELASTIC:
                    home = arrays.station_home_R[s]
                    R, p = home @ R, arrays.station_home_p[s] + home @ p
                else:
                    p = p + [_station_place(arrays, s, parent), 0.0, 0.0]
            J[i] = _twist_transform(R, p) @ twists
        inertia, coupling = _rigid_part(arrays, i)
        own_rows, moving_rows = first[i] + np.arange(sizes[i]), coordinates[i]
        M[np.ix_(moving_rows, moving_rows)] += J[i].T @ inertia @ J[i]
        M[np.ix_(moving_rows, own_rows)] += J[i].T @ coupling
        M[np.ix_(own_rows, moving_rows)] += coupling.T @ J[i]
    return (M + M.T) / 2


def _station_place(arrays, s, body):
    """Distance of a station from the root of an undeformed beam, at zero [m]."""
    if arrays.kind[body] == SLIDING:
        data = arrays.slide_data[body]
        return data[OFFSET] - (data[LENGTH] if arrays.station_x[s] == 0.0 else 0.0)
    return arrays.station_x[s]


def _station_motion(arrays, s, body, n):
    """Jacobian K (6, n) of a station while its body is undeformed (T11)."""
    if arrays.kind[body] == ELASTIC:
        U, p = arrays.station_U[s, :n], arrays.station_home_p[s]
        return np.hstack([U[:, :3], U[:, 3:] + np.cross(p, U[:, :3])]).T
    shape, slope, x = arrays.station_shape[s, :n], arrays.station_slope[s, :n], arrays.station_x[s]
    if arrays.kind[body] == SLIDING:
        x = arrays.slide_data[body, OFFSET]
        slope = slope / x
    K, (y, z, twist, stretch) = np.zeros((6, n)), direction_slices(arrays, body)
    K[2, y], K[4, y] = slope[y], shape[y] - x * slope[y]
    K[1, z], K[5, z] = -slope[z], shape[z] - x * slope[z]
    K[0, twist], K[3, stretch] = shape[twist], shape[stretch]
    return K


def _rigid_part(arrays, body):
    """Inertia (6, 6) of an undeformed body, and its coupling (6, n) with its modes (T22)."""
    if arrays.kind[body] == ELASTIC:
        rows = arrays.elastic_constant[body, : 12 * arrays.modes[body]].reshape(12, -1)
        return arrays.inertia[body], np.vstack([rows[9:], rows[:3]])
    if arrays.kind[body] == SLIDING:  # it counts as rigid
        return arrays.inertia[body] + _rod_inertia(arrays, body), np.zeros((6, arrays.modes[body]))
    points, n = slice(*arrays.point_start[body : body + 2]), arrays.modes[body]
    m, x = arrays.point_mass[points], arrays.point_x[points]
    first, second = m @ x, m @ x**2
    inertia = arrays.inertia[body] + np.diag([0.0, second, second, *[m.sum()] * 3])
    for row, column, value in ((1, 5, -first), (2, 4, first)):
        inertia[row, column] += value
        inertia[column, row] += value
    B, (y, z, _, stretch) = np.zeros((6, n)), direction_slices(arrays, body)
    B[:3] = arrays.rotary[body, :, :n]
    translation = m @ arrays.point_shape[points, :n]
    rotation = (m * x) @ arrays.point_shape[points, :n]
    B[4, y], B[2, y] = translation[y], B[2, y] + rotation[y]
    B[5, z], B[1, z] = translation[z], B[1, z] - rotation[z]
    B[3, stretch] = translation[stretch]
    return inertia, B


def _rod_inertia(arrays, body):
    """Inertia (6, 6) of a sliding link as a thin rod, about the mouth of its guide at zero."""
    data = arrays.slide_data[body]
    mass, centre = data[MASS_PER_LENGTH] * data[LENGTH], data[OFFSET] - 0.5 * data[LENGTH]
    second = mass * (data[LENGTH] ** 2 / 12 + centre**2)
    inertia = np.diag([0.0, second, second, mass, mass, mass])
    inertia[1, 5] = inertia[5, 1] = -mass * centre
    inertia[2, 4] = inertia[4, 2] = mass * centre
    return inertia


def _twist_transform(R, p):
    """Transform (6, 6) of twists to a frame at the pose (R, p)."""
    x, y, z = p
    hat = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.block([[R.T, np.zeros((3, 3))], [-R.T @ hat, R.T]])
