"""Reading of links and joints from the elements of URDF."""

import re
from typing import Any

import numpy as np

from flex_robot_sim.description import urdf_words
from flex_robot_sim.description.compliance import Compliance, checked_compliance
from flex_robot_sim.description.constraint import Constraint
from flex_robot_sim.description.document import Document, XmlElement
from flex_robot_sim.description.foreign_loops import refuse_foreign_joint, refuse_foreign_joints
from flex_robot_sim.description.free_base import refuse_parts_of_base
from flex_robot_sim.description.joint_types import FREE_COMPONENTS, JOINT_TYPES
from flex_robot_sim.description.links import Inertial, Joint, JointFriction, Link
from flex_robot_sim.description.misplaced import refuse_misplaced
from flex_robot_sim.description.orientation import roll_pitch_yaw, turned_by, turned_by_quaternion
from flex_robot_sim.description.urdf_version import (
    WITH_OPTIONAL_LIMITS,
    WITH_QUATERNIONS,
    version_of,
    warn_about_version,
)
from flex_robot_sim.description.values import MAX_VALUE, only, read_attributes, read_children

CONSTRAINT_AXES = {
    'fixed': (),
    'spherical': (),
    'distance': (),
    'prismatic': ('parent_axis',),
    'revolute': ('parent_axis', 'child_axis'),
    'universal': ('parent_axis', 'child_axis'),
}
MOTOR_LIMITS = 'effort', 'velocity', 'acceleration', 'deceleration', 'jerk'
ORIGINS = 'origin', 'parent_origin', 'child_origin'
FULL_TURN_RAD = 6.3  # larger angles of an origin are probably degrees

_ORIENTATION = re.compile('quat|rot|orient|euler|wxyz', re.IGNORECASE)


def read_robot(
    document: Document,
) -> tuple[str, dict[str, Link], dict[str, Joint], dict[str, Constraint], XmlElement | None]:
    """
    Return links, joints and constraints of the document, not yet checked against each other.

    :returns: name of the robot, {name: Link}, {name: Joint}, {name: Constraint}, the
        <flexibility> element or None.
    """
    root = document.root
    if root.tag != 'robot':
        raise document.error(
            root, f'the document is a <{root.tag}>, not a <robot>', 'Give a URDF or xacro file'
        )
    refuse_misplaced(document)
    refuse_foreign_joints(document)
    children = _read_children(document, root, 'robot')
    name = _read_attributes(document, root, 'robot')['name']
    warn_about_version(document)
    _check_visual_origins(document, children['link'])
    links = _by_name(document, children['link'], _read_link)
    joints = _by_name(document, children['joint'], _read_joint)
    if not links:
        raise document.error(root, 'the robot has no links', 'Give it at least one <link>')
    constraints = _by_name(document, children['constraint'], _read_constraint)
    return name, links, joints, constraints, only(document, children, 'flexibility')


def _by_name(document, elements, read):
    items: dict[str, Any] = {}
    for element in elements:
        item = read(document, element)
        if item.name in items:
            raise document.error(
                element,
                f'a second {element.tag} "{item.name}", after the one in line '
                f'{items[item.name].line}',
                f'Rename one {element.tag}',
            )
        items[item.name] = item
    return items


def _read_children(document, element, tag):
    return read_children(
        document, element, urdf_words.URDF[tag].children, urdf_words.URDF_PASSED_OVER.get(tag, ())
    )


def _read_element(document, children, tag):
    """Return the attributes of the only child `tag`; None if there is no such child."""
    element = only(document, children, tag)
    if element is None:
        return None
    return _read_attributes(document, element, tag)


def _read_attributes(document, element, tag):
    passed_over = urdf_words.URDF_ATTRIBUTES_PASSED_OVER.get(tag, ())
    if tag == 'axis' and not (element.get('rpy') or '').strip('0. '):
        passed_over = ('rpy',)  # some robots in use have rpy="0 0 0"
    for name in element.attrib:
        if tag in ORIGINS and name != 'quat_xyzw' and _ORIENTATION.search(name):
            raise document.error(
                element,
                f'unknown attribute "{name}" of <{tag}>',
                'Write rpy="roll pitch yaw" [rad]',
            )
    values = read_attributes(
        document,
        element,
        urdf_words.URDF[tag],
        urdf_words.URDF_UNKNOWN_ATTRIBUTE.get(tag, 'nothing'),
        passed_over,
    )
    if tag in ORIGINS:
        _check_orientation(document, element, values)
    return values


def _check_visual_origins(document, links):
    """Check quaternions of shapes, which are not part of the dynamics."""
    for link in links:
        for tag in ('visual', 'collision'):
            for origin in link.iterfind(f'{tag}/origin[@quat_xyzw]'):
                _read_attributes(document, origin, 'origin')


