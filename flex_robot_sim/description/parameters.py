"""
Numbers of a robot by name: `forearm.EIz`, `shoulder.coulomb`, `tool.mass`.

Whoever varies a robot, to fit it to a log or to sweep it, names its numbers in this way. A path is
the name of a link or a joint, a dot, and a word of WORDS.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import numpy as np

from flex_robot_sim.description.robot import Inertial, Joint, Link, RobotDescription
from flex_robot_sim.util.exceptions import UsageError

WIDE = 100.0            # factor to either side within which a number is looked for
AT_END = 1e-3           # of the length of a beam, from which a child rides on its end
SHORTEST = 0.5          # of the length of a beam, to which it may come
MOST_DAMPED = 0.9       # ratio
NEAR = 6                # names in a complaint


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
        """Whether it is above zero, so that a change of it is a factor."""
        return self.value > 0.0 and self.lower > 0.0


class Word(NamedTuple):
    """What may stand behind the dot."""

    unit: str
    group: str
    meaning: str
    value: Callable[[Any], float | None]                # of a Link or Joint; None: it has none
    changed: Callable[[Any, float], Any]                # the Link or Joint with another value


def _beam_word(unit, name, direction, meaning):
    def value(link):
        given = link.beam is not None and link.beam.count(direction) > 0
        return getattr(link.beam, name) if given else None

    def changed(link, number):
        return replace(link, beam=replace(link.beam, **{name: number}))
    return Word(unit, 'stiffness', meaning, value, changed)


def _joint_word(unit, group, meaning, name, has=lambda joint: joint.moves):
    def value(joint):
        return getattr(joint, name) if has(joint) else None

    def changed(joint, number):
        if name == 'coulomb_friction':      # what is beyond it at rest stays beyond it
            return replace(joint, coulomb_friction=number, static_friction=number + (
                joint.static_friction - joint.coulomb_friction))
        return replace(joint, **{name: number})
    return Word(unit, group, meaning, value, changed)


def _geared(joint):
    return joint.moves and np.isfinite(joint.stiffness)


def _sprung(joint):
    return joint.moves and joint.spring_stiffness > 0.0


def _stiffer(link, factor):
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
    """Shorten or lengthen a uniform beam, which keeps its mass per length."""
    beam, share = link.beam, length / link.beam.length
    along = beam.axes[:, 0]
    # of a thin rod, and what the sections have about their own axes
    rod = link.inertial.mass * beam.length**2 / 12 * (np.eye(3) - np.outer(along, along))
    centre = link.inertial.centre
    return replace(link, beam=replace(beam, end=share * beam.end, length=length),
                   inertial=Inertial(share * link.inertial.mass,
                                     centre + (share - 1) * (along @ centre) * along,
                                     share * (link.inertial.inertia - rod) + share**3 * rod))


LINK_WORDS = {
    'stiffness': Word('', 'stiffness', "factor of EIy, EIz and EA, as Young's modulus is one",
                      lambda link: None if link.beam is None or not link.beam.freedom else 1.0,
                      _stiffer),
    'EIy': _beam_word('N m2', 'EIy', 'bending_z', 'resists bending_z'),
    'EIz': _beam_word('N m2', 'EIz', 'bending_y', 'resists bending_y'),
    'GJ': _beam_word('N m2', 'GJ', 'torsion', 'resists torsion'),
    'EA': _beam_word('N', 'EA', 'stretch', 'resists stretch'),
    'damping': Word('', 'damping', 'ratio, or time constant [s], whichever the link has',
                    _damping, _with_damping),
    'mass': Word('kg', 'mass', 'of the link; its inertia goes with it', lambda link: (
        link.inertial.mass if link.inertial is not None else 0.0), _with_mass),
    'length': Word('m', 'geometry', 'free length of the beam; what rides on its end moves along',
                   lambda link: link.beam.length if link.beam is not None else None,
                   _with_length),
}
JOINT_WORDS = {
    'stiffness': _joint_word('N m/rad', 'stiffness', 'of the gear', 'stiffness', _geared),
    'damping': _joint_word('N m s/rad', 'damping', 'of the gear', 'damping', _geared),
    'viscous': _joint_word('N m s/rad', 'friction', '`damping` of <dynamics>',
                           'viscous_friction'),
    'coulomb': _joint_word('N m', 'friction', '`friction` of <dynamics>', 'coulomb_friction'),
    'rotor_inertia': _joint_word('kg m2', 'mass', 'of the motor about its own axis',
                                 'rotor_inertia', lambda joint: joint.rotor_inertia > 0.0),
    'spring_stiffness': _joint_word('N m/rad', 'stiffness', 'of the spring across the joint, as '
                                    'of a clamp that gives', 'spring_stiffness', _sprung),
}
WORDS = {'link': LINK_WORDS, 'joint': JOINT_WORDS}


def parameters_of(description: RobotDescription) -> dict[str, Parameter]:
    """Return all parameters of a robot by path, base to tip."""
    out = {}
    for link in description.links[1:]:
        for word, row in LINK_WORDS.items():
            value = row.value(link)
            if value is not None:
                out[f'{link.name}.{word}'] = _parameter(f'{link.name}.{word}', row, value,
                                                        *_bounds(description, link, word, value))
    for joint in description.joints:
        for word, row in JOINT_WORDS.items():
            value = row.value(joint)
            if value is not None:
                path = f'{joint.name}.{word}'
                if path in out:         # a link has the name of the joint
                    path = f'joint:{path}'
                out[path] = _parameter(path, row, value, *_wide(value))
    return out


def _parameter(path, row, value, lower, upper):
    return Parameter(path, row.unit, float(value), lower, upper, row.group, row.meaning)


def _bounds(description, link, word, value):
    if word == 'damping':
        return (value / WIDE if value else 0.0), (
            np.inf if link.beam.damping_time else MOST_DAMPED)
    if word == 'length':
        reached = [sensor.end for sensor in link.beam.sensors]
        reached += [place for joint in description.children(link.name)
                    if (place := link.beam.station(joint.position)) < (1 - AT_END) * value]
        return max([SHORTEST * value, *reached]), value / SHORTEST
    return _wide(value)


def _wide(value):
    return (value / WIDE, value * WIDE) if value > 0.0 else (0.0, np.inf)


def chosen(known: Mapping[str, Any], words: Iterable[str]) -> list[str]:
    """
    Return the names that words name, each once: names themselves, or patterns with `*`.

    UsageError, in one line with the nearest names, about a word that names nothing.
    """
    out: dict[str, None] = {}
    for word in words:
        found = [name for name in known if name == word or fnmatchcase(name, word)]
        if not found:
            raise UsageError(f'no parameter "{word}". {near(word, known)}')
        out.update(dict.fromkeys(found))
    return [*out]


def near(word: str, known: Iterable[str]) -> str:
    """Return the sentence that lists the names nearest to a word."""
    known = [*known]
    head, _, tail = word.rpartition('.')
    alike = [name for name in known if head and name.startswith(f'{head}.')]
    close = difflib.get_close_matches(word, known, NEAR, 0.5)
    alike = [*dict.fromkeys([*close, *alike, *(
        name for name in known if tail and name.endswith(f'.{tail}'))])]
    if not known:
        return 'There are none.'
    if not alike:
        return f'Known: {", ".join(known[:4 * NEAR])}{", ..." * (len(known) > 4 * NEAR)}.'
    return f'Near: {", ".join(alike[:NEAR])}.'


def expect_possible(description: RobotDescription, path: str, value: float) -> None:
    """Refuse a value that a number of a robot, which it has, cannot have."""
    one, (kind, _, word) = parameters_of(description)[path], place_of(description, path)
    lowest = one.lower if word == 'length' else 0.0
    highest = one.upper if kind == 'link' and word in ('damping', 'length') else np.inf
    if not lowest <= value <= highest:
        raise UsageError(f'{path} = {value:g} cannot be: it must be '
                         + (f'between {lowest:g} and {highest:g}.' if highest < np.inf else
                            f'{"above" if one.lower > 0.0 else "at least"} 0.'))
    with_parameters(description, {path: value})


def with_parameters(description: RobotDescription,
                    values: Mapping[str, float]) -> RobotDescription:
    """
    Return a robot with other values, by path; the one that is given stays as it is.

    :param values: SI units; UsageError if a path is unknown or a value cannot be.
    """
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
            joints[name] = JOINT_WORDS[word].changed(joints[name], float(value))
            continue
        before = links[name]
        links[name] = LINK_WORDS[word].changed(before, float(value))
        if word == 'length':
            for joint in description.children(name):
                joints[joint.name] = _moved(joints[joint.name], before, links[name])
    return replace(description, links=tuple(links.values()), joints=tuple(joints.values()))


def place_of(description: RobotDescription, path: str) -> tuple[str, str, str]:
    """Return 'link' or 'joint', the name, and the word of a path that is known."""
    name, _, word = path.removeprefix('joint:').rpartition('.')
    is_link = not path.startswith('joint:') and word in LINK_WORDS and any(
        link.name == name and LINK_WORDS[word].value(link) is not None
        for link in description.links)
    return 'link' if is_link else 'joint', name, word


def _moved(joint: Joint, before: Link, after: Link) -> Joint:
    """Return a joint of a beam, where it rides when the beam is longer or shorter."""
    assert before.beam is not None and after.beam is not None
    if before.beam.station(joint.position) < (1 - AT_END) * before.beam.length:
        return joint
    return replace(joint, position=joint.position + after.beam.end - before.beam.end)
