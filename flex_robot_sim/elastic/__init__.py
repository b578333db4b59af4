"""Elastic beams: one flexible link becomes shapes, stiffness and inertia."""

from flex_robot_sim.elastic.beam import NO_LOAD, SETBACK_POINTS, Beam, Load
from flex_robot_sim.elastic.discretise import cut_beam, make_beam
from flex_robot_sim.elastic.section import Section

__all__ = ['NO_LOAD', 'SETBACK_POINTS', 'Beam', 'Load', 'Section', 'cut_beam', 'make_beam']
