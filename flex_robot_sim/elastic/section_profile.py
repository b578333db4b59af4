"""
Profile of a beam whose cross-section varies along its axis: factors of a reference section.

A quantity of the section at the share s of the length is its value in the Section of the beam
times the factor of the profile at s. The factors are polynomials between breaks; at a break the
section may step.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import ArrayLike

from flex_robot_sim.elastic.quadrature import gauss_stations
from flex_robot_sim.util.read_only import make_read_only, read_only

PROFILE_QUANTITIES = (
    'mass_per_length',
    'inertia_x',
    'inertia_y',
    'inertia_z',
    'EIy',
    'EIz',
    'GJ',
    'EA',
    'kGAy',
    'kGAz',
)
"""Quantities of a Section that vary, in the order of the columns."""
NODES = 12  # of the interpolation in a piece: exact up to degree 11
CACHE_SIZE = 64  # sets of stations, of all profiles
MIN_PIECE = 1e-9  # of a part of a beam: shorter pieces at its ends are rounding errors
MOMENT_STATIONS = NODES  # Gauss stations in a piece, exact for a factor times x^2


@dataclass(frozen=True, eq=False)
class SectionProfile:
    """Factors of a section, polynomials in each of p pieces."""

    breaks: np.ndarray  # (p + 1,)  ends of the pieces, shares of the length from 0 to 1
    coefficients: np.ndarray  # (p, NODES, 10)  of Chebyshev polynomials on each piece

    def __post_init__(self) -> None:
        make_read_only((self.breaks, self.coefficients))

    @cached_property
    def _key(self):
        return self.breaks.tobytes(), self.coefficients.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SectionProfile) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def factors(self, share: ArrayLike) -> np.ndarray:
        """Return the factors at shares (k,) of the length, (k, 10)."""
        return _factors(self, np.atleast_1d(np.asarray(share, float)).tobytes())

    def factor(self, quantity: str, share: ArrayLike) -> np.ndarray:
        """Return the factor (k,) of one of PROFILE_QUANTITIES at shares (k,) of the length."""
        return self.factors(share)[:, PROFILE_QUANTITIES.index(quantity)]

    def piece_ends(self, piece: int) -> np.ndarray:
        """Return the factors at the two ends of a piece, (2, 10)."""
        return chebyshev.chebval(np.array([-1.0, 1.0]), self.coefficients[piece]).T

    def part(self, start: float, end: float) -> 'SectionProfile':
        """Return the profile of the part from `start` to `end`, shares of the length."""
        margin = MIN_PIECE * (end - start)
        inside = self.breaks[(self.breaks > start + margin) & (self.breaks < end - margin)]
        breaks = np.concatenate([[start], inside, [end]])
        return interpolated_profile(
            (breaks - start) / (end - start),
            lambda piece, share: self.factors(
                breaks[piece] + share * (breaks[piece + 1] - breaks[piece])
            ),
        )

    @cached_property
    def moments(self) -> np.ndarray:
        """Integrals of the factors times 1, s and s^2 over the shares s, (3, 10)."""
        share, weights = gauss_stations(self.breaks, MOMENT_STATIONS)
        factors = self.factors(share)
        return read_only(np.array([(weights * share**power) @ factors for power in range(3)]))


@lru_cache(maxsize=CACHE_SIZE)
def _factors(profile, share):
    """Return read-only factors of a profile; shares are bytes."""
    share, breaks = np.frombuffer(share), profile.breaks
    piece = np.clip(np.searchsorted(breaks, share, side='right') - 1, 0, len(breaks) - 2)
    out = np.empty((len(share), len(PROFILE_QUANTITIES)))
    for i in np.unique(piece):
        rows = piece == i
        start, end = breaks[i : i + 2]
        local = 2.0 * (share[rows] - start) / (end - start) - 1.0
        out[rows] = chebyshev.chebval(local, profile.coefficients[i]).T
    return read_only(out)


def interpolated_profile(
    breaks: np.ndarray, values: Callable[[int, np.ndarray], np.ndarray]
) -> SectionProfile:
    """
    Return the profile that interpolates a function in each piece.

    :param breaks: ends of the pieces, shares of the length from 0 to 1, (p + 1,).
    :param values: piece and shares (k,) of this piece, from 0 to 1 -> factors, (k, 10).
    """
    nodes = chebyshev.chebpts1(NODES)
    inverse = np.linalg.inv(chebyshev.chebvander(nodes, NODES - 1))
    coefficients = [inverse @ values(i, (nodes + 1.0) / 2.0) for i in range(len(breaks) - 1)]
    return SectionProfile(np.asarray(breaks, float), np.array(coefficients))


def uniform_profile() -> SectionProfile:
    """Return the profile of a uniform beam: all factors are 1."""
    return interpolated_profile(
        np.array([0.0, 1.0]), lambda piece, share: np.ones((len(share), len(PROFILE_QUANTITIES)))
    )


def slender_moments(profile: SectionProfile | None) -> tuple[float, float]:
    """
    Return the centre of mass of a beam as a share of its length, and m L^2 over its inertia.

    The inertia is that of its thin axis about this centre, across the beam.
    """
    if profile is None:
        return 0.5, 12.0
    mass, first, second = profile.moments[:, 0]
    centre = first / mass
    return float(centre), float(1.0 / (second / mass - centre**2))
