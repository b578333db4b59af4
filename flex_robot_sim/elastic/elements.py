"""Finite elements of a beam in one direction: cubic Hermite in bending, linear otherwise."""

from functools import partial
from typing import Literal

import numpy as np

from flex_robot_sim.elastic.shapes import Direction, Shapes, natural_shapes

MAX_DENSE_COORDINATES = 200  # above it matrices are sparse


def element_shapes(
    direction: Direction, length: float, elements: int, count: int | Literal['all']
) -> Shapes:
    """
    Return shapes of finite elements of equal length.

    :param count: 'all': the displacement of every node but the clamped one, in bending followed by
        its slope [m, rad]; or the number of lowest natural modes with the load.
    """
    per_node = direction.strain_order
    breaks = np.linspace(0.0, length, elements + 1)
    coordinate_count = per_node * elements
    basis = partial(_node_shapes, breaks, length / elements, per_node)
    stations = 6 if per_node == 2 else 2  # degree 10: a cubic shortens with degree 5
    if count == 'all':
        return Shapes(basis, np.eye(coordinate_count), breaks, stations, reach=2 * per_node - 1)
    mix = np.eye(coordinate_count)
    if coordinate_count > MAX_DENSE_COORDINATES:
        from scipy.sparse import identity  # imported late

        mix = identity(coordinate_count, format='csr')
    return natural_shapes(Shapes(basis, mix, breaks, stations), direction, count)


def _node_shapes(breaks, element_length, per_node, x, order):
    """Return shape values of all nodes but the clamped one, (k, per_node * elements)."""
    x, elements = np.asarray(x), len(breaks) - 1
    coordinate_count = per_node * elements
    element = np.clip(np.searchsorted(breaks, x, side='right') - 1, 0, elements - 1)
    element_shape = _hermite if per_node == 2 else _linear
    values = element_shape((x - breaks[element]) / element_length, order, element_length)
    columns = per_node * element[:, None] + np.arange(2 * per_node)
    if coordinate_count > MAX_DENSE_COORDINATES:
        from scipy.sparse import csr_matrix  # imported late: slow, rarely needed

        rows = np.arange(0, values.size + 1, 2 * per_node)
        return csr_matrix(
            (values.ravel(), columns.ravel(), rows), (len(x), per_node + coordinate_count)
        )[:, per_node:]
    out = np.zeros((len(x), per_node + coordinate_count))
    np.put_along_axis(out, columns, values, axis=1)
    return out[:, per_node:]


def _hermite(s, order, element_length):
    """Displacement and slope at both ends of an element, at s from 0 to 1, (k, 4)."""
    ones = np.ones_like(s)
    columns = [
        (1 - 3 * s**2 + 2 * s**3, s - 2 * s**2 + s**3, 3 * s**2 - 2 * s**3, s**3 - s**2),
        (6 * s**2 - 6 * s, 1 - 4 * s + 3 * s**2, 6 * s - 6 * s**2, 3 * s**2 - 2 * s),
        (12 * s - 6, 6 * s - 4, 6 - 12 * s, 6 * s - 2),
        (12 * ones, 6 * ones, -12 * ones, 6 * ones),
    ][order]
    return (
        np.stack(columns, axis=-1)
        * [1.0, element_length, 1.0, element_length]
        / element_length**order
    )


def _linear(s, order, element_length):
    """Displacement at both ends of an element, at s from 0 to 1, (k, 2)."""
    columns = [(1 - s, s), (-np.ones_like(s), np.ones_like(s)), (0 * s, 0 * s)][order]
    return np.stack(columns, axis=-1) / element_length**order
