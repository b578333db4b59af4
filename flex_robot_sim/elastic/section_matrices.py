"""
Stiffness and mass matrices of the sections along a spatial beam, and their pretwist.

Rows and columns are in the order of VABS: axial force, shear along y and z, torsion, bending about
y and z; the same for translations and rotations of the mass matrix. The matrices are in the axes
of the section, about the axis of the beam. They are polynomials between breaks, where they may
step.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import ArrayLike

from flex_robot_sim.elastic.section import Section
from flex_robot_sim.elastic.section_profile import NODES, SectionProfile
from flex_robot_sim.util.read_only import make_read_only

MIN_EIGENVALUE = 1e-12  # of a stiffness matrix scaled to a unit diagonal
MASS_SYMMETRY = 1e-6  # of a mass matrix

_UPPER = np.triu_indices(6)
_COLUMNS = 2 * len(_UPPER[0]) + 1


@dataclass(frozen=True, eq=False)
class SectionMatrices:
    """Matrices of the sections of a beam, polynomials in each of p pieces."""

    breaks: np.ndarray  # (p + 1,)  ends of the pieces, shares of the length from 0 to 1
    coefficients: np.ndarray  # (p, NODES, 43)  Chebyshev series: stiffness, mass, twist
    is_elastic: tuple[bool, ...]  # (6,)  strains that are not rigid

    def __post_init__(self) -> None:
        make_read_only((self.breaks, self.coefficients))

    @cached_property
    def _key(self):
        return self.breaks.tobytes(), self.coefficients.tobytes(), self.is_elastic

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SectionMatrices) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def stiffness(self, share: ArrayLike) -> np.ndarray:
        """Return stiffness matrices (k, 6, 6) at shares (k,) of the length [N, N m, N m2]."""
        return _symmetric(self._values(share)[:, : len(_UPPER[0])])

    def mass(self, share: ArrayLike) -> np.ndarray:
        """Return mass matrices (k, 6, 6) per length at shares (k,) [kg/m, kg, kg m]."""
        return _symmetric(self._values(share)[:, len(_UPPER[0]) : -1])

    def twist(self, share: ArrayLike) -> np.ndarray:
        """Return the pretwist (k,) about the axis at shares (k,) of the length [rad]."""
        return self._values(share)[:, -1]

    def scaled(self, stiffness: float = 1.0, mass: float = 1.0) -> 'SectionMatrices':
        """Return matrices with these factors of stiffness and mass."""
        factors = np.ones(_COLUMNS)
        factors[: len(_UPPER[0])] = stiffness
        factors[len(_UPPER[0]) : -1] = mass
        return replace(self, coefficients=self.coefficients * factors)

    def _values(self, share):
        share = np.atleast_1d(np.asarray(share, float))
        last = len(self.breaks) - 2
        piece = np.clip(np.searchsorted(self.breaks, share, side='right') - 1, 0, last)
        out = np.empty((len(share), _COLUMNS))
        for i in np.unique(piece):
            rows, (start, end) = piece == i, self.breaks[i : i + 2]
            local = 2.0 * (share[rows] - start) / (end - start) - 1.0
            out[rows] = chebyshev.chebval(local, self.coefficients[i]).T
        return out


def _symmetric(upper):
    """Matrices (k, 6, 6) from their upper triangles (k, 21), by rows."""
    out = np.empty((len(upper), 6, 6))
    out[:, _UPPER[0], _UPPER[1]] = out[:, _UPPER[1], _UPPER[0]] = upper
    return out


def interpolated_matrices(
    breaks: np.ndarray,
    values: Callable[[int, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]],
    is_elastic: tuple[bool, ...] = (True,) * 6,
) -> SectionMatrices:
    """
    Return the SectionMatrices that interpolate a function in each piece.

    :param breaks: ends of the pieces, shares of the length from 0 to 1, (p + 1,).
    :param values: piece and shares (k,) of this piece, from 0 to 1 -> stiffness (k, 6, 6), mass
        (k, 6, 6) and twist (k,).
    """
    nodes = chebyshev.chebpts1(NODES)
    inverse = np.linalg.inv(chebyshev.chebvander(nodes, NODES - 1))
    coefficients = []
    for piece in range(len(breaks) - 1):
        stiffness, mass, twist = values(piece, (nodes + 1.0) / 2.0)
        parts = [stiffness[:, _UPPER[0], _UPPER[1]], mass[:, _UPPER[0], _UPPER[1]], twist[:, None]]
        coefficients.append(inverse @ np.hstack(parts))
    return SectionMatrices(np.asarray(breaks, float), np.array(coefficients), is_elastic)


def matrices_of_section(
    section: Section, profile: SectionProfile | None, twist: Sequence[tuple[float, float]] = ()
) -> SectionMatrices:
    """
    Return the diagonal SectionMatrices of a Section; a stiffness of 0 or inf is rigid.

    :param twist: share of the length and pretwist [rad] at the stations, linear in between.
    """
    names = ('EA', 'kGAy', 'kGAz', 'GJ', 'EIy', 'EIz')
    numbers = np.array([getattr(section, name) for name in names])
    is_elastic = (numbers > 0.0) & np.isfinite(numbers)
    inertia = [f'inertia_{axis}' for axis in 'xyz']
    masses = np.array([section.mass_per_length] * 3 + list(section.inertia))
    breaks = np.array([0.0, 1.0]) if profile is None else profile.breaks

    def values(piece, share):
        at = breaks[piece] + share * (breaks[piece + 1] - breaks[piece])
        stiffness, mass = np.ones((len(at), 6)), np.ones((len(at), 6))
        if profile is not None:
            stiffness = np.stack([profile.factor(name, at) for name in names], axis=1)
            columns = ['mass_per_length'] * 3 + inertia
            mass = np.stack([profile.factor(name, at) for name in columns], axis=1)
        stiffness = stiffness * np.where(is_elastic, numbers, 1.0)
        diagonal = np.eye(6)
        return (
            stiffness[:, :, None] * diagonal,
            (mass * masses)[:, :, None] * diagonal,
            _interpolated_twist(twist, at),
        )

    return interpolated_matrices(breaks, values, tuple(map(bool, is_elastic)))


def linear_matrices(
    places: Sequence[float],
    stiffness: Sequence[np.ndarray],
    mass: Sequence[np.ndarray],
    twist: Sequence[tuple[float, float]],
) -> SectionMatrices:
    """
    Return SectionMatrices that are linear between stations; two stations at one place are a step.

    :param places: of the stations, shares of the length from 0 to 1, at least two.
    :param stiffness: matrices (6, 6) of the stations, as is `mass`; twist: of some stations.
    """
    pieces = [k for k in range(len(places) - 1) if places[k] < places[k + 1]]
    breaks = np.array([places[k] for k in pieces] + [places[-1]])

    def between(matrices, k, share):
        share = share[:, None, None]
        return (1.0 - share) * matrices[k] + share * matrices[k + 1]

    def values(piece, share):
        k = pieces[piece]
        at = breaks[piece] + share * (breaks[piece + 1] - breaks[piece])
        return (
            between(stiffness, k, share), between(mass, k, share), _interpolated_twist(twist, at)
        )  # fmt: skip

    return interpolated_matrices(breaks, values)


def _interpolated_twist(twist, at):
    if not twist:
        return np.zeros(len(at))
    places, angles = np.array(twist).T
    return np.interp(at, places, angles)


def is_positive_definite(stiffness: np.ndarray) -> bool:
    """Whether a stiffness matrix (6, 6) of a section is positive definite."""
    scale = np.sqrt(np.maximum(np.diag(stiffness), 0.0))
    return bool(
        scale.min() > 0.0
        and np.linalg.eigvalsh(stiffness / np.outer(scale, scale))[0] >= MIN_EIGENVALUE
    )


def mass_problem(mass: np.ndarray) -> tuple[str, str] | None:
    """Return what is wrong with the mass matrix (6, 6) of a section, and a remedy; or None."""
    total, first = mass[0, 0], mass[:3, 3:]
    if (
        not total > 0.0
        or np.abs(mass[:3, :3] - total * np.eye(3)).max() > MASS_SYMMETRY * total
        or np.abs(first + first.T).max() > MASS_SYMMETRY * np.abs(first).max()
    ):
        return (
            'is not the mass matrix of a rigid section',
            'Give equal masses on its diagonal, first moments about the axis, and moments of '
            'inertia, in the order of stiffness',
        )
    # about the centre of mass, whose moments may be small
    moments = np.linalg.eigvalsh(mass[3:, 3:] - first.T @ first / total)
    if moments[0] < -MASS_SYMMETRY * np.abs(mass[3:, 3:]).max():
        return (
            'is not positive definite: a moment of inertia about its centre of mass is '
            f'{moments[0]:.3g} kg m',
            'Check its order, signs and units',
        )
    return None


def homogeneous_mass(mass_per_length: float, stiffness: np.ndarray) -> np.ndarray:
    """Return the mass matrix of a section whose mass is distributed as its axial stiffness."""
    y, z = mass_per_length * np.diag(stiffness)[4:] / stiffness[0, 0]
    return np.diag([mass_per_length] * 3 + [y + z, y, z])
