"""Links and joints, from the elements that URDF itself has."""

import numpy as np

from flex_robot_sim.description.robot import Inertial, Joint, Link
from flex_robot_sim.description.values import only, read_attributes, read_children
from flex_robot_sim.description.words import URDF, URDF_PASSED_OVER


def read_robot(document):
    """
    Links and joints as the document lists them, not yet checked against each other.

    :returns: name of the robot, {name: Link}, {name: Joint}, the <flexibility> element or None.
    """
    root = document.root
    if root.tag != 'robot':
        raise document.error(root, f'the document is a <{root.tag}>, not a <robot>',
                             'Give a URDF or xacro file')
    children = read_children(document, root, URDF['robot'].children, URDF_PASSED_OVER['robot'])
    _refuse_misplaced_flexibility(document, root)
    name = read_attributes(document, root, URDF['robot'], extensions_allowed=True)['name']
    links = _by_name(document, children['link'], _read_link)
    joints = _by_name(document, children['joint'], _read_joint)
    if not links:
        raise document.error(root, 'the robot has no links', 'Give it at least one <link>')
    return name, links, joints, only(document, children, 'flexibility')


def _refuse_misplaced_flexibility(document, root):
    for element in root.iter('flexibility'):
        if element.getparent() is not root:
            raise document.error(element, f'<flexibility> stands in <{element.getparent().tag}>',
                                 'Move it directly under <robot>')


def _by_name(document, elements, read):
    found = {}
    for element in elements:
        item = read(document, element)
        if item.name in found:
            raise document.error(
                element, f'a second {element.tag} "{item.name}", after the one in line '
                f'{found[item.name].line}', f'Rename one {element.tag}')
        found[item.name] = item
    return found


def _read_element(document, children, tag):
    """Return the values of the only child `tag`; None if there is no such child."""
    element = only(document, children, tag)
    if element is None:
        return None
    return read_attributes(document, element, URDF[tag], extensions_allowed=True)


def _read_link(document, element):
    values = read_attributes(document, element, URDF['link'], extensions_allowed=True)
    children = read_children(document, element, URDF['link'].children, URDF_PASSED_OVER['link'])
    inertial = only(document, children, 'inertial')
    return Link(values['name'], document.line(element),
                None if inertial is None else _read_inertial(document, inertial, values['name']))


def _read_inertial(document, element, link):
    children = read_children(document, element, URDF['inertial'].children, ())
    values = {tag: _read_element(document, children, tag) for tag in URDF['inertial'].children}
    for tag in ('mass', 'inertia'):
        if values[tag] is None:
            raise document.error(element, f'the <inertial> of link "{link}" has no <{tag}>',
                                 f'Give it a <{tag}>, or remove the <inertial>')
    rotation, centre = _pose(values['origin'])
    v = values['inertia']
    inertia = np.array([[v['ixx'], v['ixy'], v['ixz']],
                        [v['ixy'], v['iyy'], v['iyz']],
                        [v['ixz'], v['iyz'], v['izz']]])
    return Inertial(values['mass']['value'], centre, rotation @ inertia @ rotation.T)


def _read_joint(document, element):
    kind = (element.get('type') or '').strip()
    if kind in ('floating', 'planar'):
        raise document.error(
            element, f'joint "{element.get("name")}" is {kind}, which is not simulated here',
            'Build it from revolute and prismatic joints, or make it fixed')
    values = read_attributes(document, element, URDF['joint'], extensions_allowed=True)
    name, kind = values['name'], values['type']
    children = read_children(document, element, URDF['joint'].children, URDF_PASSED_OVER['joint'])
    if kind == 'fixed':
        children['axis'] = []       # exporters write an axis of zeros there
    inside = {tag: _read_element(document, children, tag) for tag in URDF['joint'].children}
    for tag in ('parent', 'child'):
        if inside[tag] is None:
            raise document.error(element, f'joint "{name}" has no <{tag}>',
                                 f'Add <{tag} link="..."/>')
    rotation, position = _pose(inside['origin'])
    axis = inside['axis'] or {'xyz': (1.0, 0.0, 0.0)}
    return Joint(
        name, document.line(element), kind, inside['parent']['link'], inside['child']['link'],
        rotation, position, np.array(axis['xyz']),
        **_read_mimic(document, element, name, kind, inside['mimic']),
        **_read_limits(document, element, name, kind, inside['limit']),
        **_read_friction(inside['dynamics']))


def _pose(origin):
    """Rotation (3, 3) and position (3,) [m] of an <origin>, the identity if there is none."""
    if origin is None:
        return np.eye(3), np.zeros(3)
    (cr, cp, cy), (sr, sp, sy) = np.cos(origin['rpy']), np.sin(origin['rpy'])
    rotation = np.array([[cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
                         [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
                         [-sp, cp * sr, cp * cr]])
    return rotation, np.array(origin['xyz'])


def _read_mimic(document, element, name, kind, mimic):
    if mimic is None or kind == 'fixed':
        return {}
    document.warn(document.line(element), f'joint "{name}" mimics "{mimic["joint"]}" and is held '
                  f'at {mimic["offset"]:g}', 'Remove <mimic> if it is to move by itself')
    return {'mimics': mimic['joint'], 'held_at': mimic['offset']}


def _read_limits(document, element, name, kind, limit):
    if limit is None:
        if kind in ('revolute', 'prismatic'):
            raise document.error(
                element, f'{kind} joint "{name}" has no <limit>',
                'Add <limit lower upper effort velocity/>'
                + (', or make it continuous' if kind == 'revolute' else ''))
        return {}
    limits = {key: limit[key] for key in ('effort', 'velocity')
              if limit[key] is not None and limit[key] >= 0}
    if kind in ('revolute', 'prismatic'):
        if limit['lower'] > limit['upper']:
            raise document.error(
                element, f'joint "{name}" has its lower limit {limit["lower"]:g} above its upper '
                f'limit {limit["upper"]:g}', 'Exchange them')
        limits.update(lower=limit['lower'], upper=limit['upper'])
    return limits


def _read_friction(dynamics):
    if dynamics is None:
        return {}
    return {'viscous_friction': dynamics['damping'], 'coulomb_friction': dynamics['friction']}
