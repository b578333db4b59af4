"""
Stiffness, mass and strain of quadratic tetrahedra with straight or curved edges.

Corner nodes come first, then the nodes on the edges 01, 12, 20, 03, 13, 23, as VTK, Abaqus and
CalculiX number them (C3D10). Stiffness is integrated with four points, mass with fourteen. Degrees
of freedom are ordered by node: x, y, z of the first node, then of the second.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import sparse

EDGES = np.array([[0, 1], [1, 2], [2, 0], [0, 3], [1, 3], [2, 3]])
CHUNK = 4096  # elements that are treated at once
# the rule of Walkington with 14 points is exact for degree 5, the one with 4 points for degree 2
_OF_FOUR = (0.58541019662496845446, 0.13819660112501051518)
_OF_FOURTEEN = (
    (0.31088591926330060980, 0.11268792571801585080),
    (0.092735250310891226402, 0.073493043116361949544),
)
_ON_EDGES = (0.045503704125649649492, 0.042546020777081466438)


class Material(NamedTuple):
    """Isotropic elastic material."""

    E: float  # Young's modulus   [Pa]
    nu: float  # Poisson's ratio
    density: float  # [kg/m3]

    @property
    def lame(self) -> tuple[float, float]:
        """Lame's constants lambda and mu [Pa]."""
        return (
            self.E * self.nu / ((1 + self.nu) * (1 - 2 * self.nu)),
            self.E / (2 * (1 + self.nu)),
        )


class Mesh(NamedTuple):
    """Quadratic tetrahedra: N nodes, k elements."""

    nodes: np.ndarray  # (N, 3)   [m]
    elements: np.ndarray  # (k, 10)  rows of nodes


