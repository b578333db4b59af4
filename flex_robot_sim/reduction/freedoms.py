"""Degrees of freedom of a finite element model, and its mass."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

ROTATION_WEIGHT = 1e-3  # of rotations of nodes in the motion of an interface, over its size


class Freedoms(NamedTuple):
    """The d degrees of freedom of N nodes."""

    points: np.ndarray  # (N, 3)  nodes [m]
    node: np.ndarray  # (d,)  row of points
    direction: np.ndarray  # (d,)  0 to 2: displacement along x, y, z; 3 to 5: rotation

    @property
    def size(self) -> int:
        """Number of degrees of freedom d."""
        return len(self.node)

    def rows(self, nodes: np.ndarray) -> np.ndarray:
        """Degrees of freedom of nodes, in their order in the model."""
        is_chosen = np.zeros(len(self.points), bool)
        is_chosen[nodes] = True
        return np.flatnonzero(is_chosen[self.node])

    def motions(self, origin: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Values of degrees of freedom in rotations about x, y, z and translations, (d, 6)."""
        node = self.node if rows is None else self.node[rows]
        direction = self.direction if rows is None else self.direction[rows]
        motions = np.zeros((len(node), 6))
        arms = self.points[node] - origin
        is_shift = direction < 3
        for axis in range(3):
            turned = np.cross(np.eye(3)[axis], arms)
            motions[is_shift, axis] = turned[is_shift, direction[is_shift]]
            motions[direction == axis, 3 + axis] = 1.0
            motions[direction == 3 + axis, axis] = 1.0
        return motions

    def displacements(self, values: np.ndarray) -> np.ndarray:
        """Displacements (N, 3, ...) of the nodes, from values of degrees of freedom (d, ...)."""
        fields = np.zeros((len(self.points), 3, *values.shape[1:]))
        is_shift = self.direction < 3
        fields[self.node[is_shift], self.direction[is_shift]] = values[is_shift]
        return fields

    def loads(self, origin: np.ndarray, nodes: np.ndarray) -> np.ndarray:
        """
        Forces of unit wrenches on nodes (d, 6); their transpose is the mean motion of the nodes.

        Rotations of nodes count little, except where all nodes are in one place.
        """
        rows = self.rows(nodes)
        motions = self.motions(origin, rows)
        size = np.ptp(self.points[nodes], axis=0).max()
        is_turn = self.direction[rows] >= 3
        weights = np.where(is_turn, (ROTATION_WEIGHT * size) ** 2 if size else 1.0, 1.0)
        # scaled, so that the size of an interface does not matter
        scale = np.sqrt(np.einsum('ia,ia,i->a', motions, motions, weights))
        scaled = motions / scale
        forces = np.zeros((self.size, 6))
        gram = scaled.T @ (weights[:, None] * scaled)
        forces[rows] = weights[:, None] * np.linalg.solve(gram, scaled.T).T / scale
        return forces


def freedoms_of(points: np.ndarray) -> Freedoms:
    """Return the three displacements of each node, ordered by node."""
    count = len(points)
    return Freedoms(points, np.arange(count).repeat(3), np.tile(np.arange(3), count))


class Mass(NamedTuple):
    """Mass of a model."""

    by_node: sparse.csr_matrix  # (N, N)  of displacements along each axis [kg]
    full: sparse.csr_matrix | None = None  # (d, d); None: by_node for x, y and z alike

    def times(self, values: np.ndarray) -> np.ndarray:
        """Product of the mass matrix with values of degrees of freedom (d, k)."""
        if self.full is not None:
            return self.full @ values
        return (self.by_node @ values.reshape(len(values) // 3, -1)).reshape(values.shape)


def mass_by_node(freedoms: Freedoms, full: sparse.csr_matrix) -> sparse.csr_matrix:
    """Return the mass of displacements by node, the mean of x, y and z."""
    count = len(freedoms.points)
    total = sparse.csr_matrix((count, count))
    for axis in range(3):
        rows = np.flatnonzero(freedoms.direction == axis)
        part = full[rows][:, rows].tocoo()
        node = freedoms.node[rows]
        total += sparse.csr_matrix((part.data, (node[part.row], node[part.col])), (count, count))
    return (total / 3).tocsr()
