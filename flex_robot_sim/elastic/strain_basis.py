"""
Basis of shapes by strain: in each piece of a beam the strain of a shape is a Legendre polynomial.

A bending shape has a curvature kappa or a shear strain gamma, of which the turn theta of the
section and the deflection w follow by integration from the clamped root:

    theta(x) = integral of kappa,    w(x) = integral of theta + gamma                         (T14)

In torsion and stretch the displacement is the integral of the strain. A strain may jump where a
section steps, while the displacement stays continuous without any condition on the coefficients.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike

from flex_robot_sim.util.read_only import read_only

CACHE_SIZE = 128  # sets of stations
MAX_CACHED_VALUES = 4096  # of a basis at a set of stations


@dataclass(frozen=True, eq=False)
class StrainBasis:
    """Shapes of a beam, (pieces * degrees) by curvature or strain, then as many by shear."""

    breaks: np.ndarray  # (p + 1,)  ends of the pieces, from the root at 0     [m]
    strain_order: int  # 2 in bending, 1 in torsion and stretch
    degrees: int  # number of polynomials in a piece
    has_shear: bool = False  # whether the sections of a bending beam shear

    @property
    def size(self) -> int:
        """Number of shapes."""
        return (len(self.breaks) - 1) * self.degrees * (2 if self.has_shear else 1)

    def __call__(self, x: ArrayLike, order: int) -> np.ndarray:
        """
        Return values at stations x (k,) [m], (k, size).

        :param order: 0: displacement; 1: turn of the section, in bending; `strain_order`: strain.
        """
        by_strain = self._integrals(np.asarray(x, float), self.strain_order - order)
        if not self.has_shear:
            return by_strain
        by_shear = (
            self._integrals(np.asarray(x, float), 1) if order == 0 else np.zeros_like(by_strain)
        )
        return np.hstack([by_strain, by_shear])

    def shear(self, x: ArrayLike) -> np.ndarray:
        """Shear strain at stations x (k,) [m], (k, size)."""
        strain = self._integrals(np.asarray(x, float), 0)
        return np.hstack([np.zeros_like(strain), strain])

    def _integrals(self, x, times):
        """Strain polynomials integrated `times` times from the root, (k, pieces * degrees)."""
        is_small = len(x) * (len(self.breaks) - 1) * self.degrees <= MAX_CACHED_VALUES
        make = _cached_integrals if is_small else _integrals
        return make(self.breaks.tobytes(), self.degrees, x.tobytes(), times)


def _integrals(breaks, degrees, x, times):
    """Return read-only values of a StrainBasis; breaks and stations are bytes."""
    breaks, x = np.frombuffer(breaks), np.frombuffer(x)
    out = np.zeros((len(x), len(breaks) - 1, degrees))
    piece = np.clip(np.searchsorted(breaks, x, side='right') - 1, 0, len(breaks) - 2)
    series = _series(degrees)
    for i, (start, end) in enumerate(zip(breaks[:-1], breaks[1:])):
        half = (end - start) / 2.0
        inside, beyond = piece == i, piece > i
        local = (x[inside] - start) / half - 1.0
        out[inside, i] = half**times * legendre.legval(local, series[times]).T
        if times and beyond.any():
            # beyond its piece a shape is straight
            first, second = (
                half**n * legendre.legval(1.0, series[n]) if n <= times else 0.0 for n in (1, 2)
            )
            lever = (x[beyond] - end)[:, None]
            out[beyond, i] = first if times == 1 else second + lever * first
    return read_only(out.reshape(len(x), out.shape[1] * out.shape[2]))


# a fit changes stiffnesses, and evaluates the same stations
_cached_integrals = lru_cache(maxsize=CACHE_SIZE)(_integrals)


@lru_cache(maxsize=16)
def _series(degrees):
    """Legendre series of the polynomials, and of their first and second integrals."""
    eye = np.eye(degrees)
    return [legendre.legint(eye, times, lbnd=-1) if times else eye for times in range(3)]
