"""Gauss quadrature along a beam that is smooth between breakpoints."""

from functools import cache

import numpy as np


@cache
def _rule(count):
    """Nodes and weights for the interval from 0 to 1; exact up to degree 2 count - 1."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2


def gauss_stations(breaks, count):
    """
    Stations and weights with `count` of them in every piece.

    :param breaks: ends of the pieces, (pieces + 1,) [m].
    :returns: stations and weights, (pieces * count,) [m].
    """
    nodes, weights = _rule(count)
    start, size = breaks[:-1, None], np.diff(breaks)[:, None]
    return (start + size * nodes).ravel(), (size * weights).ravel()


def integrals_up_to(x, slopes, breaks, count):
    """
    Integrals of slopes(s)^T slopes(s) over s from breaks[0] to every x.

    :param x: stations, (k,) [m].
    :param slopes: function of stations (m,) that returns (m, a, n).
    :returns: (k, n, n).
    """
    nodes, weights = _rule(count)
    piece = np.clip(np.searchsorted(breaks, x, side='right') - 1, 0, len(breaks) - 2)
    return (_whole_pieces(slopes, breaks, count)[piece]
            + _squares(slopes, breaks[piece], x - breaks[piece], nodes, weights))


def _whole_pieces(slopes, breaks, count):
    """Integrals up to the start of every piece, (pieces, n, n)."""
    pieces = _squares(slopes, breaks[:-1], np.diff(breaks), *_rule(count))
    return np.cumsum(pieces, axis=0) - pieces


def _squares(slopes, start, size, nodes, weights):
    """Integrals over pieces given by start and size, (k,); returns (k, n, n)."""
    values = slopes((start[:, None] + size[:, None] * nodes).ravel())
    values = values.reshape(len(start), -1, values.shape[-1])       # (k, nodes and rows, n)
    rows = values.shape[1] // len(nodes)
    factors = size[:, None] * np.repeat(weights, rows)
    return np.swapaxes(values, 1, 2) @ (factors[:, :, None] * values)
