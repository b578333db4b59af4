"""Finite elements of a beam in one direction: cubic Hermite in bending, linear otherwise."""

from functools import partial
from typing import Literal

import numpy as np

from flex_robot_sim.elastic.shapes import Direction, Shapes, natural_shapes

DENSE = 200         # coordinates up to which zeros are not worth being left out


def element_shapes(direction: Direction, length: float, elements: int,
                   count: int | Literal['all']) -> Shapes:
    """
    Return shapes of equal elements.

    :param count: 'all': the displacement of every node but the clamped one, in bending followed by
        its slope [m, rad]; or the number of lowest natural modes, with the load, to keep.
    """
    per_node = direction.strain_order
    breaks = np.linspace(0.0, length, elements + 1)
    total = per_node * elements
    basis = partial(_node_shapes, breaks, length / elements, per_node)
    stations = 6 if per_node == 2 else 2        # degree 10: a cubic shortens with degree 5
    if count == 'all':
        return Shapes(basis, np.eye(total), breaks, stations, reach=2 * per_node - 1)
    mix = np.eye(total)
    if total > DENSE:
        from scipy.sparse import identity  # as above

        mix = identity(total, format='csr')
    return natural_shapes(Shapes(basis, mix, breaks, stations), direction, count)


def _node_shapes(breaks, size, per_node, x, order):
    """Values (k, per_node * elements) of the shapes of all nodes but the clamped one."""
    x, elements = np.asarray(x), len(breaks) - 1
    total = per_node * elements
    piece = np.clip(np.searchsorted(breaks, x, side='right') - 1, 0, elements - 1)
    local = _hermite if per_node == 2 else _linear
    values = local((x - breaks[piece]) / size, order, size)
    columns = per_node * piece[:, None] + np.arange(2 * per_node)
    if total > DENSE:
        from scipy.sparse import csr_matrix  # a tenth of a start, and rarely needed

        rows = np.arange(0, values.size + 1, 2 * per_node)
        return csr_matrix((values.ravel(), columns.ravel(), rows),
                          (len(x), per_node + total))[:, per_node:]
    out = np.zeros((len(x), per_node + total))
    np.put_along_axis(out, columns, values, axis=1)
    return out[:, per_node:]


def _hermite(s, order, size):
    """Displacement and slope at both ends of an element, at s from 0 to 1, (k, 4)."""
    one = np.ones_like(s)
    columns = [
        (1 - 3 * s**2 + 2 * s**3, s - 2 * s**2 + s**3, 3 * s**2 - 2 * s**3, s**3 - s**2),
        (6 * s**2 - 6 * s, 1 - 4 * s + 3 * s**2, 6 * s - 6 * s**2, 3 * s**2 - 2 * s),
        (12 * s - 6, 6 * s - 4, 6 - 12 * s, 6 * s - 2),
        (12 * one, 6 * one, -12 * one, 6 * one),
    ][order]
    return np.stack(columns, axis=-1) * [1.0, size, 1.0, size] / size**order


def _linear(s, order, size):
    """Displacement at both ends of an element, at s from 0 to 1, (k, 2)."""
    columns = [(1 - s, s), (-np.ones_like(s), np.ones_like(s)), (0 * s, 0 * s)][order]
    return np.stack(columns, axis=-1) / size**order
