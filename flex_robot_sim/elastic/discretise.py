"""Discretisation of beams from section, length and coordinates."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

import numpy as np

from flex_robot_sim.elastic.beam import NO_LOAD, Beam, Load
from flex_robot_sim.elastic.elements import element_shapes
from flex_robot_sim.elastic.quadrature import gauss_stations
from flex_robot_sim.elastic.section import Section
from flex_robot_sim.elastic.section_profile import SectionProfile
from flex_robot_sim.elastic.shapes import Direction, assumed_shapes, matrices
from flex_robot_sim.elastic.varying_shapes import varying_shapes
from flex_robot_sim.util.eigenproblem import block_diagonal

BEAM_CACHE_SIZE = 32  # beams stay the same while other parameters of an arm change
MAX_COUPLING = 1e-6  # of two shapes, over the largest stiffness; more is no rounding error


def make_beam(
    length: float,
    section: Section,
    coordinates: Mapping[str, int | Literal['all']],
    elements: int = 0,
    boundary: str = 'static',
    load: Load = NO_LOAD,
    is_segment: bool = False,
    profile: SectionProfile | None = None,
) -> Beam:
    """
    Discretise one beam.

    :param coordinates: direction -> number of coordinates, or 'all' of the finite elements;
        directions that are missing or 0 are rigid.
    :param elements: number of finite elements; 0: assumed modes.
    :param boundary: of assumed modes: 'static', 'free', 'mass' or 'inertia'; see `assumed_shapes`.
    :param load: body at the end; it affects the modes and is not part of the beam.
    :param is_segment: whether it is one of several segments, see `Beam`.
    :param profile: of a section that varies; None: uniform.
    """
    # finite elements take too much memory to cache; modes take time to compute
    make_function = _make_beam if elements else _make_beam_cached
    return make_function(
        length,
        (section.mass_per_length, tuple(section.inertia), *section[2:]),
        tuple(coordinates.items()),
        elements,
        boundary,
        (load.mass, tuple(load.centre), tuple(load.inertia.ravel())),
        is_segment,
        profile,
    )


def _make_beam(length, section, coordinates, elements, boundary, load, is_segment, profile):
    section = Section(section[0], np.array(section[1]), *section[2:])
    coordinates = dict(coordinates)
    load = Load(load[0], np.array(load[1]), np.reshape(load[2], (3, 3)))
    shapes, blocks, names = {}, [], []
    for direction in directions(section, load, profile):
        count = coordinates.get(direction.name, 0)
        if count == 0:
            continue
        if elements:
            direction_shapes = element_shapes(direction, length, elements, count)
        elif profile is None and direction.shear == np.inf:
            direction_shapes = assumed_shapes(direction, length, int(count), boundary)
        else:
            direction_shapes = varying_shapes(direction, length, int(count), boundary)
        stiffness, _ = matrices(direction_shapes, direction)
        # natural modes are orthogonal: off-diagonal entries are rounding errors
        diagonal = np.diag(np.diag(stiffness))
        # numbers that overflow pass, and are reported where the arm is computed
        is_coupled = np.abs(stiffness - diagonal).max() > MAX_COUPLING * stiffness.max()
        assert count == 'all' or not is_coupled, 'shapes are not orthogonal'
        blocks.append(stiffness if count == 'all' else diagonal)
        names += [f'{direction.name}_{i}' for i in range(1, direction_shapes.count + 1)]
        shapes[direction.name] = direction_shapes
    breaks = np.linspace(0.0, length, (elements or 1) + 1)
    if profile is not None:
        breaks = np.union1d(breaks, length * profile.breaks)
    stations_per_element = max(
        (direction_shapes.stations for direction_shapes in shapes.values()), default=2
    )
    return Beam(
        length,
        section,
        tuple(names),
        block_diagonal(*blocks),
        *gauss_stations(breaks, stations_per_element),
        shapes,
        is_segment,
        profile,
    )


_make_beam_cached = lru_cache(maxsize=BEAM_CACHE_SIZE)(_make_beam)


def cut_beam(
    length: float,
    section: Section,
    coordinates: Mapping[str, int | Literal['all']],
    segments: int,
    elements: int = 0,
    boundary: str = 'static',
    load: Load = NO_LOAD,
    profile: SectionProfile | None = None,
) -> list[Beam]:
    """Equal segments of a beam, as of `make_beam`; the load of each has those beyond it."""
    segment_length = length / segments
    return [
        make_beam(
            segment_length,
            section,
            coordinates,
            elements,
            boundary,
            _load_beyond(
                length - (i + 1) * segment_length,
                section,
                load,
                profile if profile is None else _part(profile, i + 1, segments, segments),
            ),
            segments > 1,
            profile if profile is None else _part(profile, i, i + 1, segments),
        )
        for i in range(segments)
    ]


def _part(profile, start, end, segments):
    """Profile from one to another end of equal segments; any profile beyond the last one."""
    return profile.part(start / segments, end / segments) if start < end else profile


def _load_beyond(length, section, load, profile):
    """Return the Load of a rigid beam with `load` at its end, in the frame of its root."""
    offset = load.centre + [length, 0.0, 0.0]
    beam_mass, first, across, moments = _beam_moments(length, section, profile)
    mass = beam_mass + load.mass
    moment = load.mass * offset + [first, 0.0, 0.0]
    # about the centre of the load, then about the root
    inertia = load.inertia + load.mass * (_point_inertia(offset) - _point_inertia(load.centre))
    inertia += np.diag(moments + across * np.array([0, 1, 1]))
    return Load(mass, moment / mass if mass > 0.0 else moment, inertia)


def _beam_moments(length, section, profile):
    """Mass, first and second moment about the root, and inertia of the sections (3,) of a beam."""
    mass, moments = section.mass_per_length * length, section.inertia * length
    if profile is None:
        return mass, mass * length / 2, mass * length**2 / 3, moments
    share = profile.moments
    first, second = mass * length * share[1, 0], mass * length**2 * share[2, 0]
    return mass * share[0, 0], first, second, moments * share[0, 1:4]


def _point_inertia(r):
    """Inertia of a unit mass at r about the origin, (3, 3)."""
    return r @ r * np.eye(3) - np.outer(r, r)


def directions(
    section: Section, load: Load, profile: SectionProfile | None = None
) -> tuple[Direction, ...]:
    """Return the four deformation directions of a beam, each with its inertia of the load."""
    mass, (cx, _, _), (jx, jy, jz) = load.mass, load.centre, np.diag(load.inertia)
    rho, (_, rho_y, rho_z) = section.mass_per_length, section.inertia
    across_z, across_y = ([[mass, mass * cx], [mass * cx, j]] for j in (jz, jy))
    bending_y, bending_z = np.array(across_z), np.array(across_y)
    twist, along, kGAy, kGAz = np.array([[jx]]), np.array([[mass]]), section.kGAy, section.kGAz
    return (
        Direction('bending_y', 2, section.EIz, rho, rho_z, bending_y, kGAy, profile),
        Direction('bending_z', 2, section.EIy, rho, rho_y, bending_z, kGAz, profile),
        Direction('torsion', 1, section.GJ, section.inertia[0], 0.0, twist, profile=profile),
        Direction('stretch', 1, section.EA, rho, 0.0, along, profile=profile),
    )
