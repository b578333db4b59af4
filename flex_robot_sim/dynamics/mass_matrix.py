"""
The mass matrix of an arm, and whether everything in it has mass.

With the Jacobian J of a body, V = J qd, and the S that picks its elastic rates de = S qd, the
kinetic energy of all bodies by themselves (T20) is 1/2 qd^T M qd for

    M = sum of J^T I J + J^T B S + S^T B^T J + S^T E S,

and rotors join on the diagonal. This is asked for now and then and never by a step, so that it is
not worth the time to compile it.
"""

from functools import cache
from weakref import WeakSet

import numpy as np

from flex_robot_sim.dynamics.forward_dynamics import set_bodies
from flex_robot_sim.model.arm_model import ArmArrays, ArmModel, Workspace, make_workspace
from flex_robot_sim.util.exceptions import SettingError

SMALLEST_SHARE = 1e-13      # of its inertia that a coordinate keeps when the others are free

_with_mass: WeakSet[ArmModel] = WeakSet()       # arms that were looked at


def mass_matrix(arrays: ArmArrays, q: np.ndarray, work: Workspace | None = None) -> np.ndarray:
    """
    Inertia (n, n) of all coordinates of ArmArrays, rotors included, at q (n,) [rad, m].

    :param work: Workspace to use instead of a new one.
    """
    work = work or make_workspace(arrays)
    set_bodies(arrays, q, np.zeros(q.size), work)
    own = [slice(first, first + modes) for first, modes in zip(arrays.first, arrays.modes)]
    J = _jacobians(arrays, own, work)
    half = 0.5 * work.I @ J
    flexible = np.flatnonzero(arrays.modes)
    for i in flexible:
        half[i, :, own[i]] += work.B[i, :, :arrays.modes[i]]
    M = J.reshape(-1, q.size).T @ half.reshape(-1, q.size)
    halves = _halves(work.E.shape[1])
    for i in flexible:
        modes = arrays.modes[i]
        M[own[i], own[i]] += (halves * work.E[i])[:modes, :modes]
    driven = np.where(arrays.motor >= 0, arrays.motor, np.arange(arrays.motor.size))
    M[driven, driven] += 0.5 * arrays.rotor
    return M + M.T


@cache
def _halves(size):
    """Weights of what stands in a symmetric matrix: what is above the diagonal is not set."""
    return np.tri(size) - 0.5 * np.eye(size)


def _jacobians(arrays: ArmArrays, own: list[slice], work: Workspace) -> np.ndarray:
    """Twist of each body in its own frame by all rates, (i, 6, n); own: its elastic ones."""
    J = np.zeros((len(own), 6, arrays.inertia_scale.size))
    to_child = _twists_to_children(work)
    for i, (parent, s, j) in enumerate(zip(arrays.parent, arrays.station, arrays.joint)):
        if parent >= 0:
            J[i] = to_child[i] @ J[parent]
            if s >= 0:
                J[i, :, own[parent]] += to_child[i] @ work.K[s, :, :arrays.modes[parent]]
        if j >= 0:
            J[i, :, j] += arrays.screw[i]
    return J


def _twists_to_children(work):
    """(i, 6, 6): twist in the frame of body i, of what the one before it moves by a twist."""
    x, y, z = work.origin.T
    across = np.zeros((len(work.R), 3, 3))
    across[:, 0, 1], across[:, 0, 2], across[:, 1, 2] = z, -y, x
    across[:, 1, 0], across[:, 2, 0], across[:, 2, 1] = -z, y, -x
    out = np.zeros((len(work.R), 6, 6))
    out[:, :3, :3] = out[:, 3:, 3:] = R = work.R.transpose(0, 2, 1)
    out[:, 3:, :3] = R @ across
    return out


def refuse_massless(arm: ArmModel) -> None:
    """Raise SettingError if some coordinate of an ArmModel, at zero, can move without mass."""
    if arm in _with_mass:
        return
    M = mass_matrix(arm.arrays, np.zeros(arm.size))
    inertia = np.diag(M)
    lightest = np.argmin(inertia)
    if inertia[lightest] > 0:
        scale = np.sqrt(inertia)
        shares = M / np.outer(scale, scale)
        if _is_definite(shares - 10 * SMALLEST_SHARE * np.eye(len(M))):
            _with_mass.add(arm)
            return
        values, shapes = np.linalg.eigh(shares)
        if values[0] > SMALLEST_SHARE:
            _with_mass.add(arm)
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
