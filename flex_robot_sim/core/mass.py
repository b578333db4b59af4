"""
The mass matrix of an arm, and whether everything in it has mass.

With the Jacobian J of a body, V = J qd, and the S that picks its elastic rates de = S qd, the
kinetic energy of all bodies by themselves (T20) is 1/2 qd^T M qd for

    M = sum of J^T I J + J^T B S + S^T B^T J + S^T E S,

and rotors join on the diagonal. This is asked for now and then and never by a step, so that it is
not worth the time to compile it.
"""

import numpy as np

from flex_robot_sim.core.dynamics import set_bodies
from flex_robot_sim.core.model import ArmArrays, ArmModel, Workspace, make_workspace
from flex_robot_sim.exceptions import SettingError

SMALLEST_SHARE = 1e-13      # of its inertia that a coordinate keeps when the others are free


def mass_matrix(arrays: ArmArrays, q: np.ndarray) -> np.ndarray:
    """Inertia (n, n) of all coordinates of ArmArrays, rotors included, at q (n,) [rad, m]."""
    work = make_workspace(arrays)
    set_bodies(arrays, q, np.zeros(q.size), work)
    own = [slice(first, first + modes) for first, modes in zip(arrays.first, arrays.modes)]
    J = _jacobians(arrays, own, work)
    half = 0.5 * work.I @ J
    for i, columns in enumerate(own):
        half[i, :, columns] += work.B[i, :, :arrays.modes[i]]
    M = J.reshape(-1, q.size).T @ half.reshape(-1, q.size)
    for i, columns in enumerate(own):
        E = np.tril(work.E[i, :arrays.modes[i], :arrays.modes[i]])
        M[columns, columns] += E - 0.5 * np.diag(E.diagonal())
    driven = np.where(arrays.motor >= 0, arrays.motor, np.arange(arrays.motor.size))
    M[driven, driven] += 0.5 * arrays.rotor
    return M + M.T


def _jacobians(arrays: ArmArrays, own: list[slice], work: Workspace) -> np.ndarray:
    """Twist of each body in its own frame by all rates, (i, 6, n); own: its elastic ones."""
    J = np.zeros((len(own), 6, arrays.felt.size))
    for i, (parent, s, j) in enumerate(zip(arrays.parent, arrays.station, arrays.joint)):
        if parent >= 0:
            carrier, R = J[parent].copy(), work.R[i].T
            if s >= 0:
                carrier[:, own[parent]] += work.K[s, :, :arrays.modes[parent]]
            x, y, z = work.origin[i]
            J[i, :3] = R @ carrier[:3]
            across = np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]])
            J[i, 3:] = R @ (carrier[3:] + across @ carrier[:3])
        if j >= 0:
            J[i, :, j] += arrays.screw[i]
    return J


def refuse_massless(arm: ArmModel) -> None:
    """Raise SettingError if some coordinate of an ArmModel, at zero, can move without mass."""
    M = mass_matrix(arm.arrays, np.zeros(arm.size))
    inertia = np.diag(M)
    lightest = np.argmin(inertia)
    if inertia[lightest] > 0:
        scale = np.sqrt(inertia)
        shares = M / np.outer(scale, scale)
        if _is_definite(shares - 10 * SMALLEST_SHARE * np.eye(len(M))):
            return
        values, shapes = np.linalg.eigh(shares)
        if values[0] > SMALLEST_SHARE:
            return
        lightest = np.argmax(np.abs(shapes[:, 0]))
    raise SettingError(f'"{arm.coordinate_names[lightest]}" moves no mass. Give what it moves an '
                       'inertia, or leave it out of the description')


def _is_definite(matrix):
    """Whether a matrix is positive definite, in a tenth of the time of its eigenvalues."""
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True
