"""
The mass matrix of an arm, and a check that it is positive definite.

With the Jacobian J of a body, V = J qd, and the selection S of its elastic rates de = S qd, the
kinetic energy of all bodies (T20) is 1/2 qd^T M qd for

    M = sum of J^T I J + J^T B S + S^T B^T J + S^T E S,

and rotors add to the diagonal. No time step calls this function, and every simulation does before
its first one, so it is not compiled. `compiled_mass_matrix.py` is for queries in a loop.
"""

from functools import cache
from weakref import WeakSet

import numpy as np

from flex_robot_sim.dynamics.forward_dynamics import set_bodies
from flex_robot_sim.jit.compiled import call_with_tables
from flex_robot_sim.model.arm_arrays import ArmArrays, motor_coordinates
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.workspace import Workspace, make_workspace
from flex_robot_sim.util.exceptions import SettingError

MIN_SCALED_EIGENVALUE = 1e-13  # smallest eigenvalue of M scaled to a unit diagonal

_checked_arms: WeakSet[ArmModel] = WeakSet()  # arms that passed the check


def mass_matrix(arrays: ArmArrays, q: np.ndarray, work: Workspace | None = None) -> np.ndarray:
    """
    Inertia (n, n) of all coordinates of ArmArrays, rotors included, at q (n,) [rad, m].

    :param work: Workspace to use instead of a new one.
    """
    work = work or make_workspace(arrays)
    call_with_tables(set_bodies, arrays, np.ascontiguousarray(q, float), np.zeros(q.size), work)
    elastic = [own[:count] for own, count in zip(arrays.own, arrays.block)]
    J = _jacobians(arrays, elastic, work)
    half = 0.5 * work.I @ J
    flexible = np.flatnonzero(arrays.modes)
    for i in flexible:
        half[i][:, elastic[i]] += work.B[i, :, : arrays.block[i]]
    M = J.reshape(-1, q.size).T @ half.reshape(-1, q.size)
    halves = _halves(work.E.shape[1])
    for i in flexible:
        count = arrays.block[i]
        M[np.ix_(elastic[i], elastic[i])] += (halves * work.E[i])[:count, :count]
    driven = motor_coordinates(arrays)
    M[driven, driven] += 0.5 * arrays.rotor
    return M + M.T


@cache
def _halves(size):
    """Weights that split a symmetric matrix in halves: its upper triangle is not set."""
    return np.tri(size) - 0.5 * np.eye(size)


def _jacobians(arrays: ArmArrays, elastic: list[np.ndarray], work: Workspace) -> np.ndarray:
    """Jacobian (i, 6, n) of each body in its own frame; elastic: indices of its rates."""
    J = np.zeros((len(elastic), 6, arrays.inertia_scale.size))
    to_child = _twists_to_children(work)
    for coordinate, component in arrays.base:
        J[0, component, coordinate] = 1.0
    for i, (parent, s, j) in enumerate(zip(arrays.parent, arrays.station, arrays.joint)):
        if parent >= 0:
            J[i] = to_child[i] @ J[parent]
            if s >= 0:
                J[i][:, elastic[parent]] += to_child[i] @ work.K[s, :, : arrays.block[parent]]
        if j >= 0:
            J[i, :, j] += arrays.screw[i]
    return J


def _twists_to_children(work):
    """Transforms (i, 6, 6) of a twist from the frame of the parent to that of body i."""
    x, y, z = work.origin.T
    hat = np.zeros((len(work.R), 3, 3))
    hat[:, 0, 1], hat[:, 0, 2], hat[:, 1, 2] = z, -y, x
    hat[:, 1, 0], hat[:, 2, 0], hat[:, 2, 1] = -z, y, -x
    transforms = np.zeros((len(work.R), 6, 6))
    transforms[:, :3, :3] = transforms[:, 3:, 3:] = R = work.R.transpose(0, 2, 1)
    transforms[:, 3:, :3] = R @ hat
    return transforms


def refuse_massless(arm: ArmModel) -> None:
    """Raise SettingError if some coordinate of an ArmModel, at zero, moves no mass."""
    if arm in _checked_arms:
        return
    M = mass_matrix(arm.arrays, np.zeros(arm.size))
    lightest = _massless_motion(M)
    if lightest is not None:
        raise SettingError(
            f'"{arm.coordinate_names[np.argmax(np.abs(lightest))]}" moves no mass. Give what it '
            'moves an inertia, or leave it out of the description'
        )
    _checked_arms.add(arm)


def refuse_massless_pose(arm: ArmModel, M: np.ndarray, N: np.ndarray | None = None) -> None:
    """
    Raise SettingError if a motion moves no mass in a pose, where two axes of a joint coincide.

    :param M: mass matrix (n, n) there; N: possible motions (n, k); default: all.
    """
    lightest = _massless_motion(M if N is None else N.T @ M @ N)
    if lightest is not None:
        motion = np.abs(lightest if N is None else N @ lightest)
        names = [name for name, size in zip(arm.coordinate_names, motion) if size > 0.1]
        raise SettingError(
            f'{", ".join(names)} of {arm.description.name} move no mass in this pose, in which '
            'their axes coincide: take another pose'
        )


def _massless_motion(M):
    """Return a motion (n,) without inertia, in units of the inertias; None: there is none."""
    inertia = np.diag(M)
    if not inertia.size:
        return None
    lightest = np.argmin(inertia)
    if not inertia[lightest] > 0:
        return np.eye(len(M))[lightest]
    scale = np.sqrt(inertia)
    scaled = M / np.outer(scale, scale)
    if _is_definite(scaled - 10 * MIN_SCALED_EIGENVALUE * np.eye(len(M))):
        return None
    values, shapes = np.linalg.eigh(scaled)
    return None if values[0] > MIN_SCALED_EIGENVALUE else shapes[:, 0]


def _is_definite(matrix):
    """Whether a matrix is positive definite; ten times as fast as by eigenvalues."""
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True
