"""Elements of a flexible link; mass and inertia follow from section, material and length."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.description.attribute_text import (
    array_or_nan,
    attribute_text,
    attribute_texts,
    expect_one_of,
    number,
    unusable,
    vector,
    vector_text,
)
from flex_robot_sim.description.composite_beam import composite_matrices
from flex_robot_sim.description.elastic_link import beam_axes
from flex_robot_sim.description.geometry import (
    MATERIALS,
    BeamSections,
    CompositeSection,
    Material,
    Rectangle,
    Rod,
    SectionStiffness,
    Tube,
    beam_inertia,
    polar_moments,
)
from flex_robot_sim.description.orientation import roll_pitch_yaw
from flex_robot_sim.description.section_stations import (
    SectionStation,
    mass_profile,
    outline_profile,
)
from flex_robot_sim.description.urdf_elements import (
    add_element,
    flexible_element,
    inertial_element,
    link_element,
    visual_element,
)
from flex_robot_sim.description.words import FLEXIBILITY
from flex_robot_sim.elastic.axis_curve import AxisCurve
from flex_robot_sim.elastic.section import Outline, Section
from flex_robot_sim.elastic.section_matrices import SectionMatrices, matrices_of_section
from flex_robot_sim.elastic.section_profile import SectionProfile, slender_moments
from flex_robot_sim.elastic.spatial_shapes import rigid_moments
from flex_robot_sim.util.exceptions import SettingError

_TAGS = {
    Rectangle: 'rectangle',
    Tube: 'tube',
    Rod: 'rod',
    SectionStiffness: 'section',
    CompositeSection: 'section',
}


def beam_link(
    name: str,
    section: BeamSections,
    material: str | Material | None,
    length: float | None,
    end: ArrayLike | None,
    y_axis: str | ArrayLike,
    mass: float | None,
    section_inertia: ArrayLike | None,
    counts: Mapping[str, Any],
    damping: Mapping[str, Any],
    axis: ArrayLike | None = None,
    twist_coupling: bool | None = None,
) -> tuple[Element, Element]:
    """
    Return the <link>, and that in <flexibility>, of the arguments of `ArmBuilder.add_beam`.

    :param counts: bending_y, bending_z, torsion, stretch, count, elements, segments, boundary.
    :param damping: damping_ratio, damping_time.
    """
    owner = f'link "{name}"'
    if not isinstance(twist_coupling, bool | None):
        raise unusable(owner, 'twist_coupling', twist_coupling, 'True, False or None')
    points = None if axis is None else _points(owner, axis, length, end)
    tip = _end(owner, length, end) if points is None else points[-1]
    y_text = attribute_text(owner, 'y_axis', y_axis, FLEXIBILITY['link'].attributes['y_axis'])
    stations = _stations(owner, section)
    section = stations[0][1]
    tag = _TAGS[type(section)]
    sections = [
        (
            tag,
            attribute_texts(
                f'the section of {owner}', FLEXIBILITY[tag], {**one._asdict(), 'at': at}
            ),
        )
        for at, one in stations
    ]
    for _, one in stations:
        if isinstance(one, (Rectangle, Tube, Rod)) and not (
            0 < min(one.outline) <= max(one.outline) < np.inf
        ):
            raise SettingError(
                f'the section of {owner} is out of all proportion: give its sizes in m'
            )
    constants = _material(owner, section, material)
    parts = {}
    if constants is not None:
        parts['material'] = attribute_texts(
            f'the material of {owner}', FLEXIBILITY['material'], constants._asdict()
        )
    if points is not None:
        parts['axis'] = {'points': vector_text(points.ravel())}
    parts |= _discretisation(owner, counts) | damping_element(owner, damping)
    twist = _twist(owner, stations)
    is_composite = isinstance(section, CompositeSection)
    curve = None
    if points is not None or twist or is_composite:
        points = np.array([np.zeros(3), tip]) if points is None else points
        curve = AxisCurve(points, _root_y_axis(points, y_text))
    attributes = {'name': name, 'end': vector_text(tip), 'y_axis': y_text}
    if twist_coupling is not None:
        attributes['twist_coupling'] = 'on' if twist_coupling else 'off'
    flexible = flexible_element('link', attributes, parts, sections)
    if curve is not None and is_composite:
        matrices = composite_matrices(owner, stations, twist, mass, section_inertia, curve.length)
        return _spatial_link(name, curve, matrices), flexible
    beam = _mean_beam(stations)
    arc = float(np.sqrt(tip @ tip)) if curve is None else curve.length
    weight, moments = _mass(owner, beam, constants, mass, section_inertia, arc)
    if curve is not None:
        if isinstance(section, SectionStiffness) and section_inertia is None and section.EA:
            y, z = (weight / arc * (EI or 0.0) / section.EA for EI in (section.EIy, section.EIz))
            moments = np.array([y + z, y, z])  # as the reader has them
        uniform = Section(weight / arc, moments, 1.0, 1.0, 1.0, 1.0)
        matrices = matrices_of_section(uniform, beam.profile, twist)
        return _spatial_link(name, curve, matrices), flexible
    if not moments[0] and counts['torsion'] != 0:
        raise SettingError(
            f'section_inertia of {owner}: torsion needs a moment of inertia about '
            'the beam. Give three moments [kg m], or torsion=0'
        )
    return _link(name, tip, y_text, weight, moments, stations, beam.profile), flexible


def _stations(owner, section):
    """Return pairs (at, section); one pair with at None for a uniform beam."""
    wanted = 'a Rectangle, a Tube, a Rod, a SectionStiffness or a CompositeSection'
    if isinstance(section, tuple(_TAGS)):
        return [(None, section)]
    if isinstance(section, str) or not isinstance(section, Sequence) or not section:
        raise unusable(owner, 'section', section, f'{wanted}, or pairs (at, section)')
    for pair in section:
        if (
            not isinstance(pair, tuple)
            or len(pair) != 2
            or not isinstance(pair[1], tuple(_TAGS))
            or type(pair[1]) is not type(section[0][1])
        ):
            raise unusable(
                owner, 'section', pair, f'a pair (at, section), all of one kind: {wanted}'
            )
        number(owner, 'at', pair[0], '', at_least=0.0)
    stations = [(float(at), one) for at, one in section]
    places = [at for at, _ in stations]
    if places != sorted(places) or len(places) < 2 or places[0] != 0 or places[-1] != 1:
        raise SettingError(f'section of {owner}: give its stations in order from at = 0 to at = 1')
    return stations


def _twist(owner, stations):
    """Return pairs of the share of the length and the pretwist [rad]; () without pretwist."""
    angles = [getattr(one, 'twist', None) for _, one in stations]
    if all(angle is None for angle in angles):
        return ()
    if None in angles:
        raise SettingError(f'twist of the section of {owner}: give it at every station [rad]')
    if stations[0][0] is None:
        return ((0.0, angles[0]), (1.0, angles[0]))
    return tuple((at, angle) for (at, _), angle in zip(stations, angles))


class _MeanBeam(NamedTuple):
    """Outline of a beam, a mean of its stations, and its profile."""

    outline: Outline | None  # None: stiffnesses only
    profile: SectionProfile | None  # None: uniform


def _mean_beam(stations):
    first = stations[0][1]
    is_solid = not isinstance(first, SectionStiffness)
    if stations[0][0] is None:
        return _MeanBeam(first.outline if is_solid else None, None)
    rows = [SectionStation(at, None) for at, _ in stations]
    if is_solid:
        shape = type(first)
        profile, mean = outline_profile(
            lambda **size: shape(**size).outline, [_sizes(one) for _, one in stations], rows
        )
        return _MeanBeam(mean, profile)
    mass = [1.0 if one.mass_per_length is None else one.mass_per_length for _, one in stations]
    return _MeanBeam(None, mass_profile(np.array(mass), rows))


def _sizes(section):
    return {name: size for name, size in section._asdict().items() if name != 'twist'}


def _discretisation(owner, counts):
    values = {name: value for name, value in counts.items() if value is not None}
    if 'elements' not in values:
        return {'modes': attribute_texts(owner, FLEXIBILITY['modes'], values)}
    if 'count' in values:
        raise SettingError(f'count of {owner} belongs to modes: leave out elements or count')
    if 'boundary' in values:
        raise SettingError(
            f'boundary of {owner} belongs to assumed modes: leave out elements or boundary'
        )
    values['count'] = values.pop('elements')
    return {
        'elements': attribute_texts(owner, FLEXIBILITY['elements'], values, {'count': 'elements'})
    }


def damping_element(owner: str, damping: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return {'damping': attributes} of the arguments damping_ratio and damping_time."""
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


