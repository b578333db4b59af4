"""From a section, a length and a choice of coordinates to beams."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

import numpy as np

from flex_robot_sim.elastic.beam import NO_LOAD, Beam, Load
from flex_robot_sim.elastic.elements import element_shapes
from flex_robot_sim.elastic.quadrature import gauss_stations
from flex_robot_sim.elastic.section import Section
from flex_robot_sim.elastic.shapes import Direction, assumed_shapes, matrices
from flex_robot_sim.util.eigenproblem import block_diagonal

KEPT = 32       # beams that are made again and again, while other numbers of an arm change


def make_beam(length: float, section: Section, coordinates: Mapping[str, int | Literal['all']],
              elements: int = 0, boundary: str = 'static', load: Load = NO_LOAD,
              is_segment: bool = False) -> Beam:
    """
    Discretise one beam.

    :param coordinates: direction -> number of coordinates, or 'all' that the elements have;
        directions that are left out, or have 0, are rigid.
    :param elements: number of finite elements; 0: assumed modes.
    :param boundary: of assumed modes: 'static', 'free', 'mass' or 'inertia'; see `assumed_shapes`.
    :param load: what hangs at the end; it shapes the modes and is not part of the beam.
    :param is_segment: whether it is one of several in a row, see `Beam`.
    """
    # elements may take much memory, and modes much time
    make = _made if elements else _kept
    return make(length, (section.mass_per_length, tuple(section.inertia), *section[2:]),
                tuple(coordinates.items()), elements, boundary,
                (load.mass, tuple(load.centre), tuple(load.inertia.ravel())), is_segment)


def _made(length, section, coordinates, elements, boundary, load, is_segment):
    section = Section(section[0], np.array(section[1]), *section[2:])
    coordinates = dict(coordinates)
    load = Load(load[0], np.array(load[1]), np.reshape(load[2], (3, 3)))
    shapes, blocks, names = {}, [], []
    for direction in directions(section, load):
        count = coordinates.get(direction.name, 0)
        if count == 0:
            continue
        chosen = (element_shapes(direction, length, elements, count) if elements
                  else assumed_shapes(direction, length, int(count), boundary))
        stiffness, _ = matrices(chosen, direction)
        # natural modes do not work on each other: what is left is rounding
        blocks.append(stiffness if count == 'all' else np.diag(np.diag(stiffness)))
        names += [f'{direction.name}_{i}' for i in range(1, chosen.count + 1)]
        shapes[direction.name] = chosen
    breaks = np.linspace(0.0, length, (elements or 1) + 1)
    per_piece = max((chosen.stations for chosen in shapes.values()), default=2)
    return Beam(length, section, tuple(names), block_diagonal(*blocks),
                *gauss_stations(breaks, per_piece), shapes, is_segment)


_kept = lru_cache(maxsize=KEPT)(_made)


def cut_beam(length: float, section: Section, coordinates: Mapping[str, int | Literal['all']],
             segments: int, elements: int = 0, boundary: str = 'static',
             load: Load = NO_LOAD) -> list[Beam]:
    """
    Cut a beam into equal beams, each of which carries the rest of them at its end.

    The arguments are those of `make_beam`; coordinates and elements are those of one segment.
    """
    part = length / segments
    return [make_beam(part, section, coordinates, elements, boundary,
                      _rest_of_beam(length - (i + 1) * part, section, load), segments > 1)
            for i in range(segments)]


def _rest_of_beam(length, section, load):
    """Join the load and a rigid beam that carries it into one load at the root of the beam."""
    beam = section.mass_per_length * length
    moved = load.centre + [length, 0.0, 0.0]
    mass = beam + load.mass
    moment = load.mass * moved + [beam * length / 2, 0.0, 0.0]
    # about the centre of the load, then about the root
    inertia = load.inertia + load.mass * (_square(moved) - _square(load.centre))
    inertia += np.diag(section.inertia * length + beam * length**2 / 3 * np.array([0, 1, 1]))
    return Load(mass, moment / mass if mass > 0.0 else moment, inertia)


def _square(r):
    """Inertia of a unit mass at r about the origin, (3, 3)."""
    return r @ r * np.eye(3) - np.outer(r, r)


def directions(section: Section, load: Load) -> tuple[Direction, ...]:
    """Return the four ways in which a beam gives, with the part of the load that each moves."""
    mass, (cx, _, _), (jx, jy, jz) = load.mass, load.centre, np.diag(load.inertia)
    rho, (_, rho_y, rho_z) = section.mass_per_length, section.inertia
    across_z, across_y = ([[mass, mass * cx], [mass * cx, j]] for j in (jz, jy))
    return (
        Direction('bending_y', 2, section.EIz, rho, rho_z, np.array(across_z)),
        Direction('bending_z', 2, section.EIy, rho, rho_y, np.array(across_y)),
        Direction('torsion', 1, section.GJ, section.inertia[0], 0.0, np.array([[jx]])),
        Direction('stretch', 1, section.EA, rho, 0.0, np.array([[mass]])),
    )
