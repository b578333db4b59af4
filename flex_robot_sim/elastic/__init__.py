"""Elastic beams: one flexible link becomes shapes, stiffness and inertia."""

from flex_robot_sim.elastic.beam import NO_LOAD, SETBACK_POINTS, Beam, Load
from flex_robot_sim.elastic.discretise import cut_beam, make_beam
from flex_robot_sim.elastic.section import Section
from flex_robot_sim.elastic.spatial_shapes import cut_spatial_beam

__all__ = [
    'NO_LOAD',
    'SETBACK_POINTS',
    'Beam',
    'Load',
    'Section',
    'cut_beam',
    'cut_spatial_beam',
    'make_beam',
]
