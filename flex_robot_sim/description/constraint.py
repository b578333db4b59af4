"""Constraints of a robot: closed loops that the tree of joints does not contain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from flex_robot_sim.description.compliance import Compliance
from flex_robot_sim.description.document import Document
from flex_robot_sim.description.flexibility import check_station
from flex_robot_sim.description.links import Joint, Link
from flex_robot_sim.description.values import unknown_name


@dataclass(frozen=True, eq=False)
class Constraint:
    """A connection between frames on two links, in addition to the joints of the tree."""

    name: str
    line: int
    kind: str  # one of urdf_words.CONSTRAINT_TYPES, or 'mimic'
    parent: str
    child: str
    parent_rotation: np.ndarray  # (3, 3)  its frame in the frame of the parent link
    parent_position: np.ndarray  # (3,)    [m]
    child_rotation: np.ndarray  # (3, 3)  its frame in the frame of the child link
    child_position: np.ndarray  # (3,)    [m]
    parent_axis: np.ndarray  # (3,)    unit vector in its frame on the parent
    child_axis: np.ndarray  # (3,)    unit vector in its frame on the child
    length: float  # of a distance [m]; offset of a mimic joint [rad, m]; 0 otherwise
    ratio: float = 1.0  # multiplier of a mimic joint
    compliance: Compliance = Compliance()


def check_bases(
    document: Document,
    constraints: Iterable[Constraint],
    links: Mapping[str, Link],
    joints: Iterable[Joint],
) -> None:
    """Raise DescriptionError for a constraint between links that no joints connect."""
    parents = {joint.child: joint.parent for joint in joints}

    def base(link):
        above = [link]
        while (link := parents.get(link, link)) not in above:
            above.append(link)
        return link

    for constraint in constraints:
        bases = base(constraint.parent), base(constraint.child)
        if bases[0] != bases[1] and {*bases} <= {*links}:
            raise document.error_at(
                constraint.line,
                f'constraint "{constraint.name}" connects two robots, with the bases "{bases[0]}" '
                f'and "{bases[1]}"',
                'Connect the bases by a <joint>, which may be fixed',
            )


def check_constraints(
    document: Document,
    constraints: Iterable[Constraint],
    links: Mapping[str, Link],
    joints: Iterable[Joint],
) -> None:
    """Raise DescriptionError for a constraint without links, or between links that do not move."""
    rigid = {joint.child: joint.parent for joint in joints if not (joint.moves or joint.is_base)}
    for constraint in constraints:
        ends = []
        for role, link, position in (
            ('parent', constraint.parent, constraint.parent_position),
            ('child', constraint.child, constraint.child_position),
        ):
            if link not in links:
                raise unknown_name(
                    document,
                    constraint.line,
                    f'constraint "{constraint.name}" has the {role} "{link}", which is no link',
                    link,
                    links,
                )
            what = f'the {role} frame of constraint "{constraint.name}"'
            check_station(document, links[link], what, position, constraint.line)
            while link in rigid and links[rigid[link]].beam is None and links[link].beam is None:
                link = rigid[link]
            ends.append(link)
        if ends[0] == ends[1]:
            raise document.error_at(
                constraint.line,
                f'constraint "{constraint.name}" connects "{constraint.parent}" and '
                f'"{constraint.child}", which do not move relative to each other',
                'Correct its <parent> or its <child>',
            )
