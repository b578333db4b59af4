"""One flexible link with a curved axis, twisted sections or section matrices."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from flex_robot_sim.description.beam_section import read_section
from flex_robot_sim.description.document import Document, XmlElement
from flex_robot_sim.description.links import ElasticBeam, Link
from flex_robot_sim.description.section_stations import read_stations
from flex_robot_sim.description.values import only, read_attributes, read_children
from flex_robot_sim.description.words import FLEXIBILITY
from flex_robot_sim.elastic.axis_curve import AxisCurve
from flex_robot_sim.elastic.section_matrices import (
    homogeneous_mass,
    is_positive_definite,
    linear_matrices,
    mass_problem,
)
from flex_robot_sim.elastic.spatial_shapes import rigid_moments

DEFAULT_COORDINATES = 8  # of a segment: six shapes under loads at the end, and two modes
MAX_SEGMENTS = 100  # of a spatial beam
MASS_TOLERANCE = 0.01  # mass of section matrices compared with the <inertial>          [-]
INERTIA_TOLERANCE = 0.01  # centre and moments of the <inertial> compared with the beam [-]
END_TOLERANCE = 1e-6  # of the last point of the axis, over its distance from the first [-]
_DIRECTIONS = ('bending_y', 'bending_z', 'torsion', 'stretch', 'boundary')
_DIAGONAL = ('EA', 'kGAy', 'kGAz', 'GJ', 'EIy', 'EIz')  # of a stiffness matrix


def is_spatial(children: Mapping[str, list[XmlElement]]) -> bool:
    """Whether the children of a <link> describe a spatial beam."""
    sections = [*children['section'], *children['rectangle']]
    return bool(children['axis']) or any(
        word in section.attrib for section in sections for word in ('stiffness', 'mass', 'twist')
    )


def read_spatial_beam(
    document: Document,
    element: XmlElement,
    values: Mapping[str, Any],
    link: Link,
    children: Mapping[str, list[XmlElement]],
) -> dict[str, Any]:
    """
    Return the fields of the ElasticBeam of a spatial `link`, but for its damping and sensors.

    :param values: attributes of its <link> `element`; children: its child elements.
    """
    assert link.inertial is not None
    axis = _read_axis(document, element, values, link, children)
    mass_per_length = link.inertial.mass / axis.length
    coordinates, segments = _read_modes(document, children, link.name)
    fields: dict[str, Any] = {
        'end': np.array(values['end']),
        'length': axis.length,
        'mass_per_length': mass_per_length,
        'coordinates': {'mode': coordinates},
        'elements': 0,
        'segments': segments,
        'boundary': 'static',
        'axis': axis,
    }
    if any('stiffness' in section.attrib for section in children['section']):
        _refuse_material(document, children, link.name)
        fields |= _read_matrices(document, children['section'], link, mass_per_length)
    else:
        fields |= _read_outline(document, element, children, link, axis.length)
    beam = ElasticBeam(axes=np.eye(3), damping_ratio=0.0, damping_time=0.0, **fields)
    _compare_inertia(document, element, link, beam)
    axes, _ = beam.section_pose(0.0)
    return {**fields, 'axes': axes}


def _read_axis(document, element, values, link, children):
    end = np.array(values['end'])
    row, points = only(document, children, 'axis'), np.array([np.zeros(3), end])
    if row is not None:
        read_children(document, row, ())
        points = np.array(read_attributes(document, row, FLEXIBILITY['axis'])['points'])
    where = element if row is None else row
    chords = np.sqrt((np.diff(points, axis=0) ** 2).sum(axis=1))
    size = float(np.sqrt(end @ end))
    if points[0].any() or np.abs(points[-1] - end).max() > END_TOLERANCE * size:
        raise document.error(
            where,
            f'the axis of "{link.name}" does not lead from the link origin to its end',
            'Begin its points with 0 0 0, and finish with the end of the <link> [m]',
        )
    if size < 1e-12 or chords.min() < END_TOLERANCE * chords.max():
        raise document.error(
            where,
            f'two neighbouring points of the axis of "{link.name}" are at one place',
            'Remove one of them',
        )
    y_axis = np.array(values['y_axis'])
    axis = AxisCurve(points, y_axis)
    tangent = axis.tangents([0.0])[0]
    if np.sqrt(((y_axis - (y_axis @ tangent) * tangent) ** 2).sum()) < 1e-6:
        what = 'y_axis' if 'y_axis' in element.attrib else 'the default y_axis 0 1 0'
        raise document.error(
            element,
            f'{what} lies along the root of the axis of "{link.name}"',
            'Give a y_axis across the beam at its root',
        )
    return axis


def _read_modes(document, children, link):
    """Return the number of coordinates of a segment, and of segments."""
    elements, modes = only(document, children, 'elements'), only(document, children, 'modes')
    if elements is not None:
        raise document.error(
            elements,
            f'flexible link "{link}" is a spatial beam and has <elements>',
            'Describe it by <modes count="..."/>',
        )
    if modes is None:
        return DEFAULT_COORDINATES, 1
    read_children(document, modes, ())
    values = read_attributes(document, modes, FLEXIBILITY['modes'])
    for word in _DIRECTIONS:
        if word in modes.attrib:
            raise document.error(
                modes,
                f'flexible link "{link}" is a spatial beam, whose shapes combine all directions',
                f'Remove {word}, and give their number: count="{DEFAULT_COORDINATES}"',
            )
    if values['segments'] > MAX_SEGMENTS:
        raise document.error(
            modes,
            f'spatial beam "{link}" has {values["segments"]} segments',
            f'Keep to {MAX_SEGMENTS}',
        )
    return values['count'] or DEFAULT_COORDINATES, values['segments']


def _refuse_material(document, children, link):
    for tag in ('material', 'rectangle', 'tube', 'rod'):
        if children[tag]:
            raise document.error(
                children[tag][0],
                f'flexible link "{link}" has section matrices and a <{tag}>',
                'Keep one of them',
            )


def _read_outline(document, element, children, link, length):
    """Fields of an ElasticBeam with an outline or stiffnesses, and a rotary inertia from them."""
    section = read_section(document, element, children, link.name)
    stiffness = section.stiffness
    for name, unit, use in (
        ('GJ', 'N m2', 'torsion'),
        ('EA', 'N', 'the rotary inertia of its sections'),
        ('EIy', 'N m2', 'bending'),
        ('EIz', 'N m2', 'bending'),
    ):
        if np.isnan(stiffness[name]):
            remedy = f'<section> {name} [{unit}]' if children['section'] else '<material> G [Pa]'
            raise document.error(
                element,
                f'flexible link "{link.name}" is a spatial beam without {name}, which {use} needs',
                f'Give its {remedy}',
            )
    twist = _read_twist(document, [*children['section'], *children['rectangle']], link.name)
    mass = link.inertial.mass / length
    if section.mass_properties is not None:
        expected = section.mass_properties.mass_per_length * length
        _compare_mass(document, element, link, expected)
    y, z = (mass * stiffness[name] / stiffness['EA'] for name in ('EIy', 'EIz'))
    return {
        **stiffness,
        'section_inertia': np.array([y + z, y, z]),
        'profile': section.profile,
        'twist': twist,
        **section.outline,
    }


def _read_twist(document, elements, link):
    """Share of the length and pretwist of each station; () without twist."""
    rows = [read_attributes(document, one, FLEXIBILITY[one.tag]) for one in elements]
    missing = [row['twist'] is None for row in rows]
    if all(missing):
        return ()
    if any(missing):
        raise document.error(
            elements[missing.index(True)],
            f'a section of "{link}" has no twist, and others have one',
            'Give twist [rad] at every station',
        )
    if rows[0]['at'] is None:
        return ((0.0, rows[0]['twist']), (1.0, rows[0]['twist']))
    return tuple((row['at'], row['twist']) for row in rows)


def _read_matrices(document, elements, link, mass_per_length):
    """Fields of an ElasticBeam with section matrices."""
    if any('at' in one.attrib for one in elements):
        places = [station.at for station in read_stations(document, elements, link.name)]
    else:
        only(document, {'section': elements}, 'section')
        read_children(document, elements[0], ())
        places, elements = [0.0, 1.0], 2 * elements
    stiffness, mass = [], []
    for one in elements:
        row = read_attributes(document, one, FLEXIBILITY['section'])
        stiffness.append(_read_stiffness(document, one, link.name, row))
        mass.append(_read_mass(document, one, link.name, row, stiffness[-1], mass_per_length))
    total = (
        link.inertial.mass
        / mass_per_length
        * sum(
            (after - before) * (one[0, 0] + two[0, 0]) / 2.0
            for before, after, one, two in zip(places, places[1:], mass, mass[1:])
        )
    )
    _compare_mass(document, elements[0], link, total)
    mass = [link.inertial.mass / total * one for one in mass]
    return {
        **{name: float(stiffness[0][k, k]) for k, name in enumerate(_DIAGONAL)},
        'section_inertia': np.diag(mass[0])[3:].copy(),
        'matrices': linear_matrices(
            places, stiffness, mass, _read_twist(document, elements, link.name)
        ),
    }


def _read_stiffness(document, element, link, row):
    for word in (*_DIAGONAL, 'mass_per_length'):
        if row[word] is not None:
            raise document.error(
                element,
                f'a <section> of "{link}" has a {word}, and matrices',
                f'Remove {word}: it belongs into stiffness or mass',
            )
    if row['stiffness'] is None:
        raise document.error(
            element,
            f'a <section> of "{link}" has no stiffness, and others have one',
            'Give stiffness at every station',
        )
    matrix = np.array(row['stiffness'])
    if not is_positive_definite(matrix):
        raise document.error(
            element,
            f'the stiffness matrix of a <section> of "{link}" is not positive definite',
            'Check its order, signs and units',
        )
    return matrix


def _read_mass(document, element, link, row, stiffness, mass_per_length):
    if row['mass'] is None:
        return homogeneous_mass(mass_per_length, stiffness)
    matrix = np.array(row['mass'])
    found = mass_problem(matrix)
    if found is not None:
        problem, remedy = found
        raise document.error(
            element, f'the mass matrix of a <section> of "{link}" {problem}', remedy
        )
    return matrix


def _compare_mass(document, element, link, expected):
    """Compare the mass of a link with that of its sections [kg]."""
    mass = link.inertial.mass
    if abs(mass / expected - 1.0) > MASS_TOLERANCE:
        raise document.error(
            element,
            f'flexible link "{link.name}" weighs {mass:g} kg, but its sections make '
            f'{expected:g} kg',
            'Correct one of them; motors and payloads belong in links of their own',
        )


def _compare_inertia(document, element, link, beam):
    """Warn if the <inertial> is not that of the undeformed beam."""
    mass, first, second = rigid_moments(beam.axis, beam.section_matrices, 0.0)
    centre = first / mass
    second = second - mass * np.outer(centre, centre)
    inertia = np.trace(second) * np.eye(3) - second
    off = np.abs(link.inertial.centre - centre).max() / beam.length
    size = np.abs(inertia).max()
    if off > INERTIA_TOLERANCE or (
        np.abs(link.inertial.inertia - inertia).max() > INERTIA_TOLERANCE * size
    ):
        inertia[np.abs(inertia) < 1e-12 * size] = 0.0  # rounding errors
        centre[np.abs(centre) < 1e-12 * beam.length] = 0.0
        x, y, z = centre
        moments = ', '.join(
            f'{name} {inertia[row]:.4g}'
            for name, row in (
                ('ixx', (0, 0)),
                ('iyy', (1, 1)),
                ('izz', (2, 2)),
                ('ixy', (0, 1)),
                ('ixz', (0, 2)),
                ('iyz', (1, 2)),
            )
        )
        document.warn(
            document.line(element),
            f'the <inertial> of flexible link "{link.name}" is not that of its beam, as which it '
            'is simulated',
            f'Put the centre of mass at {x:.4g} {y:.4g} {z:.4g} m, and give {moments} kg m2',
        )
