"""
Assumed shapes of a beam in one direction, clamped at x = 0.

Bending strains with the second derivative of the shape, torsion and stretch with the first; this
is `strain_order`. Coordinates are the largest displacement of their shape [m; torsion: rad], and
every shape starts into the positive direction.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from math import inf, perm
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.elastic.eigenmodes import bending_modes, bending_roots, rod_modes, rod_roots
from flex_robot_sim.elastic.quadrature import gauss_stations
from flex_robot_sim.elastic.section_profile import SectionProfile
from flex_robot_sim.util.eigenproblem import eigh
from flex_robot_sim.util.read_only import make_read_only

Matrix: TypeAlias = Any  # np.ndarray, or sparse where it is large and most of it is zero

RELATIVE_ROUNDING = 1e-12  # of a position on the beam, relative to its length
BASIS_CACHE_SIZE = 16  # bases of polynomials and free modes, per beam length
VALUES_CACHE_SIZE = 32  # sets of stations per basis
MAX_CACHED_VALUES = 4096  # of a basis at a set of stations


_PROFILE_NAMES = {
    name: dict(zip(('stiffness', 'inertia', 'rotary', 'shear'), quantities))
    for name, quantities in {
        'bending_y': ('EIz', 'mass_per_length', 'inertia_z', 'kGAy'),
        'bending_z': ('EIy', 'mass_per_length', 'inertia_y', 'kGAz'),
        'torsion': ('GJ', 'inertia_x'),
        'stretch': ('EA', 'mass_per_length'),
    }.items()
}


class Direction(NamedTuple):
    """A deformation direction of a beam, with its stiffness and inertia."""

    name: str  # 'bending_y', 'bending_z', 'torsion' or 'stretch'
    strain_order: int  # 2 for bending, 1 for torsion and stretch
    stiffness: float  # EIz, EIy, GJ or EA                                [N m2; stretch: N]
    inertia: float  # rho A, or rho Ip for torsion                      [kg/m; kg m]
    rotary: float  # rho Iz or rho Iy for bending, else 0              [kg m]
    load: np.ndarray  # (strain_order, strain_order) inertia of the body at the end, for
    #                         the displacement and slope there                  [kg, kg m, kg m2]
    shear: float = inf  # kGA in bending; inf: rigid                     [N]
    profile: SectionProfile | None = None  # of a varying section; None: uniform

    def factor(self, quantity: str, share: np.ndarray) -> np.ndarray | float:
        """Factor of 'stiffness', 'inertia', 'rotary' or 'shear' at shares (k,) of the length."""
        if self.profile is None:
            return 1.0
        return self.profile.factor(_PROFILE_NAMES[self.name][quantity], share)

    def breaks(self, length: float) -> np.ndarray:
        """Ends of the pieces with a smooth section, from 0 to the length of the beam [m]."""
        return length * (np.array([0.0, 1.0]) if self.profile is None else self.profile.breaks)


@dataclass(frozen=True, eq=False)
class Shapes:
    """
    Shapes of one direction: `basis(x, order) @ mix` is the derivative of that order.

    Where sections shear, order 1 is the turn of the section and order 2 its curvature.
    """

    basis: Callable[[ArrayLike, int], Matrix]  # stations (k,) and order -> (k, m), smooth
    #                         between the breaks
    mix: Matrix  # (m, n)
    breaks: np.ndarray  # ends of the smooth pieces                         [m]
    stations: int  # Gauss stations that a piece needs
    reach: int = 10**6  # half bandwidth: shapes further apart in index do not overlap

    def __post_init__(self) -> None:
        make_read_only((self.mix, self.breaks))

    @property
    def count(self) -> int:
        """Number of shapes."""
        return self.mix.shape[1]

    def at(self, x: ArrayLike, order: int = 0) -> Matrix:
        """Return the derivative of the shapes at stations x (k,) [m], (k, n)."""
        return self.basis(x, order) @ self.mix

    def slopes(self, x: ArrayLike) -> Matrix:
        """First derivative at stations x (k,), as rows (k, 1, n)."""
        slopes = self.at(x, 1)
        return (slopes + self.shear(x) if self.has_shear else slopes)[:, None]

    @property
    def has_shear(self) -> bool:
        """Whether the slope of the axis differs from the turn of the section."""
        return getattr(self.basis, 'has_shear', False)

    def shear(self, x: ArrayLike) -> Matrix:
        """Shear strain of the shapes at stations x (k,), (k, n)."""
        return self.basis.shear(x) @ self.mix  # type: ignore[attr-defined]


def assumed_shapes(direction: Direction, length: float, count: int, boundary: str) -> Shapes:
    """
    Return `count` shapes of a whole beam.

    :param boundary: 'static': the shapes under loads at the end (x^2, x^3; x) first, then natural
        modes of the free end, combined into the modes of the beam with its load; 'free', 'mass',
        'inertia': natural modes with a free end, with a point mass, or with mass and inertia.
    """
    breaks = np.array([0.0, length])
    if boundary == 'static':
        basis, max_lambda = _static_basis(direction.strain_order, length, count)
        coordinate_count = basis(breaks, 0).shape[1]
        shapes = Shapes(basis, np.eye(coordinate_count), breaks, _stations(direction, max_lambda))
        return natural_shapes(shapes, direction, count)
    assert boundary in ('free', 'mass', 'inertia'), f'unknown boundary {boundary!r}'
    basis, max_lambda = _natural_basis(direction, length, count, boundary)
    shapes = Shapes(basis, np.eye(count), breaks, _stations(direction, max_lambda))
    return _normalised(shapes, direction)


def natural_shapes(shapes: Shapes, direction: Direction, count: int) -> Shapes:
    """Return the `count` lowest natural modes, with the load, that `shapes` can form."""
    # inverse problem: stiffness is never singular, and low modes are the most accurate
    stiffness, inertia = matrices(shapes, direction)
    if _is_sparse(stiffness):
        from scipy.sparse.linalg import LinearOperator, eigsh, splu

        # a fixed start vector makes the result reproducible
        start = np.linspace(1.0, 2.0, shapes.count)
        solve = LinearOperator(stiffness.shape, splu(stiffness.tocsc()).solve)
        squares, vectors = eigsh(inertia, count, stiffness, which='LA', Minv=solve, v0=start)
        vectors = vectors[:, np.argsort(squares)]
    else:
        _, vectors = eigh(inertia, stiffness)
    mixed = Shapes(
        shapes.basis, shapes.mix @ vectors[:, : -count - 1 : -1], shapes.breaks, shapes.stations
    )
    return _normalised(mixed, direction)


def matrices(shapes: Shapes, direction: Direction) -> tuple[Matrix, Matrix]:
    """Return stiffness and inertia matrices (n, n), including the body at the end."""
    length = shapes.breaks[-1]
    breaks = shapes.breaks
    if direction.profile is not None:
        breaks = np.union1d(breaks, direction.breaks(length))
    x, weights = gauss_stations(breaks, shapes.stations)
    end = [shapes.at(shapes.breaks[-1:], order) for order in range(direction.strain_order)]
    if _is_sparse(end[0]):
        from scipy.sparse import vstack  # imported late: slow, rarely needed

        end = vstack(end, 'csr')
    else:
        end = np.concatenate(end)
    shape, slope, strain = (
        _weighted_products(shapes.at(x, order), weights * direction.factor(quantity, x / length))
        for order, quantity in (
            (0, 'inertia'),
            (1, 'rotary' if direction.strain_order == 2 else 'inertia'),
            (direction.strain_order, 'stiffness'),
        )
    )
    stiffness = direction.stiffness * strain
    if shapes.has_shear:
        shear_weights = weights * direction.factor('shear', x / length)
        stiffness += direction.shear * _weighted_products(shapes.shear(x), shear_weights)
    return (
        stiffness,
        direction.inertia * shape + direction.rotary * slope + end.T @ direction.load @ end,
    )


def _is_sparse(matrix):
    return not isinstance(matrix, np.ndarray)


def _weighted_products(rows, weights):
    """Sum of weighted products (n, n) of rows (k, n), which may be sparse."""
    if _is_sparse(rows):
        return rows.T @ rows.multiply(weights[:, None]).tocsr()
    return rows.T @ (weights[:, None] * rows)


@lru_cache(maxsize=BASIS_CACHE_SIZE)
def _static_basis(strain_order, length, count):
    """Return polynomials and natural modes of the free end, and the highest lambda of these."""
    powers = (2, 3) if strain_order == 2 else (1,)
    modes, max_lambda = _free_modes(strain_order, max(count - len(powers), 0))
    basis = partial(_powers_and_modes, powers, modes, length)
    return _CachedBasis(basis, len(powers) + max(count - len(powers), 0)), max_lambda


def _powers_and_modes(powers, modes, length, x, order):
    xi = np.asarray(x) / length
    # xi^power, differentiated
    columns = [float(perm(power, order)) * xi ** max(power - order, 0) for power in powers]
    return np.column_stack([*columns, modes(xi, order)]) / length**order


class _CachedBasis:
    """
    A basis of `count` shapes with a cache of its values at recent stations.

    It is independent of stiffness and mass: a fit changes these, and evaluates the same stations.
    """

    def __init__(self, basis, count):
        self._basis, self._count = basis, count
        self._cached = lru_cache(maxsize=VALUES_CACHE_SIZE)(self._read_only_values)

    def __call__(self, x, order):
        x = np.asarray(x, float)
        is_cacheable = x.size * self._count <= MAX_CACHED_VALUES
        return self._cached(x.tobytes(), order) if is_cacheable else self._basis(x, order)

    def __reduce__(self):
        return type(self), (self._basis, self._count)  # a copy gets a new cache

    def _read_only_values(self, station_bytes, order):
        values = self._basis(np.frombuffer(station_bytes), order)
        values.flags.writeable = False
        return values


def _natural_basis(direction, length, count, boundary):
    """Return natural modes for the boundary condition, and their highest lambda."""
    load = direction.load.copy()
    if boundary != 'inertia':  # a point mass has no inertia against slope, nor in torsion
        load[1:] = load[:, 1:] = 0.0
        if boundary == 'free' or direction.name == 'torsion':
            load[:] = 0.0
    # lower bound of the divisor, for a beam without inertia
    load /= max(direction.inertia * length, 1e-9 * load[0, 0]) or 1.0
    if direction.strain_order == 1:
        roots = rod_roots(count, max(float(load[0, 0]), 0.0))
        modes = partial(rod_modes, roots)
    else:
        mass, first_moment, inertia = load[0, 0], load[0, 1] / length, load[1, 1] / length**2
        # for a point mass at the end, inertia and first moment are rounding errors
        if abs(first_moment) < RELATIVE_ROUNDING * mass:
            first_moment = 0.0
        min_inertia = first_moment**2 / mass if mass > 0.0 else 0.0
        inertia = max(inertia, min_inertia) if inertia > RELATIVE_ROUNDING * mass else min_inertia
        roots, factors = bending_roots(count, float(mass), float(first_moment), float(inertia))
        modes = partial(bending_modes, roots, factors)
    return partial(_scaled_modes, modes, length), roots[-1]


def _scaled_modes(modes, length, x, order):
    return modes(np.asarray(x) / length, order) / length**order


def _free_modes(strain_order, count):
    if strain_order == 1:
        roots = rod_roots(count)
        return partial(rod_modes, roots), roots.max(initial=0.0)
    roots, factors = bending_roots(count)
    return partial(bending_modes, roots, factors), roots.max(initial=0.0)


def _stations(direction, max_lambda):
    """
    Return the Gauss stations for inertia integrals accurate to 1e-12, verified up to ten shapes.

    In bending the integrand is the square of the shortening, of degree 10 for x^2 and x^3.

    :param max_lambda: largest lambda of a natural mode among the shapes; 0: polynomials only.
    """
    if direction.strain_order == 2:
        return 10 + int(np.ceil(1.25 * max_lambda)) if max_lambda > 0.0 else 6
    return 7 + int(np.ceil(0.8 * max_lambda)) if max_lambda > 0.0 else 2


def _normalised(shapes, direction):
    x, _ = gauss_stations(shapes.breaks, shapes.stations)
    values = shapes.at(np.append(x, shapes.breaks[-1]))
    root = shapes.at(shapes.breaks[:1], direction.strain_order)[0]
    scale = np.where(root < 0.0, -1.0, 1.0) / abs(values).max(axis=0)
    return Shapes(shapes.basis, shapes.mix * scale, shapes.breaks, shapes.stations)
