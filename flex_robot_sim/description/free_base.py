"""
A free base: a floating or planar joint, the only joint at the root of the tree.

Its child link moves freely in the frame of the root link, in a plane with the normal `<axis>` if
the joint is planar. The joint has neither motor, friction nor limits. `multi_dof_joint.py` splits
all other planar joints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flex_robot_sim.description.document import Document, XmlElement
from flex_robot_sim.description.links import Joint, Link
from flex_robot_sim.description.multi_dof_joint import PLANAR, coordinates_text


def refuse_parts_of_base(
    document: Document, element: XmlElement, name: str, kind: str, parts: Mapping[str, Any]
) -> None:
    """Raise DescriptionError for friction or a <mimic> of a floating or planar joint."""
    if any((parts['limit'] or {}).values()):
        document.warn(
            document.line(element),
            f'joint "{name}" is {kind}, so that its <limit> has no effect',
            f'Give limits to its coordinates {coordinates_text(name)} in <flexibility>'
            if kind == PLANAR
            else 'Remove the <limit>',
        )
    if kind == PLANAR and any((parts['dynamics'] or {}).values()):
        raise document.error(
            element,
            f'planar joint "{name}" has one <dynamics> for lengths and angles',
            f'Give friction to its coordinates {coordinates_text(name)} in <flexibility>',
        )
    if parts['mimic'] is not None or any((parts['dynamics'] or {}).values()):
        word = 'mimic' if parts['mimic'] is not None else 'dynamics'
        raise document.error(
            element,
            f'joint "{name}" is {kind}, so that its <{word}> has no effect',
            f'Remove the <{word}>',
        )


def check_free_base(document: Document, links: Sequence[Link], joints: Sequence[Joint]) -> None:
    """Raise DescriptionError for a floating joint that is not alone at the root."""
    root = links[0]
    at_root = [joint for joint in joints if joint.parent == root.name]
    for joint in joints:
        if not joint.is_base:
            continue
        if joint.parent != root.name:
            raise document.error_at(
                joint.line,
                f'joint "{joint.name}" is {joint.kind} and its parent "{joint.parent}" is not the '
                'root of the robot',
                'Only a base is free: let its parent be the root, without other joints, or '
                'build it from three prismatic joints and a spherical one',
            )
        others = [one for one in at_root if one is not joint]
        if others or root.beam is not None:
            what = f'joint "{others[0].name}"' if others else 'a beam'
            raise document.error_at(
                joint.line,
                f'joint "{joint.name}" is {joint.kind}, and its parent "{root.name}" has {what}, '
                'too',
                f'Let "{root.name}" have no other part, or make the joint fixed',
            )
