"""
As few mass points as a beam can do with.

All that the dynamics sums over the points of a beam (T22), (T23) are products of two of its
fields: one, x, shapes and shortening. With them as the columns of F, a row for each point times
the root of its mass, these sums are F^T F, and any F with the same product gives the same arm. The
smallest has as many rows as F has independent columns; it is turned so that all its points have
one mass. They need not lie on the beam; together they weigh what the beam does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from flex_robot_sim.model.arm_model import ArmArrays

INDEPENDENT = 1e-9      # share of a column of F that counts; what is left is squared in sums
MOST_POINTS = 100       # for which this is tried; beams of many elements have none to spare


class MassPoints(NamedTuple):
    """Mass points of one beam, as in ArmArrays."""

    mass: np.ndarray        # (g,)       [kg]
    x: np.ndarray           # (g,)       along the beam                                     [m]
    shape: np.ndarray       # (g, n)     displacement by coordinate
    H: np.ndarray           # (g, n, b)  shortening


def fewest(points: MassPoints) -> MassPoints:
    """Return the fewest MassPoints with the sums of these."""
    count, mass = len(points.mass), points.mass.sum()
    if not 0 < count <= MOST_POINTS or not mass > 0:
        return points
    fields = np.hstack([np.ones((count, 1)), points.x[:, None], points.shape,
                        points.H.reshape(count, -1)]) * np.sqrt(points.mass)[:, None]
    size = np.linalg.norm(fields, axis=0)
    size[size == 0.0] = 1.0
    _, sizes, rows = np.linalg.svd(fields / size, full_matrices=False)
    rank = int((sizes > INDEPENDENT * sizes[0]).sum())
    if rank == count:
        return points
    fewer = sizes[:rank, None] * rows[:rank] * size
    # a reflection that makes all ones equal, sqrt(mass / rank)
    normal = fewer[:, 0] - np.sqrt(mass / rank)
    if normal @ normal > 0.0:
        fewer -= 2.0 / (normal @ normal) * np.outer(normal, normal @ fewer)
    fewer /= np.sqrt(mass / rank)
    n = points.shape.shape[1]
    return MassPoints(np.full(rank, mass / rank), fewer[:, 1], fewer[:, 2:2 + n],
                      fewer[:, 2 + n:].reshape(rank, *points.H.shape[1:]))


def with_as_many_points(rows: Sequence[ArmArrays]) -> list[ArmArrays]:
    """Return ArmArrays whose beams have equally many points; those added have no mass."""
    counts = np.array([np.diff(arrays.point_start) for arrays in rows])
    most = counts.max(axis=0)
    start = np.concatenate([[0], np.cumsum(most)])
    return [arrays if (own == most).all() else arrays._replace(point_start=start, **{
        name: _spread(getattr(arrays, name), own, start)
        for name in ('point_mass', 'point_x', 'point_shape', 'point_H')})
        for arrays, own in zip(rows, counts)]


def _spread(values, counts, start):
    """Rows of all points, those of each beam from its start on, and zeros between."""
    out = np.zeros((start[-1], *values.shape[1:]))
    out[np.concatenate([first + np.arange(count) for first, count in zip(start, counts)])] = values
    return out
