"""Shapes of a beam with a varying section, or with sections that shear."""

from math import ceil

import numpy as np

from flex_robot_sim.elastic.shapes import Direction, Shapes, matrices, natural_shapes
from flex_robot_sim.elastic.strain_basis import StrainBasis
from flex_robot_sim.util.eigenproblem import eigh

MIN_DEGREES = 4  # polynomials of strain in a piece; more where there are few pieces
DEGREES_OF_BEAM = 12  # polynomials of strain along a beam, and
DEGREES_PER_SHAPE = 2  # further ones for each shape
EXTRA_STATIONS = 8  # Gauss stations of a piece beyond its polynomials of strain


def varying_shapes(direction: Direction, length: float, count: int, boundary: str) -> Shapes:
    """
    Return `count` shapes of a whole beam whose section varies or shears.

    They are the shapes of `assumed_shapes`: 'static' are those under loads at the end, then
    natural modes of the free end; 'free', 'mass' and 'inertia' are natural modes.
    """
    basis = _basis(direction, length, count)
    stations = basis.degrees + EXTRA_STATIONS
    whole = Shapes(basis, np.eye(basis.size), basis.breaks, stations)
    if boundary != 'static':
        return natural_shapes(whole, _with_load(direction, boundary), count)
    bare = _with_load(direction, 'free')
    stiffness, inertia = matrices(whole, bare)
    end = [whole.at(basis.breaks[-1:], order)[0] for order in range(direction.strain_order)]
    static = np.linalg.solve(stiffness, np.array(end).T)
    # the strain energy of every shape is 1/2, as of the modes below
    static /= np.sqrt(np.einsum('ij,ij->j', static, stiffness @ static))
    _, modes = eigh(inertia, stiffness)
    modes = modes[:, ::-1][:, : max(count - static.shape[1], 0)]
    return natural_shapes(
        Shapes(basis, np.hstack([static, modes]), basis.breaks, stations), direction, count
    )


def first_frequency(direction: Direction, length: float) -> float:
    """Return the first natural frequency of a clamped-free beam without load [Hz]."""
    bare = _with_load(direction, 'free')
    stiffness, inertia = matrices(varying_shapes(bare, length, 1, 'free'), bare)
    return float(np.sqrt(stiffness[0, 0] / inertia[0, 0]) / (2 * np.pi))


def _basis(direction, length, count):
    breaks = direction.breaks(length)
    needed = DEGREES_OF_BEAM + DEGREES_PER_SHAPE * count
    degrees = max(MIN_DEGREES, ceil(needed / (len(breaks) - 1)))
    return StrainBasis(breaks, direction.strain_order, degrees, np.isfinite(direction.shear))


def _with_load(direction, boundary):
    """Return the direction with the part of its load that a boundary condition keeps."""
    load = direction.load.copy()
    if boundary != 'inertia':
        load[1:] = load[:, 1:] = 0.0
        if boundary == 'free' or direction.name == 'torsion':
            load[:] = 0.0
    return direction._replace(load=load)
