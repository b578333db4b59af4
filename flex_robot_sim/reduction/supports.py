"""
Statics of a model whose root interface is held, with interfaces that move rigidly or on average.

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

from flex_robot_sim.reduction.freedoms import Freedoms
from flex_robot_sim.reduction.multifrontal import MultifrontalFactor, SingularMatrix
from flex_robot_sim.util.exceptions import FlexRobotSimError

MIN_SPREAD = 1e-6  # smallest singular value of R with columns of length 1


class ReductionError(FlexRobotSimError):
    """A mesh, its interfaces or its matrices cannot be reduced."""


class Interface(NamedTuple):
    """Nodes that a joint holds, and the frame that moves with them."""

    name: str  # of the joint
    origin: np.ndarray  # (3,)  in the frame of the link [m]
    nodes: np.ndarray  # (k,)  rows of nodes


def turned_twice(turns: np.ndarray, arms: np.ndarray) -> np.ndarray:
    """
    Second derivatives of exp(theta) r by the coordinates, (k, 3, s, s).

    :param turns: theta by coordinate, (3, s); arms: r, (k, 3) [m].
    """
    # a x (b x r) = b (a . r) - r (a . b)
    product = np.einsum('aj,ki->kaij', turns, arms @ turns)
    product -= np.einsum('ka,ij->kaij', arms, turns.T @ turns)
    return (product + product.swapaxes(2, 3)) / 2


def rigid_turns(
    freedoms: Freedoms, rows: np.ndarray, origin: np.ndarray, turns: np.ndarray
) -> np.ndarray:
    """Second derivatives of degrees of freedom of a rigid interface, (rows, s, s)."""
    node, direction = freedoms.node[rows], freedoms.direction[rows]
    twice = turned_twice(turns, freedoms.points[node] - origin)
    is_shift = direction < 3  # a rotation vector is the same everywhere
    return twice[np.arange(len(rows)), np.where(is_shift, direction, 0)] * is_shift[:, None, None]


def check_interface(freedoms: Freedoms, interface: Interface) -> None:
    """Refuse an interface whose nodes lie on a line: it could turn about it."""
    rows = freedoms.rows(interface.nodes)
    if not len(rows):
        raise ReductionError(
            f'interface "{interface.name}": its nodes have no degrees of freedom. Export the '
            'matrices without boundary conditions'
        )
    motions = freedoms.motions(interface.origin, rows)
    size = np.linalg.norm(motions, axis=0)
    if size.min() <= 0.0 or np.linalg.svd(motions / size, compute_uv=False)[-1] < MIN_SPREAD:
        raise ReductionError(
            f'interface "{interface.name}": its nodes ({len(interface.nodes)}) lie on one line, '
            'about which the link would turn. Choose a larger --radius or --depth'
        )


class Support:
    """Stiffness of a model with held root, factored; base of the two kinds of interface."""

    def __init__(
        self,
        freedoms: Freedoms,
        stiffness: sparse.csr_matrix,
        root: Interface,
        stations: list[Interface],
        parts: np.ndarray | None = None,
    ) -> None:
        """:param parts: of the nodes, (N, 2), see `elimination_parts`; None: unknown."""
        for interface in (root, *stations):
            check_interface(freedoms, interface)
        self.freedoms, self.stiffness, self.root, self.stations = (
            freedoms,
            stiffness,
            root,
            stations,
        )
        self.size, self.parts = freedoms.size, parts

    def factored(self, matrix: sparse.csc_matrix, rows: np.ndarray) -> 'Factor':
        """Return the factors of a matrix; rows: degrees of freedom of its last rows."""
        parts = None
        if self.parts is not None:  # rows of interfaces come first, and are eliminated last
            parts = np.full((matrix.shape[0], 2), len(self.parts))
            parts[matrix.shape[0] - len(rows) :] = self.parts[self.freedoms.node[rows]]
        return Factor(matrix, parts)

    def loads(self, interface: Interface) -> np.ndarray:
        """Forces of unit wrenches on an interface, B of (1), (d, 6)."""
        return self.freedoms.loads(interface.origin, interface.nodes)

    def motion(self, interface: Interface, values: np.ndarray) -> np.ndarray:
        """Motion (theta, d) of an interface in values (d, ...), (6, ...)."""
        return np.tensordot(self.loads(interface), values, (0, 0))

    def solve(self, forces: np.ndarray) -> np.ndarray:
        """Values (d, k) under forces (d, k), with the root held."""
        raise NotImplementedError


class RigidSupport(Support):
    """Interfaces that move rigidly (RBE2): eliminated."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.transformation, free = self._transformation()
        T = self.transformation
        self._factor = self.factored((T.T @ self.stiffness @ T).tocsc(), free)

    def _transformation(self):
        """Sparse matrix from motions of stations and free values to all of them; the free ones."""
        is_free = np.ones(self.size, bool)
        is_free[self.freedoms.rows(self.root.nodes)] = False
        columns = []
        for station in self.stations:
            rows = self.freedoms.rows(station.nodes)
            is_free[rows] = False
            motion = sparse.lil_matrix((self.size, 6))
            motion[rows] = self.freedoms.motions(station.origin, rows)
            columns.append(motion.tocsr())
        free = np.flatnonzero(is_free)
        columns.append(sparse.identity(self.size, format='csc')[:, free])
        return sparse.hstack(columns, format='csr'), free

    def solve(self, forces: np.ndarray) -> np.ndarray:
        """Values (d, k) under forces (d, k), with the root held."""
        T = self.transformation
        return T @ self._factor.solve(T.T @ forces)