def with_edge_nodes(points: np.ndarray, corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and quadratic tetrahedra (k, 10) of linear ones (k, 4)."""
    edges = np.sort(corners[:, EDGES], axis=-1).reshape(-1, 2)
    pairs, place = np.unique(edges, axis=0, return_inverse=True)
    nodes = np.vstack([points, points[pairs].mean(axis=1)])
    return nodes, np.hstack([corners, len(points) + place.reshape(-1, len(EDGES))])


def four_points() -> tuple[np.ndarray, np.ndarray]:
    """Barycentric coordinates (4, 4) and weights (4,) of four points; weights sum up to 1/6."""
    large, small = _OF_FOUR
    return np.full((4, 4), small) + (large - small) * np.eye(4), np.full(4, 1 / 24)


def fourteen_points() -> tuple[np.ndarray, np.ndarray]:
    """Barycentric coordinates (14, 4) and weights (14,) of fourteen points."""
    points, weights = [], []
    for place, weight in _OF_FOURTEEN:
        points += [np.full(4, place) + (1 - 4 * place) * row for row in np.eye(4)]
        weights += [weight / 6] * 4
    place, weight = _ON_EDGES
    for i in range(4):
        for j in range(i):
            row = np.full(4, place)
            row[[i, j]] = 0.5 - place
            points.append(row)
            weights.append(weight / 6)
    return np.array(points), np.array(weights)


def shape_functions(points: np.ndarray) -> np.ndarray:
    """Shape functions of the ten nodes at points (g, 4): (g, 10)."""
    corners = points * (2 * points - 1)
    return np.hstack([corners, 4 * points[:, EDGES[:, 0]] * points[:, EDGES[:, 1]]])


def shape_gradients(points: np.ndarray) -> np.ndarray:
    """Their gradients with respect to the barycentric coordinates 1, 2 and 3: (g, 10, 3)."""
    gradients = np.zeros((len(points), 10, 4))
    for corner in range(4):
        gradients[:, corner, corner] = 4 * points[:, corner] - 1
    for row, (i, j) in enumerate(EDGES, 4):
        gradients[:, row, i] = 4 * points[:, j]
        gradients[:, row, j] = 4 * points[:, i]
    return gradients[:, :, 1:] - gradients[:, :, :1]


def jacobians(mesh: Mesh, elements: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Jacobians dx/dxi of elements (k, 10) at points (g, 4): (k, g, 3, 3)."""
    return np.einsum('kna,gnb->kgab', mesh.nodes[elements], shape_gradients(points), optimize=True)


def physical_gradients(
    mesh: Mesh, points: np.ndarray, weights: np.ndarray
) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Yield rows, gradients (k, g, 10, 3) [1/m] and weights (k, g) [m3] by chunk of elements."""
    reference = shape_gradients(points)
    for start in range(0, len(mesh.elements), CHUNK):
        rows = slice(start, start + CHUNK)
        jacobian = jacobians(mesh, mesh.elements[rows], points)
        inverse = np.linalg.inv(jacobian)  # dxi/dx
        yield (rows, np.matmul(reference, inverse), weights * np.abs(np.linalg.det(jacobian)))


class _Pattern:
    """Pairs of nodes that share an element, for the sums of element matrices."""

    def __init__(self, mesh: Mesh) -> None:
        self.size = len(mesh.nodes)
        columns = mesh.elements.astype(np.int64)
        keys = (columns[:, :, None] * self.size + columns[:, None, :]).ravel()
        pairs, self._place = np.unique(keys, return_inverse=True)
        self._columns = (pairs % self.size).astype(np.int32)
        rows = np.bincount(pairs // self.size, minlength=self.size)
        self._starts = np.concatenate([[0], np.cumsum(rows)]).astype(np.int32)

    def sum(self, values: np.ndarray) -> np.ndarray:
        """Sum of values (k, 10, 10) by pair of nodes."""
        return np.bincount(self._place, values.ravel(), len(self._columns))

    def scalar(self, values: np.ndarray) -> sparse.csr_matrix:
        """Sparse matrix (N, N) of sums by pair."""
        return sparse.csr_matrix((values, self._columns, self._starts), (self.size,) * 2)

    def vector(self, blocks: np.ndarray) -> sparse.csr_matrix:
        """Sparse matrix (3 N, 3 N) of blocks (pairs, 3, 3)."""
        shape = (3 * self.size,) * 2
        return sparse.bsr_matrix((blocks, self._columns, self._starts), shape).tocsr()


def assemble(mesh: Mesh, material: Material) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """
    Return the stiffness (3 N, 3 N) and the mass by node (N, N) [kg].

    The mass matrix of the displacements is the Kronecker product of the second one with 1 (3, 3).
    """
    lame, mu = material.lame
    pattern, count = _Pattern(mesh), len(mesh.elements)
    products = np.empty((3, 3, count, 10, 10))  # int of dN_a/dx_i dN_b/dx_j
    for rows, gradients, weights in physical_gradients(mesh, *four_points()):
        size = len(gradients)
        scaled = gradients * np.sqrt(weights)[:, :, None, None]
        flat = scaled.transpose(0, 3, 2, 1).reshape(size, 30, -1)
        blocks = np.matmul(flat, flat.transpose(0, 2, 1)).reshape(size, 3, 10, 3, 10)
        products[:, :, rows] = blocks.transpose(1, 3, 0, 2, 4)
    sums = np.array([[pattern.sum(products[i, j]) for j in range(3)] for i in range(3)])
    del products
    blocks = lame * sums + mu * sums.transpose(1, 0, 2)
    blocks[range(3), range(3)] += mu * np.trace(sums)
    stiffness = pattern.vector(np.ascontiguousarray(blocks.transpose(2, 0, 1)))
    points, weights = fourteen_points()
    shapes = shape_functions(points)
    masses = np.empty((count, 10, 10))
    for start in range(0, count, CHUNK):
        part = slice(start, start + CHUNK)
        volumes = np.abs(np.linalg.det(jacobians(mesh, mesh.elements[part], points))) * weights
        masses[part] = np.einsum('kg,ga,gb->kab', volumes, shapes, shapes, optimize=True)
    return stiffness, pattern.scalar(pattern.sum(masses) * material.density)
