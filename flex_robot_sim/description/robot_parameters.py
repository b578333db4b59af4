"""
Parameters of a robot by path: `forearm.EIz`, `shoulder.coulomb`, `tool.mass`.

A path is the name of a link or a joint, a dot, and a word of `quantities.py`.
"""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import numpy as np

from flex_robot_sim.description.bodies import problems_of_bodies
from flex_robot_sim.description.links import Joint, Link
from flex_robot_sim.description.quantities import (
    JOINT_QUANTITIES,
    LINK_QUANTITIES,
    ORDER,
    QUANTITIES,
    bounds,
    unit_of,
)
from flex_robot_sim.description.robot import RobotDescription
from flex_robot_sim.description.values import MAX_VALUE
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.summary import listed

SEARCH_FACTOR = 100.0  # largest change of a parameter in a search, up and down
END_TOLERANCE = 1e-3  # of a child on the end of a beam, over its length
MIN_LENGTH_RATIO = 0.5  # shortest length of a beam over the described one
MAX_SUGGESTIONS = 6  # names in an error message
# their bounds depend on another quantity of the joint, which may change as well
COUPLED_BOUNDS = ('lower', 'upper', 'static_friction')
BODY_GROUPS = ('inertia', 'geometry', 'position')


class Parameter(NamedTuple):
    """A number of a robot."""

    path: str  # 'forearm.EIz'
    value: float
    unit: str  # '' if it has none
    lower: float  # smallest value
    upper: float  # largest value
    excludes_lower: bool  # whether the value must be above `lower`
    group: str  # one of quantities.GROUPS
    meaning: str

    @property
    def is_relative(self) -> bool:
        """Whether the value is above zero and never below, so that changes are relative."""
        return self.value > 0.0 and self.lower >= 0.0

    @property
    def search_range(self) -> tuple[float, float]:
        """Lower and upper bound of a search around the value."""
        if not self.is_relative:
            return self.lower, self.upper
        return (
            max(self.value / SEARCH_FACTOR, self.lower),
            self.upper if self.upper < np.inf else self.value * SEARCH_FACTOR,
        )

    @property
    def range_text(self) -> str:
        """The possible values in words, such as 'above 0'."""
        if self.upper < np.inf:
            if self.lower == -np.inf:
                return f'at most {self.upper:g}'
            return f'between {self.lower:g} and {self.upper:g}'
        if self.lower > -np.inf:
            return f'{"above" if self.excludes_lower else "at least"} {self.lower:g}'
        return 'finite'

    def allows(self, value: float) -> bool:
        """Whether a value is possible; infinite are limits that do not exist."""
        is_in_range = self.lower <= value <= self.upper and not (
            self.excludes_lower and value == self.lower
        )
        return is_in_range and (abs(value) <= MAX_VALUE or self.group == 'limit')


def parameters_of(description: RobotDescription) -> dict[str, Parameter]:
    """Return all parameters of a robot by path, base to tip."""
    found: dict[str, Parameter] = {}
    for link in description.links[1:]:
        for word in LINK_QUANTITIES:
            parameter = _parameter(description, link, word)
            if parameter is not None:
                found[parameter.path] = parameter
    for joint in description.joints:
        for word in JOINT_QUANTITIES:
            parameter = _parameter(description, joint, word)
            if parameter is not None:
                if parameter.path in found:  # a link and a joint have the same name
                    parameter = parameter._replace(path=f'joint:{parameter.path}')
                found[parameter.path] = parameter
    return found


def _parameter(description, item, word):
    """Return the Parameter of a Link or Joint; None if it has no such quantity."""
    if isinstance(item, Joint) and item.part_of:
        return None  # the text of the robot has no such element
    quantity = QUANTITIES['link' if isinstance(item, Link) else 'joint'][word]
    value = quantity.value(item)
    if value is None:
        return None
    lower, upper, excludes_lower = bounds(item, word)
    if word == 'length':
        lower, upper = _length_bounds(description, item, value)
        excludes_lower = False
    # a robot may be described beyond them
    return Parameter(
        f'{item.name}.{word}',
        float(value),
        unit_of(item, word),
        min(lower, value),
        max(upper, value),
        excludes_lower and value > lower,
        quantity.group,
        quantity.attribute.meaning,
    )


def _length_bounds(description, link, length):
    occupied = [sensor.end for sensor in link.beam.sensors]
    occupied += [
        station
        for joint in description.children(link.name)
        if (station := link.beam.station(joint.position)) < (1 - END_TOLERANCE) * length
    ]
    return max([MIN_LENGTH_RATIO * length, *occupied]), length / MIN_LENGTH_RATIO


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
    related = [
        *dict.fromkeys(
            [*similar, *related, *(name for name in known if tail and name.endswith(f'.{tail}'))]
        )
    ]
    if not known:
        return 'There are none.'
    if not related:
        return (
            f'Known: {", ".join(known[: 4 * MAX_SUGGESTIONS])}'
            f'{", ..." * (len(known) > 4 * MAX_SUGGESTIONS)}.'
        )
    return f'Near: {", ".join(related[:MAX_SUGGESTIONS])}.'