class MeanSupport(Support):
    """Interfaces that follow their nodes (RBE3)."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        # six degrees of freedom of the root carry no force under loads in equilibrium
        rows = self.freedoms.rows(self.root.nodes)
        motions = self.freedoms.motions(self.root.origin, rows)
        _, _, order = linalg.qr(motions.T, mode='economic', pivoting=True)
        is_free = np.ones(self.size, bool)
        is_free[rows[order[:6]]] = False
        self._free = np.flatnonzero(is_free)
        matrix = self.stiffness[self._free][:, self._free].tocsc()
        self._factor = self.factored(matrix, self._free)
        self._all = self.freedoms.motions(self.root.origin)
        self._held = self.loads(self.root)

    def solve(self, forces: np.ndarray) -> np.ndarray:
        """Values (d, k) under forces (d, k), with the root held."""
        balanced = forces - self._held @ (self._all.T @ forces)
        values = np.zeros_like(balanced)
        values[self._free] = self._factor.solve(balanced[self._free])
        return values - self._all @ (self._held.T @ values)


class Factor:
    """Factors of a positive definite matrix; ReductionError if it is singular or too large."""

    def __init__(self, matrix: sparse.csc_matrix, parts: np.ndarray | None) -> None:
        """:param parts: of the rows, see MultifrontalFactor; None: by minimum degree."""
        try:
            self._factors = (
                _minimum_degree(matrix) if parts is None else MultifrontalFactor(matrix, parts)
            )
        except (RuntimeError, SingularMatrix) as error:
            raise ReductionError(
                'the stiffness of the mesh is singular: a part can move without deformation. '
                'Connect all parts to the root interface'
            ) from error
        except MemoryError as error:
            raise ReductionError(
                'the mesh is too large for the memory of this computer. Choose a larger --mesh'
            ) from error

    def solve(self, forces: np.ndarray) -> np.ndarray:
        """Solution for right-hand sides (rows, k)."""
        return self._factors.solve(np.ascontiguousarray(forces))


def _minimum_degree(matrix):
    """Return the factors of SuperLU; RuntimeError if the matrix is singular."""
    return splu(
        matrix, permc_spec='MMD_AT_PLUS_A', diag_pivot_thresh=0.0, options={'SymmetricMode': True}
    )


SUPPORTS = {'rigid': RigidSupport, 'mean': MeanSupport}
