"""
Statics of a mesh whose root interface is held, with interfaces that move rigidly or on average.

Each interface has a frame, and a motion (theta, d) of six coordinates, angular ones first. With R,
the rigid motions d + theta x (x - origin) of its nodes, this motion is the mean of the nodes, and
a wrench acts on the nodes as

    (theta, d) = B^T u,  f = B w,  B = R (R^T R)^-1                                          (1)

Rigid (RBE2): the nodes of an interface move as R (theta, d). Mean (RBE3): the interface only
follows its nodes; the root is held by B^T u = 0.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import splu

from flex_robot_sim.util.exceptions import FlexRobotSimError

MIN_SPREAD = 1e-6  # of the nodes of an interface across a line, over their distance


class ReductionError(FlexRobotSimError):
    """A mesh, its interfaces or its matrices cannot be reduced."""


class Interface(NamedTuple):
    """Nodes that a joint holds, and the frame that moves with them."""

    name: str  # of the joint
    origin: np.ndarray  # (3,)  in the frame of the link [m]
    nodes: np.ndarray  # (k,)  rows of nodes

    def motions(self, nodes: np.ndarray) -> np.ndarray:
        """Displacements of its nodes by motion R, (3 k, 6)."""
        return rigid_motions(nodes[self.nodes], self.origin)

    @property
    def rows(self) -> np.ndarray:
        """Degrees of freedom of its nodes, (3 k,)."""
        return (3 * self.nodes[:, None] + np.arange(3)).ravel()


def rigid_motions(points: np.ndarray, origin: np.ndarray) -> np.ndarray:
    """Displacements of points (k, 3) in rotations about x, y, z and translations, (3 k, 6)."""
    motions = np.zeros((len(points), 3, 6))
    arms = points - origin
    for axis in range(3):
        motions[:, :, axis] = np.cross(np.eye(3)[axis], arms)
        motions[:, axis, 3 + axis] = 1.0
    return motions.reshape(-1, 6)


def turned_twice(turns: np.ndarray, arms: np.ndarray) -> np.ndarray:
    """
    Second derivatives of exp(theta) r by the coordinates, (k, 3, s, s).

    :param turns: theta by coordinate, (3, s); arms: r, (k, 3) [m].
    """
    # a x (b x r) = b (a . r) - r (a . b)
    product = np.einsum('aj,ki->kaij', turns, arms @ turns)
    product -= np.einsum('ka,ij->kaij', arms, turns.T @ turns)
    return (product + product.swapaxes(2, 3)) / 2


def check_interface(nodes: np.ndarray, interface: Interface) -> None:
    """Refuse an interface whose nodes lie on a line: it could turn about it."""
    points = nodes[interface.nodes]
    spread = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    if len(points) < 3 or spread[1] <= MIN_SPREAD * spread[0]:
        raise ReductionError(
            f'interface "{interface.name}": its nodes ({len(points)}) lie on one line, about which '
            'the link would turn. Choose a larger --radius or --depth'
        )


class Support:
    """Stiffness of a mesh with held root, factored; base of the two kinds of interface."""

    def __init__(
        self,
        nodes: np.ndarray,
        stiffness: sparse.csr_matrix,
        root: Interface,
        stations: list[Interface],
    ) -> None:
        for interface in (root, *stations):
            check_interface(nodes, interface)
        self.nodes, self.stiffness, self.root, self.stations = nodes, stiffness, root, stations
        self.size = stiffness.shape[0]

    def loads(self, interface: Interface) -> np.ndarray:
        """Forces of unit wrenches on an interface, B of (1) for all nodes, (3 N, 6)."""
        motions = interface.motions(self.nodes)
        forces = np.zeros((self.size, 6))
        # scaled, so that the size of an interface does not matter
        scale = np.linalg.norm(motions, axis=0)
        scaled = motions / scale
        forces[interface.rows] = np.linalg.solve(scaled.T @ scaled, scaled.T).T / scale
        return forces

    def motion(self, interface: Interface, displacements: np.ndarray) -> np.ndarray:
        """Motion (theta, d) of an interface in displacements (3 N, ...), (6, ...)."""
        return np.tensordot(self.loads(interface), displacements, (0, 0))

    def solve(self, forces: np.ndarray) -> np.ndarray:
        """Displacements (3 N, k) under forces (3 N, k), with the root held."""
        raise NotImplementedError


class RigidSupport(Support):
    """Interfaces that move rigidly (RBE2): eliminated."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.transformation = self._transformation()
        T = self.transformation
        self._factor = factored((T.T @ self.stiffness @ T).tocsc())

    def _transformation(self):
        """Sparse matrix from motions of stations and free degrees of freedom to all of them."""
        is_free = np.ones(self.size, bool)
        is_free[self.root.rows] = False
        columns = []
        for station in self.stations:
            if not is_free[station.rows].all():
                raise ReductionError(
                    f'interface "{station.name}" shares nodes with another one. Choose a smaller '
                    '--radius or --depth'
                )
            is_free[station.rows] = False
            motion = sparse.lil_matrix((self.size, 6))
            motion[station.rows] = station.motions(self.nodes)
            columns.append(motion.tocsr())
        columns.append(sparse.identity(self.size, format='csc')[:, np.flatnonzero(is_free)])
        return sparse.hstack(columns, format='csr')

    def solve(self, forces: np.ndarray) -> np.ndarray:
        """Displacements (3 N, k) under forces (3 N, k), with the root held."""
        T = self.transformation
        return T @ self._factor.solve(np.ascontiguousarray(T.T @ forces))


class MeanSupport(Support):
    """Interfaces that follow their nodes (RBE3)."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        # six degrees of freedom of the root carry no force under loads in equilibrium
        motions = self.root.motions(self.nodes)
        _, _, order = linalg.qr(motions.T, mode='economic', pivoting=True)
        is_free = np.ones(self.size, bool)
        is_free[self.root.rows[order[:6]]] = False
        self._free = np.flatnonzero(is_free)
        self._factor = factored(self.stiffness[self._free][:, self._free].tocsc())
        self._all = rigid_motions(self.nodes, self.root.origin)
        self._held = self.loads(self.root)

    def solve(self, forces: np.ndarray) -> np.ndarray:
        """Displacements (3 N, k) under forces (3 N, k), with the root held."""
        balanced = forces - self._held @ (self._all.T @ forces)
        displacements = np.zeros_like(balanced)
        displacements[self._free] = self._factor.solve(balanced[self._free])
        return displacements - self._all @ (self._held.T @ displacements)


def factored(matrix: sparse.csc_matrix) -> Any:
    """Return the factors of a positive definite matrix; ReductionError if it is singular."""
    try:
        return splu(
            matrix,
            permc_spec='MMD_AT_PLUS_A',
            diag_pivot_thresh=0.0,
            options={'SymmetricMode': True},
        )
    except RuntimeError as error:
        raise ReductionError(
            'the stiffness of the mesh is singular: a part can move without deformation. Connect '
            'all parts to the root interface'
        ) from error
    except MemoryError as error:
        raise ReductionError(
            'the mesh is too large for the memory of this computer. Choose a larger --mesh'
        ) from error


SUPPORTS = {'rigid': RigidSupport, 'mean': MeanSupport}
