"""
Shapes of a reduced link: static ones of its interfaces, and natural modes with a free end.

Static shapes are the deflections under unit wrenches on the interfaces. Both kinds together are
combined into natural modes of the reduced model, so that stiffness and mass are diagonal.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from flex_robot_sim.reduction.freedoms import Mass
from flex_robot_sim.reduction.supports import ReductionError, Support

CANDIDATES = 3  # modes that are computed, over those that are chosen
MIN_INDEPENDENT = 1e-8  # share of a shape that is not a sum of other ones, squared
MECHANISM = 1e-8  # eigenvalue of a mechanism, over the next one
SEED = 0  # of the first vector of the iterations


class Shapes(NamedTuple):
    """Values of the degrees of freedom by coordinate, and the natural modes of the model."""

    values: np.ndarray  # (d, n), largest displacement 1
    stiffness: np.ndarray  # (n,)  diagonal of K
    frequencies: np.ndarray  # (n,)  of the reduced model [Hz]
    eigenvalues: np.ndarray  # (m,)  of the mesh [1/s2]
    modes: np.ndarray  # (d, m)  of the mesh


def hertz(eigenvalues: np.ndarray) -> np.ndarray:
    """Frequencies of eigenvalues [1/s2]."""
    return np.sqrt(eigenvalues) / (2 * np.pi)


def mesh_modes(support: Support, mass: Mass, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Lowest eigenvalues (count,) [1/s2] and modes (d, count) of the mesh; v^T M v = 1."""
    size = support.size
    inverse = LinearOperator(
        (size, size), lambda v: support.solve(v.reshape(-1, 1))[:, 0], dtype=float
    )
    inertia = LinearOperator(
        (size, size), lambda v: mass.times(v.reshape(-1, 1))[:, 0], dtype=float
    )
    start = support.solve(mass.times(np.random.default_rng(SEED).standard_normal((size, 1))))
    try:
        values, modes = eigsh(
            support.stiffness, count, inertia, sigma=0.0, OPinv=inverse, v0=start[:, 0], tol=1e-10
        )
    except ArpackError as error:
        raise ReductionError(
            f'the natural modes do not converge ({error}). Ask for fewer --modes'
        ) from error
    order = np.argsort(values)
    values, modes = values[order], modes[:, order]
    below = np.flatnonzero(values[:-1] < MECHANISM * values[1:])
    if below.size or values[0] <= 0.0:
        raise ReductionError(
            f'mode {1 + (below[-1] if below.size else 0)} is a mechanism: a part moves without '
            'deformation. Connect all parts of the link, or choose a larger --radius'
        )
    return values, modes


def observed(
    support: Support, mass: Mass, static: np.ndarray, values: np.ndarray, modes: np.ndarray
) -> np.ndarray:
    """
    Share of each mode in what the interfaces measure, (k,).

    It is the largest of its effective masses at the root, over the inertia of the link, and of its
    compliances at the stations, over the static ones.

    :param static: displacements under unit wrenches on the stations, (d, 6 stations).
    :param values: eigenvalues of the modes, (k,).
    """
    rigid = support.freedoms.motions(support.root.origin)
    inertia = np.einsum('ia,ia->a', rigid, mass.times(rigid))
    shares = [(modes.T @ mass.times(rigid)) ** 2 / inertia]
    for row, station in enumerate(support.stations):
        compliance = np.diag(support.motion(station, static[:, 6 * row : 6 * row + 6]))
        shares.append(support.motion(station, modes).T ** 2 / values[:, None] / compliance)
    return np.max(np.hstack(shares), axis=1)


def make_shapes(support: Support, mass: Mass, modes: int) -> Shapes:
    """Return the shapes: six static ones by station, and `modes` natural modes."""
    candidates = min(CANDIDATES * modes, support.size - 7)
    values, natural = mesh_modes(support, mass, max(candidates, 6))
    forces = [support.loads(station) for station in support.stations]
    static = support.solve(np.hstack(forces)) if forces else np.empty((support.size, 0))
    # slow modes first where two have the same share
    importance = observed(support, mass, static, values, natural) / np.sqrt(values)
    chosen = np.sort(np.argsort(-importance, kind='stable')[:modes])
    basis, _ = independent(support.stiffness, np.hstack([natural[:, chosen], static]))
    K = basis.T @ (support.stiffness @ basis)
    M = basis.T @ mass.times(basis)
    eigenvalues, vectors = linalg.eigh(K, M)
    shapes = basis @ vectors
    fields = support.freedoms.displacements(shapes)
    largest = np.linalg.norm(fields, axis=1).max(axis=0)
    fields = fields.reshape(-1, shapes.shape[1])
    signs = np.sign(fields[np.abs(fields).argmax(axis=0), range(shapes.shape[1])])
    scale = signs / largest
    return Shapes(shapes * scale, eigenvalues * scale**2, hertz(eigenvalues), values, natural)


def independent(stiffness: sparse.csr_matrix, basis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return displacements (d, k) that span those of the basis, without dependent ones.

    Their strain energies are 1/2 and those of their products 0. They are basis @ factors, with the
    second value.
    """
    product = stiffness @ basis
    scale = 1 / np.sqrt(np.maximum(np.einsum('ia,ia->a', basis, product), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(scale[:, None] * (basis.T @ product) * scale)
    kept = values > MIN_INDEPENDENT
    factors = scale[:, None] * vectors[:, kept] / np.sqrt(values[kept])
    return basis @ factors, factors
