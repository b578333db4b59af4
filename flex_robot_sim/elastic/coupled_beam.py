"""
A straight beam whose bending couples with twist: a spatial beam with the shapes of a beam.

Its names, coordinates, stiffness and terms of first order are those of the beam. Its terms of
second order are those of a spatial beam (T91), so that it buckles sideways.
"""

from functools import lru_cache

import numpy as np

from flex_robot_sim.elastic.beam import Beam
from flex_robot_sim.elastic.pieces import Pieces
from flex_robot_sim.elastic.section_matrices import matrices_of_section
from flex_robot_sim.elastic.spatial_beam import SpatialBeam
from flex_robot_sim.elastic.straight_axis import StraightAxis

MAX_COUPLED_COORDINATES = 24  # of a segment; its fields of second order are n x n
EXTRA_STATIONS = 2  # Gauss stations of a piece beyond those of the beam
CACHE_SIZE = 32


@lru_cache(maxsize=CACHE_SIZE)
def coupled_beam(beam: Beam) -> SpatialBeam:
    """Return the spatial beam with the shapes, names and stiffness of a Beam."""
    breaks = np.array([0.0, beam.length])
    for shapes in beam.shapes.values():
        breaks = np.union1d(breaks, shapes.breaks)
    if beam.profile is not None:
        breaks = np.union1d(breaks, beam.length * beam.profile.breaks)
    count = max(shapes.stations for shapes in beam.shapes.values())
    pieces = Pieces(breaks, count + EXTRA_STATIONS)
    strains = np.zeros((len(pieces.x), 6, beam.size))
    strains[:, [0, 3, 4, 5]] = beam.strain(pieces.x)
    for row, direction in ((1, 'bending_y'), (2, 'bending_z')):
        if direction in beam.shapes and beam.shapes[direction].has_shear:
            strains[:, row, beam.columns(direction)] = beam.shapes[direction].shear(pieces.x)
    return SpatialBeam(
        StraightAxis(beam.length),
        0.0,
        beam.length,
        matrices_of_section(beam.section, beam.profile),
        beam.names,
        beam.stiffness,
        pieces,
        strains,
        beam.is_segment,
    )
