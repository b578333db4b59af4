"""
Small motions of closed loops: the coordinates, rates and accelerations that keep gaps closed.

A tangent motion has the changes y of independent coordinates, or of a basis of the null space of
the Jacobian W. With H, G_q and G_v of (T80),

    dq   = N y,                          W N = 0
    dq'  = N y' + P y,                   W P = -1/2 (G_v + W B) N
    dq'' = N y'' + R_1 y' + R_0 y,       W R_1 = -G_v N,    W R_0 = -G_q N - G_v P            (T81)

B is the matrix of (T114), from small motions of a free base to their rates; W B is zero unless the
base is tied to the world. Inserted into (T50), whose K loses the geometric stiffness H, and
multiplied by N^T, the equations of motion lose the constraint forces:

    N^T M N y'' + N^T (D N + M R_1) y' + N^T ((K - H) N + D P + M R_0) y = N^T S u            (T82)
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.constraint_terms import (
    constraint_slopes,
    constraint_stiffness,
    gaps_and_jacobian,
)
from flex_robot_sim.analysis.differences import scales
from flex_robot_sim.dynamics.constraints.closing import MIN_SINGULAR_VALUE
from flex_robot_sim.model.arm_model import ArmModel

MIN_PIVOT = 1e-3  # of a dependent coordinate, over the largest singular value of W


class TangentBasis(NamedTuple):
    """Basis of the motions that keep loops closed, and how other coordinates follow."""

    N: np.ndarray  # (n, k)
    follow: Callable[[np.ndarray], np.ndarray]  # x (n, m) with W x = right (c, m), and y of 0
    independent: np.ndarray  # (k,) coordinates whose changes are y; none for a null space


class SmallMotions(NamedTuple):
    """Matrices of (T82), (k, k) each, and how coordinates and rates depend on y (T81)."""

    M: np.ndarray
    D: np.ndarray
    K: np.ndarray
    N: np.ndarray  # (n, k)
    P: np.ndarray  # (n, k)


def null_space_basis(arm: ArmModel, W: np.ndarray, free: np.ndarray) -> TangentBasis:
    """Return the orthonormal basis, in units of the scales of the coordinates `free`."""
    scale = scales(arm)[free]
    inverse, null_space = pseudo_inverse(W[:, free] * scale)
    return TangentBasis(
        _in_rows(arm, free, scale[:, None] * null_space),
        lambda right: _in_rows(arm, free, scale[:, None] * (inverse @ right)),
        np.zeros(0, int),
    )


def independent_basis(arm: ArmModel, W: np.ndarray, free: np.ndarray) -> TangentBasis:
    """
    Return the basis whose y are changes of coordinates among `free`.

    Passive joints follow first, then elastic coordinates, and motors last.
    """
    dependent = _dependent_coordinates(arm, W, free)
    independent = np.setdiff1d(free, dependent)
    scale = scales(arm)[dependent]
    inverse, _ = pseudo_inverse(W[:, dependent] * scale)

    def follow(right):
        return _in_rows(arm, dependent, scale[:, None] * (inverse @ right))

    N = follow(-W[:, independent])
    N[independent, np.arange(independent.size)] = 1.0
    return TangentBasis(N, follow, independent)


def small_motions(
    arm: ArmModel,
    state: tuple[np.ndarray, np.ndarray, np.ndarray],
    force: np.ndarray,
    basis: TangentBasis,
    matrices: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> SmallMotions:
    """
    Return the SmallMotions about a state.

    :param state: coordinates, rates and accelerations, (n,) each.
    :param force: of the constraint rows there, (c,).
    :param matrices: M, D and K (n, n) of (T50), servo included.
    """
    (q, v, a), (M, D, K), N = state, matrices, basis.N
    K = K - constraint_stiffness(arm, q, force)
    P, by_rate, by_position = np.zeros((3, *N.shape))
    if v.any() or a.any():
        slopes = constraint_slopes(arm, q, v, a)
        P = basis.follow(-0.5 * slopes.by_v @ N)
        if v[arm.base_q].any():
            W = gaps_and_jacobian(arm, q)[1]
            P += basis.follow(-0.5 * W @ base_kinematics(arm, v) @ N)
        by_rate = basis.follow(-slopes.by_v @ N)
        by_position = basis.follow(-slopes.by_q @ N - slopes.by_v @ P)
    return SmallMotions(
        N.T @ M @ N, N.T @ (D @ N + M @ by_rate), N.T @ (K @ N + D @ P + M @ by_position), N, P
    )


def base_kinematics(arm: ArmModel, v: np.ndarray) -> np.ndarray:
    """
    Return the matrix (n, n) from small motions of a free base to their rates, see (T114).

    It is zero unless the base moves.
    """
    matrix, components = np.zeros((arm.size, arm.size)), arm.arrays.base[:, 1]
    if components.size:
        V, rows = np.zeros(6), arm.arrays.base[:, 0]
        V[components] = v[rows]
        w, u = (np.cross(np.eye(3), part) for part in (V[:3], V[3:]))  # cross product matrices
        bracket = np.block([[w, np.zeros((3, 3))], [u, w]])
        matrix[np.ix_(rows, rows)] = -bracket[np.ix_(components, components)]
    return matrix


def motion_by_drives(arm: ArmModel, q: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """
    Return the motion (n, joints) of all coordinates by each drive, while the others stand still.

    What drives and constraints leave open stays in equilibrium, or moves least where the stiffness
    is zero. Columns of passive joints are zero.

    :param matrix: stiffness (n, n).
    """
    N = null_space_basis(arm, gaps_and_jacobian(arm, q)[1], np.arange(arm.size)).N
    inverse, open_motions = pseudo_inverse(N[arm.drive_q])
    moves, others = N @ inverse, N @ open_motions
    settling, _ = pseudo_inverse(others.T @ matrix @ others)
    motion = np.zeros((arm.size, len(arm.joint_names)))
    motion[:, arm.actuated] = moves - others @ (settling @ (others.T @ matrix @ moves))
    return motion


def pseudo_inverse(matrix: np.ndarray, largest: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the pseudoinverse (n, m) of a matrix (m, n), and its null space (n, n - rank).

    :param largest: singular value that rounding errors scale with, if it exceeds those of matrix.
    """
    if not matrix.size:
        return np.zeros(matrix.T.shape), np.eye(matrix.shape[1])
    left, values, right = np.linalg.svd(matrix)
    rank = int((values > MIN_SINGULAR_VALUE * max(values[0], largest)).sum())
    return (right[:rank].T / values[:rank]) @ left[:, :rank].T, right[rank:].T


