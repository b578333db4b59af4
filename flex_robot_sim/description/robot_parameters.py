"""
Numbers of a robot by name: `forearm.EIz`, `shoulder.coulomb`, `tool.mass`.

Identification and sweeps name the numbers of a robot by such paths. A path is the name of a link
or a joint, a dot, and a word of QUANTITIES.
"""

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import numpy as np

from flex_robot_sim.description.links import Inertial, Joint, Link
from flex_robot_sim.description.robot import RobotDescription
from flex_robot_sim.util.exceptions import UsageError

RANGE_FACTOR = 100.0        # default bounds of a number, up and down
END_TOLERANCE = 1e-3        # of a child on the end of a beam, over its length
MIN_LENGTH_RATIO = 0.5      # shortest length of a beam over the described one
MAX_DAMPING_RATIO = 0.9
MAX_SUGGESTIONS = 6         # names in a complaint


class Parameter(NamedTuple):
    """A number of a robot."""

    path: str
    unit: str
    value: float                # in the description
    lower: float
    upper: float
    group: str                  # 'stiffness', 'damping', 'friction', 'mass' or 'geometry'
    meaning: str

    @property
    def is_relative(self) -> bool:
        """Whether value and bounds are above zero, so that changes are relative."""
        return self.value > 0.0 and self.lower > 0.0


class FitQuantity(NamedTuple):
    """A quantity: the part of a path after the dot."""

    unit: str
    group: str
    meaning: str
    value: Callable[[Any], float | None]                # of a Link or Joint; None: not applicable
    changed: Callable[[Any, float], Any]               # returns the Link or Joint with a new value


def _beam_quantity(unit, name, direction, meaning):
    def value(link):
        is_flexible = link.beam is not None and link.beam.count(direction) > 0
        return getattr(link.beam, name) if is_flexible else None

    def changed(link, number):
        return replace(link, beam=replace(link.beam, **{name: number}))
    return FitQuantity(unit, 'stiffness', meaning, value, changed)


def _joint_quantity(unit, group, meaning, name, has=lambda joint: joint.moves):
    def value(joint):
        return getattr(joint, name) if has(joint) else None

    def changed(joint, number):
        return replace(joint, **{name: number})
    return FitQuantity(unit, group, meaning, value, changed)


def _friction_quantity(unit, meaning, name):
    def changed(joint, number):
        return replace(joint, friction=joint.friction.with_value(name, number))
    return FitQuantity(unit, 'friction', meaning,
                       lambda joint: getattr(joint.friction, name) if joint.moves else None,
                       changed)


def _has_gear(joint):
    return joint.moves and np.isfinite(joint.stiffness)


def _has_spring(joint):
    return joint.moves and joint.spring_stiffness > 0.0


def _with_stiffness_factor(link, factor):
    beam = link.beam
    return replace(link, beam=replace(beam, EIy=factor * beam.EIy, EIz=factor * beam.EIz,
                                      EA=factor * beam.EA))


def _damping(link):
    if link.beam is None or not link.beam.freedom:
        return None
    return link.beam.damping_time or link.beam.damping_ratio


def _with_damping(link, number):
    name = 'damping_time' if link.beam.damping_time else 'damping_ratio'
    return replace(link, beam=replace(link.beam, **{name: number}))


def _with_mass(link, mass):
    if link.inertial is None:
        return replace(link, inertial=Inertial(mass, np.zeros(3), np.zeros((3, 3))))
    inertial, share = link.inertial, mass / link.inertial.mass if link.inertial.mass else 1.0
    beam = link.beam and replace(link.beam, mass_per_length=share * link.beam.mass_per_length,
                                 section_inertia=share * link.beam.section_inertia)
    return replace(link, beam=beam, inertial=replace(
        inertial, mass=mass, inertia=share * inertial.inertia))


