"""
Universal and spherical joints: revolute joints in series, with links without mass between them.

In the URDF such a joint is fixed, because URDF has no type for it. `<flexibility>` gives it:
`<joint name="wrist" type="spherical"/>`. Its coordinates are rotations about the axes x and y of
the joint frame, and z for a spherical joint, each about the axis that the previous ones moved.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from flex_robot_sim.description.document import Document, XmlElement
from flex_robot_sim.description.links import Joint, JointFriction, Link
from flex_robot_sim.description.values import read_attributes
from flex_robot_sim.description.words import FLEXIBILITY

AXES = {'universal': 'xy', 'spherical': 'xyz'}
RANGE = 'lower', 'upper'
FRICTION = tuple(JointFriction._fields)
SPRING = 'spring_stiffness', 'spring_reference'
ONLY_OF_PARTS = (*RANGE, 'viscous_friction', 'coulomb_friction')


def part_names(name: str, kind: str) -> list[str]:
    """Return the names of the coordinates of a universal or spherical joint."""
    return [f'{name}_{axis}' for axis in AXES[kind]]


def split_joints(
    document: Document,
    flexibility: XmlElement | None,
    links: dict[str, Link],
    joints: dict[str, Joint],
) -> dict[str, Joint]:
    """
    Return the joints, with revolute ones in place of each universal or spherical joint.

    :param flexibility: the <flexibility> element, if any.
    :param links: receives the links between them.
    """
    parts: dict[str, list[Joint]] = {}
    for element in [] if flexibility is None else flexibility.iterchildren('joint'):
        if element.get('type') in AXES:
            values = read_attributes(document, element, FLEXIBILITY['joint'])
            joint = joints.get(values['name'])
            if joint is not None:
                parts[joint.name] = _parts(document, element, joint, values['type'])
    names = [name for name in joints if name not in parts]
    for split in parts.values():
        for part in split:
            between = part.child if part is not split[-1] else None
            if part.name in names or between in links:
                raise document.error_at(
                    part.line,
                    f'joint "{part.part_of}" needs the names "{part.name}" and "{between}", and '
                    'one of them is in use',
                    f'Rename "{part.name if part.name in names else between}"',
                )
            if between is not None:
                links[between] = Link(between, part.line)
    return {one.name: one for joint in joints.values() for one in parts.get(joint.name, [joint])}


def _parts(document, element, joint, kind):
    """Return the revolute joints of a joint that is fixed in the URDF."""
    if joint.kind != 'fixed':
        raise document.error(
            element,
            f'joint "{joint.name}" is {kind} here and {joint.kind} in the URDF',
            'Write type="fixed" in its <joint>, which other tools read, or remove the type here',
        )
    names = part_names(joint.name, kind)
    links = [joint.parent, *(f'{name}_link' for name in names[:-1]), joint.child]
    return [
        replace(
            joint,
            name=name,
            kind='continuous',
            parent=links[k],
            child=links[k + 1],
            rotation=joint.rotation if k == 0 else np.eye(3),
            position=joint.position if k == 0 else np.zeros(3),
            axis=np.eye(3)['xyz'.index(name[-1])],
            effort=0.0,
            part_of=joint.name,
        )
        for k, name in enumerate(names)
    ]


def with_part_values(
    document: Document, element: XmlElement, values: dict[str, Any], joint: Joint
) -> Joint:
    """Return a revolute joint of a universal or spherical one, with the values of an element."""
    for name in element.attrib:
        if name not in ('name', 'type', *RANGE, *FRICTION, *SPRING):
            raise document.error(
                element,
                f'joint "{values["name"]}" has a {name}, but neither motor nor gear',
                f'Remove {name}',
            )
    given = {name: values[name] for name in element.attrib if values[name] is not None}
    limits = {name: given[name] for name in RANGE if name in given}
    if limits:
        if len(limits) == 1 or limits['lower'] >= limits['upper']:
            raise document.error(
                element,
                f'the range of joint "{values["name"]}" is not complete',
                'Give lower and upper [rad], lower below upper',
            )
        joint = replace(joint, kind='revolute', **limits)
    friction = joint.friction._replace(**{name: given[name] for name in FRICTION if name in given})
    if 'static_friction' not in given:
        stiction = max(joint.friction.static_friction, friction.coulomb_friction)
        friction = friction._replace(static_friction=stiction)
    elif friction.static_friction < friction.coulomb_friction:
        raise document.error(
            element,
            f'joint "{values["name"]}" has a static_friction of {friction.static_friction:g}, '
            f'less than its coulomb_friction of {friction.coulomb_friction:g}',
            'Correct one of them',
        )
    springs = {name: given[name] for name in SPRING if name in given}
    return replace(joint, friction=friction, **springs)
