"""What `<flexibility>` says: elastic beams and joints that give."""

from dataclasses import replace

import numpy as np

from flex_robot_sim.beams import section as sections
from flex_robot_sim.description.robot import ElasticBeam, FlexSensor
from flex_robot_sim.description.values import only, read_attributes, read_children, unknown_name
from flex_robot_sim.description.words import DIRECTIONS, FLEXIBILITY

MASS_AGREEMENT = 0.01       # of the mass in <inertial> with density and section        [-]
BEAM_MISMATCH = 0.01        # of <inertial> with a uniform beam, before a warning       [-]
STATION_TOLERANCE = 1e-3    # of the length, how far a child may hang beyond an end     [-]

_SHAPES = {'rectangle': sections.rectangle, 'tube': sections.tube, 'rod': sections.rod}
_STIFFNESS_OF = {'bending_y': 'EIz', 'bending_z': 'EIy', 'torsion': 'GJ', 'stretch': 'EA'}
_STIFFNESSES = ('EIy', 'EIz', 'GJ', 'EA')


def add_flexibility(document, element, links, joints):
    """
    Make links and joints flexible as the <flexibility> `element` says (None: nothing to do).

    :param links: {name: Link}, replaced in place; joints: {name: Joint}, likewise.
    """
    if element is None:
        return
    read_attributes(document, element, FLEXIBILITY['flexibility'])
    children = read_children(document, element, FLEXIBILITY['flexibility'].children)
    for tag, items, add in (('link', links, _add_beam), ('joint', joints, _add_gear)):
        seen = set()
        for child in children[tag]:
            values = read_attributes(document, child, FLEXIBILITY[tag])
            name = values['name']
            if name not in items:
                raise unknown_name(document, document.line(child),
                                   f'<flexibility> names the {tag} "{name}", which the robot does '
                                   'not have', name, items)
            if name in seen:
                raise document.error(child, f'<flexibility> describes the {tag} "{name}" twice',
                                     'Keep one of them')
            seen.add(name)
            items[name] = add(document, child, values, items[name])
    for link in links.values():
        if link.beam is not None:
            _check_stations(document, link, joints)


def _add_gear(document, element, values, joint):
    read_children(document, element, ())
    if not joint.moves:
        kind = 'a mimic joint, which is held' if joint.mimics else 'fixed'
        raise document.error(element, f'joint "{joint.name}" is {kind}, so it has no gear',
                             'Remove it from <flexibility>')
    if values['stiffness'] is None:
        if values['damping'] > 0:
            raise document.error(
                element, f'joint "{joint.name}" has a damping but no stiffness',
                "Give its stiffness, or put the friction into the joint's <dynamics>")
        if values['rotor_inertia'] == 0:
            raise document.error(
                element, f'joint "{joint.name}" has neither stiffness nor rotor_inertia',
                'Give one of them, or remove the joint from <flexibility>')
        values['stiffness'] = np.inf
    elif values['rotor_inertia'] == 0:
        raise document.error(
            element, f'flexible joint "{joint.name}" has no rotor_inertia, so that its motor side '
            'has no mass', 'Give rotor_inertia [kg m2]')
    return replace(joint, stiffness=values['stiffness'], damping=values['damping'],
                   rotor_inertia=values['rotor_inertia'], gear_ratio=values['gear_ratio'])


def _add_beam(document, element, values, link):
    children = read_children(document, element, FLEXIBILITY['link'].children)
    axes, length = _beam_frame(document, element, link, values)
    if link.inertial is None or not link.inertial.mass > 0:
        raise document.error(element, f'flexible link "{link.name}" has no mass',
                             'Give the link an <inertial> with the mass of the whole beam')
    stiffness, mass_per_length = _read_section(document, element, children, link.name)
    discretisation = _read_discretisation(document, element, children, link.name, stiffness)
    measured = link.inertial.mass / length
    if mass_per_length and abs(measured / mass_per_length - 1) > MASS_AGREEMENT:
        raise document.error(
            element, f'flexible link "{link.name}" weighs {link.inertial.mass:g} kg, but density '
            f'and section make {mass_per_length * length:g} kg',
            'Correct one of them; motors and payloads belong in links of their own')
    beam = ElasticBeam(
        end=np.array(values['end']), axes=axes, length=length, mass_per_length=measured,
        section_inertia=_section_inertia(document, element, link, axes, length), **stiffness,
        **discretisation, **_read_damping(document, children, link.name),
        sensors=_read_sensors(document, children['flex_sensor'], link.name, length))
    return replace(link, beam=beam)


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
        raise document.error(element, f'y_axis of "{link.name}" lies along the beam',
                             'Give a y_axis across the beam, for instance y_axis="0 0 1"')
    y = across / np.sqrt(across @ across)
    return np.column_stack([x, y, np.cross(x, y)]), length


