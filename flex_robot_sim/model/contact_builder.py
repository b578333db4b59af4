"""Contacts of an arm from code: links that touch, ground and obstacles."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, TypeVar
from xml.etree.ElementTree import Element

from numpy.typing import ArrayLike

from flex_robot_sim.description.attribute_text import (
    attribute_text,
    attribute_texts,
    expect_one_of,
    name_text,
    vector,
)
from flex_robot_sim.description.contact import WORLD
from flex_robot_sim.description.geometry import Capsule, Sphere
from flex_robot_sim.description.orientation import turned_by
from flex_robot_sim.description.rigid_link import add_shape, expect_shape
from flex_robot_sim.description.urdf_elements import add_element, add_origin, capsule_ends
from flex_robot_sim.description.urdf_words import URDF
from flex_robot_sim.description.words import FLEXIBILITY
from flex_robot_sim.model.constraint_builder import ZERO
from flex_robot_sim.util.exceptions import SettingError

if TYPE_CHECKING:
    from flex_robot_sim.description.geometry import Shape

Builder = TypeVar('Builder', bound='ContactBuilder')


class ContactBuilder:
    """Base class of ArmBuilder with its contacts."""

    _links: dict[str, Element]
    _contacts: dict[str, Element]
    _ground: Element | None
    _obstacles: dict[str, Element]

    def add_contact(
        self: Builder,
        name: str,
        *,
        link: str,
        against: str = WORLD,
        shape: Shape | None = None,
        xyz: ArrayLike = ZERO,
        rpy: ArrayLike = ZERO,
        friction: float | None = None,
        stiffness: float | None = None,
        damping: float | None = None,
    ) -> Builder:
        """
        Let a link touch the ground and the obstacles, or another link.

        :param name: of the contact.
        :param link: name of a link of this arm.
        :param against: 'world': the ground and all obstacles; or another link.
        :param shape: Box, Cylinder, Sphere or Capsule that touches, in addition to those that the
            link has by `add_collision`; default: those only.
        :param xyz, rpy: pose of the shape in the frame of the link, (3,) [m] and (3,) [rad].
        :param friction: coefficient of Coulomb friction; default: that of the ground or obstacle.
        :param stiffness: force over penetration [N/m]; default: 40 Hz with the moved mass.
        :param damping: from 1 mm of penetration on [N s/m]; default: critical, or 0 with a
            stiffness.

        Example::

            builder = frs.ArmBuilder().add_rigid('arm', mass=1.0, centre=(0.2, 0, 0))
            builder.add_joint('hinge', parent='base', child='arm', axis='y')
            builder.add_ground(height=-0.2, friction=0.5)
            builder.add_contact('tool', link='arm', shape=frs.Sphere(0.02), xyz=(0.4, 0, 0))
            assert frs.Simulation(builder.build()).contact('tool').gap > 0.0
        """
        self._expect_new_contact('name', name, self._contacts)
        expect_one_of('', 'link', link, self._links)
        if against != WORLD:
            expect_one_of('', 'against', against, self._links)
        values = {
            'name': name,
            'link': link,
            'with': against,
            'friction': friction,
            'stiffness': stiffness,
            'damping': damping,
        }
        words = FLEXIBILITY['contact']
        texts = attribute_texts(f'contact "{name}"', words, values, {'with': 'against'})
        pairs = [(one.get('link'), one.get('with')) for one in self._contacts.values()]
        if (link, against) in pairs:
            raise SettingError(
                f'"{link}" and "{against}" have a contact: add shapes to it by add_collision, or '
                f'attach a link to "{link}" for another contact'
            )
        if shape is not None:
            self._add_shape(f'contact "{name}"', link, shape, xyz, rpy)
        self._contacts[name] = Element('contact', texts)
        return self

    def add_collision(
        self: Builder, link: str, *, shape: Shape, xyz: ArrayLike = ZERO, rpy: ArrayLike = ZERO
    ) -> Builder:
        """
        Add a shape by which a link touches in all its contacts.

        :param link: name of a link of this arm.
        :param shape: Box, Cylinder, Sphere or Capsule.
        :param xyz, rpy: its pose in the frame of the link, (3,) [m] and (3,) [rad].

        Example::

            builder = frs.ArmBuilder().add_rigid('foot', mass=1.0)
            builder.add_joint('ankle', parent='base', child='foot', axis='y')
            builder.add_collision('foot', shape=frs.Sphere(0.02), xyz=(0.1, 0, 0))
            builder.add_collision('foot', shape=frs.Sphere(0.02), xyz=(-0.1, 0, 0))
            builder.add_ground(height=-0.1).add_contact('sole', link='foot')
        """
        expect_one_of('', 'link', link, self._links)
        self._add_shape(f'link "{link}"', link, shape, xyz, rpy)
        return self

    def _add_shape(self, owner, link, shape, xyz, rpy):
        changed = deepcopy(self._links[link])
        changed.extend(_collisions(owner, shape, xyz, rpy))
        self._links[link] = changed

    def add_ground(
        self: Builder, *, height: float = 0.0, friction: float | None = None
    ) -> Builder:
        """
        Add a horizontal plane, which contacts touch from above.

        :param height: along z of the base [m]; friction: coefficient of Coulomb friction.

        Example::

            builder = frs.ArmBuilder().add_ground(height=-0.1, friction=0.8)
        """
        if self._ground is not None:
            raise SettingError('the arm already has a ground: call add_ground once')
        values = {'height': height, 'friction': friction}
        self._ground = Element('ground', attribute_texts('ground', FLEXIBILITY['ground'], values))
        return self

    def add_obstacle(
        self: Builder,
        name: str,
        *,
        shape: Shape,
        xyz: ArrayLike = ZERO,
        rpy: ArrayLike = ZERO,
        friction: float | None = None,
    ) -> Builder:
        """
        Add a body that is fixed to the base and that contacts touch.

        :param name: of the obstacle.
        :param shape: Box, Cylinder, Sphere or Capsule.
        :param xyz, rpy: its pose in the frame of the base, (3,) [m] and (3,) [rad].
        :param friction: coefficient of Coulomb friction.

        Example::

            builder = frs.ArmBuilder()
            builder.add_obstacle('table', shape=frs.Box(0.4, 0.4, 0.02), xyz=(0.5, 0, 0.3))
        """
        self._expect_new_contact('name', name, self._obstacles)
        words = FLEXIBILITY['obstacle']
        texts = attribute_texts(f'obstacle "{name}"', words, {'name': name, 'friction': friction})
        element = _placed('obstacle', f'obstacle "{name}"', shape, xyz, rpy)
        element.attrib.update(texts)
        self._obstacles[name] = element
        return self

    def _contact_elements(self):
        """Elements of <flexibility>."""
        ground = [] if self._ground is None else [self._ground]
        return [*self._contacts.values(), *ground, *self._obstacles.values()]

    @staticmethod
    def _expect_new_contact(argument, name, known):
        if name_text(argument, name) in known:
            raise SettingError(f'{argument} = "{name}" is in use: give another one')


def _placed(tag, owner, shape, xyz, rpy):
    """Return an element with an <origin> and the <geometry> of a shape."""
    expect_shape(owner, shape)
    element, pose = Element(tag), URDF['origin'].attributes
    add_origin(
        element,
        attribute_text(owner, 'xyz', xyz, pose['xyz']),
        attribute_text(owner, 'rpy', rpy, pose['rpy']),
    )
    add_shape(add_element(element, 'geometry'), shape)
    return element


def _collisions(owner, shape, xyz, rpy):
    """Return the <collision>s of a shape; a capsule, which URDF 1.0 has not, is two spheres."""
    expect_shape(owner, shape)
    if not isinstance(shape, Capsule):
        return [_placed('collision', owner, shape, xyz, rpy)]
    centre, turn = vector(owner, 'xyz', xyz, 'm'), turned_by(vector(owner, 'rpy', rpy, 'rad'))
    ends = capsule_ends(centre, turn, shape.length)
    return [_placed('collision', owner, Sphere(shape.radius), end, ZERO) for end in ends]
