"""
Reduction of a beam to the smallest equivalent set of mass points.

All sums over the points of a beam in the dynamics (T22), (T23) are products of two of its fields:
1, x, shapes and shortening. With these as the columns of F, and each row scaled by the square root
of the mass of its point, the sums are F^T F; any F with the same product gives the same dynamics.
The smallest F has as many rows as F has independent columns; a reflection gives all its points the
same mass. The points need not lie on the beam; their total mass is that of the beam.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from flex_robot_sim.model.arm_arrays import ArmArrays

MIN_SINGULAR_VALUE = 1e-9  # relative singular value of F that counts; sums square it
MAX_REDUCIBLE_POINTS = 100  # beams with more points, of many elements, are not reduced


class MassPoints(NamedTuple):
    """Mass points of one beam, as in ArmArrays."""

    mass: np.ndarray  # (g,)       [kg]
    x: np.ndarray  # (g,)       along the beam                                     [m]
    shape: np.ndarray  # (g, n)     displacement by coordinate
    H: np.ndarray  # (g, n, b)  shortening


def reduced_points(points: MassPoints, always: bool = False) -> MassPoints:
    """
    Return the smallest set of MassPoints with the same sums.

    :param always: whether to reduce more points, too, if they have fewer fields.
    """
    count, mass = len(points.mass), points.mass.sum()
    fields = 2 + points.shape.shape[1] + points.H[0].size if count else 0
    is_small = count <= MAX_REDUCIBLE_POINTS or (always and fields < count)
    if not count or not is_small or not mass > 0:
        return points
    values = (
        np.hstack(
            [np.ones((count, 1)), points.x[:, None], points.shape, points.H.reshape(count, -1)]
        )
        * np.sqrt(points.mass)[:, None]
    )
    norms = np.linalg.norm(values, axis=0)
    norms[norms == 0.0] = 1.0
    _, singular_values, directions = np.linalg.svd(values / norms, full_matrices=False)
    rank = int((singular_values > MIN_SINGULAR_VALUE * singular_values[0]).sum())
    if rank == count:
        return points
    reduced = singular_values[:rank, None] * directions[:rank] * norms
    # a reflection that makes the first column constant, sqrt(mass / rank)
    normal = reduced[:, 0] - np.sqrt(mass / rank)
    if normal @ normal > 0.0:
        reduced -= 2.0 / (normal @ normal) * np.outer(normal, normal @ reduced)
    reduced /= np.sqrt(mass / rank)
    n = points.shape.shape[1]
    return MassPoints(
        np.full(rank, mass / rank),
        reduced[:, 1],
        reduced[:, 2 : 2 + n],
        reduced[:, 2 + n :].reshape(rank, *points.H.shape[1:]),
    )


def with_as_many_points(rows: Sequence[ArmArrays]) -> list[ArmArrays]:
    """Return ArmArrays padded with massless points, so that beams have equally many points."""
    counts = np.array([np.diff(arrays.point_start) for arrays in rows])
    largest = counts.max(axis=0)
    start = np.concatenate([[0], np.cumsum(largest)])
    return [
        arrays
        if (sizes == largest).all()
        else arrays._replace(
            point_start=start,
            **{
                name: _padded(getattr(arrays, name), sizes, start)
                for name in ('point_mass', 'point_x', 'point_shape', 'point_H')
            },
        )
        for arrays, sizes in zip(rows, counts)
    ]


def _padded(values, counts, start):
    """Rows of all points, those of each beam from its start index on, zeros in between."""
    out = np.zeros((start[-1], *values.shape[1:]))
    out[np.concatenate([first + np.arange(count) for first, count in zip(start, counts)])] = values
    return out
