"""
Natural frequencies with mean interfaces (RBE3), from the factors of rigid ones (RBE2).

Locally optimal block conjugate gradients (Knyazev, SIAM J. Sci. Comput. 23 (2001) 517). The
preconditioner adds the solution with rigid interfaces to one of the nodes around the interfaces.
A second factorisation of the mesh would take several times as long.
"""

import numpy as np
from scipy import sparse

from flex_robot_sim.reduction.freedoms import Mass
from flex_robot_sim.reduction.shapes import independent
from flex_robot_sim.reduction.supports import RigidSupport

LAYERS = 3  # of elements around the interfaces
SHIFT = 1e-3  # of the diagonal of their stiffness
ROUNDS = 30
CHANGE = 1e-5  # of an eigenvalue in the last round, relative


def mean_eigenvalues(support: RigidSupport, mass: Mass, modes: np.ndarray) -> np.ndarray:
    """
    Return the lowest eigenvalues [1/s2] with mean interfaces.

    :param modes: with rigid interfaces, (d, count); as many eigenvalues are returned.
    """
    count, stiffness = modes.shape[1], support.stiffness
    rows = _rows_around(support, mass)
    local = stiffness[rows][:, rows]
    # regular also where all nodes are near an interface
    local = support.factored((local + SHIFT * sparse.diags(local.diagonal())).tocsc(), rows)
    held, rigid = support.loads(support.root), support.freedoms.motions(support.root.origin)

    def without_root(u):
        return u - rigid @ (held.T @ u)

    def precondition(forces):
        forces = forces - held @ (rigid.T @ forces)  # reactions of the root
        u = support.solve(forces)
        u[rows] += local.solve(forces[rows])
        return without_root(u)

    shapes = without_root(modes)
    directions = np.empty((support.size, 0))
    previous = np.full(count, np.inf)
    for _ in range(ROUNDS):
        basis, factors = independent(stiffness, np.hstack([shapes, directions]))
        values, vectors = np.linalg.eigh(basis.T @ mass.times(basis))
        vectors, eigenvalues = vectors[:, ::-1][:, :count], 1 / values[::-1][:count]
        coefficients = factors @ vectors
        coefficients[:count] = 0.0
        steps = np.hstack([shapes, directions]) @ coefficients
        shapes = basis @ vectors
        if np.all(np.abs(previous - eigenvalues) <= CHANGE * eigenvalues):
            break
        previous = eigenvalues
        residual = stiffness @ shapes - mass.times(shapes) * eigenvalues
        directions = np.hstack([precondition(residual), steps])
    return eigenvalues


def _rows_around(support, mass):
    """Degrees of freedom of nodes in a few layers of elements around the interfaces."""
    near = np.zeros(len(support.freedoms.points))
    for interface in (support.root, *support.stations):
        near[interface.nodes] = 1.0
    neighbours = (mass.by_node != 0).astype(float)
    for _ in range(LAYERS):
        near = (neighbours @ near > 0).astype(float)
    return support.freedoms.rows(np.flatnonzero(near))
