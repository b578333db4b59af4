"""
Joints with several coordinates: single joints in series, with links without mass between them.

A universal or spherical joint is fixed in the URDF, because URDF has no type for it.
`<flexibility>` gives it: `<joint name="wrist" type="spherical"/>`. Its coordinates are rotations
about the axes x and y of the joint frame, and z for a spherical joint, each about the axis that
the previous ones moved.

A planar joint moves along two axes of its plane and then turns about the normal of the plane.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from flex_robot_sim.description.document import Document, XmlElement
from flex_robot_sim.description.links import Joint, JointFriction, Link
from flex_robot_sim.description.values import read_attributes
from flex_robot_sim.description.words import FLEXIBILITY

PLANAR = 'planar'
AXES = {'universal': 'xy', 'spherical': 'xyz'}  # types that <flexibility> gives
COORDINATES: dict[str, tuple[str, ...]] = {
    **{kind: tuple(axes) for kind, axes in AXES.items()},
    PLANAR: ('x', 'y', 'theta'),
}
RANGE = 'lower', 'upper'
FRICTION = tuple(JointFriction._fields)
SPRING = 'spring_stiffness', 'spring_reference'
ONLY_OF_PARTS = (*RANGE, 'viscous_friction', 'coulomb_friction')


def part_names(name: str, kind: str) -> list[str]:
    """Return the names of the coordinates of a universal, spherical or planar joint."""
    return [f'{name}_{axis}' for axis in COORDINATES[kind]]


def coordinates_text(name: str) -> str:
    """Return the names of the coordinates of a planar joint, for messages."""
    x, y, theta = part_names(name, PLANAR)
    return f'"{x}", "{y}" [m] and "{theta}" [rad]'


def plane_axes(normal: np.ndarray) -> np.ndarray:
    """Axes (3, 3) of a plane: z is its `normal` (3,), x near that axis which is most across it."""
    x = np.eye(3)[np.argmin(np.abs(normal))]
    x -= normal * (normal @ x)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(normal, x), normal])


def split_joints(
    document: Document,
    flexibility: XmlElement | None,
    links: dict[str, Link],
    joints: dict[str, Joint],
) -> dict[str, Joint]:
    """
    Return the joints, with single ones in place of universal, spherical and planar joints.

    A planar joint that leaves the base free stays.

    :param flexibility: the <flexibility> element, if any.
    :param links: receives the links between them.
    """
    parts: dict[str, list[Joint]] = {}
    for element in [] if flexibility is None else flexibility.iterchildren('joint'):
        named = joints.get(element.get('name', ''))
        if named is not None and named.kind == PLANAR:
            raise document.error(
                element,
                f'joint "{named.name}" is planar, so that it has several coordinates',
                f'Describe {coordinates_text(named.name)} in its place',
            )
        if element.get('type') in AXES:
            values = read_attributes(document, element, FLEXIBILITY['joint'])
            joint = joints.get(values['name'])
            if joint is not None:
                parts[joint.name] = _rotations(document, element, joint, values['type'])
    for joint in joints.values():
        if joint.kind == PLANAR and not _is_free_base(joint, flexibility, joints):
            parts[joint.name] = _in_series(joint, PLANAR, plane_axes(joint.axis).T)
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


def _is_free_base(joint, flexibility, joints):
    """Whether a planar joint is alone at a rigid root, and its coordinates have no values."""
    for one in joints.values():
        if one is not joint and joint.parent in (one.parent, one.child):
            return False
    described = [] if flexibility is None else [*flexibility.iterchildren('link', 'joint')]
    coordinates = {*part_names(joint.name, PLANAR)} - {*joints}
    return not any(
        element.get('name') in coordinates
        if element.tag == 'joint'
        else element.get('name') == joint.parent and element.get('end') is not None
        for element in described
    )


def _rotations(document, element, joint, kind):
    """Return the revolute joints of a joint that is fixed in the URDF."""
    if joint.kind != 'fixed':
        raise document.error(
            element,
            f'joint "{joint.name}" is {kind} here and {joint.kind} in the URDF',
            'Write type="fixed" in its <joint>, which other tools read, or remove the type here',
        )
    return _in_series(joint, kind, np.eye(3))


def _in_series(joint, kind, axes):
    """Return the single joints of a joint along and about axes (k, 3), base to tip."""
    names = part_names(joint.name, kind)
    links = [joint.parent, *(f'{name}_link' for name in names[:-1]), joint.child]
    return [
        replace(
            joint,
            name=name,
            kind='prismatic' if kind == PLANAR and k < 2 else 'continuous',
            parent=links[k],
            child=links[k + 1],
            rotation=joint.rotation if k == 0 else np.eye(3),
            position=joint.position if k == 0 else np.zeros(3),
            axis=axes[k] + 0.0,
            effort=0.0,
            part_of=joint.name,
        )
        for k, name in enumerate(names)
    ]


def with_part_values(
    document: Document, element: XmlElement, values: dict[str, Any], joint: Joint
) -> Joint:
    """Return a single joint of one with several coordinates, with the values of an element."""
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
                f'Give lower and upper [{joint.type.unit}], lower below upper',
            )
        kind = 'revolute' if joint.type.rotates else joint.kind
        joint = replace(joint, kind=kind, **limits)
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
