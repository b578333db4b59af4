"""
Deformed surfaces of reduced links, coloured by strain.

The surface of a file is drawn with at most `MAX_TRIANGLES` triangles: points that share a cell of
a grid become one. Its displacements are linear in the coordinates; terms of second order move what
the link carries, and are left out.
"""

from typing import NamedTuple

import numpy as np

from flex_robot_sim.display.bending import FULL_COLOUR_DEFLECTION, MIN_FULL_SCALE
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.reduction.reduced_beam import ReducedBeam

MAX_TRIANGLES = 3000  # of a link
CELLS = 60.0  # of the grid along the diagonal of a surface, at first
GROWTH = 1.2  # of a cell while there are too many triangles


class LinkSurface(NamedTuple):
    """Surface of one reduced link with v points and n coordinates, in the frame of the link."""

    link: str
    body: int
    points: np.ndarray  # (v, 3)                                            [m]
    triangles: np.ndarray  # (t, 3)  rows of points
    columns: slice  # of its coordinates
    shapes: np.ndarray  # (v, 3, n)  displacements by coordinate
    strains: np.ndarray  # (v, 6, n)  root of the weight times strain, by coordinate
    full_scale: float  # strain of the last colour

    def deformed(self, q: np.ndarray) -> np.ndarray:
        """Points (v, 3) at coordinates of the arm (n,), in the frame of the link [m]."""
        return self.points + self.shapes @ q[self.columns]

    def load(self, q: np.ndarray) -> np.ndarray:
        """Norm of the strain tensor of each triangle over full scale, (t,)."""
        strains = self.strains @ q[self.columns]
        sizes = np.sqrt(np.einsum('vd,vd->v', strains, strains)) / self.full_scale
        return sizes[self.triangles].mean(axis=1)


def link_surfaces(arm: ArmModel, full_scale: float | None = None) -> tuple[LinkSurface, ...]:
    """
    Return the surfaces of all reduced links whose files have one.

    :param full_scale: strain of the last colour; by default, the largest one of the link under a
        force that moves its tip by a tenth of its length, as for beams.
    """
    surfaces = []
    for link, bodies in arm.segments.items():
        beam = arm.beams[bodies[0]]
        if isinstance(beam, ReducedBeam) and beam.link.has_strains:
            columns = arm.elastic_coordinates(bodies[0])
            surfaces.append(_surface(link, bodies[0], beam, columns, full_scale))
    return tuple(surfaces)


def _surface(link, body, beam, columns, full_scale):
    model = beam.link
    rows, triangles = simplified(model.surface_points.astype(float), model.surface_triangles)
    weights = np.sqrt([1.0, 1.0, 1.0, 2.0, 2.0, 2.0])
    strains = weights[:, None] * (model.surface_strains[rows].astype(float) @ beam.mix)
    surface = LinkSurface(
        link,
        body,
        model.surface_points[rows].astype(float),
        triangles,
        columns,
        model.surface_shapes[rows].astype(float) @ beam.mix,
        strains,
        1.0,
    )
    return surface._replace(
        full_scale=max(full_scale or _full_scale(beam, strains), MIN_FULL_SCALE)
    )


def _full_scale(beam, strains):
    """Largest strain under the force that moves the tip most easily by its share of the length."""
    move = beam.at_end.U[:, 3:]
    compliance = move.T @ np.linalg.solve(beam.stiffness, move)
    values, axes = np.linalg.eigh(compliance)
    e = np.linalg.solve(beam.stiffness, move @ axes[:, -1]) / values[-1]
    largest = np.sqrt(((strains @ e) ** 2).sum(axis=1)).max()
    return float(FULL_COLOUR_DEFLECTION * beam.length * largest)


def simplified(
    points: np.ndarray, triangles: np.ndarray, limit: int = MAX_TRIANGLES
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return rows of the points (k,) that remain, and triangles between them, at most `limit`.

    :param points: (v, 3); triangles: rows of their corners (t, 3).
    """
    centre = (points.min(axis=0) + points.max(axis=0)) / 2
    outer_first = np.argsort(-np.linalg.norm(points - centre, axis=1))  # they keep the outline
    rows = np.arange(len(points))
    kept, cell = triangles, np.linalg.norm(np.ptp(points, axis=0)) / CELLS
    while len(kept) > limit:
        cells = np.floor((points[outer_first] - centre) / cell).astype(int)
        _, first, place = np.unique(cells, axis=0, return_index=True, return_inverse=True)
        # of each point, the one that it becomes
        rows[outer_first] = outer_first[first[place.ravel()]]
        kept = rows[triangles]
        is_flat = (np.diff(np.sort(kept, axis=1), axis=1) == 0).any(axis=1)
        kept = kept[~is_flat]
        _, unique = np.unique(np.sort(kept, axis=1), axis=0, return_index=True)
        kept = kept[np.sort(unique)]
        cell *= GROWTH
    used, place = np.unique(kept, return_inverse=True)
    return used, place.reshape(-1, 3)
