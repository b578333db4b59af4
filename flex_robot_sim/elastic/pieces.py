"""Integrals along a beam of functions that are polynomials in pieces."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial import legendre

from flex_robot_sim.elastic.quadrature import gauss_stations
from flex_robot_sim.util.read_only import make_read_only, read_only


@dataclass(frozen=True, eq=False)
class Pieces:
    """Gauss stations in the pieces of a beam, and integrals of functions given there."""

    breaks: np.ndarray  # (p + 1,)  ends of the pieces, from the root at 0             [m]
    count: int  # Gauss stations in each piece

    def __post_init__(self) -> None:
        make_read_only(self.breaks)

    @cached_property
    def x(self) -> np.ndarray:
        """Gauss stations, (g,) [m]."""
        return read_only(self._stations[0])

    @cached_property
    def weights(self) -> np.ndarray:
        """Their weights, (g,) [m]."""
        return read_only(self._stations[1])

    @cached_property
    def _stations(self):
        return gauss_stations(self.breaks, self.count)

    @cached_property
    def _series(self):
        """Matrix (count, count) from values at the stations of a piece to a Legendre series."""
        nodes, weights = legendre.leggauss(self.count)
        degrees = np.arange(self.count)
        return (degrees[:, None] + 0.5) * legendre.legvander(nodes, self.count - 1).T * weights

    def cumulative(self, values: np.ndarray) -> np.ndarray:
        """Integrals (g, ...) from the root up to each Gauss station of values (g, ...)."""
        return self.up_to(values, self.x)

    def up_to(self, values: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Integrals (k, ...) from the root up to x (k,) [m] of values (g, ...)."""
        pieces = len(self.breaks) - 1
        by_piece = values.reshape(pieces, self.count, -1)
        totals = (self.weights.reshape(pieces, -1, 1) * by_piece).sum(axis=1)
        before = np.concatenate([np.zeros((1, totals.shape[1])), np.cumsum(totals, axis=0)])
        out = self._combined(by_piece, x, 1)
        out += before[self._piece(x)]
        return out.reshape(len(x), *values.shape[1:])

    def at(self, values: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Values (k, ...) at x (k,) [m], of the polynomials through values (g, ...)."""
        by_piece = values.reshape(len(self.breaks) - 1, self.count, -1)
        return self._combined(by_piece, x, 0).reshape(len(x), *values.shape[1:])

    def _piece(self, x):
        return np.clip(np.searchsorted(self.breaks, x, side='right') - 1, 0, len(self.breaks) - 2)

    def _combined(self, by_piece, x, times):
        piece = self._piece(x)
        half = 0.5 * np.diff(self.breaks)[piece]
        local = np.clip((x - self.breaks[piece]) / half - 1.0, -1.0, 1.0)
        series = legendre.legint(self._series, times, lbnd=-1) if times else self._series
        rows = legendre.legvander(local, len(series) - 1) @ series  # (k, count)
        if times:
            rows = rows * half[:, None]
        out = np.empty((len(x), by_piece.shape[2]))
        for i in np.unique(piece):
            chosen = piece == i
            out[chosen] = rows[chosen] @ by_piece[i]
        return out
