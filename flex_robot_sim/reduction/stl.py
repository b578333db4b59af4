"""Triangles of STL files, text or binary, and whether they enclose one solid."""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from flex_robot_sim.reduction.supports import ReductionError
from flex_robot_sim.util.files import read_bytes

HEADER, TRIANGLE = 84, 50  # bytes of a binary file
MERGED = 1e-6  # distance of points that are one, over the size of the solid
_VERTEX = re.compile(rb'\bvertex\s+(\S+)\s+(\S+)\s+(\S+)')


class Triangles(NamedTuple):
    """A surface of triangles in the units of its file."""

    points: np.ndarray  # (v, 3)
    triangles: np.ndarray  # (t, 3)  rows of points

    @property
    def volume(self) -> float:
        """Enclosed volume; positive if the triangles are counter-clockwise from outside."""
        a, b, c = self.points[self.triangles].transpose(1, 0, 2)
        return float(np.sum(a * np.cross(b, c)) / 6)


def read_stl(path: str | Path) -> Triangles:
    """Return the triangles of a file, with equal points merged."""
    content = read_bytes(path)
    count = int.from_bytes(content[80:HEADER], 'little')
    if len(content) == HEADER + TRIANGLE * count:
        rows = np.frombuffer(content, np.uint8, TRIANGLE * count, HEADER).reshape(count, TRIANGLE)
        corners = np.ascontiguousarray(rows[:, 12:48]).view('<f4').astype(float).reshape(-1, 3)
    else:
        try:
            corners = np.array(_VERTEX.findall(content)).astype(float).reshape(-1, 3)
        except ValueError:
            corners = np.empty((0, 3))
    if not len(corners) or len(corners) % 3 or not np.isfinite(corners).all():
        raise ReductionError(f'{path}: this is no STL file, or it is damaged. Export it again')
    size = np.ptp(corners, axis=0).max() or 1.0
    rounded = np.round(corners / (MERGED * size)).astype(np.int64)
    _, first, place = np.unique(rounded, axis=0, return_index=True, return_inverse=True)
    triangles = place.reshape(-1, 3)
    is_flat = (np.diff(np.sort(triangles, axis=1), axis=1) == 0).any(axis=1)
    return Triangles(corners[first], triangles[~is_flat])


def write_stl(path: str | Path, surface: Triangles) -> None:
    """Write a binary file with the triangles and their normals."""
    corners = surface.points[surface.triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1), np.finfo(float).tiny)[:, None]
    layout = [('normal', '<f4', 3), ('corners', '<f4', (3, 3)), ('attribute', '<u2')]
    rows = np.zeros(len(corners), layout)
    rows['normal'], rows['corners'] = normals, corners
    with open(path, 'wb') as file:
        file.write(bytes(HEADER - 4) + np.uint32(len(rows)).tobytes() + rows.tobytes())


def outward(surface: Triangles) -> Triangles:
    """Return the surface of a solid with triangles counter-clockwise from outside."""
    if surface.volume < 0.0:
        return Triangles(surface.points, surface.triangles[:, ::-1])
    return surface


def check_solid(path: str | Path, surface: Triangles) -> None:
    """Refuse a surface that leaks, has several shells, or triangles of both directions."""
    directed = surface.triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    sides = np.sort(directed, axis=1)
    edges, counts = np.unique(sides, axis=0, return_counts=True)
    leaks = edges[counts != 2]
    if len(leaks):
        place = surface.points[leaks[0]].mean(axis=0)
        raise ReductionError(
            f'{path}: the surface leaks: {len(leaks)} of {len(edges)} edges do not join two '
            f'triangles, one at {place[0]:.4g}, {place[1]:.4g}, {place[2]:.4g} (units of the '
            'file). Repair the surface, or export STEP'
        )
    count = len(surface.points)
    ones = np.ones(len(edges), np.int8)
    graph = sparse.coo_matrix((ones, edges.T), (count, count))
    shells, _ = csgraph.connected_components(graph, directed=False)
    if shells > 1:
        raise ReductionError(
            f'{path}: the surface has {shells} shells, which may overlap. Unite them in the CAD '
            'program, or export one solid'
        )
    if len(np.unique(directed, axis=0)) < len(directed):
        raise ReductionError(
            f'{path}: some triangles are turned inside out. Repair the surface, or export STEP'
        )
