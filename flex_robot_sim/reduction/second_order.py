"""
Displacements of second order, and the cubic strain energy.

With the strain 1/2 (grad u + grad u^T + grad u^T grad u), the elastic forces of second order are

    f2(a, b) . d = int sigma(1/2 sym(grad a^T grad b)) : grad d
                   + 1/2 (grad b sigma(a) + grad a sigma(b)) : grad d                        (1)

A link that takes the shapes phi e under loads moves by 1/2 Q e e more, with K Q_ij = -2 f2(phi_i,
phi_j), except along the soft shapes. The soft shapes then have the energy 1/3 C e e e, with
C_ijk = phi_i . f2(phi_j, phi_k); products of one stiff coordinate and two soft ones have none.
Rigid interfaces turn to second order: their nodes move by 1/2 theta x (theta x r).
"""

from typing import NamedTuple

import numpy as np

from flex_robot_sim.reduction.elasticity import Material, Mesh, four_points, physical_gradients
from flex_robot_sim.reduction.shapes import Shapes
from flex_robot_sim.reduction.supports import RigidSupport, Support, rigid_turns

MAX_SOFT = 6  # coordinates with terms of second order
BENT = (
    0.05  # deflection of the first shape, over the size of the link, at which terms are compared
)
MAX_CUBIC = 0.1  # energy of third order of soft coordinates, over that of second order


class SecondOrder(NamedTuple):
    """Field of second order of s soft coordinates, and their cubic energy."""

    field: np.ndarray  # (3 N, s, s)
    cubic: np.ndarray  # (s, s, s)


def second_order_forces(
    mesh: Mesh, material: Material, shapes: np.ndarray, pairs: list[tuple[int, int]]
) -> np.ndarray:
    """Elastic forces of second order (1) of pairs of shapes (3 N, n): (3 N, pairs)."""
    (lame, mu), count = material.lame, shapes.shape[1]
    fields = shapes.reshape(-1, 3, count)
    forces = np.zeros((len(pairs), 3, len(mesh.nodes)))
    unit = np.eye(3)
    for rows, gradients, weights in physical_gradients(mesh, *four_points()):
        elements = mesh.elements[rows]
        # du_a/dx_b by coordinate: (n, k, g, 3, 3)
        slopes = np.einsum('kmai,kgmb->ikgab', fields[elements], gradients, optimize=True)
        strains = (slopes + slopes.swapaxes(-1, -2)) / 2
        stresses = (
            lame * np.trace(strains, axis1=-2, axis2=-1)[..., None, None] * unit + 2 * mu * strains
        )
        weighted = gradients * weights[:, :, None, None]
        for pair, (i, j) in enumerate(pairs):
            square = np.matmul(slopes[i].swapaxes(-1, -2), slopes[j])
            square = (square + square.swapaxes(-1, -2)) / 4
            stress = lame * np.trace(square, axis1=-2, axis2=-1)[..., None, None] * unit
            stress = stress + 2 * mu * square
            stress += (np.matmul(slopes[j], stresses[i]) + np.matmul(slopes[i], stresses[j])) / 2
            nodal = np.einsum('kgab,kgmb->akm', stress, weighted, optimize=True)
            for axis in range(3):
                forces[pair, axis] += np.bincount(
                    elements.ravel(), nodal[axis].ravel(), len(mesh.nodes)
                )
    return forces.transpose(2, 1, 0).reshape(-1, len(pairs))


def second_order(
    mesh: Mesh, material: Material, support: Support, shapes: Shapes, max_soft: int = MAX_SOFT
) -> SecondOrder:
    """Return the field of second order of the softest coordinates of a mesh."""
    phi, pairs = softest(shapes, max_soft)
    return second_order_of(second_order_forces(mesh, material, phi, pairs), support, shapes, phi)


def softest(shapes: Shapes, count: int = MAX_SOFT) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """Return the first shapes (d, count), or all of fewer, and their pairs."""
    count = min(count, shapes.values.shape[1])
    return shapes.values[:, :count], [(i, j) for i in range(count) for j in range(i + 1)]


def second_order_of(
    forces: np.ndarray, support: Support, shapes: Shapes, phi: np.ndarray
) -> SecondOrder:
    """
    Return the field of second order of the softest of some shapes.

    :param forces: of second order, by pair of the shapes phi (d, count).
    """
    count = phi.shape[1]
    pairs = [(i, j) for i in range(count) for j in range(i + 1)]
    cubic = np.empty((count, count, count))
    for pair, (i, j) in enumerate(pairs):
        cubic[:, i, j] = cubic[:, j, i] = phi.T @ forces[:, pair]
    # forces from loads are only close to those of an energy
    orders = ((0, 1, 2), (1, 2, 0), (2, 0, 1))
    cubic = np.mean([cubic.transpose(order) for order in orders], axis=0)
    count = _soft_count(cubic, shapes, np.ptp(support.freedoms.points, axis=0).max())
    pairs = [(i, j) for i in range(count) for j in range(i + 1)]
    phi, stiffness = phi[:, :count], shapes.stiffness[:count]
    prescribed = _turned_interfaces(support, phi, pairs)
    loads = support.stiffness @ prescribed + 2 * forces[:, : len(pairs)]
    fields = prescribed - support.solve(loads)
    along = phi.T @ (support.stiffness @ fields) / stiffness[:, None]
    fields -= phi @ along
    Q = np.empty((support.size, count, count))
    for pair, (i, j) in enumerate(pairs):
        Q[:, i, j] = Q[:, j, i] = fields[:, pair]
    return SecondOrder(Q, cubic[:count, :count, :count])


def _soft_count(cubic, shapes, size):
    """Return how many coordinates have little energy of third order when the link is bent."""
    energy = 0.5 * shapes.stiffness[0] * (BENT * size) ** 2
    amplitudes = np.sqrt(2 * energy / shapes.stiffness[: len(cubic)])
    ratios = (
        np.abs(np.einsum('ijk,i,j,k->ijk', cubic, amplitudes, amplitudes, amplitudes)) / energy
    )
    count = 1
    while count < len(cubic) and ratios[: count + 1, : count + 1, : count + 1].max() < MAX_CUBIC:
        count += 1
    return count


def _turned_interfaces(support, phi, pairs):
    """Displacements of second order of rigid interfaces, (3 N, pairs)."""
    moved = np.zeros((support.size, len(pairs)))
    if not isinstance(support, RigidSupport):
        return moved
    for station in support.stations:
        turns = support.motion(station, phi)[:3]
        rows = support.freedoms.rows(station.nodes)
        twice = rigid_turns(support.freedoms, rows, station.origin, turns)
        for pair, (i, j) in enumerate(pairs):
            moved[rows, pair] = twice[:, i, j]
    return moved
