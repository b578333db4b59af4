"""One flexible link: its beam and the discretisation of its bending."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from flex_robot_sim.description.beam_section import read_section
from flex_robot_sim.description.document import Document, XmlElement
from flex_robot_sim.description.links import ElasticBeam, Link
from flex_robot_sim.description.plausibility import is_implausible
from flex_robot_sim.description.reduced_element import read_reduced_link
from flex_robot_sim.description.sensors import FlexSensor
from flex_robot_sim.description.spatial_link import is_spatial, read_spatial_beam
from flex_robot_sim.description.strain_gauges import read_gauges
from flex_robot_sim.description.twist_coupling import (
    coupled_defaults,
    read_twist_coupling,
    refuse_uncoupled,
)
from flex_robot_sim.description.values import only, read_attributes, read_children
from flex_robot_sim.description.words import FLEXIBILITY
from flex_robot_sim.elastic.section import DIRECTIONS, STIFFNESS_OF
from flex_robot_sim.elastic.section_profile import slender_moments

MASS_TOLERANCE = 0.01  # mass in <inertial> compared with density and section  [-]
BEAM_INERTIA_TOLERANCE = 0.01  # <inertial> compared with a uniform beam                    [-]
MIN_POLAR_MOMENT_RATIO = 1e-10  # moment about the beam over that of a thin rod; below: 0    [-]
VARYING_BENDING = 4  # default shapes in a plane, two static ones and two modes, see words.py
MAX_ELASTIC_COORDINATES = 5000  # of one link
MAX_SEGMENT_COORDINATES = 500  # a step solves for these together

_BENDING_IN = {'xy': 'bending_y', 'xz': 'bending_z'}


def read_beam(
    document: Document, element: XmlElement, values: Mapping[str, Any], link: Link
) -> ElasticBeam | None:
    """
    Return the ElasticBeam of `link` from its <link> `element` with attributes `values`.

    None: a recorded robot without the file of its reduced link.
    """
    children = read_children(document, element, FLEXIBILITY['link'].children)
    if link.inertial is None or not link.inertial.mass > 0:
        raise document.error(
            element,
            f'flexible link "{link.name}" has no mass',
            'Give the link an <inertial> with the mass of the whole beam',
        )
    if children['reduced']:
        refuse_uncoupled(document, element, values['twist_coupling'], link.name)
        fields = read_reduced_link(document, element, values, link, children)
        if fields is None:
            return None
        return ElasticBeam(
            **fields,
            **_read_damping(document, children, link.name),
            gauges=read_gauges(document, children['strain_gauge'], link.name, fields['reduced']),
        )
    if children['strain_gauge']:
        raise document.error(
            children['strain_gauge'][0],
            f'flexible link "{link.name}" has a <strain_gauge> and no <reduced>',
            'Give a beam a <flex_sensor>',
        )
    if is_spatial(children):
        refuse_uncoupled(document, element, values['twist_coupling'], link.name)
        fields = read_spatial_beam(document, element, values, link, children)
        return ElasticBeam(
            **fields,
            **_read_damping(document, children, link.name),
            sensors=_read_sensors(
                document, children['flex_sensor'], link.name, fields['length'], None
            ),
        )
    axes, length = _beam_frame(document, element, link, values)
    section = read_section(document, element, children, link.name)
    choice = values['twist_coupling']
    if choice is None and values['guide'] is not None:
        choice = 'off'  # a sliding link has no terms of the coupling
    discretisation = _read_discretisation(document, element, children, link.name, section, choice)
    mass_properties = section.mass_properties
    if mass_properties is not None:
        _check_mass(document, element, link, mass_properties.mass_per_length * length)
    sensors = _read_sensors(
        document, children['flex_sensor'], link.name, length, discretisation['coordinates']
    )
    section_inertia = _section_inertia(document, element, link, axes, length, section.profile)
    if section_inertia[0] == 0 and discretisation['coordinates']['torsion']:
        section_inertia[0] = _polar_inertia(document, element, link.name, mass_properties)
    beam = ElasticBeam(
        end=np.array(values['end']),
        axes=axes,
        length=length,
        mass_per_length=link.inertial.mass / length,
        section_inertia=section_inertia,
        **section.stiffness,
        **discretisation,
        **_read_damping(document, children, link.name),
        sensors=sensors,
        profile=section.profile,
        **section.outline,
    )
    is_coupled = read_twist_coupling(document, element, choice, link.name, beam)
    return replace(beam, twist_coupling=is_coupled)


def _beam_frame(document, element, link, values):
    """Axes (3, 3) of the beam in the link frame, x along it, and its length [m]."""
    end = np.array(values['end'])
    length = float(np.sqrt(end @ end))
    if length < 1e-12:
        raise document.error(
            element,
            f'flexible link "{link.name}" has the length zero',
            'Give the far end of the beam: end="x y z" [m]',
        )
    axes = beam_axes(end, np.array(values['y_axis']))
    if axes is None:
        x = end / length
        what = 'y_axis' if 'y_axis' in element.attrib else 'the default y_axis 0 1 0'
        # the axis of the link closest to perpendicular, y before z before x
        suggestion = min(('0 1 0', '0 0 1', '1 0 0'), key=lambda axis: abs(x @ _vector(axis)))
        raise document.error(
            element,
            f'{what} lies along the beam of "{link.name}"',
            f'Give a y_axis across the beam, for instance y_axis="{suggestion}"',
        )
    return axes, length


def beam_axes(end: np.ndarray, y_axis: np.ndarray) -> np.ndarray | None:
    """
    Return the axes (3, 3) of a beam in its link frame; None if its y_axis lies along it.

    :param end: far end of the beam, (3,) [m]; y_axis: unit vector (3,), see words.py.
    """
    x = end / np.sqrt(end @ end)
    transverse = y_axis - (x @ y_axis) * x
    if np.sqrt(transverse @ transverse) < 1e-6:
        return None
    y = transverse / np.sqrt(transverse @ transverse)
    return np.column_stack([x, y, np.cross(x, y)])


def _vector(text):
    return np.array(text.split(), dtype=float)


def _check_mass(document, element, link, expected):
    """Compare the mass of `link` with the `expected` mass by density and section [kg]."""
    mass = link.inertial.mass
    problem = (
        f'flexible link "{link.name}" weighs {mass:g} kg, but density and section make '
        f'{expected:g} kg'
    )
    if is_implausible(mass / expected, MASS_TOLERANCE):
        document.warn(
            document.line(element),
            problem,
            'Check the units: mass [kg], density [kg/m3], sizes [m]',
        )
    elif abs(mass / expected - 1) > MASS_TOLERANCE:
        raise document.error(
            element,
            problem,
            'Correct one of them; motors and payloads belong in links of their own',
        )


def _read_discretisation(document, element, children, link, section, twist_coupling):
    stiffness = section.stiffness
    modes = only(document, children, 'modes')
    elements = only(document, children, 'elements')
    if modes is not None and elements is not None:
        raise document.error(
            elements, f'flexible link "{link}" has <modes> and <elements>', 'Keep one of them'
        )
    tag, chosen = ('modes', modes) if elements is None else ('elements', elements)
    if chosen is None:
        values: dict[str, Any] = {
            name: row.default for name, row in FLEXIBILITY['modes'].attributes.items()
        }
    else:
        read_children(document, chosen, ())
        values = read_attributes(document, chosen, FLEXIBILITY[tag])
    where = element if chosen is None else chosen
    if tag == 'modes' and values['count'] is not None:
        raise document.error(
            where,
            f'flexible link "{link}" is a straight beam, and its <modes> have a count',
            'Give the number of shapes by direction, for instance bending_y="2"',
        )
    if tag == 'elements' and min(stiffness['kGAy'], stiffness['kGAz']) < np.inf:
        raise document.error(
            where,
            f'flexible link "{link}" has finite elements and a section that shears',
            'Describe it by <modes>, or remove its kGAy, kGAz or shear_factor',
        )
    coordinates = _counts(section, chosen, values, twist_coupling)
    total = 0
    for direction, count in coordinates.items():
        key = STIFFNESS_OF[direction]
        if count != 0 and np.isnan(stiffness[key]):
            unit = FLEXIBILITY['section'].attributes[key].unit
            remedy = f'<section> {key} [{unit}]' if children['section'] else '<material> G [Pa]'
            raise document.error(
                where,
                f'flexible link "{link}" has coordinates of {direction} but no {key}',
                f'Give its {remedy}, or set {direction}="0" in <{tag}>',
            )
        if tag == 'elements':
            max_count = values['count'] * (2 if direction.startswith('bending') else 1)
            if count != 'all' and count > max_count:
                raise document.error(
                    where,
                    f'{values["count"]} elements of "{link}" have no {count} modes of {direction}',
                    f'Ask for at most {max_count}, or give more elements',
                )
        total += max_count if count == 'all' else count
    if not total:
        raise document.error(
            where,
            f'flexible link "{link}" has no elastic coordinates',
            'Give it at least one, or remove it from <flexibility>',
        )
    if total > MAX_SEGMENT_COORDINATES:
        raise document.error(
            where,
            f'a segment of flexible link "{link}" has {total} elastic coordinates',
            f'Keep to {MAX_SEGMENT_COORDINATES}, with more segments of fewer elements, or with a '
            "number of modes instead of 'all'",
        )
    if total * values['segments'] > MAX_ELASTIC_COORDINATES:
        raise document.error(
            where,
            f'flexible link "{link}" has {total * values["segments"]} elastic coordinates',
            f'Keep to {MAX_ELASTIC_COORDINATES}, with fewer segments or fewer {tag}',
        )
    return {
        'coordinates': coordinates,
        'elements': values['count'] if tag == 'elements' else 0,
        'segments': values['segments'],
        'boundary': values.get('boundary', 'static'),
    }


def _counts(section, chosen, values, twist_coupling):
    """Coordinates by direction, with the defaults of modes where `chosen` has none."""
    counts = {direction: values[direction] for direction in DIRECTIONS}
    if values.get('boundary') != 'static':  # elements have no boundary
        return counts
    defaults = _defaults_of_varying(section, values['segments'])
    defaults |= coupled_defaults(twist_coupling, counts, section.stiffness, values['segments'])
    written = () if chosen is None else chosen.attrib
    return counts | {name: count for name, count in defaults.items() if name not in written}


def _defaults_of_varying(section, segments):
    """Default coordinates of planes whose section varies or shears."""
    if segments > 1:
        return {}
    return {
        direction: VARYING_BENDING
        for direction, shear in (('bending_y', 'kGAy'), ('bending_z', 'kGAz'))
        if section.profile is not None or section.stiffness[shear] < np.inf
    }


def _read_damping(document, children, link):
    element = only(document, children, 'damping')
    if element is None:
        return {'damping_ratio': 0.0, 'damping_time': 0.0}
    read_children(document, element, ())
    values = read_attributes(document, element, FLEXIBILITY['damping'])
    ratio, time = values['ratio'], values['time_constant']
    if (ratio is None) == (time is None):
        what = 'neither a ratio nor' if ratio is None else 'both a ratio and'
        raise document.error(
            element, f'the <damping> of "{link}" has {what} a time_constant', 'Give one of them'
        )
    return {'damping_ratio': ratio or 0.0, 'damping_time': time or 0.0}


def _read_sensors(document, elements, link, length, coordinates):
    sensors = {}
    for element in elements:
        read_children(document, element, ())
        values = read_attributes(document, element, FLEXIBILITY['flex_sensor'])
        name, start, end = values['name'], values['from'], values['to']
        if name in sensors:
            raise document.error(
                element,
                f'flexible link "{link}" has two flex sensors "{name}"',
                'Rename one of them',
            )
        if not start <= end <= length * (1 + 1e-9):
            raise document.error(
                element,
                f'flex sensor "{name}" reaches from {start:g} to {end:g} m on a beam of '
                f'{length:g} m',
                'Give 0 <= from <= to <= length',
            )
        direction = _BENDING_IN[values['plane']]
        if coordinates is not None and not coordinates[direction]:
            raise document.error(
                element,
                f'flex sensor "{name}" measures in the plane {values["plane"]}, but '
                f'flexible link "{link}" has no coordinates of {direction}',
                f'Give it coordinates of {direction}, or remove the sensor',
            )
        sensors[name] = FlexSensor(name, min(start, length), min(end, length), values['plane'])
    return tuple(sensors.values())


def _section_inertia(document, element, link, axes, length, profile):
    """Inertia (3,) [kg m] per length: the <inertial> minus a thin rod of the same mass."""
    mass, (middle, divisor) = link.inertial.mass, slender_moments(profile)
    centre = axes.T @ link.inertial.centre / length
    where = 'half' if profile is None else f'{middle:.3g} of'
    if abs(centre[0] - middle) >= 0.25 or np.abs(centre[1:]).max() > 0.25:
        raise document.error(
            element,
            f'the beam of "{link.name}" is off the link: its centre of mass lies at '
            f'{centre[0] * length:.4g} of {length:.4g} m along the beam and '
            f'{np.hypot(*centre[1:]) * length:.4g} m beside it',
            f'Correct end [m], or the <origin> of the <inertial>, which is at {where} the beam',
        )
    inertia = axes.T @ link.inertial.inertia @ axes
    rod = mass * length**2 / divisor
    residual = np.array([inertia[0, 0], inertia[1, 1] - rod, inertia[2, 2] - rod])
    products = np.abs(inertia[[0, 0, 1], [1, 2, 2]]).max()
    off_centre = np.abs(centre - [middle, 0, 0]).max()
    mismatch = max(-residual[1:].min(), (residual[1:] - inertia[0, 0]).max(), products)
    if off_centre > BEAM_INERTIA_TOLERANCE or mismatch > BEAM_INERTIA_TOLERANCE * rod:
        document.warn(
            document.line(element),
            f'the <inertial> of flexible link "{link.name}" is not that '
            f'of {"a uniform beam" if profile is None else "the varying beam"} of {mass:g} kg and '
            f'{length:g} m, as which it is simulated',
            f'Put the centre of mass at {middle * length:g} m along the beam and give {rod:.6g} '
            'kg m2 across it',
        )
    if residual[0] < MIN_POLAR_MOMENT_RATIO * rod:
        residual[0] = 0.0
    return np.maximum(residual, 0.0) / length


def _polar_inertia(document, element, link, mass_properties):
    """Moment about the beam per length [kg m] if <inertial> has none."""
    problem = f'<inertial> gives flexible link "{link}" no moment of inertia about its beam'
    remedy = 'Give it in <inertia>: ixx, if the beam lies along x [kg m2]'
    if mass_properties is None:
        raise document.error(element, f'{problem}, which torsion needs', remedy)
    document.warn(
        document.line(element),
        f'{problem}; density and section make {mass_properties.polar_inertia:.6g} kg m2 per m',
        remedy,
    )
    return mass_properties.polar_inertia