def _check_orientation(document, element, values):
    """Refuse a quaternion that other tools ignore or contradict; warn of probable degrees."""
    quaternion = values['quat_xyzw']
    if quaternion is not None and 'rpy' in element.attrib:
        raise document.error(element, f'<{element.tag}> has rpy and quat_xyzw', 'Keep one of them')
    if quaternion is not None and version_of(document.root) < WITH_QUATERNIONS:
        rpy = roll_pitch_yaw(turned_by_quaternion(quaternion)) + 0.0
        raise document.error(
            element,
            f'other tools ignore quat_xyzw of <{element.tag}> in a file of version 1.0',
            f'Write rpy="{" ".join(f"{angle:.10g}" for angle in rpy)}" [rad] in its place, or '
            'version="1.1" in <robot>',
        )
    if max(map(abs, values['rpy'])) > FULL_TURN_RAD:
        document.warn(
            document.line(element),
            f'rpy = "{element.get("rpy")}" is more than a full turn',
            'Give rpy in rad, not in degrees',
        )


def _read_link(document, element):
    values = _read_attributes(document, element, 'link')
    children = _read_children(document, element, 'link')
    inertial = only(document, children, 'inertial')
    if inertial is None:
        return Link(values['name'], document.line(element))
    inertial = _read_inertial(document, inertial, values['name'])
    if inertial.mass < 0:
        raise document.error(
            element,
            f'link "{values["name"]}" has the mass {inertial.mass:g} kg',
            'Give a mass above 0 [kg]',
        )
    return Link(values['name'], document.line(element), inertial)


def _read_inertial(document, element, link):
    children = _read_children(document, element, 'inertial')
    values = {tag: _read_element(document, children, tag) for tag in children}
    for tag in ('mass', 'inertia'):
        if values[tag] is None:
            raise document.error(
                element,
                f'the <inertial> of link "{link}" has no <{tag}>',
                f'Give it a <{tag}>, or remove the <inertial>',
            )
    missing = [key for key in ('ixy', 'ixz', 'iyz') if key not in children['inertia'][0].attrib]
    if missing:
        document.warn(
            document.line(children['inertia'][0]),
            f'the <inertia> of link "{link}" has no {", ".join(missing)}, read as 0',
            'Write all six: other URDF tools refuse the file',
        )
    rotation, centre = _pose(values['origin'])
    v = values['inertia']
    inertia = np.array(
        [
            [v['ixx'], v['ixy'], v['ixz']],
            [v['ixy'], v['iyy'], v['iyz']],
            [v['ixz'], v['iyz'], v['izz']],
        ]
    )
    return Inertial(values['mass']['value'], centre, rotation @ inertia @ rotation.T)


def _read_joint(document, element):
    kind = (element.get('type') or '').strip()
    refuse_foreign_joint(document, element)
    values = _read_attributes(document, element, 'joint')
    name, kind = values['name'], values['type']
    children = _read_children(document, element, 'joint')
    if kind == 'fixed':
        children['axis'] = []  # exporters write an axis of zeros
    parts = {tag: _read_element(document, children, tag) for tag in children}
    for tag in ('parent', 'child'):
        if parts[tag] is None:
            raise document.error(
                element, f'joint "{name}" has no <{tag}>', f'Add <{tag} link="..."/>'
            )
    if kind in FREE_COMPONENTS:
        refuse_parts_of_base(document, element, name, kind, parts)
        parts['limit'] = None
        if kind == 'planar' and parts['axis'] is None:
            document.warn(
                document.line(element),
                f'planar joint "{name}" has no <axis>, so that x is the normal of its plane',
                'Give <axis xyz="0 0 1"/> for the plane of x and y, or <axis xyz="1 0 0"/>',
            )
    rotation, position = _pose(parts['origin'])
    axis = parts['axis'] or {'xyz': (1.0, 0.0, 0.0)}
    return Joint(
        name,
        document.line(element),
        kind,
        parts['parent']['link'],
        parts['child']['link'],
        rotation,
        position,
        np.array(axis['xyz']),
        **_read_mimic(kind, parts['mimic']),
        **_read_limits(document, element, name, kind, parts['limit'], parts['mimic']),
        friction=_read_friction(parts['dynamics']),
    )


