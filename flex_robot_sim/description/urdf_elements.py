"""Elements of a URDF with `<flexibility>` from checked texts and numbers, and their whole text."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np

from flex_robot_sim.description.attribute_text import vector_text

MOMENTS = {
    'ixx': (0, 0),
    'ixy': (0, 1),
    'ixz': (0, 2),
    'iyy': (1, 1),
    'iyz': (1, 2),
    'izz': (2, 2),
}
COLOUR = '0.6 0.65 0.7 1'


def inertial_element(
    mass: float, centre: np.ndarray, rpy: np.ndarray, inertia: np.ndarray
) -> Element:
    """
    Return an <inertial>.

    :param mass: [kg]; centre: of mass in the link frame, (3,) [m]; rpy: of the axes of the
        inertia, (3,) [rad]; inertia: about the centre (3, 3) [kg m2].
    """
    inertial = Element('inertial')
    add_origin(inertial, vector_text(centre), vector_text(rpy))
    add_element(inertial, 'mass', value=vector_text(np.array([mass])))
    add_element(
        inertial,
        'inertia',
        **{name: vector_text(inertia[row][None]) for name, row in MOMENTS.items()},
    )
    return inertial


def link_element(name: str, parts: Iterable[Element]) -> Element:
    """Return a <link>."""
    link = Element('link', name=name)
    link.extend(parts)
    return link


def flexible_element(
    tag: str,
    attributes: Mapping[str, str],
    parts: Mapping[str, Mapping[str, str]],
    repeated: Iterable[tuple[str, Mapping[str, str]]] = (),
) -> Element:
    """
    Return a <link> or a <joint> of <flexibility>.

    :param parts: {tag: attributes}; repeated: pairs of the same, before them.
    """
    element = Element(tag, dict(attributes))
    for name, values in (*repeated, *parts.items()):
        if values:
            add_element(element, name, **values)
    return element


def renamed(element: Element, prefix: str) -> Element:
    """Return a copy of an element, with a prefix to its name and those that it refers to."""
    copied = deepcopy(element)
    copied.set('name', f'{prefix}{element.attrib["name"]}')
    if 'guide' in copied.attrib:
        copied.set('guide', f'{prefix}{copied.attrib["guide"]}')
    for tag in ('parent', 'child'):
        for link in copied.findall(tag):
            link.set('link', f'{prefix}{link.attrib["link"]}')
    for imu in copied.findall('imu'):
        imu.set('name', f'{prefix}{imu.attrib["name"]}')
    for mimic in copied.findall('mimic'):
        mimic.set('joint', f'{prefix}{mimic.attrib["joint"]}')
    return copied


def robot_text(name: str, elements: Iterable[Element], flexible: Iterable[Element]) -> str:
    """Return the text of a URDF; `flexible`: the elements in <flexibility>."""
    robot = Element('robot', name=name)
    add_element(robot, 'material', name='light_grey').append(Element('color', rgba=COLOUR))
    robot.extend(elements)
    inside = list(flexible)
    if inside:
        add_element(robot, 'flexibility').extend(inside)
    ElementTree.indent(robot)
    return ElementTree.tostring(robot, encoding='unicode') + '\n'


def visual_element(xyz: str, rpy: str) -> tuple[Element, Element]:
    """Return a <visual> and its <geometry>, still empty."""
    visual = Element('visual')
    add_origin(visual, xyz, rpy)
    geometry = add_element(visual, 'geometry')
    add_element(visual, 'material', name='light_grey')
    return visual, geometry


def capsule_ends(centre: np.ndarray, turn: np.ndarray, length: float) -> np.ndarray:
    """Centres (2, 3) [m] of the half spheres of a capsule with centre (3,) and axes (3, 3)."""
    return centre + np.outer([0.5, -0.5], length * turn[:, 2])


def add_origin(parent: Element, xyz: str, rpy: str) -> None:
    """Add an <origin>."""
    add_element(parent, 'origin', xyz=xyz, rpy=rpy)


def add_element(parent: Element, tag: str, **attributes: str) -> Element:
    """Add an element to another one and return it."""
    return ElementTree.SubElement(parent, tag, attributes)
