"""Cross-section of a flexible link: stiffnesses, or an outline and a material."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from flex_robot_sim.description.document import Document, XmlElement
from flex_robot_sim.description.plausibility import warn_of_material
from flex_robot_sim.description.section_stations import (
    outline_profile,
    read_stations,
    stiffness_profile,
)
from flex_robot_sim.description.values import only, read_attributes, read_children
from flex_robot_sim.description.words import FLEXIBILITY
from flex_robot_sim.elastic.section import STIFFNESS_OF, Outline, rectangle, rod, tube
from flex_robot_sim.elastic.section_profile import SectionProfile

_SHAPES: dict[str, Callable[..., Outline]] = {'rectangle': rectangle, 'tube': tube, 'rod': rod}


class MassProperties(NamedTuple):
    """Mass properties of a beam by density and section; mean values of a varying section."""

    mass_per_length: float  # [kg/m]
    polar_inertia: float  # density * (Iy + Iz)   [kg m]


class BeamSection(NamedTuple):
    """Section of a beam, at its root where it varies."""

    stiffness: dict[str, Any]  # EIy, EIz, GJ, EA: nan where unknown; kGAy, kGAz: inf
    mass_properties: MassProperties | None  # None: no density
    outline: dict[str, Any]  # fields of ElasticBeam that draw it
    profile: SectionProfile | None  # None: uniform


def read_section(
    document: Document,
    element: XmlElement,
    children: Mapping[str, Sequence[XmlElement]],
    link: str,
) -> BeamSection:
    """Return the BeamSection of a link, from the children of its <link> `element`."""
    tags = [tag for tag in ('section', *_SHAPES) if children[tag]]
    if len(tags) > 1:
        raise document.error(
            children[tags[1]][0],
            f'flexible link "{link}" has a <{tags[0]}> and a <{tags[1]}>',
            'Keep one of them',
        )
    material = only(document, children, 'material')
    if not tags:
        raise document.error(
            element,
            f'flexible link "{link}" has no bending stiffness',
            'Give its <section> EIy and EIz [N m2], or remove it from <flexibility>',
        )
    tag = tags[0]
    if any('at' in shape.attrib for shape in children[tag]):
        stations = read_stations(document, children[tag], link)
        shapes, rows = [station.element for station in stations], stations
    else:
        shape = only(document, children, tag)
        assert shape is not None
        shapes, rows = [shape], []
        read_children(document, shape, ())
    values = [read_attributes(document, shape, FLEXIBILITY[tag]) for shape in shapes]
    if tag == 'section':
        return _stiffness_section(document, material, link, shapes, values, rows)
    return _outline_section(document, material, link, tag, shapes, values, rows)


def _stiffness_section(document, material, link, shapes, values, stations):
    if material is not None:
        raise document.error(
            material,
            f'flexible link "{link}" has a <section> and a <material>',
            'Keep one of them: <section> holds stiffnesses',
        )
    root = values[0]
    if not stations and root['mass_per_length'] is not None:
        raise document.error(
            shapes[0],
            f'the uniform <section> of "{link}" has a mass_per_length',
            'Remove it: the mass of the <inertial> is evenly distributed',
        )
    stiffness = {name: _or(root[name], np.nan) for name in STIFFNESS_OF.values()}
    stiffness |= {name: _or(root[name], np.inf) for name in ('kGAy', 'kGAz')}
    profile = stiffness_profile(document, link, stations) if stations else None
    return BeamSection(stiffness, None, {}, profile)


def _outline_section(document, material, link, tag, shapes, values, stations):
    if material is None:
        raise document.error(
            shapes[0],
            f'the <{tag}> of "{link}" has no <material>',
            'Add <material E="..." G="..." density="..."/>',
        )
    read_children(document, material, ())
    constants = read_attributes(document, material, FLEXIBILITY['material'])
    warn_of_material(document, material, link, constants)
    places = ('at', 'twist')
    sizes = [{k: v for k, v in row.items() if k not in places} for row in values]
    for shape, size in zip(shapes, sizes):
        if tag == 'tube' and size['wall'] > size['outer'] / 2:
            raise document.error(
                shape,
                f'the wall of "{link}" is thicker than half its diameter',
                'Give wall [m] below outer / 2',
            )
        form = _SHAPES[tag](**size)
        if not 0 < min(form) <= max(form) < np.inf:  # a wall can vanish by rounding
            raise document.error(
                shape, f'the <{tag}> of "{link}" is out of all proportion', 'Give its sizes in m'
            )
    form, outer = _SHAPES[tag](**sizes[0]), _outer_size(**sizes[0])
    E, density, factor = constants['E'], constants['density'], constants['shear_factor']
    G = np.nan if constants['G'] is None else constants['G']
    if factor is not None and constants['G'] is None:
        raise document.error(
            material,
            f'the <material> of "{link}" has a shear_factor and no G',
            'Give its shear modulus G [Pa]',
        )
    stiffness = {'EIy': E * form.Iy, 'EIz': E * form.Iz, 'GJ': G * form.J, 'EA': E * form.area}
    shear = np.inf if factor is None else factor * G * form.area
    stiffness |= {'kGAy': shear, 'kGAz': shear}
    area, polar, profile = form.area, form.Iy + form.Iz, None
    if stations:
        profile, mean = outline_profile(_SHAPES[tag], sizes, stations)
        area, polar = mean.area, mean.Iy + mean.Iz
        outer |= _outer_sizes(sizes, stations)
    mass_properties = None
    if density is not None:
        mass_properties = MassProperties(density * area, density * polar)
    return BeamSection(stiffness, mass_properties, outer, profile)


def _or(value, default):
    return default if value is None else value


def _outer_size(width=None, height=None, outer=None, diameter=None, **_):
    """Return the outline fields of ElasticBeam, from the attributes of the section."""
    if width is not None:
        return {'size': (width, height)}
    size = outer if diameter is None else diameter
    return {'size': (size, size), 'is_round': True}


def _outer_sizes(sizes, stations):
    """Return the field of ElasticBeam with the outer sizes of a varying section."""
    return {
        'sizes': tuple(
            (station.at, *_outer_size(**size)['size']) for station, size in zip(stations, sizes)
        )
    }