def _read_constraint(document, element):
    values = _read_attributes(document, element, 'constraint')
    name, kind = values['name'], values['type']
    children = read_children(document, element, urdf_words.URDF['constraint'].children)
    parts = {tag: _read_element(document, children, tag) for tag in children}
    for tag in ('parent', 'child'):
        if parts[tag] is None:
            raise document.error(
                element, f'constraint "{name}" has no <{tag}>', f'Add <{tag} link="..."/>'
            )
    axes = [tag for tag in ('parent_axis', 'child_axis') if parts[tag] is not None]
    needed = CONSTRAINT_AXES[kind]
    for tag in needed:
        if tag not in axes:
            raise document.error(
                element, f'{kind} constraint "{name}" has no <{tag}>', f'Add <{tag} xyz="..."/>'
            )
    for tag in axes:
        if tag not in needed:
            raise document.error(
                element,
                f'{kind} constraint "{name}" has a <{tag}>, which it does not use',
                'Remove it, or choose another type',
            )
    if (kind == 'distance') != (values['length'] is not None):
        verb = 'no' if kind == 'distance' else 'a'
        remedy = 'Give length [m]' if kind == 'distance' else 'Remove length'
        raise document.error(element, f'{kind} constraint "{name}" has {verb} length', remedy)
    compliance = Compliance()
    if parts['compliance'] is not None:
        (child,) = children['compliance']
        compliance = checked_compliance(document, child, parts['compliance'], kind, name)
    parent_rotation, parent_position = _pose(parts['parent_origin'])
    child_rotation, child_position = _pose(parts['child_origin'])
    parent_axis, child_axis = (
        np.array((parts[tag] or {'xyz': (1.0, 0.0, 0.0)})['xyz'])
        for tag in ('parent_axis', 'child_axis')
    )
    return Constraint(
        name,
        document.line(element),
        kind,
        parts['parent']['link'],
        parts['child']['link'],
        parent_rotation,
        parent_position,
        child_rotation,
        child_position,
        parent_axis,
        child_axis,
        values['length'] or 0.0,
        compliance=compliance,
    )


def _pose(origin):
    """Rotation (3, 3) and position (3,) [m] of an <origin>, the identity if there is none."""
    if origin is None:
        return np.eye(3), np.zeros(3)
    quaternion = origin['quat_xyzw']
    turn = turned_by(origin['rpy']) if quaternion is None else turned_by_quaternion(quaternion)
    return turn, np.array(origin['xyz'])


def _read_mimic(kind, mimic):
    if mimic is None or kind == 'fixed':
        return {}
    return {
        'mimics': mimic['joint'],
        'mimic_ratio': mimic['multiplier'],
        'mimic_offset': mimic['offset'],
    }


def _read_limits(document, element, name, kind, limit, mimic):
    if limit is None:
        if JOINT_TYPES[kind].needs_limit:
            raise document.error(
                element,
                f'{kind} joint "{name}" has no <limit>',
                'Add <limit lower upper effort velocity/>'
                + (', or make it continuous' if kind == 'revolute' else ''),
            )
        return {}
    missing = [key for key in ('effort', 'velocity') if limit[key] is None]
    if missing and version_of(document.root) < WITH_OPTIONAL_LIMITS:
        document.warn(
            document.line(element),
            f'the <limit> of joint "{name}" has no {" and no ".join(missing)}',
            'Write both: other URDF tools refuse the file',
        )
    for key, power in (('acceleration', 2), ('deceleration', 2), ('jerk', 3)):
        if limit[key] == 0.0 and kind != 'fixed':
            raise document.error(
                element,
                f'the <limit> of joint "{name}" has the {key} 0, so that it could not move',
                f'Give {key} above 0 [{JOINT_TYPES[kind].unit}/s{power}], or leave it out',
            )
    limits = {
        key: limit[key]
        for key in MOTOR_LIMITS
        if limit[key] is not None and 0 <= limit[key] < MAX_VALUE
    }
    if JOINT_TYPES[kind].needs_limit:
        _warn_of_missing_range(document, element, name)
        if limit['lower'] > limit['upper']:
            raise document.error(
                element,
                f'joint "{name}" has its lower limit {limit["lower"]:g} above its upper '
                f'limit {limit["upper"]:g}',
                'Exchange them',
            )
        if limit['lower'] == limit['upper'] and mimic is None:
            document.warn(
                document.line(element),
                f'joint "{name}" has a range of zero width, at {limit["lower"]:g}',
                'Give lower and upper, or make the joint fixed',
            )
        nearest = min(max(0.0, limit['lower']), limit['upper'])
        if nearest != 0.0 and mimic is None:
            document.warn(
                document.line(element),
                f'zero is beyond the limits of joint "{name}", '
                f'{limit["lower"]:g} to {limit["upper"]:g}',
                f'Simulations start with this joint at {nearest:g}; give another pose if needed',
            )
        limits.update(lower=limit['lower'], upper=limit['upper'])
    return limits


def _warn_of_missing_range(document, element, name):
    given = element.findall('limit')[0].attrib
    missing = [key for key in ('lower', 'upper') if key not in given]
    if missing and version_of(document.root) >= WITH_OPTIONAL_LIMITS:
        document.warn(
            document.line(element),
            f'the <limit> of joint "{name}" has no {" and no ".join(missing)}, read as 0',
            'Write both: ROS refuses the file without them from version 1.2 on',
        )


def _read_friction(dynamics):
    if dynamics is None:
        return JointFriction()
    return JointFriction(dynamics['damping'], dynamics['friction'], dynamics['friction'])