def closing_change(arm: ArmModel, q: np.ndarray, free: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the least change (n,) of the coordinates `free` towards closed loops, and the gap."""
    gap, W = gaps_and_jacobian(arm, q)
    follow = null_space_basis(arm, W, free).follow
    return follow(-gap[:, None])[:, 0], float(np.abs(gap).max(initial=0.0))


def _dependent_coordinates(arm, W, free):
    """Return as many coordinates among `free` as W has rank there, see `independent_basis`."""
    scaled, chosen = W * scales(arm), np.zeros(0, int)
    largest = np.linalg.norm(scaled[:, free], 2) if scaled[:, free].size else 0.0
    drives, passive = arm.drive_q, _unpowered_joints(arm)
    elastic = np.setdiff1d(free, np.concatenate([drives, passive]))
    for group, smallest in (
        (np.intersect1d(passive, free), MIN_PIVOT),
        (elastic, MIN_PIVOT),
        (np.intersect1d(drives, free), MIN_PIVOT),
        (free, MIN_SINGULAR_VALUE),
    ):
        group = np.setdiff1d(group, chosen)
        chosen = np.append(chosen, group[_pivots(scaled, chosen, group, smallest * largest)])
    return np.sort(chosen)


def _pivots(matrix, chosen, candidates, smallest):
    """Return rows of `candidates` whose columns are independent of each other and of `chosen`."""
    from scipy.linalg import qr  # imported late: slow

    if not candidates.size or not len(matrix):
        return np.zeros(0, int)
    columns = matrix[:, candidates]
    if chosen.size:
        orthonormal = np.linalg.qr(matrix[:, chosen])[0]
        columns = columns - orthonormal @ (orthonormal.T @ columns)
    triangle, order = qr(columns, mode='r', pivoting=True)
    return order[: int((np.abs(np.diag(triangle)) > smallest).sum())]


def _unpowered_joints(arm):
    """Coordinates of passive joints, on both sides of their gears."""
    joints = np.flatnonzero(~arm.actuated)
    return np.union1d(joints, arm.motor_q[joints])


def _in_rows(arm, rows, values):
    """Values (k, m) in the rows of a matrix (n, m) of zeros."""
    result = np.zeros((arm.size, values.shape[1]))
    result[rows] = values
    return result