def _with_length(link, length):
    """Change the length of a uniform beam at constant mass per length."""
    beam, share = link.beam, length / link.beam.length
    along = beam.axes[:, 0]
    # inertia of a thin rod; the remainder is that of the sections
    rod = link.inertial.mass * beam.length**2 / 12 * (np.eye(3) - np.outer(along, along))
    centre = link.inertial.centre
    return replace(link, beam=replace(beam, end=share * beam.end, length=length),
                   inertial=Inertial(share * link.inertial.mass,
                                     centre + (share - 1) * (along @ centre) * along,
                                     share * (link.inertial.inertia - rod) + share**3 * rod))


LINK_QUANTITIES = {
    'stiffness': FitQuantity(
        '', 'stiffness', "factor of EIy, EIz and EA, as Young's modulus is one",
        lambda link: None if link.beam is None or not link.beam.freedom else 1.0,
        _with_stiffness_factor),
    'EIy': _beam_quantity('N m2', 'EIy', 'bending_z', 'resists bending_z'),
    'EIz': _beam_quantity('N m2', 'EIz', 'bending_y', 'resists bending_y'),
    'GJ': _beam_quantity('N m2', 'GJ', 'torsion', 'resists torsion'),
    'EA': _beam_quantity('N', 'EA', 'stretch', 'resists stretch'),
    'damping': FitQuantity('', 'damping', 'ratio, or time constant [s], whichever the link has',
                           _damping, _with_damping),
    'mass': FitQuantity('kg', 'mass', 'of the link; its inertia goes with it', lambda link: (
        link.inertial.mass if link.inertial is not None else 0.0), _with_mass),
    'length': FitQuantity(
        'm', 'geometry', 'free length of the beam; what rides on its end moves along',
        lambda link: link.beam.length if link.beam is not None else None, _with_length),
}
JOINT_QUANTITIES = {
    'stiffness': _joint_quantity('N m/rad', 'stiffness', 'of the gear', 'stiffness', _has_gear),
    'damping': _joint_quantity('N m s/rad', 'damping', 'of the gear', 'damping', _has_gear),
    'viscous': _friction_quantity('N m s/rad', '`damping` of <dynamics>', 'viscous_friction'),
    'coulomb': _friction_quantity('N m', '`friction` of <dynamics>', 'coulomb_friction'),
    'rotor_inertia': _joint_quantity('kg m2', 'mass', 'of the motor about its own axis',
                                     'rotor_inertia', lambda joint: joint.rotor_inertia > 0.0),
    'spring_stiffness': _joint_quantity(
        'N m/rad', 'stiffness', 'of the spring across the joint, as of a clamp that gives',
        'spring_stiffness', _has_spring),
}
QUANTITIES = {'link': LINK_QUANTITIES, 'joint': JOINT_QUANTITIES}


def parameters_of(description: RobotDescription) -> dict[str, Parameter]:
    """Return all parameters of a robot by path, base to tip."""
    found = {}
    for link in description.links[1:]:
        for word, row in LINK_QUANTITIES.items():
            value = row.value(link)
            if value is not None:
                found[f'{link.name}.{word}'] = _parameter(f'{link.name}.{word}', row, value,
                                                          *_bounds(description, link, word, value))
    for joint in description.joints:
        for word, row in JOINT_QUANTITIES.items():
            value = row.value(joint)
            if value is not None:
                path = f'{joint.name}.{word}'
                if path in found:         # a link and a joint have the same name
                    path = f'joint:{path}'
                found[path] = _parameter(path, row, value, *_default_bounds(value))
    return found


def _parameter(path, row, value, lower, upper):
    return Parameter(path, row.unit, float(value), lower, upper, row.group, row.meaning)


def _bounds(description, link, word, value):
    if word == 'damping':
        return (value / RANGE_FACTOR if value else 0.0), (
            np.inf if link.beam.damping_time else MAX_DAMPING_RATIO)
    if word == 'length':
        occupied = [sensor.end for sensor in link.beam.sensors]
        occupied += [station for joint in description.children(link.name)
                     if (station := link.beam.station(joint.position))
                    < (1 - END_TOLERANCE) * value]
        return max([MIN_LENGTH_RATIO * value, *occupied]), value / MIN_LENGTH_RATIO
    return _default_bounds(value)


