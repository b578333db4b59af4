"""Elastic beams: one flexible link becomes shapes, stiffness and inertia."""

from flex_robot_sim.beams.beam import NO_LOAD, SETBACK_POINTS, Beam, Load
from flex_robot_sim.beams.discretise import cut_beam, make_beam
from flex_robot_sim.beams.section import Section

__all__ = ['NO_LOAD', 'SETBACK_POINTS', 'Beam', 'Load', 'Section', 'cut_beam', 'make_beam']
