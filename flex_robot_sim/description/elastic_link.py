"""One flexible link: the beam that it is, and how its bending is described."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from flex_robot_sim.description.robot import ElasticBeam, FlexSensor, Link
from flex_robot_sim.description.slips import is_slip, warn_of_material
from flex_robot_sim.description.values import only, read_attributes, read_children
from flex_robot_sim.description.words import FLEXIBILITY
from flex_robot_sim.elastic import outline as outlines
from flex_robot_sim.elastic.section import DIRECTIONS

if TYPE_CHECKING:
    from flex_robot_sim.description.document import Document, XmlElement

MASS_AGREEMENT = 0.01       # of the mass in <inertial> with density and section        [-]
BEAM_MISMATCH = 0.01        # of <inertial> with a uniform beam, before a warning       [-]
NO_MOMENT = 1e-10           # moment about the beam over that of a thin rod across it   [-]
MOST_COORDINATES = 5000     # of one link
MOST_PER_SEGMENT = 500      # of these: a step solves for them at once

_SHAPES = {'rectangle': outlines.rectangle, 'tube': outlines.tube, 'rod': outlines.rod}
_STIFFNESS_OF = {'bending_y': 'EIz', 'bending_z': 'EIy', 'torsion': 'GJ', 'stretch': 'EA'}
_STIFFNESSES = ('EIy', 'EIz', 'GJ', 'EA')
_BENDING_IN = {'xy': 'bending_y', 'xz': 'bending_z'}


class Matter(NamedTuple):
    """What density and section make of a beam."""

    mass_per_length: float      # [kg/m]
    polar_inertia: float        # density * (Iy + Iz)   [kg m]


def read_beam(document: Document, element: XmlElement, values: Mapping[str, Any],
              link: Link) -> ElasticBeam:
    """Return the ElasticBeam that the <link> `element` with its `values` makes of `link`."""
    children = read_children(document, element, FLEXIBILITY['link'].children)
    axes, length = _beam_frame(document, element, link, values)
    if link.inertial is None or not link.inertial.mass > 0:
        raise document.error(element, f'flexible link "{link.name}" has no mass',
                             'Give the link an <inertial> with the mass of the whole beam')
    stiffness, matter, outer = _read_section(document, element, children, link.name)
    discretisation = _read_discretisation(document, element, children, link.name, stiffness)
    if matter is not None:
        _check_mass(document, element, link, matter.mass_per_length * length)
    sensors = _read_sensors(document, children['flex_sensor'], link.name, length,
                            discretisation['coordinates'])
    section_inertia = _section_inertia(document, element, link, axes, length)
    if section_inertia[0] == 0 and discretisation['coordinates']['torsion']:
        section_inertia[0] = _polar_inertia(document, element, link.name, matter)
    return ElasticBeam(
        end=np.array(values['end']), axes=axes, length=length,
        mass_per_length=link.inertial.mass / length, section_inertia=section_inertia,
        **stiffness, **discretisation, **_read_damping(document, children, link.name),
        sensors=sensors, **outer)


def _beam_frame(document, element, link, values):
    """Axes (3, 3) of the beam in the link frame, x along it, and its length [m]."""
    end = np.array(values['end'])
    length = float(np.sqrt(end @ end))
    if length < 1e-12:
        raise document.error(element, f'flexible link "{link.name}" has the length zero',
                             'Give the far end of the beam: end="x y z" [m]')
    x = end / length
    across = np.array(values['y_axis']) - (x @ values['y_axis']) * x
    if np.sqrt(across @ across) < 1e-6:
        what = 'y_axis' if 'y_axis' in element.attrib else 'the default y_axis 0 1 0'
        # of the axes of the link the one that is most across, y before z before x
        better = min(('0 1 0', '0 0 1', '1 0 0'), key=lambda axis: abs(x @ _vector(axis)))
        raise document.error(element, f'{what} lies along the beam of "{link.name}"',
                             f'Give a y_axis across the beam, for instance y_axis="{better}"')
    y = across / np.sqrt(across @ across)
    return np.column_stack([x, y, np.cross(x, y)]), length


def _vector(text):
    return np.array(text.split(), dtype=float)


def _read_section(document, element, children, link):
    """Stiffnesses {EIy, EIz, GJ, EA}, nan where not given, the Matter or None, and the size."""
    given = [tag for tag in ('section', *_SHAPES) if children[tag]]
    if len(given) > 1:
        raise document.error(children[given[1]][0], f'flexible link "{link}" has a <{given[0]}> '
                             f'and a <{given[1]}>', 'Keep one of them')
    material = only(document, children, 'material')
    if not given:
        raise document.error(
            element, f'flexible link "{link}" has no bending stiffness',
            'Give its <section> EIy and EIz [N m2], or remove it from <flexibility>')
    tag = given[0]
    shape = only(document, children, tag)
    read_children(document, shape, ())
    values = read_attributes(document, shape, FLEXIBILITY[tag])
    if tag == 'section':
        if material is not None:
            raise document.error(material, f'flexible link "{link}" has a <section> and a '
                                 '<material>', 'Keep one of them: <section> holds stiffnesses')
        return {name: np.nan if values[name] is None else values[name]
                for name in _STIFFNESSES}, None, {}
    if material is None:
        raise document.error(shape, f'the <{tag}> of "{link}" has no <material>',
                             'Add <material E="..." G="..." density="..."/>')
    read_children(document, material, ())
    made_of = read_attributes(document, material, FLEXIBILITY['material'])
    if tag == 'tube' and values['wall'] > values['outer'] / 2:
        raise document.error(shape, f'the wall of "{link}" is thicker than half its diameter',
                             'Give wall [m] below outer / 2')
    warn_of_material(document, material, link, made_of)
    form = _SHAPES[tag](**values)
    if not 0 < min(form) <= max(form) < np.inf:     # rounding leaves no wall of a huge tube
        raise document.error(shape, f'the <{tag}> of "{link}" is out of all proportion',
                             'Give its sizes in m')
    E, density = made_of['E'], made_of['density']
    G = np.nan if made_of['G'] is None else made_of['G']
    stiffness = {'EIy': E * form.Iy, 'EIz': E * form.Iz, 'GJ': G * form.J, 'EA': E * form.area}
    matter = None if density is None else Matter(density * form.area,
                                                 density * (form.Iy + form.Iz))
    return stiffness, matter, _outer_size(**values)


def _outer_size(width=None, height=None, outer=None, wall=None, diameter=None):
    """Return what ElasticBeam says of the outline, from the attributes of the section."""
    if width is not None:
        return {'size': (width, height)}
    across = outer if diameter is None else diameter
    return {'size': (across, across), 'is_round': True}


def _check_mass(document, element, link, expected):
    """Compare the mass of `link` with that `expected` of density and section [kg]."""
    mass = link.inertial.mass
    problem = (f'flexible link "{link.name}" weighs {mass:g} kg, but density and section make '
               f'{expected:g} kg')
    if is_slip(mass / expected, MASS_AGREEMENT):
        document.warn(document.line(element), problem, 'Check the units: mass [kg], density '
                      '[kg/m3], sizes [m]')
    elif abs(mass / expected - 1) > MASS_AGREEMENT:
        raise document.error(element, problem, 'Correct one of them; motors and payloads belong '
                             'in links of their own')


def _read_discretisation(document, element, children, link, stiffness):
    modes = only(document, children, 'modes')
    elements = only(document, children, 'elements')
    if modes is not None and elements is not None:
        raise document.error(elements, f'flexible link "{link}" has <modes> and <elements>',
                             'Keep one of them')
    tag, chosen = ('modes', modes) if elements is None else ('elements', elements)
    if chosen is None:
        values = {name: row.default for name, row in FLEXIBILITY['modes'].attributes.items()}
    else:
        read_children(document, chosen, ())
        values = read_attributes(document, chosen, FLEXIBILITY[tag])
    where = element if chosen is None else chosen
    coordinates = {direction: values[direction] for direction in DIRECTIONS}
    total = 0
    for direction, count in coordinates.items():
        needed = _STIFFNESS_OF[direction]
        if count != 0 and np.isnan(stiffness[needed]):
            unit = FLEXIBILITY['section'].attributes[needed].unit
            remedy = f'<section> {needed} [{unit}]' if children['section'] else '<material> G [Pa]'
            raise document.error(
                where, f'flexible link "{link}" has coordinates of {direction} but no {needed}',
                f'Give its {remedy}, or set {direction}="0" in <{tag}>')
        if tag == 'elements':
            most = values['count'] * (2 if direction.startswith('bending') else 1)
            if count != 'all' and count > most:
                raise document.error(
                    where, f'{values["count"]} elements of "{link}" have no {count} modes of '
                    f'{direction}', f'Ask for at most {most}, or give more elements')
        total += most if count == 'all' else count
    if not total:
        raise document.error(where, f'flexible link "{link}" has no elastic coordinates',
                             'Give it at least one, or remove it from <flexibility>')
    if total > MOST_PER_SEGMENT:
        raise document.error(
            where, f'a segment of flexible link "{link}" has {total} elastic coordinates',
            f'Keep to {MOST_PER_SEGMENT}, with more segments of fewer elements, or with a number '
            "of modes instead of 'all'")
    if total * values['segments'] > MOST_COORDINATES:
        raise document.error(
            where, f'flexible link "{link}" has {total * values["segments"]} elastic coordinates',
            f'Keep to {MOST_COORDINATES}, with fewer segments or fewer {tag}')
    return {'coordinates': coordinates, 'elements': values.get('count', 0),
            'segments': values['segments'], 'boundary': values.get('boundary', 'static')}


def _read_damping(document, children, link):
    element = only(document, children, 'damping')
    if element is None:
        return {'damping_ratio': 0.0, 'damping_time': 0.0}
    read_children(document, element, ())
    values = read_attributes(document, element, FLEXIBILITY['damping'])
    ratio, time = values['ratio'], values['time_constant']
    if (ratio is None) == (time is None):
        what = 'neither a ratio nor' if ratio is None else 'both a ratio and'
        raise document.error(element, f'the <damping> of "{link}" has {what} a time_constant',
                             'Give one of them')
    return {'damping_ratio': ratio or 0.0, 'damping_time': time or 0.0}


def _read_sensors(document, elements, link, length, coordinates):
    sensors = {}
    for element in elements:
        read_children(document, element, ())
        values = read_attributes(document, element, FLEXIBILITY['flex_sensor'])
        name, start, end = values['name'], values['from'], values['to']
        if name in sensors:
            raise document.error(element, f'flexible link "{link}" has two flex sensors "{name}"',
                                 'Rename one of them')
        if not start <= end <= length * (1 + 1e-9):
            raise document.error(
                element, f'flex sensor "{name}" reaches from {start:g} to {end:g} m on a beam of '
                f'{length:g} m', 'Give 0 <= from <= to <= length')
        direction = _BENDING_IN[values['plane']]
        if not coordinates[direction]:
            raise document.error(
                element, f'flex sensor "{name}" measures in the plane {values["plane"]}, but '
                f'flexible link "{link}" has no coordinates of {direction}',
                f'Give it coordinates of {direction}, or remove the sensor')
        sensors[name] = FlexSensor(name, min(start, length), min(end, length), values['plane'])
    return tuple(sensors.values())


def _section_inertia(document, element, link, axes, length):
    """
    Inertia of the cross-section about x, y, z per length (3,) [kg m].

    It is what <inertial> has beyond a thin rod of the same mass and length.
    """
    mass = link.inertial.mass
    centre = axes.T @ link.inertial.centre / length
    if not 0.25 < centre[0] < 0.75 or np.abs(centre[1:]).max() > 0.25:
        raise document.error(
            element, f'the beam of "{link.name}" is off the link: its centre of mass lies at '
            f'{centre[0] * length:.4g} of {length:.4g} m along the beam and '
            f'{np.hypot(*centre[1:]) * length:.4g} m beside it',
            'Correct end [m], or the <origin> of the <inertial>, which is at half the beam')
    about = axes.T @ link.inertial.inertia @ axes
    rod = mass * length**2 / 12
    beyond = np.array([about[0, 0], about[1, 1] - rod, about[2, 2] - rod])
    products = np.abs(about[[0, 0, 1], [1, 2, 2]]).max()
    off_centre = np.abs(centre - [0.5, 0, 0]).max()
    lacking = max(-beyond[1:].min(), (beyond[1:] - about[0, 0]).max(), products)
    if off_centre > BEAM_MISMATCH or lacking > BEAM_MISMATCH * rod:
        document.warn(
            document.line(element), f'the <inertial> of flexible link "{link.name}" is not that '
            f'of a uniform beam of {mass:g} kg and {length:g} m, as which it is simulated',
            f'Put the centre of mass at {length / 2:g} m along the beam and give {rod:.6g} kg m2 '
            'across it')
    if beyond[0] < NO_MOMENT * rod:
        beyond[0] = 0.0
    return np.maximum(beyond, 0.0) / length


def _polar_inertia(document, element, link, matter):
    """Moment about the beam per length [kg m] where <inertial> has none."""
    problem = f'<inertial> gives flexible link "{link}" no moment of inertia about its beam'
    remedy = 'Give it in <inertia>: ixx, if the beam lies along x [kg m2]'
    if matter is None:
        raise document.error(element, f'{problem}, which torsion needs', remedy)
    document.warn(document.line(element), f'{problem}; density and section make '
                  f'{matter.polar_inertia:.6g} kg m2 per m', remedy)
    return matter.polar_inertia
