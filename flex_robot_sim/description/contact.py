"""
Contacts of links with the ground, obstacles and other links.

The shapes of a link touch by points: the centre of a sphere with its radius, those of the two
half spheres of a capsule, and the corners of a box. What they touch are surfaces: planes, boxes,
cylinders, spheres and capsules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from flex_robot_sim.description.document import Document, XmlElement
from flex_robot_sim.description.links import Joint, Link
from flex_robot_sim.description.orientation import turned_by, turned_by_quaternion
from flex_robot_sim.description.urdf_words import URDF
from flex_robot_sim.description.values import only, read_attributes, read_children, unknown_name
from flex_robot_sim.description.words import FLEXIBILITY

WORLD = 'world'  # value of `with`: the ground and all obstacles
GROUND = 'ground'  # name of the ground among the surfaces
MAX_CONTACT_POINTS = 32  # of a robot, each with each surface that it may touch
SHAPES = 'box', 'cylinder', 'sphere', 'capsule'


class ContactShape(NamedTuple):
    """A shape of a link, or one that is fixed to the root link."""

    name: str  # of the obstacle, or of the link
    kind: str  # 'plane', or one of SHAPES
    size: tuple[float, ...]  # half edges; radius and half length; radius                  [m]
    rotation: np.ndarray  # (3, 3)  in the frame of the link
    position: np.ndarray  # (3,)    [m]
    friction: float = 0.0

    @property
    def half_thickness(self) -> float:
        """Largest depth of a point inside [m]; inf for a plane."""
        return self.size[0] if self.kind == 'capsule' else min(self.size, default=np.inf)

    @property
    def half_width(self) -> float:
        """Half the width of its largest side [m]; inf for a plane."""
        return sorted(self.size)[1] if self.kind == 'box' else min(self.size[:1], default=np.inf)

    @property
    def half_spacing(self) -> float:
        """Half the largest distance between neighbouring points [m]."""
        if self.kind == 'box':
            return max(self.size)
        if self.kind == 'sphere':
            return 0.0
        return self.size[1] - (self.size[0] if self.kind == 'cylinder' else 0.0)

    def misses(self, surface: ContactShape) -> bool:
        """Whether a surface fits between the points of this shape."""
        return surface.half_width < self.half_spacing

    def has_inside(self, other: ContactShape) -> bool:
        """Whether a point of another shape of the same link is inside this box or cylinder."""
        edges = self.size if self.kind == 'box' else (self.size[0], *self.size)
        local = [(point - self.position) @ self.rotation for point, _ in other.points()]
        return bool((np.abs(local) <= edges).all(axis=1).any())

    def points(self) -> list[tuple[np.ndarray, float]]:
        """Return centres (3,) in the frame of the link, and radii [m], of what touches."""
        radius = 0.0 if self.kind == 'box' else self.size[0]
        if self.kind == 'box':
            local = np.array([*product(*((-edge, edge) for edge in self.size))])
        elif self.kind == 'sphere':
            local = np.zeros((1, 3))
        else:
            half = self.size[1] - (radius if self.kind == 'cylinder' else 0.0)
            local = np.array([[0.0, 0.0, half], [0.0, 0.0, -half]])[: 2 if half > 0 else 1]
        return [(point, radius) for point in self.position + local @ self.rotation.T]


@dataclass(frozen=True, eq=False)
class Contact:
    """A link that may touch surfaces, by points."""

    name: str
    line: int
    link: str
    against: str  # WORLD or a link
    shapes: tuple[ContactShape, ...]  # of the link
    surfaces: tuple[ContactShape, ...]  # of what it touches
    friction: float | None = None  # None: that of the surface
    stiffness: float | None = None  # [N/m]; None: by the mass that the point moves
    damping: float | None = None  # [N s/m]; None: critical, or 0 with a stiffness

    def pairs(self) -> list[tuple[np.ndarray, float, ContactShape]]:
        """Return centre (3,) in the link, and radius [m], of each point with each surface."""
        points = [point for shape in self.shapes for point in shape.points()]
        return [(*point, surface) for point in points for surface in self.surfaces]


def read_contacts(
    document: Document, element: XmlElement | None, links: Mapping[str, Link]
) -> tuple[list[Contact], list[ContactShape]]:
    """
    Return the contacts of <flexibility>, and ground and obstacles.

    :param element: the <flexibility>, or None.
    """
    if element is None:
        return [], []
    children = read_children(document, element, FLEXIBILITY['flexibility'].children)
    world = _read_world(document, children)
    contacts: dict[str, Contact] = {}
    for child in children['contact']:
        contact = _read_contact(document, child, links, world)
        if contact.name in contacts:
            raise document.error(
                child, f'<flexibility> has two contacts "{contact.name}"', 'Rename one of them'
            )
        pair = contact.link, contact.against
        same = [one.name for one in contacts.values() if (one.link, one.against) == pair]
        if same:
            raise document.error(
                child,
                f'contact "{contact.name}" has the points of contact "{same[0]}", which would '
                f'count twice: both are between "{pair[0]}" and "{pair[1]}"',
                f'Remove one of them, or divide the shapes among links that are fixed to '
                f'"{pair[0]}"',
            )
        contacts[contact.name] = contact
        if sum(len(one.pairs()) for one in contacts.values()) > MAX_CONTACT_POINTS:
            raise document.error(
                child,
                f'contact "{contact.name}" brings the robot above {MAX_CONTACT_POINTS} contact '
                'points, each counted with each surface that it may touch',
                'Give the links fewer shapes in <collision>, or leave out obstacles',
            )
    _warn_of_wide_points(document, contacts.values())
    if world and all(one.against != WORLD for one in contacts.values()):
        element = [*children['ground'], *children['obstacle']][0]
        document.warn(
            document.line(element),
            f'no link touches the <{element.tag}>, because no <contact> has with="{WORLD}"',
            f'Add <contact name="tool" link="LINK" with="{WORLD}"/>, or remove it',
        )
    return [*contacts.values()], world


def check_contacts(
    document: Document,
    contacts: Iterable[Contact],
    links: Mapping[str, Link],
    joints: Iterable[Joint],
) -> None:
    """Raise DescriptionError for contacts of a link that cannot move."""
    joints = [*joints]
    rigid = {joint.child: joint.parent for joint in joints if not (joint.moves or joint.is_base)}
    root = {joint.parent for joint in joints} - {joint.child for joint in joints}
    for contact in contacts:
        ends = [contact.link, contact.against]
        for k, link in enumerate(ends):
            while link in rigid and not (links[link].beam or links[rigid[link]].beam):
                link = rigid[link]
            ends[k] = WORLD if link in root else link
        if ends[0] == ends[1]:
            raise document.error_at(
                contact.line,
                f'the link "{contact.link}" of contact "{contact.name}" does not move relative '
                f'to "{contact.against}"',
                'Name a link that a joint moves',
            )


def _warn_of_wide_points(document, contacts):
    """Warn of each contact with a surface that fits between the points of a shape."""
    pairs = {(one.link, one.against) for one in contacts}
    for contact in contacts:
        link, against = contact.link, contact.against
        for shape, surface in product(contact.shapes, contact.surfaces):
            others = (one for one in contact.shapes if one is not shape)
            if not shape.misses(surface) or any(map(shape.has_inside, others)):
                continue
            remedy = f'Add spheres between the points to the <collision> of link "{link}"'
            if against != WORLD and not surface.misses(shape):
                if (against, link) in pairs:
                    continue
                remedy = f'Add a <contact> with link="{against}" and with="{link}"'
            document.warn(
                contact.line,
                f'contact "{contact.name}": "{surface.name}" fits between the points by which the '
                f'{shape.kind} of link "{link}" touches, {2.0 * shape.half_spacing:.3g} m apart',
                remedy,
            )
            break


def _read_world(document, children):
    """Ground and obstacles, as shapes that are fixed to the root link."""
    shapes, ground = [], only(document, children, 'ground')
    if ground is not None:
        values = read_attributes(document, ground, FLEXIBILITY['ground'])
        position = np.array([0.0, 0.0, values['height']])
        shapes.append(ContactShape(GROUND, 'plane', (), np.eye(3), position, values['friction']))
    for child in children['obstacle']:
        values = read_attributes(document, child, FLEXIBILITY['obstacle'])
        name = values['name']
        if name in [shape.name for shape in shapes]:
            raise document.error(
                child, f'<flexibility> has two obstacles "{name}"', 'Rename one of them'
            )
        shape = _read_shape(document, child, name, f'obstacle "{name}"')
        shapes.append(shape._replace(friction=values['friction']))
    return shapes


def _read_contact(document, element, links, world):
    values = read_attributes(document, element, FLEXIBILITY['contact'])
    name, link, against = values['name'], values['link'], values['with']
    for role, one in (('link', link), ('with', against)):
        if one not in links and (role, one) != ('with', WORLD):
            raise unknown_name(
                document,
                document.line(element),
                f'contact "{name}" has {role}="{one}", which is no link',
                one,
                links,
            )
    surfaces = world if against == WORLD else _shapes_of(document, element, name, against)
    if not surfaces:
        raise document.error(
            element,
            f'contact "{name}" has nothing to touch',
            'Add a <ground/> or an <obstacle> to <flexibility>, or give with="link"',
        )
    if values['damping'] is None and values['stiffness'] is not None:
        values['damping'] = 0.0
    return Contact(
        name,
        document.line(element),
        link,
        against,
        tuple(_shapes_of(document, element, name, link)),
        tuple(surfaces),
        values['friction'],
        values['stiffness'],
        values['damping'],
    )


def _shapes_of(document, element, contact, name):
    """Shapes of the <collision> elements of a link."""
    (link,) = [one for one in document.root.iterchildren('link') if one.get('name') == name]
    collisions = [*link.iterchildren('collision')]
    if not collisions:
        raise document.error(
            element,
            f'link "{name}" of contact "{contact}" has no <collision>',
            'Give the link one, with a sphere, capsule, box or cylinder',
        )
    return [_read_shape(document, one, name, f'link "{name}"') for one in collisions]


def _read_shape(document, element, name, owner):
    """ContactShape of an element with an <origin> and a <geometry>."""
    what = f'the <collision> of {owner}' if element.tag == 'collision' else owner
    children = read_children(document, element, ('origin', 'geometry'), ('material', 'verbose'))
    geometry = only(document, children, 'geometry')
    shapes = [] if geometry is None else [*geometry.iterchildren('*')]
    if len(shapes) != 1 or shapes[0].tag not in (*SHAPES, 'mesh'):
        raise document.error(
            element,
            f'{what} has no shape',
            'Give it a <geometry> with a sphere, capsule, box or cylinder',
        )
    (shape,) = shapes
    if shape.tag == 'mesh':
        raise document.error(
            shape,
            f'{what} is a mesh, which has no contact',
            'Replace it by spheres, capsules, boxes or cylinders',
        )
    values = read_attributes(document, shape, URDF[shape.tag])
    rotation, position = _pose(document, only(document, children, 'origin'))
    if shape.tag == 'box':
        if min(values['size']) <= 0.0:
            raise document.error(
                shape, f'the box of {owner} has an edge of no length', 'Give size above 0 [m]'
            )
        size = tuple(0.5 * edge for edge in values['size'])
    elif shape.tag == 'sphere':
        size = (values['radius'],)
    else:
        size = values['radius'], 0.5 * values['length']
        if shape.tag == 'cylinder' and element.tag == 'collision' and size[1] < size[0]:
            raise document.error(
                shape,
                f'the cylinder of {owner} is shorter than its diameter, so that it is no capsule',
                'Replace it by a sphere or a box',
            )
    return ContactShape(name, shape.tag, size, rotation, position)


def _pose(document, origin):
    """Rotation (3, 3) and position (3,) [m] of an <origin>, the identity if there is none."""
    if origin is None:
        return np.eye(3), np.zeros(3)
    values = read_attributes(document, origin, URDF['origin'])
    quaternion = values['quat_xyzw']
    turn = turned_by(values['rpy']) if quaternion is None else turned_by_quaternion(quaternion)
    return turn, np.array(values['xyz'])
