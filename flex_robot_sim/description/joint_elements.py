"""Elements of a joint: itself, and its gear, friction and spring in `<flexibility>`."""

from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.description.attribute_text import (
    attribute_text,
    attribute_texts,
    expect_one_of,
    number,
)
from flex_robot_sim.description.joint_types import FREE_COMPONENTS
from flex_robot_sim.description.multi_dof_joint import AXES, PLANAR, coordinates_text, part_names
from flex_robot_sim.description.screw_joint import SCREW
from flex_robot_sim.description.urdf_elements import add_element, add_origin
from flex_robot_sim.description.urdf_words import URDF
from flex_robot_sim.description.values import MAX_VALUE
from flex_robot_sim.description.words import FLEXIBILITY
from flex_robot_sim.util.exceptions import SettingError

JointValue = float | Sequence[float | None] | None  # three of a planar joint
_NO_LIMIT = repr(MAX_VALUE)
_LOWER_BOUNDS = {
    **dict.fromkeys(('effort', 'velocity'), {'at_least': 0.0}),
    **dict.fromkeys(('acceleration', 'deceleration', 'jerk'), {'above': 0.0}),
}
_FRICTION = {'damping': 'viscous_friction', 'friction': 'coulomb_friction'}
DEFAULT_AXIS = 'z'
WITHOUT_MOTOR = ('fixed', *FREE_COMPONENTS)
MULTI_DOF = tuple(AXES)
_IN_FLEXIBILITY = (
    'static_friction',
    'stribeck_rate',
    'presliding',
    'creep_rate',
    'spring_stiffness',
    'spring_reference',
)


def joint_elements(
    name: str,
    parent: str,
    child: str,
    kind: str,
    axis: str | ArrayLike,
    xyz: str,
    rpy: ArrayLike,
    limits: Mapping[str, Any],
    friction: Mapping[str, Any],
    pitch: Any = None,
) -> tuple[Element, dict[str, dict[str, str]]]:
    """
    Return the <joint> of `ArmBuilder.add_joint`, and attributes in <flexibility> by joint name.

    :param xyz: position, as text.
    :param limits: lower, upper, effort, velocity, acceleration, deceleration, jerk.
    :param friction: viscous_friction and other arguments about friction and spring.
    :param pitch: of a screw joint, travel per turn [m].
    """
    owner = f'joint "{name}"'
    kinds = (
        *URDF['joint'].attributes['type'].choices,
        *FLEXIBILITY['joint'].attributes['type'].choices,
    )
    expect_one_of(owner, 'type', kind, kinds)
    if (kind == SCREW) != (pitch is not None):
        remedy = (
            'a screw joint needs one [m]' if kind == SCREW else f'{owner} is {kind}, leave it out'
        )
        raise SettingError(f'pitch of {owner}: {remedy}')
    values = {word: value for word, value in {**limits, **friction}.items() if value is not None}
    if kind in MULTI_DOF:
        return _multi_dof_elements((name, parent, child, kind), (xyz, rpy), values, axis)
    if kind == PLANAR:
        joint = _joint((name, parent, child, kind), (xyz, rpy), axis)
        return joint, _coordinates(name, values)
    flexible = attribute_texts(
        owner, FLEXIBILITY['joint'], {word: friction[word] for word in _IN_FLEXIBILITY}
    )
    if kind == SCREW:
        kind = 'revolute'
        flexible = {
            'type': SCREW,
            **attribute_texts(owner, FLEXIBILITY['joint'], {'pitch': pitch}),
            **flexible,
        }
    dynamics = attribute_texts(
        owner,
        URDF['dynamics'],
        {word: friction[argument] for word, argument in _FRICTION.items()},
        _FRICTION,
    )
    for word, bound in _LOWER_BOUNDS.items():
        if limits[word] is not None:  # in a URDF, one below zero means no limit
            number(owner, word, limits[word], URDF['limit'].attributes[word].unit, **bound)
    limit = attribute_texts(owner, URDF['limit'], limits)
    if kind in WITHOUT_MOTOR and (flexible or dynamics or limit):
        raise SettingError(
            f'{owner} is {kind}: leave out its limits, friction and spring, or give another type'
        )
    kind, limit = _limits(owner, kind, limit)
    has_axis = kind not in ('fixed', 'floating')
    joint = _joint((name, parent, child, kind), (xyz, rpy), axis if has_axis else None)
    for tag, attributes in (('limit', limit), ('dynamics', dynamics)):
        if attributes:
            add_element(joint, tag, **attributes)
    return joint, {name: flexible}


def _joint(names, pose, axis=None):
    """Return the <joint> with its name, parent, child and type."""
    name, parent, child, kind = names
    owner, (xyz, rpy) = f'joint "{name}"', pose
    joint = Element('joint', name=name, type=kind)
    add_origin(joint, xyz, attribute_text(owner, 'rpy', rpy, URDF['origin'].attributes['rpy']))
    add_element(joint, 'parent', link=parent)
    add_element(joint, 'child', link=child)
    if axis is not None:
        add_element(
            joint, 'axis', xyz=attribute_text(owner, 'axis', axis, URDF['axis'].attributes['xyz'])
        )
    return joint


def _coordinates(name, values):
    """Return attributes in <flexibility> by coordinate of a planar joint: three values of each."""
    flexible: dict[str, dict[str, str]] = {one: {} for one in part_names(name, PLANAR)}
    for word, three in values.items():
        if word not in FLEXIBILITY['joint'].attributes:
            raise SettingError(f'joint "{name}" is planar, so it has no {word}: leave it out')
        if np.array(three, object).shape != (3,):
            raise SettingError(
                f'{word} of joint "{name}" must be three values, of {coordinates_text(name)}; '
                'None: no value'
            )
        for one, value in zip(flexible, three):
            if value is not None:
                flexible[one] |= attribute_texts(
                    f'joint "{one}"', FLEXIBILITY['joint'], {word: value}
                )
    return flexible


def _multi_dof_elements(names, pose, values, axis):
    """Return the elements of a universal or spherical joint, which is fixed in the URDF."""
    name, parent, child, kind = names
    owner, words = f'joint "{name}"', FLEXIBILITY['joint']
    unknown = [word for word in values if word not in words.attributes]
    if not isinstance(axis, str) or axis != DEFAULT_AXIS:
        unknown.append('axis')
    if unknown:
        raise SettingError(f'{owner} is {kind}, so it has no {unknown[0]}: leave it out')
    joint = _joint((name, parent, child, 'fixed'), pose)
    return joint, {name: attribute_texts(owner, words, {'type': kind, **values})}


def _limits(owner, kind, limits):
    """Return the type of a joint in URDF and its <limit>."""
    if kind in WITHOUT_MOTOR:
        return kind, {}
    has_range = 'lower' in limits, 'upper' in limits
    if any(has_range) and not all(has_range):
        raise SettingError(f'lower and upper of {owner}: give both, or none')
    if kind == 'continuous' and any(has_range):
        raise SettingError(
            f'{owner} is continuous and has no lower and upper: leave them out, '
            'or make it revolute'
        )
    if not any(has_range):
        if kind == 'prismatic':
            raise SettingError(
                f'lower and upper of {owner} are missing: a prismatic joint needs both [m]'
            )
        kind = 'continuous'
    # other tools need both
    return kind, limits and {'effort': _NO_LIMIT, 'velocity': _NO_LIMIT, **limits}