def _points(owner, axis, length, end):
    """Return the points of an axis (k, 3) [m]."""
    if length is not None or end is not None:
        raise SettingError(f'length or end of {owner}: leave it out, its axis has them')
    points = array_or_nan(axis)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) < 2 or points[0].any():
        raise unusable(owner, 'axis', axis, 'points (k, 3) [m] from (0, 0, 0) on, at least two')
    return points


def _root_y_axis(points, y_axis):
    """Y axis at the root; any one across the curve where the reader refuses the given one."""
    direction, chord = np.array(y_axis.split(), float), points[1] - points[0]
    if np.cross(direction, chord).any():
        return direction / np.sqrt(direction @ direction)
    return np.eye(3)[np.argmin(np.abs(chord))]


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
    if isinstance(section, (SectionStiffness, CompositeSection)):
        if material is not None:
            raise SettingError(
                f'material of {owner}: {type(section).__name__} needs none. Leave it out, and '
                'give mass'
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


def _mass(owner, beam, material, mass, section_inertia, length):
    """Return the mass of a beam [kg], and its section_inertia (3,) [kg m]."""
    density = None if material is None else material.density
    if mass is not None:
        if density is not None:
            raise SettingError(
                f'mass of {owner}: the density of its material determines it. '
                'Leave one of them out'
            )
        weight = mass
    elif density is not None:
        weight = density * beam.outline.area * length
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
    return weight, polar_moments(beam.outline, weight, length)


def _link(name, end, y_axis, mass, moments, stations, profile):
    """Return the <link> with its inertial and, of a solid section, its visual."""
    section = stations[0][1]
    length = float(np.sqrt(end @ end))
    direction = np.array(y_axis.split(), float)
    axes = beam_axes(end, direction / np.sqrt(direction @ direction))
    if axes is None:
        axes = np.eye(3)  # the reader refuses this y_axis
    inertia = axes @ np.diag(beam_inertia(mass, length, moments, profile)) @ axes.T
    middle, _ = slender_moments(profile)
    parts = [inertial_element(mass, end * middle, np.zeros(3), inertia)]
    if isinstance(section, (Rectangle, Tube, Rod)) and profile is None:
        parts.append(_visual_of(section, end, length, axes))
    return link_element(name, parts)


def _spatial_link(name: str, curve: AxisCurve, matrices: SectionMatrices) -> Element:
    """Return the <link> of a spatial beam with its inertial."""
    total, first, second = rigid_moments(curve, matrices, 0.0)
    central = second - np.outer(first, first) / total
    inertia = np.trace(central) * np.eye(3) - central
    return link_element(name, [inertial_element(total, first / total, np.zeros(3), inertia)])


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
