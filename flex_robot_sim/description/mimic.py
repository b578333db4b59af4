"""Mimic joints: they move in proportion to another joint, or are held at their offset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from flex_robot_sim.description.bodies import massless_joints
from flex_robot_sim.description.constraint import Constraint
from flex_robot_sim.description.document import Document, XmlElement
from flex_robot_sim.description.links import Joint, Link
from flex_robot_sim.description.values import read_attributes, unknown_name
from flex_robot_sim.description.words import FLEXIBILITY

HELD, MOVING = 'held', 'moving'


def check_mimics(document: Document, joints: Mapping[str, Joint]) -> None:
    """Raise DescriptionError for a joint that mimics no joint, or itself through others."""
    for joint in joints.values():
        coordinates = [one.name for one in joints.values() if one.part_of == joint.mimics]
        if joint.mimics is not None and coordinates:
            raise document.error_at(
                joint.line,
                f'joint "{joint.name}" mimics "{joint.mimics}", which has several coordinates',
                f'Name one of them: {", ".join(coordinates)}',
            )
        if joint.mimics is not None and joint.mimics not in joints:
            raise unknown_name(
                document,
                joint.line,
                f'joint "{joint.name}" mimics "{joint.mimics}", which is no joint',
                joint.mimics,
                joints,
            )
    for joint in joints.values():
        path = [joint.name]
        while (leader := joints[path[-1]].mimics) is not None and leader not in path:
            path.append(leader)
        if leader == joint.name:
            names = [*path[1:], leader]
            followed = ', which mimics '.join(
                'itself' if len(path) == 1 else f'"{name}"' for name in names
            )
            raise document.error_at(
                joint.line, f'joint "{joint.name}" mimics {followed}', 'Remove one <mimic>'
            )


def mimic_choice(document: Document, flexibility: XmlElement | None) -> str:
    """Return whether mimic joints are HELD or MOVING, by the <flexibility> element, if any."""
    row = FLEXIBILITY['flexibility']
    if flexibility is None:
        return str(row.attributes['mimic'].default)
    return str(read_attributes(document, flexibility, row)['mimic'])


def with_mimics(document: Document, joints: Mapping[str, Joint], choice: str) -> dict[str, Joint]:
    """
    Return the joints, of which those with <mimic> move or are held.

    The limits of a moving one do not apply, because those of its leader bound its motion.

    :param choice: HELD, or MOVING if the leader moves.
    """
    changed = {}
    for name, joint in joints.items():
        leader = joint
        while leader.mimics is not None:
            leader = joints[leader.mimics]
        if joint.mimics is None:
            pass
        elif choice == MOVING and leader.moves:
            joint = replace(joint, lower=-np.inf, upper=np.inf)
        elif choice == MOVING:
            joint = _held_with_warning(
                document, joint, '', f'Remove <mimic>, or let "{leader.name}" move'
            )
        else:
            joint = replace(joint, held_at=joint.mimic_offset)
        changed[name] = joint
    return changed


def hold_massless_mimics(
    document: Document, links: Sequence[Link], joints: Sequence[Joint]
) -> list[Joint]:
    """Return the joints, of which moving mimic joints without a mass to move are held."""
    massless = massless_joints(links, joints)
    remedy = 'Give the links that it moves an <inertial> if it is to move'
    return [
        _held_with_warning(document, joint, ', because it moves nothing that has mass', remedy)
        if joint.mimics is not None and joint.moves and joint.name in massless
        else joint
        for joint in joints
    ]


def _held_with_warning(document, joint, reason, remedy):
    document.warn(
        joint.line,
        f'joint "{joint.name}" mimics "{joint.mimics}" and is held at '
        f'{joint.mimic_offset:g}{reason}',
        remedy,
    )
    return replace(joint, held_at=joint.mimic_offset)


def mimic_constraints(joints: Sequence[Joint]) -> list[Constraint]:
    """Return a Constraint of kind 'mimic' for each moving mimic joint, with its name."""
    by_name = {joint.name: joint for joint in joints}
    none, eye = np.zeros(3), np.eye(3)
    axis = eye[0]
    return [
        Constraint(
            joint.name,
            joint.line,
            'mimic',
            by_name[joint.mimics].child,
            joint.child,
            eye,
            none,
            eye,
            none,
            axis,
            axis,
            joint.mimic_offset,
            joint.mimic_ratio,
        )
        for joint in joints
        if joint.mimics is not None and joint.moves
    ]
