"""Elements of a flexible link; mass and inertia follow from section, material and length."""

from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.description.attribute_text import (
    attribute_text,
    attribute_texts,
    expect_one_of,
    number,
    unusable,
    vector,
    vector_text,
)
from flex_robot_sim.description.elastic_link import beam_axes
from flex_robot_sim.description.geometry import (
    MATERIALS,
    Material,
    Rectangle,
    Rod,
    SectionStiffness,
    SolidSection,
    Tube,
    beam_inertia,
    polar_moments,
)
from flex_robot_sim.description.orientation import roll_pitch_yaw
from flex_robot_sim.description.urdf_elements import (
    add_element,
    flexible_element,
    inertial_element,
    link_element,
    visual_element,
)
from flex_robot_sim.description.words import FLEXIBILITY
from flex_robot_sim.util.exceptions import SettingError

_TAGS = {Rectangle: 'rectangle', Tube: 'tube', Rod: 'rod', SectionStiffness: 'section'}


def beam_link(
    name: str,
    section: SolidSection | SectionStiffness,
    material: str | Material | None,
    length: float | None,
    end: ArrayLike | None,
    y_axis: str | ArrayLike,
    mass: float | None,
    section_inertia: ArrayLike | None,
    counts: Mapping[str, Any],
    damping: Mapping[str, Any],
) -> tuple[Element, Element]:
    """
    Return the <link>, and that in <flexibility>, of the arguments of `ArmBuilder.add_beam`.

    :param counts: bending_y, bending_z, torsion, stretch, elements, segments, boundary.
    :param damping: damping_ratio, damping_time.
    """
    owner = f'link "{name}"'
    tip = _end(owner, length, end)
    y_text = attribute_text(owner, 'y_axis', y_axis, FLEXIBILITY['link'].attributes['y_axis'])
    if not isinstance(section, tuple(_TAGS)):
        raise unusable(
            owner, 'section', section, 'a Rectangle, a Tube, a Rod or a SectionStiffness'
        )
    tag = _TAGS[type(section)]
    parts = {tag: attribute_texts(f'the section of {owner}', FLEXIBILITY[tag], section._asdict())}
    if not isinstance(section, SectionStiffness) and not (
        0 < min(section.outline) <= max(section.outline) < np.inf
    ):
        raise SettingError(f'the section of {owner} is out of all proportion: give its sizes in m')
    constants = _material(owner, section, material)
    if constants is not None:
        parts['material'] = attribute_texts(
            f'the material of {owner}', FLEXIBILITY['material'], constants._asdict()
        )
    parts |= _discretisation(owner, counts) | _damping(owner, damping)
    weight, moments = _mass(owner, section, constants, mass, section_inertia, tip)
    if not moments[0] and counts['torsion'] != 0:
        raise SettingError(
            f'section_inertia of {owner}: torsion needs a moment of inertia about '
            'the beam. Give three moments [kg m], or torsion=0'
        )
    beam = {'name': name, 'end': vector_text(tip), 'y_axis': y_text}
    return (
        _link(name, tip, y_text, weight, moments, section),
        flexible_element('link', beam, parts),
    )


def _discretisation(owner, counts):
    values = {name: value for name, value in counts.items() if value is not None}
    if 'elements' not in values:
        return {'modes': attribute_texts(owner, FLEXIBILITY['modes'], values)}
    if 'boundary' in values:
        raise SettingError(
            f'boundary of {owner} belongs to assumed modes: leave out elements or boundary'
        )
    values['count'] = values.pop('elements')
    return {
        'elements': attribute_texts(owner, FLEXIBILITY['elements'], values, {'count': 'elements'})
    }


def _damping(owner, damping):
    ratio, time = damping['damping_ratio'], damping['damping_time']
    if ratio is not None and time is not None:
        raise SettingError(f'damping_ratio and damping_time of {owner}: give one of them')
    return {
        'damping': attribute_texts(
            owner,
            FLEXIBILITY['damping'],
            {'ratio': ratio, 'time_constant': time},
            {'ratio': 'damping_ratio', 'time_constant': 'damping_time'},
        )
    }


def _end(owner, length, end):
    """Return the far end of a beam (3,) [m]."""
    if (length is None) == (end is None):
        raise SettingError(f'length or end of {owner}: give one of them [m]')
    if length is not None:
        return np.array([number(owner, 'length', length, 'm', above=0.0), 0.0, 0.0])
    tip = vector(owner, 'end', end, 'm')
    if not tip.any():
        raise SettingError(f'end of {owner} must differ from zero [m]')
    return tip


def _material(owner, section, material):
    """Return the Material of a solid section; None for SectionStiffness."""
    if isinstance(section, SectionStiffness):
        if material is not None:
            raise SettingError(
                f'material of {owner}: SectionStiffness needs none. Leave it out, and give mass'
            )
        return None
    if isinstance(material, Material):
        return material
    if material is None:
        raise SettingError(
            f'material of {owner} is missing: give one of '
            f'{", ".join(MATERIALS)}, or Material(E, G, density)'
        )
    expect_one_of(owner, 'material', material, MATERIALS)
    return MATERIALS[material]


def _mass(owner, section, material, mass, section_inertia, end):
    """Return the mass of a beam [kg], and its section_inertia (3,) [kg m]."""
    length = float(np.sqrt(end @ end))
    density = None if material is None else material.density
    if mass is not None:
        if density is not None:
            raise SettingError(
                f'mass of {owner}: the density of its material determines it. '
                'Leave one of them out'
            )
        weight = mass
    elif density is not None:
        weight = density * section.outline.area * length
    else:
        raise SettingError(
            f'mass of {owner} is missing [kg]'
            + ('' if material is None else ': give it, or the density of the material')
        )
    weight = number(owner, 'mass', weight, 'kg', above=0.0)
    if section_inertia is not None:
        moments = vector(owner, 'section_inertia', section_inertia, 'kg m')
        if moments.min() < 0:
            raise SettingError(f'section_inertia of {owner} must be >= 0 [kg m]')
        return weight, moments
    if material is None:
        return weight, np.zeros(3)
    return weight, polar_moments(section, weight, length)


def _link(name, end, y_axis, mass, moments, section):
    """Return the <link> with its inertial and, of a solid section, its visual."""
    length = float(np.sqrt(end @ end))
    direction = np.array(y_axis.split(), float)
    axes = beam_axes(end, direction / np.sqrt(direction @ direction))
    if axes is None:
        axes = np.eye(3)  # the reader refuses this y_axis
    inertia = axes @ np.diag(beam_inertia(mass, length, moments)) @ axes.T
    parts = [inertial_element(mass, end / 2, np.zeros(3), inertia)]
    if isinstance(section, (Rectangle, Tube, Rod)):
        parts.append(_visual_of(section, end, length, axes))
    return link_element(name, parts)


def _visual_of(section, end, length, axes):
    is_round = not isinstance(section, Rectangle)
    # the axis of a cylinder is z
    turn = roll_pitch_yaw(np.roll(axes, -1, axis=1) if is_round else axes)
    visual, geometry = visual_element(vector_text(end / 2), vector_text(turn))
    if is_round:
        add_element(geometry, 'cylinder', radius=repr(section.size[0] / 2), length=repr(length))
    else:
        add_element(geometry, 'box', size=vector_text(np.array([length, *section.size])))
    return visual