def with_parameters(
    description: RobotDescription, values: Mapping[str, float]
) -> RobotDescription:
    """
    Return a copy of a robot with new values [SI] by path; UsageError if unknown or impossible.

    `text` of the copy remains that of the file.
    """
    before = {path: parameter_at(description, path) for path in values}
    changes = {path: float(value) for path, value in values.items() if value != before[path].value}
    if not changes:
        return description
    links = {link.name: link for link in description.links}
    joints = {joint.name: joint for joint in description.joints}
    for path in sorted(changes, key=lambda path: ORDER[path.rpartition('.')[2]]):
        kind, name, word = place_of(description, path)
        if kind == 'joint':
            joints[name] = JOINT_QUANTITIES[word].changed(joints[name], changes[path])
            continue
        link = links[name]
        links[name] = LINK_QUANTITIES[word].changed(link, changes[path])
        if word == 'length':
            for joint in description.children(name):
                joints[joint.name] = _moved_joint(joints[joint.name], link, links[name])
    for path, value in changes.items():
        parameter, (_, name, word) = before[path], place_of(description, path)
        if word in COUPLED_BOUNDS:
            lower, upper, _ = bounds(joints[name], word)
            parameter = parameter._replace(lower=lower, upper=upper)
        if not parameter.allows(value):
            largest = f' and below {MAX_VALUE:g}' if abs(value) > MAX_VALUE else ''
            raise UsageError(
                f'{path} = {value:g} cannot be: it must be {parameter.range_text}{largest}.'
            )
        if word in ('presliding', 'creep_rate'):
            _refuse_presliding_and_creep(joints[name])
    changed = replace(description, links=tuple(links.values()), joints=tuple(joints.values()))
    body_changes = {
        path: value
        for path, value in changes.items()
        if before[path].group in BODY_GROUPS or before[path].group == 'mass' and value == 0.0
    }
    if body_changes:
        _refuse_impossible_bodies(description, changed, body_changes)
    return changed


def _refuse_presliding_and_creep(joint):
    if joint.friction.presliding > 0.0 and joint.friction.creep_rate > 0.0:
        raise UsageError(
            f'joint "{joint.name}" would have a presliding and a creep_rate, which exclude each '
            'other. Set one of them to 0.'
        )


def parameter_at(description: RobotDescription, path: str) -> Parameter:
    """Return the Parameter at a path; UsageError if there is none."""
    kind, name, word = place_of(description, path)
    items = description.links[1:] if kind == 'link' else description.joints
    item = next((item for item in items if item.name == name), None)
    parameter = _parameter(description, item, word) if item and word in QUANTITIES[kind] else None
    if parameter is None:
        raise UsageError(f'no parameter "{path}". {near(path, parameters_of(description))}')
    return parameter._replace(path=path)


def place_of(description: RobotDescription, path: str) -> tuple[str, str, str]:
    """Return 'link' or 'joint', the name, and the word of a path."""
    name, _, word = path.removeprefix('joint:').rpartition('.')
    is_link = (
        not path.startswith('joint:')
        and word in LINK_QUANTITIES
        and any(
            link.name == name and LINK_QUANTITIES[word].value(link) is not None
            for link in description.links
        )
    )
    return 'link' if is_link else 'joint', name, word


def _refuse_impossible_bodies(before, after, changes):
    """Refuse inertias and places that no robot has; those of the description remain allowed."""
    problems = [
        (problem.name, problem.text) for problem in problems_of_bodies(after.links, after.joints)
    ]
    problems += [*_stations_beyond_beams(after)]
    if problems:
        known = {problem.name for problem in problems_of_bodies(before.links, before.joints)}
        known |= {name for name, _ in _stations_beyond_beams(before)}
        for name, text in problems:
            if name not in known:
                values = [f'{path} = {value:g}' for path, value in changes.items()]
                raise UsageError(f'{listed(values)} cannot be: {text}.')


def _stations_beyond_beams(description):
    """Yield name and problem of each joint off both ends of its parent beam."""
    for joint in description.joints:
        beam = description.link(joint.parent).beam
        if beam is not None and beam.reduced is None:
            station = beam.station(joint.position)
            if not -END_TOLERANCE <= station / beam.length <= 1 + END_TOLERANCE:
                yield (
                    joint.name,
                    (
                        f'joint "{joint.name}" would ride at {station:.4g} m on the beam of link '
                        f'"{joint.parent}", which ends at {beam.length:.4g} m'
                    ),
                )


def _moved_joint(joint: Joint, before: Link, after: Link) -> Joint:
    """Return a joint of a beam, moved with the end of the beam if it is there."""
    assert before.beam is not None and after.beam is not None
    if before.beam.station(joint.position) < (1 - END_TOLERANCE) * before.beam.length:
        return joint
    return replace(joint, position=joint.position + after.beam.end - before.beam.end)
