"""Gauss quadrature along a beam that is smooth between breakpoints."""

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np


@cache
def _unit_gauss_rule(count):
    """Nodes and weights for the interval from 0 to 1; exact up to degree 2 count - 1."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2


def gauss_stations(breaks: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss stations and weights (pieces count,) [m] of pieces between `breaks` [m]."""
    nodes, weights = _unit_gauss_rule(count)
    start, size = breaks[:-1, None], np.diff(breaks)[:, None]
    return (start + size * nodes).ravel(), (size * weights).ravel()


def integrals_up_to(
    x: np.ndarray, slopes: Callable[[np.ndarray], np.ndarray], breaks: np.ndarray, count: int
) -> np.ndarray:
    """Integrals (k, n, n) of slopes(s)^T slopes(s), (m, a, n), from breaks[0] to x (k,) [m]."""
    parts = list(integrals_by_piece(x, slopes, breaks, count))
    out = np.zeros((len(x), *parts[0][1].shape[1:]))
    for rows, integrals in parts:
        out[rows] = integrals
    return out


def integrals_by_piece(
    x: np.ndarray, slopes: Callable[[np.ndarray], np.ndarray], breaks: np.ndarray, count: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield rows of x (m,) in a piece, and their `integrals_up_to` (m, n, n)."""
    rule = _unit_gauss_rule(count)
    piece_index = np.clip(np.searchsorted(breaks, x, side='right') - 1, 0, len(breaks) - 2)
    start = 0.0
    for i, (begin, end) in enumerate(zip(breaks[:-1], breaks[1:])):
        rows = np.flatnonzero(piece_index == i)
        if rows.size:
            yield (
                rows,
                start
                + _integrate_products(slopes, np.full(rows.size, begin), x[rows] - begin, *rule),
            )
        start = start + _integrate_products(
            slopes, np.array([begin]), np.array([end - begin]), *rule
        )


def _integrate_products(slopes, start, size, nodes, weights):
    """Integrals over pieces given by start and size, (k,); returns (k, n, n)."""
    values = slopes((start[:, None] + size[:, None] * nodes).ravel())
    values = values.reshape(len(start), -1, values.shape[-1])  # (k, nodes and rows, n)
    rows = values.shape[1] // len(nodes)
    factors = size[:, None] * np.repeat(weights, rows)
    return np.swapaxes(values, 1, 2) @ (factors[:, :, None] * values)
