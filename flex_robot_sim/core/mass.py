"""
The mass matrix of an arm, and whether everything in it has mass.

Tip to base, every body takes up what rides on it as if that were rigid (T21). A coordinate that
accelerates by one then needs a wrench on its own body, and what that wrench is on the coordinates
before it is the column of the matrix: the composite body algorithm (Featherstone, Rigid Body
Dynamics Algorithms, 2008, section 6.2) with a block of modes beside every joint.
"""

import numpy as np

from flex_robot_sim.core.compiled import compiled
from flex_robot_sim.core.dynamics import WITH_MODES, set_bodies
from flex_robot_sim.core.model import ArmArrays, ArmModel, make_workspace
from flex_robot_sim.core.screws import (
    add_inertia_to_parent,
    add_to_parent,
    dot,
    set_copy,
    set_product,
)
from flex_robot_sim.exceptions import SettingError

SMALLEST_SHARE = 1e-13      # of its inertia that a coordinate keeps when the others are free


def mass_matrix(arrays: ArmArrays, q: np.ndarray) -> np.ndarray:
    """Inertia (n, n) of all coordinates of ArmArrays, rotors included, at q (n,) [rad, m]."""
    M = np.zeros((q.size, q.size))
    set_mass_matrix(arrays, q, np.zeros(q.size), make_workspace(arrays), M)
    return M


@compiled
def set_mass_matrix(arm, q, rest, work, M):
    """
    Inertia (n, n) of all coordinates.

    :param arm: ArmArrays with n coordinates; q: coordinates, (n,) [rad, m].
    :param rest: rates, all zero, (n,).
    """
    M[:] = 0.0
    set_bodies(arm, q, rest, work, WITH_MODES)
    for i in range(arm.parent.size - 1, -1, -1):
        j, parent, s, n, first = (arm.joint[i], arm.parent[i], arm.station[i], arm.modes[i],
                                  arm.first[i])
        for k in range(n):
            for m in range(n):
                M[first + k, first + m] = work.E[i, k, m]
            for r in range(6):
                work.carrier[r] = work.B[i, r, k]
            spread(arm, i, first + k, work, M)
        if j >= 0:
            set_product(work.I[i], arm.screw[i], work.carrier)
            m = arm.motor[j]
            driven = j if m < 0 else m
            M[driven, driven] += arm.rotor[j]
            spread(arm, i, j, work, M)
        if parent >= 0 and s < 0:
            add_inertia_to_parent(work.R[i], work.origin[i], work.I[i], work.I[parent])
        elif parent >= 0:
            Y, K = work.Y, work.K[s]
            Y[:] = 0.0
            add_inertia_to_parent(work.R[i], work.origin[i], work.I[i], Y)
            for r in range(6):
                for t in range(6):
                    work.I[parent, r, t] += Y[r, t]
            for k in range(arm.modes[parent]):
                for r in range(6):
                    work.YK[r, k] = 0.0
                    for t in range(6):
                        work.YK[r, k] += Y[r, t] * K[t, k]
                    work.B[parent, r, k] += work.YK[r, k]
            for k in range(arm.modes[parent]):
                for m in range(arm.modes[parent]):
                    for r in range(6):
                        work.E[parent, k, m] += K[r, k] * work.YK[r, m]


@compiled
def spread(arm, i, column, work, M):
    """Put into `column` of M, and its row, what the wrench work.carrier on body i is before it."""
    F, y = work.carrier, work.y
    while i >= 0:
        j, parent, s = arm.joint[i], arm.parent[i], arm.station[i]
        if j >= 0:
            value = dot(F, arm.screw[i])
            if j == column:
                M[j, j] += value
            else:
                M[j, column] = M[column, j] = value
        if parent >= 0:
            y[:] = 0.0
            add_to_parent(work.R[i], work.origin[i], F, y)
            set_copy(y, F)
            if s >= 0:
                for k in range(arm.modes[parent]):
                    value = 0.0
                    for r in range(6):
                        value += work.K[s, r, k] * F[r]
                    M[arm.first[parent] + k, column] = M[column, arm.first[parent] + k] = value
        i = parent


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