def _read_section(document, element, children, link):
    """Stiffnesses {EIy, EIz, GJ, EA}, nan where not given, and density * area [kg/m] or None."""
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
                for name in _STIFFNESSES}, None
    if material is None:
        raise document.error(shape, f'the <{tag}> of "{link}" has no <material>',
                             'Add <material E="..." G="..." density="..."/>')
    read_children(document, material, ())
    made_of = read_attributes(document, material, FLEXIBILITY['material'])
    if tag == 'tube' and values['wall'] > values['outer'] / 2:
        raise document.error(shape, f'the wall of "{link}" is thicker than half its diameter',
                             'Give wall [m] below outer / 2')
    _warn_of_units(document, material, link, made_of)
    form = _SHAPES[tag](**values)
    if not 0 < min(form) <= max(form) < np.inf:     # rounding leaves no wall of a huge tube
        raise document.error(shape, f'the <{tag}> of "{link}" is out of all proportion',
                             'Give its sizes in m')
    density = made_of['density']
    return ({'EIy': made_of['E'] * form.Iy, 'EIz': made_of['E'] * form.Iz,
             'GJ': made_of['G'] * form.J, 'EA': made_of['E'] * form.area},
            None if density is None else density * form.area)


def _warn_of_units(document, material, link, made_of):
    for name in ('E', 'G'):
        if made_of[name] < 1e5:
            document.warn(document.line(material), f'{name} = {made_of[name]:g} Pa of "{link}" is '
                          'softer than any gel', 'Give it in Pa, not in GPa or MPa')
    if made_of['density'] is not None and not 1 < made_of['density'] < 30e3:
        document.warn(document.line(material), f'density = {made_of["density"]:g} kg/m3 of '
                      f'"{link}" is that of no solid', 'Give it in kg/m3')


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
    for direction, count in coordinates.items():
        needed = _STIFFNESS_OF[direction]
        if count != 0 and np.isnan(stiffness[needed]):
            unit = FLEXIBILITY['section'].attributes[needed].unit
            raise document.error(
                where, f'flexible link "{link}" has coordinates of {direction} but no {needed}',
                f'Give its <section> {needed} [{unit}], or set {direction}="0" in <{tag}>')
        if tag == 'elements' and count != 'all':
            most = values['count'] * (2 if direction.startswith('bending') else 1)
            if count > most:
                raise document.error(
                    where, f'{values["count"]} elements of "{link}" have no {count} modes of '
                    f'{direction}', f'Ask for at most {most}, or give more elements')
    if not any(coordinates.values()):
        raise document.error(where, f'flexible link "{link}" has no elastic coordinates',
                             'Give it at least one, or remove it from <flexibility>')
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


def _read_sensors(document, elements, link, length):
    sensors = {}
    for element in elements:
        read_children(document, element, ())
        values = read_attributes(document, element, FLEXIBILITY['flex_sensor'])
        name, start, end = values['name'], values['from'], values['to']
        if name in sensors:
            raise document.error(element, f'flexible link "{link}" has two flex sensors "{name}"',
                                 'Rename one of them')
        if not start < end <= length * (1 + 1e-9):
            raise document.error(
                element, f'flex sensor "{name}" reaches from {start:g} to {end:g} m on a beam of '
                f'{length:g} m', 'Give 0 <= from < to <= length')
        sensors[name] = FlexSensor(name, start, min(end, length), values['plane'])
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
    return np.maximum(beyond, 0.0) / length


def _check_stations(document, link, joints):
    length = link.beam.length
    for joint in joints.values():
        if joint.parent != link.name:
            continue
        station = link.beam.station(joint.position)
        if not -STATION_TOLERANCE * length <= station <= (1 + STATION_TOLERANCE) * length:
            raise document.error_at(
                joint.line, f'joint "{joint.name}" would ride at {station:.4g} m on the beam of '
                f'link "{link.name}", which ends at {length:.4g} m',
                'Move its <origin> between the ends of the beam, or correct the end of the beam')