def _default_bounds(value):
    return (value / RANGE_FACTOR, value * RANGE_FACTOR) if value > 0.0 else (0.0, np.inf)


def chosen(known: Mapping[str, Any], words: Iterable[str]) -> list[str]:
    """Names that match words or patterns with `*`, each once; UsageError without a match."""
    names: dict[str, None] = {}
    for word in words:
        matches = [name for name in known if name == word or fnmatchcase(name, word)]
        if not matches:
            raise UsageError(f'no parameter "{word}". {near(word, known)}')
        names.update(dict.fromkeys(matches))
    return [*names]


def near(word: str, known: Iterable[str]) -> str:
    """Return a sentence with the names nearest to a word."""
    known = [*known]
    head, _, tail = word.rpartition('.')
    related = [name for name in known if head and name.startswith(f'{head}.')]
    similar = difflib.get_close_matches(word, known, MAX_SUGGESTIONS, 0.5)
    related = [*dict.fromkeys([*similar, *related, *(
        name for name in known if tail and name.endswith(f'.{tail}'))])]
    if not known:
        return 'There are none.'
    if not related:
        return (f'Known: {", ".join(known[:4 * MAX_SUGGESTIONS])}'
                f'{", ..." * (len(known) > 4 * MAX_SUGGESTIONS)}.')
    return f'Near: {", ".join(related[:MAX_SUGGESTIONS])}.'


def expect_possible(description: RobotDescription, path: str, value: float) -> None:
    """Refuse an impossible value of a known parameter."""
    parameter, (kind, _, word) = parameters_of(description)[path], place_of(description, path)
    lowest = parameter.lower if word == 'length' else 0.0
    highest = parameter.upper if kind == 'link' and word in ('damping', 'length') else np.inf
    if not lowest <= value <= highest:
        raise UsageError(f'{path} = {value:g} cannot be: it must be '
                         + (f'between {lowest:g} and {highest:g}.' if highest < np.inf else
                            f'{"above" if parameter.lower > 0.0 else "at least"} 0.'))
    with_parameters(description, {path: value})


def with_parameters(description: RobotDescription,
                    values: Mapping[str, float]) -> RobotDescription:
    """Copy of a robot with new values [SI] by path; UsageError if unknown or impossible."""
    if not values:
        return description
    known = parameters_of(description)
    for path, value in values.items():
        if path not in known:
            raise UsageError(f'no parameter "{path}". {near(path, known)}')
        if not np.isfinite(value) or value < 0.0 or (value == 0.0 and known[path].lower > 0.0):
            raise UsageError(f'{path} = {value:g} cannot be: it must be '
                             f'{"above" if known[path].lower > 0.0 else "at least"} 0.')
    links = {link.name: link for link in description.links}
    joints = {joint.name: joint for joint in description.joints}
    for path, value in values.items():
        kind, name, word = place_of(description, path)
        if kind == 'joint':
            joints[name] = JOINT_QUANTITIES[word].changed(joints[name], float(value))
            continue
        before = links[name]
        links[name] = LINK_QUANTITIES[word].changed(before, float(value))
        if word == 'length':
            for joint in description.children(name):
                joints[joint.name] = _moved_joint(joints[joint.name], before, links[name])
    return replace(description, links=tuple(links.values()), joints=tuple(joints.values()))


def place_of(description: RobotDescription, path: str) -> tuple[str, str, str]:
    """Return 'link' or 'joint', the name, and the word of a known path."""
    name, _, word = path.removeprefix('joint:').rpartition('.')
    is_link = not path.startswith('joint:') and word in LINK_QUANTITIES and any(
        link.name == name and LINK_QUANTITIES[word].value(link) is not None
        for link in description.links)
    return 'link' if is_link else 'joint', name, word


def _moved_joint(joint: Joint, before: Link, after: Link) -> Joint:
    """Return a joint of a beam, moved with the end of the beam if it is there."""
    assert before.beam is not None and after.beam is not None
    if before.beam.station(joint.position) < (1 - END_TOLERANCE) * before.beam.length:
        return joint
    return replace(joint, position=joint.position + after.beam.end - before.beam.end)
