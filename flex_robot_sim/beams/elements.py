"""Finite elements of a beam in one direction: cubic Hermite in bending, linear otherwise."""

import numpy as np

from flex_robot_sim.beams.shapes import Direction, Shapes, natural_shapes


def element_shapes(direction: Direction, length: float, elements: int, count) -> Shapes:
    """
    Return shapes of equal elements.

    :param count: 'all': the displacement of every node but the clamped one, in bending followed by
        its slope [m, rad]; or the number of lowest natural modes, with the load, to keep.
    """
    per_node = direction.strain_order
    breaks = np.linspace(0.0, length, elements + 1)

    def basis(x, order):
        x = np.asarray(x)
        piece = np.clip(np.searchsorted(breaks, x, side='right') - 1, 0, elements - 1)
        size = length / elements
        local = _hermite if per_node == 2 else _linear
        values = local((x - breaks[piece]) / size, order, size)
        out = np.zeros((len(x), per_node * (elements + 1)))
        columns = per_node * piece[:, None] + np.arange(2 * per_node)
        np.put_along_axis(out, columns, values, axis=1)
        return out[:, per_node:]

    stations = 6 if per_node == 2 else 2        # degree 10: a cubic shortens with degree 5
    shapes = Shapes(basis, np.eye(per_node * elements), breaks, stations)
    return shapes if count == 'all' else natural_shapes(shapes, direction, count)


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
