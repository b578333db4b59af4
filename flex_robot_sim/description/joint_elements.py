"""Elements of a joint: itself, and its gear, friction and spring in `<flexibility>`."""

from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import Element

from numpy.typing import ArrayLike

from flex_robot_sim.description.attribute_text import (
    attribute_text,
    attribute_texts,
    expect_one_of,
    number,
)
from flex_robot_sim.description.joint_types import FREE_COMPONENTS
from flex_robot_sim.description.multi_dof_joint import AXES
from flex_robot_sim.description.screw_joint import SCREW
from flex_robot_sim.description.urdf_elements import add_element, add_origin
from flex_robot_sim.description.urdf_words import URDF
from flex_robot_sim.description.values import MAX_VALUE
from flex_robot_sim.description.words import FLEXIBILITY
from flex_robot_sim.util.exceptions import SettingError

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
) -> tuple[Element, dict[str, str]]:
    """
    Return the <joint>, and attributes of that in <flexibility>, of `ArmBuilder.add_joint`.

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
    if kind in MULTI_DOF:
        return _multi_dof_elements(
            (name, parent, child, kind), (xyz, rpy), {**limits, **friction}, axis
        )
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
    joint = Element('joint', name=name, type=kind)
    add_origin(joint, xyz, attribute_text(owner, 'rpy', rpy, URDF['origin'].attributes['rpy']))
    add_element(joint, 'parent', link=parent)
    add_element(joint, 'child', link=child)
    if kind not in ('fixed', 'floating'):
        add_element(
            joint, 'axis', xyz=attribute_text(owner, 'axis', axis, URDF['axis'].attributes['xyz'])
        )
    for tag, attributes in (('limit', limit), ('dynamics', dynamics)):
        if attributes:
            add_element(joint, tag, **attributes)
    return joint, flexible


def _multi_dof_elements(names, pose, values, axis):
    """Return the elements of a universal or spherical joint, which is fixed in the URDF."""
    name, parent, child, kind = names
    owner, (xyz, rpy) = f'joint "{name}"', pose
    words = FLEXIBILITY['joint']
    given = {word: value for word, value in values.items() if value is not None}
    unknown = [word for word in given if word not in words.attributes]
    if not isinstance(axis, str) or axis != DEFAULT_AXIS:
        unknown.append('axis')
    if unknown:
        raise SettingError(f'{owner} is {kind}, so it has no {unknown[0]}: leave it out')
    joint = Element('joint', name=name, type='fixed')
    add_origin(joint, xyz, attribute_text(owner, 'rpy', rpy, URDF['origin'].attributes['rpy']))
    add_element(joint, 'parent', link=parent)
    add_element(joint, 'child', link=child)
    return joint, attribute_texts(owner, words, {'type': kind, **given})


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
