"""The point of a surface of triangles that is nearest to a place."""

from typing import NamedTuple

import numpy as np


class SurfacePoint(NamedTuple):
    """A point of a surface."""

    corners: np.ndarray  # (3,)  rows of the corners of its triangle
    weights: np.ndarray  # (3,)  of the corners; their sum is 1
    position: np.ndarray  # (3,)                                        [m]
    normal: np.ndarray  # (3,)  of the triangle


def nearest_point(points: np.ndarray, triangles: np.ndarray, place: np.ndarray) -> SurfacePoint:
    """
    Return the SurfacePoint nearest to a place (3,) [m].

    :param points: (v, 3) [m]; triangles: rows of their corners (t, 3), at least one.
    """
    corners = points[triangles].astype(float)  # (t, 3, 3)
    a, b, c = corners.transpose(1, 0, 2)
    normals = np.cross(b - a, c - a)
    squares = np.maximum(_dot(normals, normals), np.finfo(float).tiny)
    # barycentric coordinates of the projection, which count if all are positive
    inside = np.stack(
        [_dot(normals, np.cross(v - u, place - u)) for u, v in ((b, c), (c, a), (a, b))], axis=1
    )
    inside /= squares[:, None]
    candidates = [np.where(np.all(inside >= 0.0, axis=1)[:, None], inside, [1.0, 0.0, 0.0])]
    for first, second in ((0, 1), (1, 2), (2, 0)):
        start = corners[:, first]
        side = corners[:, second] - start
        along = _dot(side, place - start) / np.maximum(_dot(side, side), np.finfo(float).tiny)
        weights = np.zeros_like(inside)
        weights[:, second] = np.clip(along, 0.0, 1.0)
        weights[:, first] = 1.0 - weights[:, second]
        candidates.append(weights)
    weights = np.stack(candidates, axis=1)  # (t, 4, 3)
    positions = np.matmul(weights, corners)
    distances = ((positions - place) ** 2).sum(axis=2)
    row, kind = np.unravel_index(np.argmin(distances), distances.shape)
    return SurfacePoint(
        triangles[row],
        weights[row, kind],
        positions[row, kind],
        normals[row] / np.sqrt(squares[row]),
    )


def _dot(a, b):
    return np.einsum('ta,ta->t', a, b)
